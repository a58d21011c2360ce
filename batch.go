package redrive

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Types of batches.
type (
	// Batch is a batch as it is now.
	Batch = store.Batch
	// BatchSpec is a batch to be created.
	BatchSpec = store.NewBatch
	// BatchCallback is a job that is enqueued when a batch ends.
	BatchCallback = store.BatchCallback
	// BatchOutcome is one end of a batch.
	BatchOutcome = store.BatchOutcome
	// BatchFilter selects batches.
	BatchFilter = store.BatchFilter
	// BatchPage is a page of batches.
	BatchPage = store.BatchPage
	// BatchMember is a member of a batch: a job, or a draft.
	BatchMember = store.Member
	// MemberFilter selects members of a batch.
	MemberFilter = store.MemberFilter
	// MemberPage is a page of members.
	MemberPage = store.MemberPage
	// Published says what a publication makes of a batch.
	Published = store.Published
	// BatchRefused says that the state of a batch does not allow a call.
	BatchRefused = store.BatchRefused
)

// BatchHandle acts on one batch.
type BatchHandle struct {
	c        *Client
	id       int64
	existing bool
}

// NewBatch creates a batch in the state DRAFT. If a batch with the key of the spec exists, the handle
// is of that one; so a program that may have been killed repeats the call. Without a key, NewBatch
// draws one. By may be zero for a program; only a person's batch is audited.
func (c *Client) NewBatch(ctx context.Context, by By, spec BatchSpec) (*BatchHandle, error) {
	spec.Key = cmp.Or(spec.Key, rand.Text())
	b, err := again(ctx, c, func() (Batch, error) { return c.store.CreateBatch(ctx, by, spec) })
	if err != nil {
		return nil, err
	}
	return &BatchHandle{c, b.ID, b.Existing}, nil
}

// BatchHandle returns a handle for the batch with this number. It asks nothing: the calls of the
// handle return an ErrNotFound if there is no such batch.
func (c *Client) BatchHandle(id int64) *BatchHandle { return &BatchHandle{c: c, id: id} }

// Batches returns a page of batches, the newest first.
func (c *Client) Batches(ctx context.Context, f BatchFilter) (BatchPage, error) {
	return again(ctx, c, func() (BatchPage, error) { return c.store.BatchList(ctx, f) })
}

// ID returns the number of the batch.
func (h *BatchHandle) ID() int64 { return h.id }

// Existing reports whether NewBatch has found the batch by its key. If not, it has created it.
func (h *BatchHandle) Existing() bool { return h.existing }

// Get returns the batch with its counts.
func (h *BatchHandle) Get(ctx context.Context) (Batch, error) {
	return again(ctx, h.c, func() (Batch, error) { return h.c.store.Batch(ctx, h.id) })
}

// Add adds members as drafts: all or none, at most job.EnqueueMax. Options.Key is the key of a member,
// unique in its batch whatever the kind: a member whose key is known is not added again. So a program
// that was killed adds its members again. Kinds without retry, by the client's policy, are aside: they
// do not count in the batch and its end.
func (h *BatchHandle) Add(ctx context.Context, specs ...Spec) ([]Receipt, error) {
	members, err := h.members(ctx, specs)
	if err != nil || len(members) == 0 {
		return nil, err
	}
	first, err := h.c.ids.take(ctx, len(members))
	if err != nil {
		return nil, err
	}
	number(members, first)
	receipts, err := h.c.store.AddMembers(ctx, h.id, members)
	if !errors.Is(err, store.ErrUnknown) {
		h.c.ids.lost(err)
		return receipts, err
	}
	for i := range members {
		members[i].Repeat = true
	}
	return again(ctx, h.c, func() ([]Receipt, error) { return h.c.store.AddMembers(ctx, h.id, members) })
}

// members returns the specs as they are stored.
func (h *BatchHandle) members(ctx context.Context, specs []Spec) ([]job.New, error) {
	for i := range specs {
		specs[i].new.Batch = h.id
	}
	return h.c.check(ctx, specs)
}

// Publish makes jobs of the drafts and gives dead members a new life, in steps. Completed members are
// not touched, so it can be called again and again. Running clients do the steps, and so does Publish
// until all are done or its context ends.
func (h *BatchHandle) Publish(ctx context.Context, by By) (Published, error) {
	p, err := again(ctx, h.c, func() (Published, error) { return h.c.store.PublishBatch(ctx, by, h.id) })
	if err != nil {
		return p, err
	}
	return p, h.step(ctx, func(Batch) {})
}

// step makes steps until the batch has no task, and reports the progress.
func (h *BatchHandle) step(ctx context.Context, progress func(Batch)) error {
	h.c.nudge()
	for {
		b, err := h.Get(ctx)
		if err != nil || b.Task == store.NoTask {
			return err
		}
		progress(b)
		if _, err := again(ctx, h.c, func() (store.BatchStep, error) { return h.c.store.StepBatches(ctx, store.StepMax) }); err != nil {
			return err
		}
	}
}

