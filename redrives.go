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

// Redrive starts to bring back all dead letters that the filter of the spec selects
// now, in the name of a person: a few of them first, and more and more while they go
// well, under a rate if it has one. It stops by itself when too many fail again by
// the same cause. The clients that run jobs take it further, and the end of one of
// them loses nothing. The jobs have store.RedrivePriority unless the spec says
// another one.
//
// Spec.Through and Spec.Total are filled in when Through is 0; Preview of an
// ActRetry gives them beforehand. When nothing is selected the error is a
// ErrNotFound.
//
// A call starts one redrive, also when answers of the store are lost. A program that
// may have to make the call again, because it was killed in it or got a
// ErrUnknown, sets Spec.Key: the second call answers with the redrive that the
// first has started.
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

// redriveOf returns the redrive that a key has started, if it is one of the newest.
func (c *Client) redriveOf(ctx context.Context, key string) (r Redrive, known bool, err error) {
	list, err := again(ctx, c, func() ([]Redrive, error) { return c.store.RedriveList(ctx) })
	i := slices.IndexFunc(list, func(r Redrive) bool { return r.Key == key })
	if err != nil || i < 0 {
		return r, false, err
	}
	return list[i], true, nil
}

// Redrives returns the redrives, the newest first, store.RedrivesMax at most.
func (c *Client) Redrives(ctx context.Context) ([]Redrive, error) {
	return c.store.RedriveList(ctx)
}

// GetRedrive returns a redrive as it stands; ErrNotFound when there is none.
func (c *Client) GetRedrive(ctx context.Context, id int64) (Redrive, error) {
	return c.store.Redrive(ctx, id)
}

// ControlRedrive pauses, resumes or cancels a redrive in the name of a person, or
// ends its canary. The error is an ErrNotFound, or an ErrConflict when its
// state does not allow that; doing the same again is none.
func (c *Client) ControlRedrive(ctx context.Context, by By, id int64, do RedriveOp) (Redrive, error) {
	r, err := again(ctx, c, func() (Redrive, error) { return c.store.ControlRedrive(ctx, by, id, do) })
	if err == nil {
		c.nudge()
	}
	return r, err
}

// WaitRedrive waits until a redrive is completed, is cancelled, or has stopped by
// itself, and returns it. A paused one is waited for. Some client has to run.
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

// await waits for a notification, or for as long as one can be lost.
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
