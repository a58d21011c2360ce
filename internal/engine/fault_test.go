package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/faultstore"
)

// The jobs that the fault tests run. There is one for each way of ending, and one that runs
// long enough for heartbeats and rescues.
const (
	succeeds  = 1 + iota
	failsOnce // fails in its first run, and succeeds in its second run a minute later
	panics    // panics in every run until its attempts are used up
	dies      // fails with a permanent error in its first run
	takesLong
	reports // reports progress, a result and a cost
	scripted
)

// script is the handler of the fault tests. It records all runs.
type script struct {
	mu   sync.Mutex
	runs map[store.Run]int
}

func (s *script) handle(ctx context.Context, r *engine.Run) error {
	s.mu.Lock()
	s.runs[store.Run{ID: r.Claim.ID, Token: r.Claim.Token}]++
	s.mu.Unlock()
	switch r.Claim.ID {
	case failsOnce:
		if r.Claim.Attempt() == 1 {
			return errors.New("once more")
		}
	case panics:
		panic("boom")
	case dies:
		return errDead
	case takesLong:
		return sleep(ctx, time.Minute)
	case reports:
		for i := range int64(5) {
			r.Progress(i, 5, "")
			r.AddCost(1)
			if err := sleep(ctx, time.Second); err != nil {
				return err
			}
		}
		return r.SetResult([]byte("done"))
	}
	return nil
}

// sleep waits for d or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// faulty wraps the store of the configuration so that its calls fail as planned.
func faulty(c *engine.Config, plan faultstore.Plan) *faultstore.Store {
	s := faultstore.New(c.Store.(store.Store), plan)
	c.Store = s
	return s
}

// play runs all jobs with a plan of faults that ends after healAfter. It fails the test
// unless every job ends in the expected state and audit finds no difference. It returns how
// often the method was called.
func play(t *testing.T, method string, plan faultstore.Plan, healAfter time.Duration) (calls int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &script{runs: map[store.Run]int{}}
		var faults *faultstore.Store
		r := newRig(t, s.handle, func(c *engine.Config) {
			faults = faulty(c, plan)
		})
		ids := r.enqueue(scripted - 1)
		r.start()
		time.Sleep(healAfter)
		faults.Set(nil)
		time.Sleep(5 * time.Minute)
		r.idle()
		calls = faults.Calls(method)
		if err := r.finish(); err != nil {
			t.Errorf("stopping the engine: got the error %v, want none", err)
		}
		r.wantState(job.Completed, ids[succeeds-1], ids[failsOnce-1], ids[takesLong-1], ids[reports-1])
		r.wantState(job.Dead, ids[panics-1], ids[dies-1])
		s.audit(t, r.store)
	})
	return calls
}

// audit compares the jobs, the counters and the failures in the store with the recorded
// runs.
func (s *script) audit(t *testing.T, st store.Store) {
	t.Helper()
	dump, err := st.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for run, n := range s.runs {
		if n != 1 {
			t.Errorf("run %d of job %d was started %d times, want once", run.Token, run.ID, n)
		}
	}
	type key struct {
		id job.ID
		of event.Type
	}
	events := map[key]int32{}
	for _, e := range dump.Events {
		events[key{e.Job, e.Type}]++
	}
	failures := map[job.ID]int32{}
	for _, f := range dump.Failures {
		failures[f.Job]++
	}
	attempts := map[job.ID]int32{succeeds: 1, failsOnce: 2, panics: attemptsMax, dies: 1, takesLong: 1, reports: 1}
	for _, j := range dump.Jobs {
		c := j.Counters
		succeeded := events[key{j.ID, event.JobSucceeded}]
		switch {
		case int64(c.Sum()) != int64(j.Token):
			t.Errorf("job %d has the token %d, want the sum of its counters %+v", j.ID, j.Token, c)
		case c.Attempts > attempts[j.ID] || c.Attempts < 1:
			t.Errorf("job %d: got %d attempts, want at least 1 and at most %d", j.ID, c.Attempts, attempts[j.ID])
		case succeeded > 1 || (succeeded == 1) != (j.State == job.Completed):
			t.Errorf("job %d is %s and has %d successful outcomes, want one for a completed job and none otherwise", j.ID, j.State, succeeded)
		case failures[j.ID] != c.Crashes+c.Attempts-succeeded:
			t.Errorf("job %d has %d failure records, want one for each failed attempt and crash in %+v", j.ID, failures[j.ID], c)
		case j.ID == reports && (string(j.Result) != "done" || j.Cost < 5):
			t.Errorf("job %d: got the result %q and the cost %d, want the result done and a cost of at least 5", j.ID, j.Result, j.Cost)
		}
	}
}

