package postgres

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// piled makes calls wait until all are there, and lets them go together. It
// returns their errors.
func piled(t *testing.T, s *Store, dsn string, calls [][]job.New) []error {
	t.Helper()
	admin, locker := connected(t, dsn), connected(t, dsn)
	run(t, locker, `BEGIN`, `LOCK TABLE `+s.Schema()+`.redrive_jobs IN SHARE MODE`)
	var all sync.WaitGroup
	for i := range enqueuers / 2 {
		n := plainJob(t, s)
		all.Go(func() {
			if _, err := s.Enqueue(t.Context(), []job.New{n}); err != nil {
				t.Error(err)
			}
		})
		eventually(t, "a call that waits", func() bool { return numberOf(t, admin, waitingFor(s, "redrive_jobs")) == int64(i+1) })
	}
	errs := make([]error, len(calls))
	limit, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	for i := range calls {
		all.Go(func() { _, errs[i] = s.Enqueue(limit, calls[i]) })
	}
	eventually(t, "all calls", func() bool { return len(s.intake.plain) == len(calls) })
	run(t, locker, `COMMIT`)
	all.Wait()
	return errs
}

// One call that is not like the others gets a transaction of its own, and the
// others share theirs.
func TestOneOddCallLeavesTheOthersTogether(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, &Options{StatementTimeout: time.Minute})
	if _, err := s.Enqueue(t.Context(), []job.New{plainJob(t, s)}); err != nil {
		t.Fatal(err)
	}
	n := plainJob(t, s)
	n.Queue = "leaving"
	if _, err := s.Enqueue(t.Context(), []job.New{n}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetQueue(t.Context(), store.By{Actor: "ann", Reason: "test"}, store.QueueChange{Name: "leaving",
		Mode: new(store.Draining)}); err != nil {
		t.Fatal(err)
	}
	const leaving, lane = 20, 40
	calls := make([][]job.New, 100)
	for i := range calls {
		n := plainJob(t, s)
		switch i {
		case leaving:
			n.Queue = "leaving"
		case lane:
			n.Kind = "rare"
		}
		calls[i] = []job.New{n}
	}
	for i, err := range piled(t, s, dsn, calls) {
		if i == leaving && !errors.Is(err, store.ErrDraining) || i != leaving && err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	// The first two, those that wait, and the new lane's.
	commits := numberOf(t, connected(t, dsn), `SELECT count(DISTINCT xmin::text) FROM `+s.Schema()+`.redrive_jobs`)
	if most := int64(2 + 2 + enqueuers + 1); commits > most {
		t.Errorf("%d transactions for %d calls, want %d at most", commits, len(calls), most)
	}
}

// A call that was too big for the group before it is served though no other comes.
func TestACallThatWasLeftOverIsServed(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, &Options{StatementTimeout: time.Minute})
	s.intake.bytes = 6 << 10
	for range 2 {
		if _, err := s.Enqueue(t.Context(), []job.New{plainJob(t, s)}); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		for i, err := range piled(t, s, dsn, heavy(t, s, 2)) {
			if err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
		}
	}
}

// What goes to the server in one transaction is bounded by bytes, too.
func TestGroupsAreBoundedByBytes(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, &Options{StatementTimeout: time.Minute})
	if s.intake.bytes != bytesMax || bytesMax > 1<<28 {
		t.Errorf("the bound is %d bytes", s.intake.bytes)
	}
	s.intake.bytes = 20 << 10
	for range 2 {
		if _, err := s.Enqueue(t.Context(), []job.New{plainJob(t, s)}); err != nil {
			t.Fatal(err)
		}
	}
	for i, err := range piled(t, s, dsn, heavy(t, s, 60)) {
		if err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	admin := connected(t, dsn)
	if n := numberOf(t, admin, `SELECT max(n) FROM (SELECT sum(length(payload)) AS n FROM `+s.Schema()+
		`.redrive_bodies GROUP BY xmin::text) t`); n > 20<<10 || n < 8<<10 {
		t.Errorf("%d bytes in one transaction", n)
	}
	large := make([]job.New, 20) // more than a group may have, in one call
	for i := range large {
		large[i] = plainJob(t, s)
		large[i].Payload = make([]byte, 4<<10)
	}
	if _, err := s.Enqueue(t.Context(), large); err != nil {
		t.Error(err)
	}
}

// heavy returns calls of one job each, whose payload has 4 KiB.
func heavy(t *testing.T, s *Store, n int) [][]job.New {
	t.Helper()
	calls := make([][]job.New, n)
	for i := range calls {
		j := plainJob(t, s)
		j.Payload = make([]byte, 4<<10)
		calls[i] = []job.New{j}
	}
	return calls
}
