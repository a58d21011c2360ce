package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// proves: Q8
func TestQ8_RunningJobsFinishWithinTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(context.Context, *engine.Run) error { time.Sleep(20 * time.Second); return nil }, nil)
		ids := r.enqueue(10) // The engine runs four of these jobs at a time.
		r.start()
		synctest.Wait()
		if err := r.finish(); err != nil {
			t.Errorf("a stop within the grace time: got the error %v, want none", err)
		}
		r.wantState(job.Completed, ids[:4]...)
		r.wantState(job.Waiting, ids[4:]...)
		for _, id := range ids[4:] {
			if j := r.get(id); j.Counters.Attempts != 0 {
				t.Errorf("job %d used up an attempt, want none", id)
			}
		}
	})
}

// proves: Q8
func TestQ8_RunsThatExceedTheGraceAreHandedBackWithoutAnAttempt(t *testing.T) {
	for _, tt := range []struct {
		name string
		halt bool
		want time.Duration
	}{{"grace", false, 30 * time.Second}, {"second signal", true, 0}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(ctx context.Context, run *engine.Run) error {
					if run.Claim.ID > 2 {
						return nil
					}
					<-ctx.Done()
					if run.Claim.ID == 2 {
						return nil // This run ends within the grace time.
					}
					return fmt.Errorf("the dependency answered 503: %w", context.Cause(ctx))
				}, nil)
				ids := r.enqueue(4)
				r.start()
				synctest.Wait()
				began := time.Now()
				r.stop()
				if tt.halt {
					r.engine.Halt()
				}
				var returned *engine.Returned
				if err := <-r.ended; !errors.As(err, &returned) || returned.Jobs != 1 || returned.Unsaved != 0 {
					t.Errorf("Run returned the error %v, want an error with 1 job handed back", err)
				}
				if took := time.Since(began); took != tt.want {
					t.Errorf("the stop took %s, want %s", took, tt.want)
				}
				r.wantState(job.Completed, ids[1:]...)
				r.wantState(job.Waiting, ids[0])
				if c := r.get(ids[0]).Counters; c.Attempts != 0 || c.Interrupts != 1 {
					t.Errorf("got the counters %+v, want one interrupt and no attempt", c)
				}
			})
		})
	}
}

// proves: Q3
func TestQ3_ALongRunIsNotRescued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := &logs{}
		r := newRig(t, func(context.Context, *engine.Run) error { time.Sleep(40 * time.Minute); return nil },
			func(c *engine.Config) { c.Logger = logs.logger() })
		ids := r.enqueue(1)
		r.start()
		time.Sleep(41 * time.Minute)
		r.idle()
		r.wantState(job.Completed, ids...)
		if j := r.get(ids[0]); j.Token != 1 || logs.count("rescued") != 0 {
			t.Errorf("got %d runs and %d rescues, want 1 run and no rescue", j.Token, logs.count("rescued"))
		}
		_ = r.finish()
	})
}

// proves: Q3
func TestQ3_ACrashingJobIsRescuedUntilItsCrashLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := &logs{}
		r := newRig(t, func(context.Context, *engine.Run) error { return nil }, func(c *engine.Config) {
			c.Logger = logs.logger()
			c.Queues[0].Name = "elsewhere" // The engine's queue has no jobs, so the engine only rescues.
		})
		ids := r.enqueue(1)
		r.start()
		// crash acts as a worker that claims the job, begins its run and then disappears.
		crash := func() {
			answer, err := r.store.Exchange(t.Context(), store.Exchange{Holder: "gone", Lease: 10 * time.Second, Want: []store.Want{
				{Queue: "q", Max: 1, Kinds: []store.KindWant{{Kind: "k", Max: 1, MaxCrashes: 2}}},
			}})
			if err != nil || len(answer.Claims) != 1 {
				t.Fatalf("got the claims %v and the error %v, want one claim", answer.Claims, err)
			}
			beat := store.Beat{Lease: 10 * time.Second, Runs: []store.Run{{ID: ids[0], Token: answer.Claims[0].Token}}, Begin: true}
			if status, err := r.store.Heartbeat(t.Context(), beat); err != nil || !status[0].Held {
				t.Fatalf("got the status %v and the error %v for a run that begins, want a status with Held true", status, err)
			}
			time.Sleep(41 * time.Second) // The lease ends, and the next rescue follows.
			synctest.Wait()
		}
		crash()
		if c := r.get(ids[0]).Counters; c.Attempts != 0 || c.Crashes != 1 {
			t.Errorf("got the counters %+v, want one crash and no attempt", c)
		}
		r.wantState(job.Waiting, ids...)
		logs.want(t, "WARN", "job rescued", "1", `"crashes":1`, `"worker":"gone"`)
		crash()
		r.wantState(job.Dead, ids...)
		if j := r.get(ids[0]); j.Reason != job.Stalled {
			t.Errorf("got the reason %q, want stalled", j.Reason)
		}
		logs.want(t, "WARN", "job rescued", "1", `"crashes":2`, `"state":"dead"`)
		logs.want(t, "ERROR", "job is dead", "1", `"crashes":2`, `"reason":"stalled"`)
		_ = r.finish()
	})
}

// tardy is a store that answers a claim late: only after the context of the call has ended.
type tardy struct{ store.Worker }

func (s tardy) Exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	out, err := s.Worker.Exchange(ctx, x)
	if len(out.Claims) > 0 {
		<-ctx.Done()
	}
	return out, err
}

// part of: Q8
func TestQ8_JobsClaimedAfterTheStopAreHandedBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(context.Context, *engine.Run) error { t.Error("a job ran after the stop, want no run"); return nil },
			func(c *engine.Config) { c.Store = tardy{c.Store}; c.Lease = time.Minute })
		ids := r.enqueue(2)
		r.start()
		synctest.Wait()
		if err := r.finish(); err != nil {
			t.Error(err)
		}
		r.wantState(job.Waiting, ids...)
		for _, id := range ids {
			if c := r.get(id).Counters; c.Crashes != 0 || c.Interrupts != 1 {
				t.Errorf("job %d: got the counters %+v, want one interrupt and no crash", id, c)
			}
		}
	})
}
