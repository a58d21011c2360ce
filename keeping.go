package redrive

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redrive/redrive/internal/keeper"
)

// newKeeper makes the keeper of one Run. The caller holds the client's lock.
func (c *Client) newKeeper() *keeper.Keeper {
	return keeper.New(keeper.Options{
		Config: keeper.Config{Cron: slices.Clone(c.crons.kept)},
		Store:  c.store, Retention: c.config.Retention.stored(), Logger: c.config.Logger,
		Now:   c.config.now,
		After: func(d time.Duration, f func()) func() bool { return c.config.afterFunc(d, f).Stop },
	})
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

// nudge makes the keeper check the redrives now, if the keeper is running.
func (c *Client) nudge() {
	if k := c.keeping(); k != nil {
		k.Nudge()
	}
}
