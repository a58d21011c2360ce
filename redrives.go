package redrive

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/store"
)

// Redrive starts a bulk retry (a redrive) of all dead letters that the filter of the
// spec selects now, in the name of a person. The redrive begins with a few jobs, the
// canary. It retries more and more jobs while these succeed, within the rate of the
// spec if that is set. It stops automatically when too many jobs fail again, by the same
// cause or another one, or are dead: see RedriveSpec. The running clients carry it out; if one of them ends, the others
// continue. The jobs have store.RedrivePriority unless the spec sets another one.
//
// If Spec.Through is 0, Redrive sets Spec.Through and Spec.Total. To know them
// beforehand, call Preview with ActRetry. When the filter selects nothing, the error is
// ErrNotFound.
//
// One call starts one redrive, even when answers of the store are lost. A program that
// may have to repeat the call, because it was killed or got an ErrUnknown, sets
// Spec.Key: a second call with the same key then returns the redrive that the first
// call has started.
//
// Spec.Patch changes the payload of each job. If Spec.PayloadMax is 0, Redrive sets it to
// Config.PayloadMax.
func (c *Client) Redrive(ctx context.Context, by By, spec RedriveSpec) (Redrive, error) {
	if spec.Patch != nil && spec.PayloadMax == 0 {
		spec.PayloadMax = c.config.PayloadMax
	}
	if spec.Key == "" {
		spec.Key = rand.Text()
	} else if r, known, err := c.redriveOf(ctx, spec.Key); err != nil || known {
		return r, err
	}
	if spec.Through == 0 {
		found, err := c.Preview(ctx, Action{Do: ActRetry, Filter: &spec.Filter, Change: spec.Change})
		switch {
		case err != nil:
			return Redrive{}, err
		case found.Done == 0:
			return Redrive{}, fmt.Errorf("redrive: the filter selects no dead letter that can be retried: %w", ErrNotFound)
		}
		spec.Through, spec.Total = found.Through, found.Done
	}
	r, err := again(ctx, c, func() (Redrive, error) { return c.store.StartRedrive(ctx, by, spec) })
	if err == nil {
		c.nudge()
	}
	return r, err
}

// redriveOf returns the redrive that was started with a key, if it is one of the newest
// redrives.
func (c *Client) redriveOf(ctx context.Context, key string) (r Redrive, known bool, err error) {
	list, err := again(ctx, c, func() ([]Redrive, error) { return c.store.RedriveList(ctx) })
	i := slices.IndexFunc(list, func(r Redrive) bool { return r.Key == key })
	if err != nil || i < 0 {
		return r, false, err
	}
	return list[i], true, nil
}

// Redrives returns the redrives, newest first, at most store.RedrivesMax.
func (c *Client) Redrives(ctx context.Context) ([]Redrive, error) {
	return c.store.RedriveList(ctx)
}

// GetRedrive returns a redrive in its present state. The error is ErrNotFound when it
// does not exist.
func (c *Client) GetRedrive(ctx context.Context, id int64) (Redrive, error) {
	return c.store.Redrive(ctx, id)
}

// ControlRedrive pauses, resumes or cancels a redrive in the name of a person, or ends
// its canary. The error is ErrNotFound when the redrive does not exist, and ErrConflict
// when its state does not allow the operation. Repeating an operation is not an error.
func (c *Client) ControlRedrive(ctx context.Context, by By, id int64, do RedriveOp) (Redrive, error) {
	r, err := again(ctx, c, func() (Redrive, error) { return c.store.ControlRedrive(ctx, by, id, do) })
	if err == nil {
		c.nudge()
	}
	return r, err
}

// WaitRedrive waits until a redrive is completed, cancelled or stopped automatically,
// and returns the redrive. It continues to wait while the redrive is paused. At least
// one client must be running.
func (c *Client) WaitRedrive(ctx context.Context, id int64) (Redrive, error) {
	changed := make(chan struct{}, 1)
	defer c.store.Notify(changed)()
	for {
		r, err := again(ctx, c, func() (Redrive, error) { return c.store.Redrive(ctx, id) })
		if err != nil || !r.State.Active() && r.State != store.RedrivePaused {
			return r, err
		}
		if err := c.await(ctx, changed); err != nil {
			return r, fmt.Errorf("wait for redrive %d, which is %s: %w", id, r.State, err)
		}
	}
}

// await waits for a notification. Because a notification can be lost, it waits at most
// Config.Poll.
func (c *Client) await(ctx context.Context, changed <-chan struct{}) error {
	poll := make(chan struct{})
	timer := c.config.afterFunc(cmp.Or(c.config.Poll, engine.PollDefault), func() { close(poll) })
	defer timer.Stop()
	select {
	case <-changed:
	case <-poll:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