// Each call of the store fails once or for a while, before or after it has changed the data, or it
// blocks. No job may be lost, and no job may succeed twice.
func TestEveryStoreCallMayFail(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped with -short: the jobs run several hundred times")
	}
	kinds := []struct {
		name  string
		fault faultstore.Fault
	}{
		{"unavailable", faultstore.Fault{Before: store.ErrUnavailable}},
		{"full", faultstore.Fault{Before: store.ErrFull}},
		{"unknown, not done", faultstore.Fault{Before: store.ErrUnknown}},
		{"unknown, done", faultstore.Fault{After: store.ErrUnknown}},
		{"hangs", faultstore.Fault{Hang: true}},
	}
	scripts := 0
	for _, method := range []string{"Exchange", "Heartbeat", "Rescue", "Signals", "Declare", "Notify"} {
		calls := play(t, method, nil, 0)
		if calls == 0 {
			t.Fatalf("the method %s was never called, so no fault was tested; want at least one call", method)
		}
		// Later calls are all alike, because the engine then only polls.
		calls = min(calls, 25)
		for _, kind := range kinds {
			for n := range calls {
				for _, lasting := range []time.Duration{time.Minute, 0} {
					scripts++
					plan := faultstore.Nth(method, n+1, kind.fault)
					if lasting > 0 {
						plan = faultstore.From(method, n+1, kind.fault)
					}
					t.Run(fmt.Sprintf("%s/%s/call %d for %s", method, kind.name, n+1, lasting), func(t *testing.T) {
						play(t, method, plan, max(lasting, 2*time.Minute))
					})
				}
			}
		}
	}
	if scripts < 300 {
		t.Errorf("the jobs ran only %d times, want at least 300", scripts)
	}
}

// When all calls of the store fail for minutes, outcomes are kept in memory. They are
// written when the store works again.
func TestOutcomesAreKeptDuringALongOutage(t *testing.T) {
	for _, err := range []error{store.ErrFull, store.ErrUnavailable, store.ErrUnknown} {
		t.Run(err.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				logs := &logs{}
				var faults *faultstore.Store
				r := newRig(t, func(ctx context.Context, _ *engine.Run) error { return sleep(ctx, 2*time.Second) },
					func(c *engine.Config) {
						faults, c.Logger = faulty(c, nil), logs.logger()
					})
				ids := r.enqueue(8)
				r.start()
				time.Sleep(time.Second) // in this time, four jobs begin to run; they end during the outage
				faults.Set(faultstore.From("", 1, faultstore.Fault{Before: err}))
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				r.wantState(job.Running, ids[:4]...)
				r.wantState(job.Waiting, ids[4:]...)
				faults.Set(nil)
				time.Sleep(time.Minute)
				r.idle()
				r.wantState(job.Completed, ids...)
				for _, id := range ids[:4] {
					if j := r.get(id); j.Token != 1 {
						t.Errorf("job %d ran %d times, want once", id, j.Token)
					}
				}
				if began, ended := logs.count("the store fails"), logs.count("the store works again"); began != 1 || ended != 1 {
					t.Errorf("the log says %d times that the store fails and %d times that it works again, want once each", began, ended)
				}
				_ = r.finish()
			})
		})
	}
}

