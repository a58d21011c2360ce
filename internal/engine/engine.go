// Package engine runs jobs. Core makes all decisions, without goroutines, clock or I/O.
// Engine calls the store and the handlers.
package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Engine runs the jobs of its queues in this process.
type Engine struct {
	cfg     Config
	core    *Core
	in      inbox
	origin  time.Time
	started atomic.Bool
	ended   chan struct{}
	calls   sync.WaitGroup // calls counts the store calls and clean-ups under way.
	workers *crew          // workers holds the goroutines that call handlers.
	endings *crew          // endings holds the goroutines that make the outcomes of failed runs.
}

// These are the highest numbers of idle goroutines that are kept for later runs.
const (
	idleWorkersMax = 256
	idleEndingsMax = 16
)

// New returns an engine, or an error that lists all problems of the configuration.
func New(cfg Config) (*Engine, error) {
	core, err := NewCore(cfg)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		cfg: core.cfg, core: core, origin: core.cfg.Clock.Now(),
		in: inbox{wake: make(chan struct{}, 1)}, ended: make(chan struct{}),
	}
	e.workers = newCrew(idleWorkersMax, e.ended, e.run)
	e.endings = newCrew(idleEndingsMax, e.ended, e.endFailed)
	return e, nil
}

// Returned is the error of a stop that left work to other workers. It is an error so that a
// command can report it by its exit code.
type Returned struct {
	Jobs int // Jobs is the number of running jobs that did not end within the grace time.
	// Unsaved is the number of jobs that have ended without a stored outcome. They run
	// again after their leases have ended.
	Unsaved int
}

func (r *Returned) Error() string {
	if r.Unsaved == 0 {
		return fmt.Sprintf("stopped with %d running jobs handed back", r.Jobs)
	}
	return fmt.Sprintf("stopped with %d running jobs handed back and the outcomes of %d jobs unwritten", r.Jobs, r.Unsaved)
}

// Run works until ctx ends, and then stops gracefully. It claims no more jobs, gives
// running jobs the grace time, ends their contexts, and hands back the jobs that remain. It
// returns nil if no work was left, and a *Returned otherwise. Handlers can read the values
// of ctx. Run may be called once.
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

// Halt stops the engine without grace time. During a graceful stop it ends the grace time.
func (e *Engine) Halt() { e.in.post(HaltAsked{}) }

// Idle waits until no job of this process is running, buffered or being written, and until
// the process knows of no job that it could claim. It returns at once when Run has ended.
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
