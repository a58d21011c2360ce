package redrive_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// A manual retry whose answer is lost is repeated; the repeated call does not fail because the
// first call had succeeded. If another person has retried the job, the retry still returns
// ErrConflict.
//
// proves: D5
func TestD5_ARetryWhoseAnswerIsLostIsNoConflict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &lossy{Store: memory.New(memory.Options{})}
		c := newClient(t, st, func(context.Context, *redrive.Job[renderArgs]) error { return failure.Permanent(errors.New("no")) })
		var ids []redrive.JobID
		for range 2 {
			receipt, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil))
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, receipt.ID)
		}
		if err := c.RunUntilIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.Retry(t.Context(), redrive.By{Actor: "ben", Reason: "first"}, ids[1], nil); err != nil {
			t.Fatal(err)
		}
		acted, err := c.Act(t.Context(), ops, store.Action{Do: store.ActRetry, IDs: ids, Change: store.Change{Queue: "slow"}}, nil)
		if err != nil || acted.Done != 1 || acted.Errors[0] != nil || !errors.Is(acted.Errors[1], store.ErrConflict) {
			t.Errorf("Act: got %+v, error %v; want one job retried and one ErrConflict", acted, err)
		}
		if j, err := c.Get(t.Context(), ids[0]); err != nil || j.State != job.Waiting || j.Life != 2 || j.Queue != "slow" {
			t.Errorf("Get: got job %+v, error %v; want a waiting job in its second life", j, err)
		}
	})
}
