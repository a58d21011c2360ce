package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// tardy is a store that answers a claim when the context of the call has ended.
type tardy struct{ store.Worker }

func (s tardy) Exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	out, err := s.Worker.Exchange(ctx, x)
	if len(out.Claims) > 0 {
		<-ctx.Done()
	}
	return out, err
}

// part of: Q8
func TestQ8_WhatIsClaimedAfterTheStopIsHandedBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(context.Context, *engine.Run) error { t.Error("a job was run"); return nil },
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
				t.Errorf("job %d: %+v", id, c)
			}
		}
	})
}
