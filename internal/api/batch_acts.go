package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
)

// BatchChangeIn changes when a batch expires.
type BatchChangeIn struct {
	// ExpiresAt is a time (without zone: UTC), a duration from now such as 30d, or never.
	ExpiresAt string `json:"expires_at" jsonschema:"maxLength=256"`
	ReasonIn
}

// PublishedOut says what a publication makes of a batch.
type PublishedOut struct {
	Drafts int64 `json:"drafts"` // drafts that become jobs
	Dead   int64 `json:"dead"`   // dead members that are retried
	// Skipped is the number of dead members that are not retried, because a person has resolved or ignored them.
	Skipped int64    `json:"skipped,omitempty"`
	Batch   BatchOut `json:"batch"` // has a task if there is more to do; it goes on by itself
}

// DiscardOut says which drafts were thrown away.
type DiscardOut struct {
	Discarded int64     `json:"discarded"`
	Batch     *BatchOut `json:"batch,omitempty"` // left out if the batch is gone with its last draft
}

// changeBatch changes when a batch expires.
func (a *API) changeBatch(c *Call) error {
	var in BatchChangeIn
	if err := c.Read(&in, false); err != nil {
		return err
	}
	if err := checkReason(in.Note); err != nil {
		return err
	}
	h, _, err := a.Batch(c)
	if err != nil {
		return err
	}
	at, err := a.Expiry("/expires_at", in.ExpiresAt)
	if err != nil {
		return err
	}
	if _, err := h.SetExpiry(c.Context(), c.By(in.Note), at); err != nil {
		return err
	}
	return a.showBatch(c, h)
}

// Expiry reads when a batch expires: a time to come, a duration from now, or never.
func (a *API) Expiry(pointer, text string) (time.Time, error) {
	if text == "never" {
		return time.Time{}, nil
	}
	at, err := a.future(pointer, text)
	if err == nil && at == 0 {
		err = InvalidField.Mistaken(Mistake{Pointer: pointer, Detail: "is missing: give a time, a duration from now such as 30d, or never"})
	}
	return at.Time(), err
}

// inSteps calls a function whose work goes on in steps, for at most ActTime. The work that is left is
// done by the processes that keep the store.
func inSteps(c *Call, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(c.Context(), ActTime)
	defer cancel()
	err := do(ctx)
	if err != nil && ctx.Err() != nil && c.Context().Err() == nil {
		return errGoesOn
	}
	return err
}

// errGoesOn says that the time of a request is over before its work is done.
var errGoesOn = errors.New("the work goes on")

// begun takes work that goes on for a success.
func begun(err error) error {
	if errors.Is(err, errGoesOn) {
		return nil
	}
	return err
}

// publishBatch publishes a batch.
func (a *API) publishBatch(c *Call) error {
	note, err := c.reason()
	if err != nil {
		return err
	}
	h, b, err := a.Batch(c)
	if err != nil {
		return err
	}
	if c.Caller.Owner != "" && b.Dead > 0 {
		return OwnerMayNot.New("Owners may not publish a batch with dead members, because that retries them; POST /api/batches/%d/retry retries those that they may.", b.ID)
	}
	p, err := a.Publish(c, h, note)
	if err != nil {
		return err
	}
	if b, err = a.visibleBatch(c, h); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, PublishedOut{Drafts: p.Drafts, Dead: p.Dead, Skipped: p.Skipped, Batch: a.batchOut(c, &b)})
}

// Publish publishes a batch, for at most ActTime. What is left then is done by the processes that keep
// the store.
func (a *API) Publish(c *Call, h *redrive.BatchHandle, note string) (p redrive.Published, err error) {
	err = inSteps(c, func(ctx context.Context) error {
		p, err = h.Publish(ctx, c.By(note))
		return err
	})
	if p.Batch.ID != 0 {
		err = begun(err)
	}
	return p, err
}

// cancelBatch cancels the members of a batch that have not ended.
func (a *API) cancelBatch(c *Call) error {
	note, err := c.reason()
	if err != nil {
		return err
	}
	h, _, err := a.Batch(c)
	if err != nil {
		return err
	}
	if err := a.CancelBatch(c, h, note); err != nil {
		return err
	}
	return a.showBatch(c, h)
}

// CancelBatch cancels a batch, for at most ActTime.
func (a *API) CancelBatch(c *Call, h *redrive.BatchHandle, note string) error {
	return begun(inSteps(c, func(ctx context.Context) error { return h.Cancel(ctx, c.By(note)) }))
}

// discardBatch throws drafts away.
func (a *API) discardBatch(c *Call) error {
	h, b, err := a.Batch(c)
	if err != nil {
		return err
	}
	q := &queryReader{values: c.R.URL.Query()}
	var ids []job.ID
	for _, text := range q.list("draft") {
		id, err := job.ParseID(text)
		if err != nil {
			q.add("draft", err.Error(), nil)
		}
		ids = append(ids, id)
	}
	if err := q.problem(); err != nil {
		return err
	}
	if err := a.Discard(c, h, "", ids); err != nil {
		return err
	}
	out := DiscardOut{Discarded: int64(len(ids))}
	if ids == nil {
		out.Discarded = b.Drafts + b.AsideDrafts
	}
	now, err := a.visibleBatch(c, h)
	if p, ok := errors.AsType[*Problem](err); ok && p.kind == NotFound {
		return c.JSON(http.StatusOK, out)
	} else if err != nil {
		return err
	}
	shown := a.batchOut(c, &now)
	out.Batch = &shown
	return c.JSON(http.StatusOK, out)
}

// Discard throws drafts of a batch away, for at most ActTime: those with the ids, or all.
func (a *API) Discard(c *Call, h *redrive.BatchHandle, note string, ids []job.ID) error {
	return begun(inSteps(c, func(ctx context.Context) error { return h.Discard(ctx, c.By(note), ids...) }))
}
