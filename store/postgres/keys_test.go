package postgres

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Calls that share a transaction get the answers that they would get alone: one with a conflict is refused
// whole, its keys are free for the others, and the others are written.
//
// part of: I1
func TestI1_AConflictRefusesOneCallOfAGroup(t *testing.T) {
	t.Parallel()
	s := fresh(t, nil)
	keyed := func(key, digest string) job.New {
		n := plainJob(t, s)
		n.Key, n.Digest = key, []byte(digest)
		return n
	}
	for range 2 { // the lane is there, and known
		if _, err := s.Enqueue(t.Context(), []job.New{plainJob(t, s)}); err != nil {
			t.Fatal(err)
		}
	}
	known := keyed("known", "d")
	if _, err := s.Enqueue(t.Context(), []job.New{known}); err != nil {
		t.Fatal(err)
	}
	calls := [][]job.New{
		{keyed("a", "1"), keyed("known", "other")}, // refused: a is free
		{keyed("a", "2"), keyed("b", "1")},         // not a conflict: the first is not written
		{keyed("b", "other")},                      // refused: b is of the second
		{keyed("c", "1"), keyed("known", "d"), keyed("b", "1")},
		{plainJob(t, s)},
	}
	group := make([]*enqueueCall, len(calls))
	for i, jobs := range calls {
		_, waits := measure(jobs)
		group[i] = &enqueueCall{ctx: t.Context(), jobs: jobs, waits: waits, answer: make(chan enqueueAnswer, 1)}
	}
	s.serve(group)
	answers := make([]enqueueAnswer, len(calls))
	for i, call := range group {
		answers[i] = <-call.answer
	}
	for i, holder := range map[int]job.ID{0: known.ID, 2: calls[1][1].ID} {
		if c, ok := errors.AsType[*store.KeyConflict](answers[i].err); !ok || c.ID != holder {
			t.Errorf("call %d: got the error %v, want a conflict with job %d", i, answers[i].err, holder)
		}
	}
	want := map[int][]job.Receipt{
		1: receipts(calls[1]),
		3: {{ID: calls[3][0].ID, State: job.Waiting}, {ID: known.ID, Existing: true, State: job.Waiting}, {ID: calls[1][1].ID, Existing: true, State: job.Waiting}},
		4: receipts(calls[4]),
	}
	for i, receipts := range want {
		if got := answers[i]; got.err != nil || fmt.Sprint(got.receipts) != fmt.Sprint(receipts) {
			t.Errorf("call %d: got the receipts %+v, error %v, want %+v", i, got.receipts, got.err, receipts)
		}
	}
	if d, err := s.Dump(t.Context()); err != nil || len(d.Jobs) != 3+2+1+1 {
		t.Errorf("%d jobs, error %v, want 7", len(d.Jobs), err)
	}
}

// Calls with the same keys in different orders, in several processes, never wait for each other in a
// circle, and each key has one job.
//
// part of: I1
func TestI1_CallsWithTheSameKeysDoNotDeadlock(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	stores := []*Store{s, opened(t, dsn, &Options{Schema: s.Schema()})}
	admin := connected(t, dsn)
	const callers, keys, rounds = 8, 40, 10
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for round := range rounds {
				jobs := make([]job.New, keys)
				for i := range jobs {
					k := (i*7 + c*11) % keys
					if c%2 == 1 {
						k = keys - 1 - i
					}
					jobs[i] = plainJob(t, s)
					jobs[i].Key, jobs[i].Digest = fmt.Sprint(round, "-", k), []byte("d")
				}
				if _, err := stores[c%2].Enqueue(t.Context(), jobs); err != nil {
					t.Errorf("caller %d, round %d: %v", c, round, err)
				}
			}
		})
	}
	all.Wait()
	if n := rowsOf(t, admin, s, "jobs", "true"); n != keys*rounds {
		t.Errorf("%d jobs, want one for each of %d keys", n, keys*rounds)
	}
	if n := numberOf(t, admin, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`); n > 0 {
		t.Logf("%d deadlocks in the database, of all tests that use it", n)
	}
}
