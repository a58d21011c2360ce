package redrive

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/internal/keeper"
	"github.com/redrive/redrive/store"
)

// leaveLimit is how long Keep waits at its end for the call that removes its process from
// the list of processes.
const leaveLimit = 2 * time.Second

// Keep does the upkeep of the store until ctx ends, without running jobs: it carries out
// redrives, fires the slots of the client's cron entries, removes data that is older than
// Config.Retention, and ends the runs of crashed processes, so that their jobs run again.
// Use it in a process without handlers, such as a server beside workers in other processes.
// Run does all of this, too. Any number of processes can do it at the same time.
//
// Keep reports that its process is alive; Client.Processes lists it with What "keep".
// Only one Keep or Run of a client can be active at a time. Keep returns nil when ctx has
// ended.
func (c *Client) Keep(ctx context.Context) error {
	p := c.process("keep")
	present := func(ctx context.Context) (store.Orders, error) {
		p.Policy = c.policies.Load().set.Hash()
		return c.store.Present(ctx, p)
	}
	c.mu.Lock()
	if c.engine != nil || c.keeper != nil {
		c.mu.Unlock()
		return errors.New("redrive: this client is already running; for a second Keep or Run, make another client")
	}
	k := c.newKeeper(func(o *keeper.Options) {
		o.RescueEvery, o.PresentEvery = cmp.Or(c.config.RescueInterval, engine.RescueIntervalDefault), store.PresentEvery
		o.Rescue, o.Present = c.store.Rescue, present
	})
	c.keeper = k
	c.mu.Unlock()
	k.Run(ctx)
	c.mu.Lock()
	c.keeper = nil
	c.mu.Unlock()

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	p.Left = true
	if _, err := present(ctx); err != nil {
		c.config.Logger.WarnContext(ctx, "the process could not be removed from the list of processes; it is shown as silent there", "error", err)
	}
	return nil
}

// newKeeper makes the keeper of one Run or Keep. The caller holds the client's lock.
func (c *Client) newKeeper(change func(*keeper.Options)) *keeper.Keeper {
	o := keeper.Options{
		Config: keeper.Config{Cron: slices.Clone(c.crons.kept)},
		Store:  c.store, Retention: c.config.Retention.stored(), Logger: c.config.Logger,
		Now:   c.config.now,
		After: func(d time.Duration, f func()) func() bool { return c.config.afterFunc(d, f).Stop },
	}
	if change != nil {
		change(&o)
	}
	return keeper.New(o)
}

// keep runs the keeper, which does the store's upkeep, until ctx ends or stop is
// called.
func (c *Client) keep(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var kept sync.WaitGroup
	k := c.keeping()
	kept.Go(func() { k.Run(ctx) })
	return func() {
		cancel()
		kept.Wait()
	}
}

func (c *Client) keeping() *keeper.Keeper {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keeper
}

// nudge makes the keeper step the redrives now instead of at its next time, if the keeper is
// running.
func (c *Client) nudge() {
	if k := c.keeping(); k != nil {
		k.Nudge()
	}
}
