package redrive_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// apart is a pair of clients on one store. The last chances of the first client run in the second one.
type apart struct {
	*testing.T
	store store.Store
	first *redrive.Client

	mu    sync.Mutex
	runs  []string // for each run: the client that ran it, and its job
	other func(ctx context.Context, r redrive.SeparateRun) error
}

func newApart(t *testing.T, handle func(ctx context.Context, client string, n int) error) *apart {
	t.Helper()
	a := &apart{T: t, store: memory.New(memory.Options{})}
	client := func(name string, separate func(context.Context, redrive.SeparateRun) error) *redrive.Client {
		c, err := redrive.New(a.store, &redrive.Config{Name: name, TempDir: t.TempDir(), Separate: separate, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		redrive.Handle(c, redrive.Kind[int]("k"), func(ctx context.Context, j *redrive.Job[int]) error {
			a.mu.Lock()
			a.runs = append(a.runs, name)
			a.mu.Unlock()
			return handle(ctx, name, j.Args)
		}, &redrive.HandlerOptions{MaxCrashes: 2})
		return c
	}
	a.other = func(ctx context.Context, r redrive.SeparateRun) error {
		return client("second", nil).RunSeparate(ctx, r.Data)
	}
	a.first = client("first", func(ctx context.Context, r redrive.SeparateRun) error { return a.other(ctx, r) })
	return a
}

// crashed enqueues a job that has crashed once.
func (a *apart) crashed(n int, o *redrive.Options) job.ID {
	a.Helper()
	receipt, err := a.first.Enqueue(a.Context(), redrive.Kind[int]("k").New(n, o))
	if err != nil {
		a.Fatal(err)
	}
	answer, err := a.store.Exchange(a.Context(), store.Exchange{Holder: "gone", Lease: time.Second, Want: []store.Want{
		{Queue: redrive.DefaultQueue, Max: 1, Kinds: []store.KindWant{{Kind: "k", Max: 1, MaxCrashes: 2}}},
	}})
	if err != nil || len(answer.Claims) != 1 {
		a.Fatalf("got the claims %v and the error %v, want one claim", answer.Claims, err)
	}
	pass(2 * time.Second)
	if lost, err := a.store.Rescue(a.Context(), 10); err != nil || len(lost.Jobs) != 1 {
		a.Fatalf("got the lost runs %v and the error %v, want one", lost.Jobs, err)
	}
	pass(time.Minute)
	return receipt.ID
}

func (a *apart) job(id job.ID) job.Job {
	a.Helper()
	j, err := a.first.Get(a.Context(), id)
	if err != nil {
		a.Fatal(err)
	}
	return j
}

// The last chance of a job runs in another process, with its result, and the other slots of the first
// process work meanwhile.
//
// part of: Q3
func TestQ3_ALastChanceRunsInAnotherProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newApart(t, func(ctx context.Context, client string, n int) error {
			if n == 1 {
				pass(time.Hour)
			}
			return ctx.Err()
		})
		id := a.crashed(1, nil)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.first.Run(ctx) }()
		pass(time.Minute)
		if j := a.job(id); j.State != job.Running || j.Holder != "first" || j.Token != 2 {
			t.Errorf("the job is %s by %q in run %d, want it running by the first process in run 2", j.State, j.Holder, j.Token)
		}
		receipt, err := a.first.Enqueue(t.Context(), redrive.Kind[int]("k").New(2, nil))
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if j := a.job(receipt.ID); j.State != job.Completed {
			t.Errorf("another job is %s beside the last chance, want completed", j.State)
		}
		pass(2 * time.Hour)
		if j := a.job(id); j.State != job.Completed || j.Counters.Attempts != 1 || j.Counters.Crashes != 1 || j.Token != 2 {
			t.Errorf("the job is %s in run %d with %+v, want completed in run 2 with one attempt", j.State, j.Token, j.Counters)
		}
		if !slices.Equal(a.runs, []string{"second", "first"}) {
			t.Errorf("the jobs ran in the clients %v, want the last chance in the second one", a.runs)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// When the other process dies with the run, the job is dead after exactly its limit of crashes. When
// it dies before the handler has begun, no crash is counted.
//
// part of: Q3
func TestQ3_OnlyABegunRunOfAnotherProcessCrashes(t *testing.T) {
	t.Parallel()
	for name, begins := range map[string]bool{"begun": true, "not begun": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := newApart(t, func(context.Context, string, int) error { return nil })
				id, deaths := a.crashed(1, nil), 0
				second := a.other
				a.other = func(ctx context.Context, r redrive.SeparateRun) error {
					if deaths++; deaths > 1 {
						return second(ctx, r)
					}
					if begins { // as the other process does just before the handler
						beat := store.Beat{Lease: 10 * time.Second, Runs: []store.Run{{ID: id, Token: 2}}, Begin: true}
						if status, err := a.store.Heartbeat(ctx, beat); err != nil || !status[0].Held {
							t.Errorf("got the status %v and the error %v, want a held lease", status, err)
						}
					}
					return nil // the process was killed
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- a.first.Run(ctx) }()
				pass(10 * time.Minute)
				want := job.Completed
				if begins {
					want = job.Dead
				}
				if j := a.job(id); j.State != want {
					t.Errorf("the job is %s with %+v, want %s", j.State, j.Counters, want)
				}
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A process that comes too late does nothing: its lease is lost, or the deadline of the job is over.
//
// part of: Q3, D1
func TestQ3_AnotherProcessMayComeTooLate(t *testing.T) {
	t.Parallel()
	for name, hasDeadline := range map[string]bool{"lease": false, "deadline": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				late, o := 15*time.Second, (*redrive.Options)(nil) // longer than the lease
				if hasDeadline {
					o = &redrive.Options{Deadline: time.Now().Add(2*time.Minute + 2*time.Second)}
					late = 5 * time.Second // shorter than the lease
				}
				ran := false
				a := newApart(t, func(context.Context, string, int) error { ran = true; return nil })
				id := a.crashed(1, o)
				if hasDeadline {
					pass(59 * time.Second)
				}
				second := a.other
				a.other = func(ctx context.Context, r redrive.SeparateRun) error {
					pass(late)
					return second(ctx, r)
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- a.first.Run(ctx) }()
				pass(late + time.Second)
				if j := a.job(id); ran || j.Counters.Crashes != 1 || j.Counters.Attempts != 0 {
					t.Errorf("the handler was called: %t; the job is %s with %+v, want no run and no crash", ran, j.State, j.Counters)
				}
				stop()
				<-ended
			})
		})
	}
}

// part of: X3
func TestRunSeparate_RefusesOtherData(t *testing.T) {
	t.Parallel()
	a := newApart(t, func(context.Context, string, int) error { return nil })
	if err := a.first.RunSeparate(t.Context(), []byte("{")); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("got the error %v, want an error that is ErrInvalid", err)
	}
}
