// Package engine runs jobs. Core decides, without goroutines, clock or I/O; the
// Engine around it calls the store and the handlers.
package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Engine runs the jobs of some queues in this process.
type Engine struct {
	cfg     Config
	core    *Core
	in      inbox
	origin  time.Time
	started atomic.Bool
	ended   chan struct{}
	calls   sync.WaitGroup // store calls and clean-ups under way
	hands   *crew          // who call handlers
	judges  *crew          // who make the outcomes of runs that failed
}

// handsMax and judgesMax bound the goroutines that are kept for more runs to come.
const (
	handsMax  = 256
	judgesMax = 16
)

// New returns an engine, or every problem of its configuration.
func New(cfg Config) (*Engine, error) {
	core, err := NewCore(cfg)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		cfg: core.cfg, core: core, origin: core.cfg.Clock.Now(),
		in: inbox{wake: make(chan struct{}, 1)}, ended: make(chan struct{}),
	}
	e.hands = newCrew(handsMax, e.ended, e.run)
	e.judges = newCrew(judgesMax, e.ended, e.judge)
	return e, nil
}

// Returned says that a stop has left work to others. It is an error so that an
// exit code can tell.
type Returned struct {
	Jobs int // running jobs that did not end within the grace time
	// Unsaved jobs have ended, but the store could not be told so: they run
	// again when their leases are over.
	Unsaved int
}

func (r *Returned) Error() string {
	if r.Unsaved == 0 {
		return fmt.Sprintf("stopped with %d running jobs handed back", r.Jobs)
	}
	return fmt.Sprintf("stopped with %d running jobs handed back and the outcomes of %d jobs unwritten", r.Jobs, r.Unsaved)
}

// Run works until ctx ends, and then stops gracefully: no new claims, running
// jobs get the grace time, then their contexts end and what remains is handed
// back. It returns nil after a clean stop and a *Returned when work was left.
// Values of ctx reach the handlers. An engine runs once.
func (e *Engine) Run(ctx context.Context) error {
	if !e.started.CompareAndSwap(false, true) {
		return errors.New("engine: Run was called twice; make a new engine")
	}
	defer close(e.ended)
	runs := context.WithoutCancel(ctx)
	calls, cancel := context.WithCancel(runs)
	defer e.handBackLate(runs)
	defer e.calls.Wait()
	defer cancel()

	woken := make(chan struct{}, 1)
	defer e.cfg.Store.Notify(woken)()
	defer context.AfterFunc(ctx, func() { e.in.post(StopAsked{}) })()
	e.loop(runs, calls, woken)
	if e.core.handed > 0 || e.core.unsaved > 0 {
		return &Returned{Jobs: e.core.handed, Unsaved: e.core.unsaved}
	}
	return nil
}

// Halt stops without any grace time, also in the middle of a graceful stop.
func (e *Engine) Halt() { e.in.post(HaltAsked{}) }

// Idle waits until this process has nothing running, buffered or being written
// and knows of no job that it could take. It returns at once when Run has ended.
func (e *Engine) Idle(ctx context.Context) error {
	idle := make(chan struct{})
	e.in.postWaiter(idle)
	select {
	case <-idle:
		return nil
	case <-e.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the engine to be idle: %w", context.Cause(ctx))
	}
}
