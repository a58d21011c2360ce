package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
)

// stuckError does not say what it is until it may.
type stuckError struct{ may <-chan struct{} }

func (e stuckError) Error() string {
	<-e.may
	return "it took a while"
}

// part of: F2
func TestF2_AnErrorThatDoesNotReturnHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		may := make(chan struct{})
		r := newRig(t, func(_ context.Context, run *engine.Run) error {
			if run.Claim.ID%10 == 1 {
				return errors.Join(stuckError{may}, errDead)
			}
			return errDead
		}, nil)
		ids := r.enqueue(25) // three of them stuck, of four workers
		r.start()
		synctest.Wait()
		var stuck, others []job.ID
		for _, id := range ids {
			if id%10 == 1 {
				stuck = append(stuck, id)
			} else {
				others = append(others, id)
			}
		}
		if len(stuck) != 3 {
			t.Fatalf("stuck are %v", stuck)
		}
		r.wantState(job.Running, stuck...)
		r.wantState(job.Dead, others...)
		close(may)
		r.idle()
		r.wantState(job.Dead, ids...)
		_ = r.finish()
	})
}
