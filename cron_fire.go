package redrive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// cronLate is how long Make or a middleware of a cron entry may continue after its context
// has ended.
const cronLate = time.Second

// cronWithin makes a call that runs the Make of a cron entry and the enqueue middlewares within a
// time limit, so that one that blocks cannot delay other entries beyond the limit. While a call
// with the flag busy is running, another one is refused.
func cronWithin[T any](ctx context.Context, limit time.Duration, busy *atomic.Bool, name string, call func(context.Context) (T, error)) (T, error) {
	var none T
	if !busy.CompareAndSwap(false, true) {
		return none, fmt.Errorf("cron entry %q: the call of its Make or of an enqueue middleware for an earlier slot has not returned yet", name)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type answer struct {
		value T
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		a := answer{err: fmt.Errorf("cron entry %q: its Make or an enqueue middleware called runtime.Goexit", name)}
		defer func() {
			if p := recover(); p != nil { // a panic in the user's code must not end the process
				a.err = fmt.Errorf("cron entry %q: panic: %v", name, p)
			}
			busy.Store(false)
			answered <- a
		}()
		a.value, a.err = call(ctx)
	}()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-ctx.Done():
	}
	late := time.NewTimer(cronLate)
	defer late.Stop()
	select {
	case a := <-answered:
		return a.value, a.err
	case <-late.C:
		return none, fmt.Errorf("cron entry %q: its Make or an enqueue middleware did not return within %s, nor %s after its context had ended",
			name, limit, cronLate)
	}
}

// fire enqueues the job of a slot unless another client has already done so, or a person has
// paused the entry. In the first case the middlewares see no error, but a receipt that names
// the job of the other client; in the second case they see an ErrConflict.
func (c *Client) fire(ctx context.Context, s *Cron, expression string, slot time.Time) (f store.Fired, err error) {
	lost := false // lost is true if another client has already fired the slot, or if a person has paused the entry
	_, err = c.through(ctx, []Spec{cronSpec(s, slot)}, func(ctx context.Context, specs []Spec) ([]Receipt, error) {
		jobs, err := c.check(ctx, specs)
		if err != nil {
			return nil, err
		}
		first, err := c.ids.take(ctx, len(jobs))
		if err != nil {
			return nil, err
		}
		number(jobs, first)
		f, err = c.store.Fire(ctx, s.Name, expression, job.At(slot), jobs)
		c.ids.lost(err)
		if lost = err == nil && !f.Fired; lost {
			if f.Last.Slot < job.At(slot) {
				return nil, fmt.Errorf("cron entry %q: a person paused it, so no job was enqueued for this slot: %w", s.Name, store.ErrConflict)
			}
			return []Receipt{{ID: f.Last.Job, Existing: true}}, nil
		}
		return f.Receipts, err
	})
	switch {
	case lost: // an error of a middleware does not matter, because there is nothing to try again
		return f, nil
	case errors.Is(err, store.ErrTooLarge):
		err = c.withoutRoom(ctx, s.Name, err)
	}
	return f, err
}

// If the store has no room for another cron name, withoutRoom adds advice to the error:
// use an old name.
func (c *Client) withoutRoom(ctx context.Context, name string, err error) error {
	known, failed := c.store.CronSlots(ctx)
	if failed != nil || len(known) < store.CronsMax || slices.ContainsFunc(known, func(s store.CronSlot) bool { return s.Name == name }) {
		return err // another limit was exceeded, not the number of names
	}
	return fmt.Errorf("%w; the store never forgets a name: give this entry a name that no client uses any more (`redrive cron` lists the names)", err)
}
