package postgres

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/storetest"
)

// Counters and figures are the same before and after they are folded, whichever process
// writes meanwhile, and add up to the rows.
//
// part of: B3
func TestB3_FoldingChangesNoCount(t *testing.T) {
	t.Parallel()
	a, dsn := freshAt(t, nil)
	b := opened(t, dsn, &Options{Schema: a.Schema()})
	const writers, each = 4, 40
	var all sync.WaitGroup
	for i := range writers {
		s := []*Store{a, b}[i%2]
		all.Go(func() {
			for range each {
				id, err := s.ReserveIDs(t.Context(), 1)
				if err == nil {
					_, err = s.Enqueue(t.Context(), []job.New{{ID: id, Kind: "mail", Queue: "default", Priority: 2, Payload: []byte(`{}`)}})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, s := range []*Store{a, b} {
		all.Go(func() {
			for range each {
				if err := s.foldAll(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	want := []store.Count{{Queue: "default", Kind: "mail", State: job.Waiting, N: writers * each}}
	counts, err := a.Counts(t.Context())
	if d := cmp.Diff(want, counts); d != "" || err != nil {
		t.Errorf("before: %v %s", err, d)
	}
	conn := connected(t, dsn)
	eventually(t, "all to be folded", func() bool {
		if err := a.foldAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		return numberOf(t, conn, `SELECT count(*) FROM `+a.Schema()+`.redrive_events
			WHERE seq > (SELECT value FROM `+a.Schema()+`.redrive_meta WHERE key = 'folded')`) == 0
	})
	if n := numberOf(t, conn, `SELECT sum(n)::bigint FROM `+a.Schema()+`.redrive_counters`); n != writers*each {
		t.Errorf("%d in the table of the counters", n)
	}
	if counts, err = a.Counts(t.Context()); err != nil || !cmp.Equal(want, counts) {
		t.Errorf("after: %v, %v", counts, err)
	}
}

// Figures are the same before they are folded, after that, and when they are folded while
// their events are removed.
//
// part of: M6
func TestM6_FoldingChangesNoFigures(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	s, dsn := freshAt(t, &Options{Clock: clock.Now})
	conn := connected(t, dsn)
	run(t, conn, `UPDATE `+s.Schema()+`.redrive_meta SET value = 1::bigint << 62 WHERE key = 'folded'`) // nobody folds
	want := store.Figures{}
	work := func() {
		id, err := s.ReserveIDs(t.Context(), 2)
		if err != nil {
			t.Fatal(err)
		}
		n := job.New{ID: id, Kind: "mail", Queue: "default", Priority: 2}
		other := n
		other.ID, other.Kind = id+1, "bill"
		if _, err := s.Enqueue(t.Context(), []job.New{n, other}); err != nil {
			t.Fatal(err)
		}
		answer, err := s.Exchange(t.Context(), store.Exchange{Holder: "w", Lease: time.Minute, Want: []store.Want{{Queue: "default", Max: 1,
			Kinds: []store.KindWant{{Kind: "mail", Max: 1, MaxCrashes: 2}}}}})
		if err != nil || len(answer.Claims) != 1 {
			t.Fatalf("%d claims, want 1; error %v", len(answer.Claims), err)
		}
		clock.Advance(time.Second)
		c := answer.Claims[0]
		_, err = s.Exchange(t.Context(), store.Exchange{Holder: "w", Lease: time.Minute, Settle: []job.Outcome{{ID: c.ID, Token: c.Token, Cause: job.Failed,
			To: job.Dead, Reason: job.NonRetriable, Failure: &job.Failure{How: job.ByError, Class: "Bug", Message: "no"}}}})
		if err != nil {
			t.Fatal(err)
		}
		want.Add(&store.Figures{Enqueued: 2, Started: 1, Failed: 1, Dead: 1, RunTime: 1_000_000})
	}
	since := job.At(clock.Now())
	check := func(when string) {
		t.Helper()
		for _, q := range []store.SeriesQuery{
			{Since: since, Step: 24 * time.Hour}, {Since: since, Step: 1440 * time.Minute, Queue: "default"}, {Since: since, Step: 24 * time.Hour, Queue: "default"},
		} {
			points, err := s.Series(t.Context(), q)
			if d := cmp.Diff([]store.Point{{At: since, Figures: want}}, points); d != "" || err != nil {
				t.Errorf("%s: series of %+v: error %v, difference (-want +got):\n%s", when, q, err, d)
			}
		}
		points, err := s.Series(t.Context(), store.SeriesQuery{Since: since, Step: 24 * time.Hour, By: store.ByClass, Kind: "mail"})
		if d := cmp.Diff([]store.Point{{At: since, Name: "Bug", Figures: store.Figures{Failed: want.Failed, Dead: want.Dead}}}, points); d != "" || err != nil {
			t.Errorf("%s: series by class: error %v, difference (-want +got):\n%s", when, err, d)
		}
	}
	rows := `SELECT count(*) FROM ` + s.Schema() + `.redrive_figures`
	work()
	clock.Advance(time.Minute)
	work()
	run(t, conn, `UPDATE `+s.Schema()+`.redrive_meta SET value = 0 WHERE key = 'folded'`)
	check("before folding, or after it")
	if err := s.foldAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := numberOf(t, conn, rows); n != 9 { // two minutes and an hour, of two lanes and of both together
		t.Errorf("%d rows of figures after folding, want 9", n)
	}
	check("after folding")
	work()
	clock.Advance(time.Hour)
	work()
	check("while a part is folded")
	clock.Advance(time.Hour)
	if _, err := s.Sweep(t.Context(), store.Retention{Events: time.Minute}, store.SweepMax); err != nil {
		t.Fatal(err)
	}
	check("after the events were removed")
}

// A reader who goes on from the last event that it has seen misses none, however
// late a transaction with a lower number commits.
//
// part of: N6
func TestN6_LateCommitsAreNotMissed(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	late := connected(t, dsn)
	slow, err := late.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first, second := newJob(t, s), newJob(t, s)
	if _, err := s.EnqueueTx(t.Context(), Tx(slow), []job.New{first}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Enqueue(t.Context(), []job.New{second}); err != nil {
		t.Fatal(err)
	}
	after, seen := event.Cursor{}, map[job.ID]int{}
	follow := func() {
		events, err := s.Events(t.Context(), after, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			after = e.Cursor
			seen[e.Job]++
		}
	}
	if follow(); len(seen) != 0 {
		t.Errorf("events beside an older transaction: %v", seen)
	}
	if err := slow.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the events", func() bool { follow(); return seen[second.ID] > 0 })
	if seen[first.ID] != 1 || seen[second.ID] != 1 {
		t.Errorf("%v, want one of %s and of %s", seen, first.ID, second.ID)
	}
}

// The numbers of events go on where a backup was restored into a server whose
// transactions have lower ones.
//
// part of: N6, Q10
func TestN6_EventsGoOnAfterARestore(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	n := newJob(t, s)
	if _, err := s.Enqueue(t.Context(), []job.New{n}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	conn := connected(t, dsn)
	run(t, conn, `UPDATE `+s.Schema()+`.redrive_events SET seq = seq + (1000000::bigint << 20)`)
	before := numberOf(t, conn, `SELECT max(seq) FROM `+s.Schema()+`.redrive_events`)
	s = opened(t, dsn, &Options{Schema: s.Schema()})
	if _, err := s.Cancel(t.Context(), store.By{Actor: "test"}, []job.ID{n.ID}); err != nil {
		t.Fatal(err)
	}
	if after := numberOf(t, conn, `SELECT max(seq) FROM `+s.Schema()+`.redrive_events`); after <= before {
		t.Errorf("the event after %d is %d", before, after)
	}
	eventually(t, "the event", func() bool {
		events, err := s.Events(t.Context(), event.Cursor{Seq: before, Index: 1 << 30}, 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(events) == 1
	})
}

// So they do where the backup lacks the events that were there: those that come now
// are folded, too.
//
// part of: N6, Q10
func TestN6_EventsGoOnAfterARestoreWithoutThem(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	added(t, s)
	conn := connected(t, dsn)
	unfolded := `SELECT count(*) FROM ` + s.Schema() + `.redrive_events
		WHERE seq > (SELECT value FROM ` + s.Schema() + `.redrive_meta WHERE key = 'folded')`
	eventually(t, "the job to be counted", func() bool { return numberOf(t, conn, unfolded) == 0 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	run(t, conn, `DELETE FROM `+s.Schema()+`.redrive_events`,
		`UPDATE `+s.Schema()+`.redrive_meta SET value = value + (1000000::bigint << 20) WHERE key = 'folded'`)
	s = opened(t, dsn, &Options{Schema: s.Schema(), ReadLimit: time.Minute})
	added(t, s)
	counts, err := s.Counts(t.Context())
	want := []store.Count{{Queue: "default", Kind: "mail", State: job.Waiting, N: 2}}
	if d := cmp.Diff(want, counts); err != nil || d != "" {
		t.Errorf("counts (-want +got): %v\n%s", err, d)
	}
}

// The same holds for a process that goes on meanwhile: it finds itself on another
// server when its connections are made anew, or, behind a pooler, within a second.
//
// part of: Q10, N6
func TestN6_EventsGoOnAfterARestoreMeanwhile(t *testing.T) {
	t.Parallel()
	for _, pooled := range []bool{false, true} {
		t.Run(fmt.Sprintf("pooled=%t", pooled), func(t *testing.T) {
			t.Parallel()
			dsn, schema := pgtest.Schema(t)
			s := opened(t, setting(dsn, "application_name", schema), &Options{Schema: schema, PgBouncer: pooled})
			n := newJob(t, s)
			if _, err := s.Enqueue(t.Context(), []job.New{n}); err != nil {
				t.Fatal(err)
			}
			conn := connected(t, dsn)
			run(t, conn, `UPDATE `+schema+`.redrive_events SET seq = seq + (1000000::bigint << 20)`)
			before := numberOf(t, conn, `SELECT max(seq) FROM `+schema+`.redrive_events`)
			if pooled {
				eventually(t, "the numbers to be raised", func() bool {
					return numberOf(t, conn, `SELECT value FROM `+schema+`.redrive_meta WHERE key = 'event_base'`) > 0
				})
			} else {
				run(t, conn, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '`+schema+`'`)
			}
			eventually(t, "the store to write again", func() bool {
				answers, err := s.Cancel(t.Context(), store.By{Actor: "test"}, []job.ID{n.ID})
				return err == nil && answers[0] == nil
			})
			if after := numberOf(t, conn, `SELECT max(seq) FROM `+schema+`.redrive_events`); after <= before {
				t.Errorf("the event after %d is %d", before, after)
			}
		})
	}
}
