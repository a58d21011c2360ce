package redrive_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// A bulk action must notice that other clients use the store. In this test no job is running when a
// step reads the counters, so a step can only see how the counters have changed.
//
// part of: D3
func TestD3_ABulkActMakesRoomWhileOthersWork(t *testing.T) {
	t.Parallel()
	const dead, gentle, beside, pause = 1_200, 50, 200, 25 * time.Millisecond
	enqueues := func(t *testing.T, c *redrive.Client) {
		if _, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil)); err != nil {
			t.Error(err)
		}
	}
	tests := []struct {
		name  string
		other func(t *testing.T, c *redrive.Client, step int)
		most  int                 // the maximum number of entries that a small step changes
		small func(step int) bool // whether step n must be small; the first step has n = 0
	}{
		{"nobody", func(*testing.T, *redrive.Client, int) {}, gentle, func(step int) bool { return step < 1 }},
		{"enqueues", func(t *testing.T, c *redrive.Client, _ int) { enqueues(t, c) }, gentle, func(int) bool { return true }},
		{"runs end", func(t *testing.T, c *redrive.Client, _ int) {
			if err := c.RunUntilIdle(t.Context()); err != nil {
				t.Error(err)
			}
		}, beside, func(int) bool { return true }},
		{"one job, after the third step", func(t *testing.T, c *redrive.Client, step int) {
			if step == 2 {
				enqueues(t, c)
			}
		}, gentle, func(step int) bool { return step < 1 || step > 2 }}, // steps 1 and 2 see no other client: all steps together take less than a second
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var well atomic.Bool
				c := newClient(t, memory.New(memory.Options{}), func(context.Context, *redrive.Job[renderArgs]) error {
					if well.Load() {
						return nil
					}
					return failure.Permanent(errors.New("no"))
				})
				specs := make([]redrive.Spec, dead)
				for i := range specs {
					specs[i] = render.New(renderArgs{}, nil)
				}
				for len(specs) > 0 {
					n := min(len(specs), 500)
					if _, err := c.EnqueueMany(t.Context(), specs[:n]); err != nil {
						t.Fatal(err)
					}
					specs = specs[n:]
				}
				if err := c.RunUntilIdle(t.Context()); err != nil {
					t.Fatal(err)
				}
				well.Store(true)

				step, last, at := 0, int64(0), time.Now()
				acted, err := c.Act(t.Context(), ops, store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{}}, func(n int64) {
					size, waited := n-last, time.Since(at)
					switch small := tt.small(step); {
					case small && size > int64(tt.most):
						t.Errorf("step %d changed %d entries while others used the store, want at most %d", step, size, tt.most)
					case small && step > 0 && waited < pause:
						t.Errorf("step %d began %v after the step before while others used the store, want at least %v", step, waited, pause)
					case !small && (n < dead && size != int64(gentle<<step) || waited != 0):
						t.Errorf("step %d changed %d entries after a pause of %v in an unused store, want twice as many as the step before, without a pause", step, size, waited)
					}
					tt.other(t, c, step)
					step, last, at = step+1, n, time.Now()
				})
				if err != nil || acted.Done != dead {
					t.Errorf("Act: got %+v, error %v; want all %d dead letters retried", acted, err, dead)
				}
			})
		})
	}
}
