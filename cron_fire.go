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

// cronLate is how long the code of a cron entry has to return after its context has ended.
const cronLate = time.Second

// errFired passes through the middlewares when another client has fired a slot.
var errFired = errors.New("another client has fired the slot")

// fireWithin enqueues the job of a slot within a limit of time, so that code of the
// user that blocks delays no other entry for longer. busy is set while a call for the
// entry is under way.
func (c *Client) fireWithin(ctx context.Context, limit time.Duration, busy *atomic.Bool, s *Cron, slot time.Time) (store.Fired, error) {
	if !busy.CompareAndSwap(false, true) {
		return store.Fired{}, fmt.Errorf("cron entry %q: its Make or an enqueue middleware has not returned yet from the call for an earlier slot", s.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type answer struct {
		fired store.Fired
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		a := answer{err: fmt.Errorf("cron entry %q: its Make or an enqueue middleware called runtime.Goexit", s.Name)}
		defer func() {
			if p := recover(); p != nil { // a mistake of the user's code must not end the process
				a.err = fmt.Errorf("cron entry %q: panic: %v", s.Name, p)
			}
			busy.Store(false)
			answered <- a
		}()
		a.fired, a.err = c.fire(ctx, s, slot)
	}()
	select {
	case a := <-answered:
		return a.fired, a.err
	case <-ctx.Done():
	}
	late := time.NewTimer(cronLate)
	defer late.Stop()
	select {
	case a := <-answered:
		return a.fired, a.err
	case <-late.C:
		return store.Fired{}, fmt.Errorf("cron entry %q: its Make or an enqueue middleware did not return within %s, nor %s after its context had ended",
			s.Name, limit, cronLate)
	}
}

// fire enqueues the job of a slot, unless another client has.
func (c *Client) fire(ctx context.Context, s *Cron, slot time.Time) (f store.Fired, err error) {
	_, err = c.through(ctx, []Spec{cronSpec(s, slot)}, func(ctx context.Context, specs []Spec) ([]Receipt, error) {
		jobs, err := c.check(specs)
		if err != nil {
			return nil, err
		}
		first, err := c.ids.take(ctx, len(jobs))
		if err != nil {
			return nil, err
		}
		number(jobs, first)
		f, err = c.store.Fire(ctx, s.Name, job.At(slot), jobs)
		c.ids.lost(err)
		if err == nil && !f.Fired {
			err = errFired
		}
		return f.Receipts, err
	})
	switch {
	case errors.Is(err, errFired):
		return f, nil
	case errors.Is(err, store.ErrTooLarge):
		err = c.withoutRoom(ctx, s.Name, err)
	}
	return f, err
}

// withoutRoom adds the cure to an error that says that the store has no room for
// another name.
func (c *Client) withoutRoom(ctx context.Context, name string, err error) error {
	known, failed := c.store.CronSlots(ctx)
	if failed != nil || len(known) < store.CronsMax || slices.ContainsFunc(known, func(s store.CronSlot) bool { return s.Name == name }) {
		return err // it is another bound
	}
	return fmt.Errorf("%w; names are kept for ever: give the entry one that no client has any more (redrive cron lists them)", err)
}
