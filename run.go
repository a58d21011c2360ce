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
	"time"

	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/internal/tempdir"
	"github.com/redrive/redrive/store"
)

// ErrNotRunning says that Run is not running.
var ErrNotRunning = errors.New("redrive: the client is not running; call Run first")

// Run works on the jobs of the configured queues until ctx ends, and then stops
// gracefully: it takes no new jobs, gives running jobs the grace time, then ends their
// contexts and hands back the jobs that have still not ended. A job that is handed back
// has used up no attempt. Run returns nil after a clean stop and a *Returned error when
// jobs were handed back. Only one Run of a client can be active at a time.
//
// While it works, Run also carries out redrives, fires the slots of cron entries, and
// removes data that is older than Config.Retention.
func (c *Client) Run(ctx context.Context) error {
	stop, err := c.start(ctx, nil)
	if err != nil {
		return err
	}
	defer stop()
	defer c.keep(ctx)()
	return returned(c.running().Run(ctx))
}

// Returned is the error of a Run that handed jobs back when it stopped. It is an error
// so that a program can set its exit code.
type Returned struct {
	Jobs int // the running jobs that did not end within the grace time
	// Unsaved is the number of jobs that have ended, but whose outcomes could not be
	// written: these jobs run again when their leases are over.
	Unsaved int
}

func (r *Returned) Error() string {
	if r.Unsaved == 0 {
		return fmt.Sprintf("stopped with %d running jobs handed back", r.Jobs)
	}
	return fmt.Sprintf("stopped with %d running jobs handed back and the outcomes of %d jobs unwritten", r.Jobs, r.Unsaved)
}

// returned converts the engine's error of a stop to the public type Returned.
func returned(err error) error {
	if r, ok := errors.AsType[*engine.Returned](err); ok {
		return &Returned{Jobs: r.Jobs, Unsaved: r.Unsaved}
	}
	return err
}

// Halt makes Run stop without further grace time, also when Run is already stopping. The
// grace time of Config.OnOutcome ends, too. A program calls Halt on a second signal. Halt
// does not wait until Run has returned.
func (c *Client) Halt() {
	c.mu.Lock()
	e, calls := c.engine, c.calls
	c.mu.Unlock()
	if e != nil {
		e.Halt()
		calls.halt()
	}
}

// WaitIdle waits until Run has no running job, has written every outcome, and knows of
// no job that it could claim. It returns ErrNotRunning when Run is not running or has
// not begun yet. If ctx ends first, it returns the error of ctx.
func (c *Client) WaitIdle(ctx context.Context) error {
	e := c.running()
	if e == nil {
		return ErrNotRunning
	}
	return e.Idle(ctx)
}

// RunUntilIdle works like Run, but ends when no job is due that this client could run, or
// when ctx ends. Use it in a program that a timer starts. Cron slots that are due are fired
// first. RunUntilIdle carries out redrives until they have to wait for a rate limit or for
// their canary.
func (c *Client) RunUntilIdle(ctx context.Context) error { return c.runUntil(ctx, nil, c.awaitDue) }

// awaitDue waits until no job is due and no work of the keeper is due.
func (c *Client) awaitDue(ctx context.Context, e *engine.Engine) error {
	for {
		if err := e.Idle(ctx); err != nil || !c.keeping().Pass(ctx) {
			return err
		}
		e.Look() // for the jobs that the keeper has made ready, whether or not the store has notified the engine
	}
}

// RunUntilEmpty works like Run, but ends when all jobs of the configured queues whose
// kinds have a handler have ended and no redrive is active, or when ctx ends. It waits
// for jobs that are due later and for retries. It waits for the jobs of a paused queue
// as long as the queue is paused. It does not wait for a paused redrive, or for a
// redrive that waits for jobs that this client does not run. Cron entries continue to
// fire during the wait.
func (c *Client) RunUntilEmpty(ctx context.Context) error { return c.runUntil(ctx, nil, c.awaitEmpty) }