// proves: Q8
func TestQ8_AStopWithABrokenStoreGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := &logs{}
		var faults *faultstore.Store
		r := newRig(t, func(ctx context.Context, _ *engine.Run) error { return sleep(ctx, 2*time.Second) },
			func(c *engine.Config) {
				faults, c.Logger = faulty(c, nil), logs.logger()
			})
		r.enqueue(3)
		r.start()
		time.Sleep(time.Second)
		faults.Set(faultstore.From("", 1, faultstore.Fault{Hang: true}))
		began := time.Now()
		r.stop()
		var returned *engine.Returned
		if err := <-r.ended; !errors.As(err, &returned) || returned.Unsaved != 3 {
			t.Errorf("Run returned the error %v, want an error with 3 unsaved outcomes", err)
		}
		if took := time.Since(began); took != 11*time.Second {
			t.Errorf("the stop took %s, want 11s: one for the runs and ten for the outcomes", took)
		}
		if logs.count("without having written all outcomes") != 1 {
			t.Error("the log has no line about the outcomes that were given up, want one")
		}
	})
}

// proves: Q4
func TestQ4_AWorkerThatLostItsLeaseCannotWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var faults *faultstore.Store
		ended := make(chan error, 1)
		slow := newRig(t, func(ctx context.Context, r *engine.Run) error {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			time.Sleep(4 * time.Minute) // The handler ignores its context. Another worker runs the job meanwhile.
			r.Progress(1, 1, "too late")
			return r.SetResult([]byte("slow"))
		}, func(c *engine.Config) {
			faults, c.Holder, c.Kinds[0].KillGrace = faulty(c, nil), "slow", 10*time.Minute
		})
		ids := slow.enqueue(1)
		slow.start()
		time.Sleep(time.Second)
		// From now on all calls fail.
		faults.Set(faultstore.From("", 1, faultstore.Fault{Before: store.ErrUnavailable}))
		began := time.Now()
		if err := <-ended; err != store.ErrLeaseLost {
			t.Errorf("the context ended with the cause %v, want ErrLeaseLost", err)
		}
		if took := time.Since(began); took > 7*time.Second {
			t.Errorf("the context ended after %s, want at most 7s, which is two thirds of the lease", took)
		}

		quick := newRig(t, func(_ context.Context, r *engine.Run) error { return r.SetResult([]byte("quick")) },
			func(c *engine.Config) { c.Store, c.Holder = slow.store, "quick" })
		quick.start()
		time.Sleep(time.Minute)
		slow.wantState(job.Completed, ids...)
		faults.Set(nil)
		time.Sleep(5 * time.Minute)
		slow.idle()
		if j := slow.get(ids[0]); string(j.Result) != "quick" || j.Token != 2 || j.Counters.Crashes != 1 {
			t.Errorf("got the result %q after %d runs and %d crashes, want the result of the second run and one crash", j.Result, j.Token, j.Counters.Crashes)
		}
		if n := len(slow.failures(ids[0])); n != 1 {
			t.Errorf("got %d failures, want only the crash", n)
		}
		_, _ = slow.finish(), quick.finish()
	})
}

// A run may succeed after its lease counts as lost. Its success is written if no other
// worker has claimed the job. A run that fails then hands the job back without a crash.
func TestALeaseThatCountsAsLostMayStillBeHeld(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want job.State
	}{{"success", nil, job.Completed}, {"failure", errDead, job.Waiting}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(ctx context.Context, _ *engine.Run) error { <-ctx.Done(); return tt.err },
					func(c *engine.Config) {
						faulty(c, faultstore.From("Heartbeat", 1, faultstore.Fault{Before: store.ErrUnavailable}))
					})
				ids := r.enqueue(1)
				r.start()
				time.Sleep(6 * time.Second)
				paused := store.Paused // The queue is paused so that the job is not claimed again.
				if _, err := r.store.SetQueue(t.Context(), store.By{Actor: "test"}, store.QueueChange{Name: "q", Mode: &paused}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Second)
				synctest.Wait()
				r.wantState(tt.want, ids...)
				if c := r.get(ids[0]).Counters; c.Crashes != 0 {
					t.Errorf("got the counters %+v, want no crash", c)
				}
				_ = r.finish()
			})
		})
	}
}
