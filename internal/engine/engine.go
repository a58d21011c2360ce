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
	calls   sync.WaitGroup // store calls and clean-ups that are running
	workers *crew          // goroutines that call handlers
	endings *crew          // goroutines that make the outcomes of failed runs
}

// The largest numbers of idle goroutines that are kept for later runs.
const (
	idleWorkersMax = 256
	idleEndingsMax = 16
)

// New returns an engine, or an error with all problems of the configuration.
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

// Returned is the error of a stop that left jobs to other workers. It is an error, so that a
// program can choose its exit code by it.
type Returned struct {
	Jobs int // number of running jobs that did not end within the grace time
	// Unsaved is the number of jobs that have ended, but whose outcome could not be stored.
	// They run again when their leases are over.
	Unsaved int
}

func (r *Returned) Error() string {
	if r.Unsaved == 0 {
		return fmt.Sprintf("stopped with %d running jobs handed back", r.Jobs)
	}
	return fmt.Sprintf("stopped with %d running jobs handed back and the outcomes of %d jobs unwritten", r.Jobs, r.Unsaved)
}

// Run runs jobs until ctx ends, and then stops gracefully: it claims no more jobs, gives
// running jobs the grace time, ends their contexts, and hands back the jobs that remain. It
// returns nil after a complete stop, and a *Returned if jobs were left to other workers.
// Handlers can read the values of ctx. Call Run once.
func (e *Engine) Run(ctx context.Context) error {
	if !e.started.CompareAndSwap(false, true) {
		return errors.New("engine: Run was called twice; make a new engine")
	}
	defer close(e.ended)
	runs := context.WithoutCancel(ctx)
	calls, cancel := context.WithCancel(runs)
	defer e.leave(runs)
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

// Halt stops the engine without a grace time. During a graceful stop, it ends the grace
// time.
func (e *Engine) Halt() { e.in.post(HaltAsked{}) }

// Look makes the engine ask the store for jobs, as a notification of the store does. A call of Idle after
// Look waits for the answer.
func (e *Engine) Look() { e.in.post(Woken{}) }

// Idle waits until the engine has nothing to do: no job is running, buffered or being
// written, and it knows of no job that this process could claim. If Run has ended, it
// returns at once.
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