// runUntil works like Run, but ends when a condition holds or ctx ends. If the run of another process
// is given, runUntil runs this job only, and does no upkeep of the store.
func (c *Client) runUntil(ctx context.Context, of *separateRun, await func(context.Context, *engine.Engine) error) error {
	stop, err := c.start(ctx, of)
	if err != nil {
		return err
	}
	defer stop()
	e := c.running()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	if of == nil {
		defer c.keep(inner)()
	}
	ended := make(chan error, 1)
	go func() { ended <- returned(e.Run(inner)) }()

	err = await(ctx, e)
	if ctx.Err() != nil {
		err = nil // the end of ctx is a normal stop, as in Run
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
		left, err := c.Backlog(ctx)
		switch {
		case passes(err): // the error may be temporary: wait below, and then count the jobs again
		case err != nil || left.Live() == 0:
			return err
		}
		if err := c.await(ctx, changed); err != nil {
			return err
		}
	}
}

// passes reports whether an error of a read from the store may be temporary.
func passes(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrFull)
}

func (c *Client) running() *engine.Engine {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.engine
}

// start makes the engine of one Run. The caller must call stop after the engine has
// ended. If the run of another process is given, the engine runs this job only.
func (c *Client) start(ctx context.Context, of *separateRun) (stop func(), err error) {
	c.followLabels(ctx)
	c.setting.Lock() // c.setting is locked before c.mu, in the same order as in SetPolicy
	defer c.setting.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.engine != nil || c.keeper != nil:
		return nil, errors.New("redrive: this client is already running; to run twice, make another client")
	case len(c.handlers) == 0:
		return nil, errors.New("redrive: no kind has a handler; call redrive.Handle before Run")
	}
	kinds := slices.Sorted(maps.Keys(c.handlers))
	for _, kind := range kinds {
		if err := c.handlers[kind].options.validate(); err != nil {
			return nil, fmt.Errorf("redrive: kind %q: %w", kind, err)
		}
	}
	c.enqueueing.logUnknown(c.config.Logger, kinds)
	if err := c.enforce(ctx); err != nil {
		return nil, fmt.Errorf("redrive: %w", err)
	}
	config, err := c.engineConfig()
	if err != nil {
		return nil, err
	}
	if of != nil {
		of.change(&config)
	}
	if config.Dirs, err = tempdir.Open(cmp.Or(c.config.TempDir, defaultTempDir())); err != nil {
		return nil, fmt.Errorf("redrive: %w; set Config.TempDir", err)
	}
	calls := c.newOutcomeCalls(ctx)
	if calls != nil {
		config.Written = calls.add
	}
	e, err := engine.New(config)
	if err != nil {
		calls.stop()
		return nil, errors.Join(fmt.Errorf("redrive: %w", err), config.Dirs.Close())
	}
	c.sealed, c.engine, c.keeper, c.calls = true, e, c.newKeeper(nil), calls
	return func() {
		calls.stop()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.engine, c.keeper, c.calls = nil, nil, nil
		if err := config.Dirs.Close(); err != nil {
			c.config.Logger.Warn("could not close the parent of the temporary directories", "error", err)
		}
	}, nil
}

func (c *Client) engineConfig() (engine.Config, error) {
	config := engine.Config{
		Store: c.store, Holder: c.config.Name, Build: c.config.Build,
		Lease: c.config.Lease, RescueInterval: c.config.RescueInterval, Poll: c.config.Poll, Grace: c.config.Grace,
		Admit: c.admit, Decide: c.decide, Terms: c.termsOf, Present: c.newPresence(), Clock: c.config.engineClock(), Logger: c.config.Logger,
		Outside: c.outside,
	}
	if c.config.Separate != nil {
		config.Separate = c.separate
	}
	for _, name := range slices.Sorted(maps.Keys(c.config.Queues)) {
		q := c.config.Queues[name]
		config.Queues = append(config.Queues, engine.Queue{Name: name, Workers: q.Workers, Limit: q.Limit, Rate: q.Rate})
	}
	for _, name := range slices.Sorted(maps.Keys(c.handlers)) {
		h := c.handlers[name]
		o := &h.options
		run, err := c.handlerOf(h)
		if err != nil {
			return config, err
		}
		config.Kinds = append(config.Kinds, engine.Kind{
			Name: name, Handler: run, Workers: o.Workers, Limit: o.Limit, Rate: o.Rate,
			Limits: func() (time.Duration, int) { return c.limitsOf(name, o) }, KillGrace: o.KillGrace, KeepPayload: o.KeepPayload,
		})
	}
	return config, nil
}

// defaultTempDir returns a directory whose name contains the user's id, because the
// directories of different users must be separate and private.
func defaultTempDir() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("redrive-%d", os.Getuid()))
}
