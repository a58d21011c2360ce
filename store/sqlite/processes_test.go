package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

// Two writers on one file behave like two processes. Together they claim every job
// once.
//
// proves: Q10, Q3
func TestQ10_TwoWritersOnOneFile(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped with -short, because this test takes seconds")
	}
	const jobs = 400
	path := filepath.Join(t.TempDir(), "jobs.db")
	var mu sync.Mutex
	claimed := map[job.ID]int{}
	var all sync.WaitGroup
	for range 2 {
		s, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		all.Go(func() {
			for range jobs / 2 {
				if _, err := s.Enqueue(t.Context(), []job.New{newJob(t, s)}); err != nil {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			for {
				x, err := s.Exchange(t.Context(), store.Exchange{Holder: "h", Lease: time.Minute, Want: []store.Want{
					{Queue: "default", Max: 7, Kinds: []store.KindWant{{Kind: "mail", Max: 7, MaxCrashes: 2}}},
				}})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, c := range x.Claims {
					claimed[c.ID]++
				}
				done := len(claimed) == jobs
				mu.Unlock()
				if done {
					return
				}
			}
		})
	}
	all.Wait()
	for id, n := range claimed {
		if n != 1 {
			t.Errorf("job %d was claimed %d times, want 1", id, n)
		}
	}
}

// A commit of another process wakes a waiting caller.
//
// proves: Q10
// part of: Q7
func TestQ10_CommitsOfOthersWake(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "jobs.db")
	a, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := a.Declare(t.Context(), []string{"default"}); err != nil {
		t.Fatal(err)
	}
	woken := make(chan struct{}, 1)
	defer b.Notify(woken)()
	mode := store.Paused
	if _, err := a.SetQueue(t.Context(), store.By{Actor: "ann"}, store.QueueChange{Name: "default", Mode: &mode}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		select {
		case <-woken:
		case <-ctx.Done():
			t.Fatal("a caller of Notify got no notification after the commit of another process, want one")
		}
		signals, err := b.Signals(ctx, "h")
		if err != nil {
			t.Fatal(err)
		}
		if len(signals.Queues) == 1 && signals.Queues[0].Mode == store.Paused {
			return
		}
	}
}

// Writes to a file that was deleted or replaced fail, because such writes would be lost when the
// process ends.
func TestAReplacedFileTakesNothing(t *testing.T) {
	t.Parallel()
	s := openTemp(t, &sqlite.Options{WatchEvery: time.Millisecond})
	if _, err := s.ReserveIDs(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.Path(), s.Path()+".old"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		_, err := s.ReserveIDs(ctx, 1)
		if errors.Is(err, store.ErrUnavailable) && strings.Contains(err.Error(), "replaced") {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Error("a write to a file that was replaced returned no error, want an error")
}

// When another process has taken over a run, this process cannot write an outcome of the run,
// even though it remembers its claim of the run.
//
// proves: Q4
func TestQ4_AnotherProcessTookTheJob(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "jobs.db")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var stores [2]*sqlite.Store
	for i := range stores {
		s, err := sqlite.Open(t.Context(), path, &sqlite.Options{Clock: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		stores[i] = s
	}
	sleeper, other := stores[0], stores[1]
	if _, err := sleeper.Enqueue(t.Context(), []job.New{newJob(t, sleeper)}); err != nil {
		t.Fatal(err)
	}
	old := claimOne(t, sleeper)
	now = now.Add(2 * time.Minute) // a time after the end of the lease
	if r, err := other.Rescue(t.Context(), 10); err != nil || len(r.Jobs) != 1 {
		t.Fatalf("rescue after the end of the lease: got %v, error %v; want one rescued job", r, err)
	}
	current := claimOne(t, other)
	settle := func(s *sqlite.Store, token job.Token) error {
		x, err := s.Exchange(t.Context(), store.Exchange{Holder: "h", Lease: time.Minute, Settle: []job.Outcome{
			{ID: old.ID, Token: token, Cause: job.Succeeded, To: job.Completed},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return x.Settled[0]
	}
	if err := settle(sleeper, old.Token); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("outcome of the old run: got error %v, want ErrLeaseLost", err)
	}
	if j, err := other.Get(t.Context(), old.ID); err != nil || j.State != job.Running || j.Token != current.Token {
		t.Fatalf("after the refused outcome: got job state %v with run %d, error %v; want running with run %d", j.State, j.Token, err, current.Token)
	}
	if err := settle(other, current.Token); err != nil {
		t.Errorf("outcome of the current run: got error %v, want none", err)
	}
}
