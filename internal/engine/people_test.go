package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// proves: Q7
func TestQ7_PauseAndConcurrencyTakeEffectAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int64
		r := newRig(t, func(ctx context.Context, _ *engine.Run) error {
			running.Add(1)
			defer running.Add(-1)
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
			}
			return nil
		}, nil)
		set := func(c store.QueueChange) {
			c.Name = "q"
			if _, err := r.store.SetQueue(t.Context(), store.By{Actor: "test"}, c); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		r.enqueue(100)
		r.start()
		time.Sleep(time.Second)
		want := func(n int64, when string) {
			t.Helper()
			if got := running.Load(); got != n {
				t.Errorf("%s: got %d running jobs, want %d", when, got, n)
			}
		}
		want(4, "at first")
		eight, one, zero := 8, 1, 0
		set(store.QueueChange{Workers: &eight})
		want(8, "with eight workers")
		set(store.QueueChange{Workers: &one})
		want(8, "what runs goes on")
		time.Sleep(time.Minute)
		want(1, "with one worker")
		paused, open := store.Paused, store.Open
		set(store.QueueChange{Mode: &paused, Workers: &zero})
		time.Sleep(time.Minute)
		want(0, "while paused")
		set(store.QueueChange{Mode: &open})
		want(4, "when resumed")
		_ = r.finish()
	})
}

func TestACancelledJobIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(ctx context.Context, run *engine.Run) error {
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), engine.ErrCancelled) || !errors.Is(context.Cause(ctx), context.Canceled) {
				t.Errorf("got the cause %v, want ErrCancelled", context.Cause(ctx))
			}
			if run.Claim.ID == 2 {
				return nil // A success after the request to cancel is stored as a success.
			}
			return ctx.Err()
		}, nil)
		ids := r.enqueue(2)
		r.start()
		synctest.Wait()
		began := time.Now()
		if _, err := r.store.Cancel(t.Context(), store.By{Actor: "test"}, ids); err != nil {
			t.Fatal(err)
		}
		r.idle()
		if took := time.Since(began); took > 50*time.Millisecond {
			t.Errorf("the cancellation took %s, want at most 50 ms", took)
		}
		r.wantState(job.Cancelled, ids[0])
		r.wantState(job.Completed, ids[1])
		_ = r.finish()
	})
}
