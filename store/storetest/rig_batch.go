package storetest

import (
	"context"
	"fmt"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// newBatch creates a batch.
func (r *rig) newBatch(options ...func(*store.NewBatch)) store.Batch {
	var n store.NewBatch
	for _, o := range options {
		o(&n)
	}
	b, err := r.CreateBatch(ctx(), person, n)
	r.ok(err)
	r.batches = b.ID
	return b
}

// drafts returns n new members with the keys k1, k2 and so on, not added yet.
func (r *rig) drafts(n int, options ...func(*job.New)) []job.New {
	first, err := r.ReserveIDs(ctx(), n)
	r.ok(err)
	members := make([]job.New, n)
	for i := range members {
		members[i] = job.New{ID: first + job.ID(i), Kind: kind, Queue: queue, Priority: job.PriorityDefault,
			Key: fmt.Sprintf("k%d", i+1), Digest: []byte("d"), Payload: fmt.Append(nil, i+1)}
		for _, o := range options {
			o(&members[i])
		}
	}
	return members
}

func (r *rig) addMembers(id int64, members []job.New) []job.Receipt {
	receipts, err := r.AddMembers(ctx(), id, members)
	r.ok(err)
	if len(receipts) != len(members) {
		r.fail("AddMembers returned %d receipts for %d members, want one each", len(receipts), len(members))
	}
	return receipts
}

func (r *rig) publish(id int64) store.Published {
	p, err := r.PublishBatch(ctx(), person, id)
	r.ok(err)
	return p
}

// stepAll makes steps until no batch has a task.
func (r *rig) stepAll() {
	for {
		step, err := r.StepBatches(ctx(), store.StepMax)
		r.ok(err)
		if step.Active == 0 {
			return
		}
	}
}

// published creates a batch of n members and publishes it.
func (r *rig) published(n int, options ...func(*store.NewBatch)) (store.Batch, []job.New) {
	b := r.newBatch(options...)
	members := r.drafts(n)
	r.addMembers(b.ID, members)
	r.publish(b.ID)
	r.stepAll()
	return r.theBatch(b.ID), members
}

func (r *rig) theBatch(id int64) store.Batch {
	b, err := r.Batch(ctx(), id)
	r.ok(err)
	return b
}

// inState fails the check unless the batch has this state and these counts.
func (r *rig) inState(id int64, state job.BatchState, total, completed, dead, cancelled int64) {
	b := r.theBatch(id)
	same(r, fmt.Sprintf("state and counts of batch %d", id), []any{b.State, b.Total, b.Completed, b.Dead, b.Cancelled}, []any{state, total, completed, dead, cancelled})
}

func (r *rig) outcomes(id int64) []store.BatchOutcome {
	all, err := r.Outcomes(ctx(), id, 0)
	r.ok(err)
	return all
}

// endAll claims all jobs of the default queue and kind. It completes them, except the given ones, which die.
func (r *rig) endAll(dead ...job.ID) {
	for _, c := range r.claim(want(1000)) {
		o := succeeded(c)
		for _, id := range dead {
			if id == c.ID {
				o = died(c, "InvalidInput", job.NonRetriable)
			}
		}
		r.end(o)
	}
	r.settleBatches()
}

// settleBatches waits until a store that evaluates ends later has done so.
func (r *rig) settleBatches() {
	r.ok(evaluate(r.Store))
}

// evaluate makes a store that writes the ends of batches later write them now.
func evaluate(s store.Store) error {
	if s, ok := s.(interface {
		EvaluateBatches(context.Context) error
	}); ok {
		return s.EvaluateBatches(ctx())
	}
	return nil
}

// refused fails the check unless err is a BatchRefused with the given reason.
func (r *rig) refused(err error, why string) {
	r.is(err, store.ErrConflict)
	if refused, ok := asRefused(err); !ok || refused.Why != why {
		r.fail("got error %v, want a BatchRefused with the reason %s", err, why)
	}
}
