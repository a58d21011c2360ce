package redrive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/internal/keeper"
	"github.com/redrive/redrive/internal/tempdir"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// ErrNotRunning says that Run is not running.
var ErrNotRunning = errors.New("redrive: the client is not running; call Run first")

// Run works on the jobs of the configured queues until ctx ends, and then stops
// gracefully: it takes no new jobs, gives running ones the grace time, then ends
// their contexts and hands back what remains without using up an attempt. It
// returns nil after a clean stop and a *Returned when work was handed back.
// A client runs once at a time.
//
// It also keeps the store in order meanwhile: it takes redrives further, fires the
// schedules of Config.Cron, and removes what is past Config.Retention.
func (c *Client) Run(ctx context.Context) error {
	stop, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	defer c.keep(ctx)()
	return c.running().Run(ctx)
}

// Returned is the error of a Run that left work to others when it stopped.
type Returned = engine.Returned

// Halt ends the grace time of a Run that is stopping, or stops it without any,
// as for a second signal.
func (c *Client) Halt() {
	if e := c.running(); e != nil {
		e.Halt()
	}
}

// WaitIdle waits until Run has nothing in its hands and knows of no job that it
// could take. It returns ErrNotRunning when Run is not running, also when it has
// been called but has not begun yet, and the error of ctx when that ends first.
func (c *Client) WaitIdle(ctx context.Context) error {
	e := c.running()
	if e == nil {
		return ErrNotRunning
	}
	return e.Idle(ctx)
}

// RunUntilIdle is Run until nothing is due any more that this client could run: a
// program that a timer starts does its work so and ends. Schedules whose slot is
// due fire first, and redrives are taken as far as they can go without waiting; what
// a rate or an unpaused canary holds back is left.
func (c *Client) RunUntilIdle(ctx context.Context) error { return c.runUntil(ctx, c.awaitDue) }

// awaitDue waits until nothing is due, and nothing becomes due by the keeper.
func (c *Client) awaitDue(ctx context.Context, e *engine.Engine) error {
	for {
		if err := e.Idle(ctx); err != nil || !c.keeping().Pass(ctx) {
			return err
		}
	}
}

// Drain is Run until all jobs of the configured queues whose kinds have a
// handler have ended, those that are due later and those that wait for a retry
// included, and no redrive is under way; a paused redrive does not count, and neither
// does one that goes on only when jobs have ended that this client does not run. It
// waits for ever for the jobs of a paused queue, until ctx ends. Schedules fire
// meanwhile.
func (c *Client) Drain(ctx context.Context) error { return c.runUntil(ctx, c.awaitEmpty) }

// runUntil runs until a condition holds, or until ctx ends, as Run does.
func (c *Client) runUntil(ctx context.Context, await func(context.Context, *engine.Engine) error) error {
	stop, err := c.start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	e := c.running()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer c.keep(inner)()
	ended := make(chan error, 1)
	go func() { ended <- e.Run(inner) }()

	err = await(ctx, e)
	if ctx.Err() != nil {
		err = nil // the end of ctx is a way to stop, here as with Run
	}
	cancel()
	return errors.Join(<-ended, err)
}

// awaitEmpty waits until no live job is left.
func (c *Client) awaitEmpty(ctx context.Context, e *engine.Engine) error {
	changed := make(chan struct{}, 1)
	defer c.store.Notify(changed)()
	for {
		if err := e.Idle(ctx); err != nil {
			return err
		}
		c.keeping().Pass(ctx)
		live, err := c.live(ctx)
		switch {
		case passes(err): // ask again
		case err != nil || live == 0:
			return err
		}
		if err := c.await(ctx, changed); err != nil {
			return err
		}
	}
}

// passes reports whether an error of a look at the store may be gone at the next.
func passes(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrFull)
}

// live counts the jobs that this client could still have to run, and the redrives
// that may bring more.
func (c *Client) live(ctx context.Context) (int64, error) {
	before, err := c.store.RedriveList(ctx)
	if err != nil {
		return 0, fmt.Errorf("count redrives: %w", err)
	}
	counts, err := c.store.Counts(ctx)
	if err != nil {
		return 0, fmt.Errorf("count live jobs: %w", err)
	}
	var live int64
	for _, n := range counts {
		_, worked := c.config.Queues[n.Queue]
		if worked && c.handlers[n.Kind] != nil && !n.State.Terminal() {
			live += n.N
		}
	}
	after, err := c.store.RedriveList(ctx)
	if err != nil {
		return 0, fmt.Errorf("count redrives: %w", err)
	}
	going, _ := keeper.Going(before, after)
	return live + going, nil
}

func (c *Client) running() *engine.Engine {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine
}

// start makes the engine of one Run. The caller must call stop when it has
// ended.
func (c *Client) start(ctx context.Context) (stop func(), err error) {
	c.setting.Lock() // before mu, as SetPolicy
	defer c.setting.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.engine != nil:
		return nil, errors.New("redrive: the client is running already; make another client to run twice")
	case len(c.handlers) == 0:
		return nil, errors.New("redrive: no kind has a handler; call redrive.Handle before Run")
	}
	for _, kind := range slices.Sorted(maps.Keys(c.handlers)) {
		if err := c.handlers[kind].options.validate(); err != nil {
			return nil, fmt.Errorf("redrive: kind %q: %w", kind, err)
		}
	}
	if err := c.enforce(ctx); err != nil {
		return nil, fmt.Errorf("redrive: %w", err)
	}
	config := c.engineConfig()
	if config.Dirs, err = tempdir.Open(cmp.Or(c.config.TempDir, defaultTempDir())); err != nil {
		return nil, fmt.Errorf("redrive: %w; set Config.TempDir", err)
	}
	e, err := engine.New(config)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("redrive: %w", err), config.Dirs.Close())
	}
	c.sealed, c.engine, c.keeper = true, e, c.newKeeper()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.engine, c.keeper = nil, nil
		if err := config.Dirs.Close(); err != nil {
			c.config.Logger.Warn("closing the base of temporary directories", "error", err)
		}
	}, nil
}

func (c *Client) engineConfig() engine.Config {
	config := engine.Config{
		Store: c.store, Holder: c.config.Name,
		Lease: c.config.Lease, RescueInterval: c.config.RescueInterval, Poll: c.config.Poll, Grace: c.config.Grace,
		Decide: c.decide, Clock: c.config.Clock, Logger: c.config.Logger,
	}
	for _, name := range slices.Sorted(maps.Keys(c.config.Queues)) {
		q := c.config.Queues[name]
		config.Queues = append(config.Queues, engine.Queue{Name: name, Workers: q.Workers, Limit: q.Limit, Rate: q.Rate})
	}
	for _, name := range slices.Sorted(maps.Keys(c.handlers)) {
		h := c.handlers[name]
		o := &h.options
		config.Kinds = append(config.Kinds, engine.Kind{
			Name: name, Handler: c.admitting(h), Workers: o.Workers, Limit: o.Limit, Rate: o.Rate,
			MaxCrashes: cmp.Or(o.MaxCrashes, job.CrashesCeiling), Timeout: o.Timeout, KillGrace: o.KillGrace,
		})
	}
	return config
}

// defaultTempDir is different for each user, because the base must be private.
func defaultTempDir() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("redrive-%d", os.Getuid()))
}