// RetryDead retries the dead members that count in the batch, and returns how many. The batch goes
// back to PROCESSING in the transaction of the first retry.
func (h *BatchHandle) RetryDead(ctx context.Context, by By) (retried int64, err error) {
	for after := job.ID(0); ; {
		page, err := h.Members(ctx, MemberFilter{State: job.Dead, Limit: job.PageMax}, after)
		if err != nil {
			return retried, err
		}
		a := Action{Do: ActRetry}
		for i := range page.Members {
			if m := &page.Members[i]; !m.Aside {
				a.IDs, a.Lives = append(a.IDs, m.ID), append(a.Lives, m.Life)
			}
		}
		if len(a.IDs) > 0 {
			did, err := h.c.Act(ctx, by, a, nil)
			retried += did.Done
			if err == nil {
				err = refusedBatch(did.Errors)
			}
			if err != nil {
				return retried, err
			}
		}
		if after = page.Next; after == 0 {
			return retried, nil
		}
	}
}

// refusedBatch returns the error that says that the batch allows no retry, if there is one.
func refusedBatch(errs []error) error {
	for _, err := range errs {
		if errors.As(err, new(*BatchRefused)) {
			return err
		}
	}
	return nil
}

// Cancel cancels the members that have not ended: those that wait at once, and those that run are
// asked to stop. It returns when all are reached or the context ends; running clients go on.
func (h *BatchHandle) Cancel(ctx context.Context, by By) error {
	_, err := again(ctx, h.c, func() (Batch, error) { return h.c.store.CancelBatch(ctx, by, h.id) })
	if err != nil {
		return err
	}
	return h.step(ctx, func(Batch) {})
}

// Discard throws drafts away: those with the given ids, or all of them. A batch in DRAFT goes with all
// its drafts.
func (h *BatchHandle) Discard(ctx context.Context, by By, ids ...JobID) error {
	_, err := again(ctx, h.c, func() (Batch, error) { return h.c.store.DiscardBatch(ctx, by, h.id, ids) })
	if err == nil && ids == nil {
		err = h.step(ctx, func(Batch) {})
	}
	if errors.Is(err, ErrNotFound) && ids == nil { // the batch is gone
		if _, gone := h.c.store.Batch(ctx, h.id); errors.Is(gone, ErrNotFound) {
			return nil
		}
	}
	return err
}

// SetExpiry changes when the batch becomes EXPIRED after its end. A zero time means never.
func (h *BatchHandle) SetExpiry(ctx context.Context, by By, at time.Time) (Batch, error) {
	return again(ctx, h.c, func() (Batch, error) { return h.c.store.SetBatch(ctx, by, h.id, job.At(at)) })
}

// Members returns a page of members, those with the lowest ids above after.
func (h *BatchHandle) Members(ctx context.Context, f MemberFilter, after JobID) (MemberPage, error) {
	return again(ctx, h.c, func() (MemberPage, error) { return h.c.store.Members(ctx, h.id, f, after) })
}

// Member returns the member with a key.
func (h *BatchHandle) Member(ctx context.Context, key string) (BatchMember, error) {
	return again(ctx, h.c, func() (BatchMember, error) { return h.c.store.Member(ctx, h.id, key) })
}

// Outcomes returns the ends of the batch with numbers above after.
func (h *BatchHandle) Outcomes(ctx context.Context, after int64) ([]BatchOutcome, error) {
	return again(ctx, h.c, func() ([]BatchOutcome, error) { return h.c.store.Outcomes(ctx, h.id, after) })
}

// Wait waits for the first outcome with a number above after, and returns it. For a batch that is
// EXPIRED it returns at once, with the last outcome and its State set to EXPIRED.
func (h *BatchHandle) Wait(ctx context.Context, after int64) (BatchOutcome, error) {
	return h.c.WaitBatch(ctx, h.id, after)
}

// WaitBatch does the same as BatchHandle.Wait.
func (c *Client) WaitBatch(ctx context.Context, id, after int64) (BatchOutcome, error) {
	h, changed := c.BatchHandle(id), make(chan struct{}, 1)
	defer c.store.Follow(changed)()
	for {
		b, err := h.Get(ctx)
		if err != nil {
			return BatchOutcome{}, err
		}
		list, err := h.Outcomes(ctx, after)
		switch {
		case err != nil:
			return BatchOutcome{}, err
		case b.State == job.BatchExpired:
			o := BatchOutcome{N: b.Outcome, At: b.EndedAt, Total: b.Total, Completed: b.Completed, Dead: b.Dead, Cancelled: b.Cancelled}
			o.State = job.BatchExpired
			return o, nil
		case len(list) > 0:
			return list[0], nil
		}
		if err := c.await(ctx, changed); err != nil {
			return BatchOutcome{}, fmt.Errorf("wait for batch %d, which is %s: %w", id, b.State, err)
		}
	}
}
