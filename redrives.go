package redrive

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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
// store.ErrNotFound.
func (c *Client) Redrive(ctx context.Context, by By, spec store.RedriveSpec) (store.Redrive, error) {
	if spec.Through == 0 {
		found, err := c.Preview(ctx, store.Action{Do: store.ActRetry, Filter: &spec.Filter, Change: spec.Change})
		switch {
		case err != nil:
			return store.Redrive{}, err
		case found.Done == 0:
			return store.Redrive{}, fmt.Errorf("redrive: the filter selects no dead letter that can be retried: %w", store.ErrNotFound)
		}
		spec.Through, spec.Total = found.Through, found.Done
	}
	r, err := c.startRedrive(ctx, by, spec)
	if err == nil {
		c.nudge()
	}
	return r, err
}

// startRedrive starts a redrive once: after a lost answer it looks for it first.
func (c *Client) startRedrive(ctx context.Context, by By, spec store.RedriveSpec) (store.Redrive, error) {
	before, err := again(ctx, c, func() ([]store.Redrive, error) { return c.store.RedriveList(ctx) })
	if err != nil {
		return store.Redrive{}, err
	}
	var newest int64
	for i := range before {
		newest = max(newest, before[i].ID)
	}
	unknown := false
	return again(ctx, c, func() (store.Redrive, error) {
		if unknown {
			list, err := c.store.RedriveList(ctx)
			if err != nil {
				return store.Redrive{}, err
			}
			i := slices.IndexFunc(list, func(r store.Redrive) bool { return r.ID > newest && started(&r, by, spec) })
			if i >= 0 {
				return list[i], nil
			}
		}
		r, err := c.store.StartRedrive(ctx, by, spec)
		unknown = unknown || errors.Is(err, store.ErrUnknown)
		return r, err
	})
}

// started reports whether a redrive was started by such a call.
func started(r *store.Redrive, by By, spec store.RedriveSpec) bool {
	type whole struct {
		store.RedriveSpec
		Change store.Change `json:"change"` // which a spec leaves out
	}
	spec = spec.WithDefaults()
	has, err := json.Marshal(whole{r.RedriveSpec, r.Change})
	wants, err2 := json.Marshal(whole{spec, spec.Change})
	return err == nil && err2 == nil && r.By == by.Actor && r.Reason == by.Reason && string(has) == string(wants)
}

// Redrives returns the redrives, the newest first, store.RedrivesMax at most.
func (c *Client) Redrives(ctx context.Context) ([]store.Redrive, error) {
	return c.store.RedriveList(ctx)
}

// GetRedrive returns a redrive as it stands; store.ErrNotFound when there is none.
func (c *Client) GetRedrive(ctx context.Context, id int64) (store.Redrive, error) {
	return c.store.Redrive(ctx, id)
}

// ControlRedrive pauses, resumes or cancels a redrive in the name of a person, or
// ends its canary. The error is a store.ErrNotFound, or a store.ErrConflict when its
// state does not allow that; doing the same again is none.
func (c *Client) ControlRedrive(ctx context.Context, by By, id int64, do store.RedriveOp) (store.Redrive, error) {
	r, err := again(ctx, c, func() (store.Redrive, error) { return c.store.ControlRedrive(ctx, by, id, do) })
	if err == nil {
		c.nudge()
	}
	return r, err
}

// WaitRedrive waits until a redrive is completed, is cancelled, or has stopped by
// itself, and returns it. A paused one is waited for. Some client has to run.
func (c *Client) WaitRedrive(ctx context.Context, id int64) (store.Redrive, error) {
	changed := make(chan struct{}, 1)
	defer c.store.Notify(changed)()
	for {
		r, err := again(ctx, c, func() (store.Redrive, error) { return c.store.Redrive(ctx, id) })
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
