//go:build linux

package torture

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/tests/torture/ledger"
	"github.com/redrive/redrive/tests/torture/place"
)

// batchActions is the number of different actions on batches.
const batchActions = 3

// expiresIn is how long after the action a batch expires, if all its members have ended by then.
const expiresIn = 300 * time.Millisecond

// The actions on batches, as faults.
const (
	cancelledBatch = "cancelled batch"
	expiringBatch  = "expiring batch"
)

// operateBatch does one of the actions of people on one of the newest batches: it cancels the batch, lets it
// expire, or publishes it again, which retries its dead members.
//
// Batches whose clients may do their calls again are left alone: a member that was cancelled would come back as
// another job, and a batch that has expired takes no members.
func (r *round) operateBatch(ctx context.Context, s *place.Place, which int) {
	known := r.published()
	page, err := s.BatchList(ctx, store.BatchFilter{})
	if err != nil || len(known) == 0 {
		return
	}
	i := slices.IndexFunc(page.Batches, func(b store.Batch) bool {
		return known[b.Key] && b.Task == store.NoTask && b.ExpiresAt == 0 && (b.State == job.BatchProcessing || which > 0 && b.State.Ended())
	})
	if i < 0 {
		return
	}
	id, by := page.Batches[i].ID, r.operator()
	act := check.Act{Reason: by.Reason, Target: store.BatchTarget(id)}
	switch which {
	case 0:
		var b store.Batch
		b, err = s.CancelBatch(ctx, by, id)
		if act.Action = "batch.cancel"; err == nil && b.Task != store.Cancelling {
			return // the batch had ended, so there was nothing to do
		}
		r.did(act, cancelledBatch, err)
	case 1:
		_, err = s.SetBatch(ctx, by, id, job.At(time.Now().Add(expiresIn)))
		act.Action = "batch.set"
		r.did(act, expiringBatch, err)
	case 2:
		if p, err := s.PublishBatch(ctx, by, id); err == nil && p.Dead > 0 { // without dead members there may be no row in the audit
			act.Action = "batch.publish"
			r.did(act, "batch published again", nil)
		}
	}
}

// did records an action and, if it went well, counts it as a fault.
func (r *round) did(act check.Act, fault string, err error) {
	act.Answer = answerOf(err)
	r.record(act)
	if err == nil {
		r.faulted(fault)
	}
}

// published returns the keys of the batches that clients know to be published.
func (r *round) published() map[string]bool {
	keys := make(map[string]bool)
	paths, err := filepath.Glob(r.ledger("*-" + client))
	if err != nil {
		r.Error(err)
	}
	for _, path := range paths {
		lines, err := ledger.Read(path)
		if err != nil {
			r.Error(fmt.Errorf("round %d: %w", r.n, err))
			return nil
		}
		for i := range lines {
			if lines[i].Op == ledger.Published {
				keys[lines[i].Batch] = true
			}
		}
	}
	return keys
}
