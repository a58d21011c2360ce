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

// Redrive starts to retry all dead letters that the filter of the spec selects now, in
// the name of a person. It begins with a few jobs and retries more and more while they
// succeed, within the rate if one is set. It stops by itself when too many fail again
// with the same cause. Running clients carry it out; it survives the end of any of
// them. The jobs have store.RedrivePriority unless the spec sets another one.
//
// Spec.Through and Spec.Total are filled in when Through is 0; Preview of an ActRetry
// returns them beforehand. When the filter selects nothing, the error is ErrNotFound.
//
// One call starts one redrive, even when answers of the store are lost. A program that
// may have to repeat the call, because it was killed or got an ErrUnknown, sets
// Spec.Key: the second call then returns the redrive that the first has started.
func (c *Client) Redrive(ctx context.Context, by By, spec RedriveSpec) (Redrive, error) {
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

// redriveOf returns the redrive that was started with a key, if it is among the newest.
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
// its canary. The error is ErrNotFound, or ErrConflict when the state does not allow
// the operation. Repeating an operation is not an error.
func (c *Client) ControlRedrive(ctx context.Context, by By, id int64, do RedriveOp) (Redrive, error) {
	r, err := again(ctx, c, func() (Redrive, error) { return c.store.ControlRedrive(ctx, by, id, do) })
	if err == nil {
		c.nudge()
	}
	return r, err
}

// WaitRedrive waits until a redrive is completed, is cancelled or has stopped by
// itself, and returns it. It goes on waiting while the redrive is paused. Some client
// must be running.
func (c *Client) WaitRedrive(ctx context.Context, id int64) (Redrive, error) {
	changed := make(chan struct{}, 1)
	defer c.store.Notify(changed)()
	for {
		r, err := again(ctx, c, func() (Redrive, error) { return c.store.Redrive(ctx, id) })
		if err != nil || !r.State.Active() && r.State != store.RedrivePaused {
			return r, err
		}
		if err := c.await(ctx, changed); err != nil {
			return r, fmt.Errorf("waiting for redrive %d, which is %s: %w", id, r.State, err)
		}
	}
}

// await waits for a notification, or for Config.Poll because a notification can be
// lost.
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
