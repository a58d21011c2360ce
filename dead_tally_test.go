package redrive_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// proves: D3, D6
//
// The dead letters that a filter selects are counted and grouped on each store.
func TestD3_D6_DeadLettersAreCountedByFilter(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, d database) {
		start := time.Date(2026, 11, 23, 12, 0, 10, 0, time.UTC)
		now := start
		s := d.openAt(func() time.Time { return now })
		client, err := redrive.New(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		kill := func(owner, class string, n int) (first job.ID) {
			t.Helper()
			for range n {
				id := killJob(t, s, owner, class)
				if first == 0 {
					first = id
				}
			}
			return first
		}
		kill("ann", "A", 1)
		now = now.Add(2 * time.Hour)
		anns := kill("ann", "A", 2)
		kill("bob", "A", 3)
		now = now.Add(time.Minute)
		annsB := kill("ann", "B", 1)
		if _, err := client.Act(t.Context(), redrive.By{Actor: "t"}, redrive.Action{Do: redrive.ActResolve, IDs: []job.ID{annsB}}, nil); err != nil {
			t.Fatal(err)
		}

		got, err := client.TallyDead(t.Context(), redrive.DeadFilter{Owner: "ann", Since: job.At(start.Add(time.Hour))})
		if err != nil {
			t.Fatal(err)
		}
		at := func(d time.Duration) job.Micros { return job.At(start.Add(d)) }
		added := make([]int64, store.AddedMinutes)
		added[58], added[59] = 2, 1
		trend := func(n int64) []int64 { all := make([]int64, store.TrendHours); all[23] = n; return all }
		group := func(class string, sample job.ID, at job.Micros, n, pending int64) redrive.Group {
			return redrive.Group{Fingerprint: "1:" + class, Kind: "k", Class: class, Message: "oops " + class, Sample: sample, FirstAt: at, LastAt: at,
				N: n, Entries: n, Pending: pending, Trend: trend(n)}
		}
		want := redrive.DeadTally{
			DeadStats: redrive.DeadStats{
				At: job.At(now), OldestPending: at(2 * time.Hour), Added: added,
				Counts: []redrive.DeadCount{
					{Status: job.Pending, Reason: job.NonRetriable, Class: "A", Kind: "k", Queue: "q", N: 2},
					{Status: job.Resolved, Reason: job.NonRetriable, Class: "B", Kind: "k", Queue: "q", N: 1},
				},
			},
			Groups: []redrive.Group{group("B", annsB, at(2*time.Hour+time.Minute), 1, 0), group("A", anns, at(2*time.Hour), 2, 2)},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("wrong tally of ann's dead letters of the last hour (-want +got):\n%s", diff)
		}

		byClass, err := client.TallyDead(t.Context(), redrive.DeadFilter{Class: "A", Kind: "k"})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(byClass.Counts); n != 1 || byClass.Counts[0].N != 6 || byClass.OldestPending != at(0) || byClass.Searched != 0 {
			t.Errorf("dead letters of class A: got counts %+v, OldestPending %d, Searched %d; want the count 6, OldestPending %d, Searched 0",
				byClass.Counts, byClass.OldestPending, byClass.Searched, at(0))
		}
	})
}

// killJob makes a job that dies at its first attempt.
func killJob(t *testing.T, s store.Store, owner, class string) job.ID {
	t.Helper()
	id, err := s.ReserveIDs(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Enqueue(t.Context(), []job.New{{ID: id, Kind: "k", Queue: "q", Priority: job.PriorityDefault, Owner: owner}}); err != nil {
		t.Fatal(err)
	}
	x := store.Exchange{Holder: "w", Lease: time.Minute, Want: []store.Want{{Queue: "q", Max: 1, Kinds: []store.KindWant{{Kind: "k", Max: 1, MaxCrashes: 3}}}}}
	out, err := s.Exchange(t.Context(), x)
	if err != nil || len(out.Claims) != 1 {
		t.Fatalf("Exchange: got %d claims and error %v, want one claim, for job %d", len(out.Claims), err, id)
	}
	x.Want = nil
	x.Settle = []job.Outcome{{ID: id, Token: out.Claims[0].Token, To: job.Dead, Cause: job.Failed, Reason: job.NonRetriable,
		Failure: &job.Failure{How: job.ByError, Class: class, Fingerprint: "1:" + class, Message: "oops " + class}}}
	if out, err := s.Exchange(t.Context(), x); err != nil || out.Settled[0] != nil {
		t.Fatalf("Exchange with an outcome that makes the job dead: got error %v and outcome errors %v, want none", err, out.Settled)
	}
	return id
}

// A tally reads a limited number of dead letters and says how far back it has counted. The
// counts by class stay complete.
//
// part of: D3
func TestD3_TallyIsLimited(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s := memory.New(memory.Options{Clock: func() time.Time { return now }})
	client, err := redrive.New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	const n = redrive.TallyMax + 1
	for i := range n {
		if i == 1 {
			now = now.Add(time.Hour)
		}
		killJob(t, s, "ann", "A")
	}
	for _, f := range []redrive.DeadFilter{{Owner: "ann"}, {Class: "A"}} {
		got, err := client.TallyDead(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		want := int64(redrive.TallyMax)
		if got.Groups[0].N != want || got.Searched != job.At(now) || got.OldestPending != 0 {
			t.Errorf("filter %+v: got %d dead letters in the group, Searched %d, OldestPending %d; want %d dead letters, Searched %d, OldestPending 0",
				f, got.Groups[0].N, got.Searched, got.OldestPending, want, job.At(now))
		}
		if f.Class != "" {
			want = n // Counts are complete, because they come from the counters
		}
		if got.Counts[0].N != want {
			t.Errorf("filter %+v: got the count %d, want %d", f, got.Counts[0].N, want)
		}
	}
}
