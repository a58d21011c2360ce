package engine

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"time"

	"github.com/redrive/redrive/job"
)

// loop is the only goroutine that uses the core. The first context is the parent of the contexts
// of all handlers; the second is the parent of the contexts of all store calls. The store sends
// its notifications to the channel.
func (e *Engine) loop(runs, calls context.Context, woken <-chan struct{}) {
	timer := e.cfg.Clock.AfterFunc(0, e.in.ring)
	defer timer.Stop()
	var b batch
	var waiters []chan<- struct{}
	wake, notified := time.Duration(0), false
	for {
		e.in.swap(&b)
		// Look for a notification again after the swap. If the swap returned callers of Idle, the
		// notifications about their earlier enqueues have already been sent.
		select {
		case <-woken:
			notified = true
		default:
		}
		events := b.all()
		if notified {
			events = append(events, Woken{})
			notified = false
		}
		now := e.now()
		actions := e.core.Step(now, events...)
		e.act(runs, actions, now)
		e.call(calls, actions)
		if actions.Stopped {
			return
		}
		if waiters = append(waiters, b.waiters...); len(waiters) > 0 && e.core.Idle() {
			for _, idle := range waiters {
				close(idle)
			}
			waiters = nil
		}
		if wake != actions.Wake || b.rang { // a timer can fire before the clock reaches its time
			wake = actions.Wake
			setTimer(timer, wake, now)
		}
		select {
		case <-e.in.wake:
		case <-woken:
			notified = true
		}
		// Let other goroutines finish their runs first, so that one exchange can write all
		// their outcomes.
		runtime.Gosched()
	}
}

func setTimer(timer Timer, at, now time.Duration) {
	if at == never {
		timer.Stop()
		return
	}
	timer.Reset(at - now)
}

func (e *Engine) now() time.Duration { return e.cfg.Clock.Now().Sub(e.origin) }

// act executes those actions of the core that concern runs.
func (e *Engine) act(runs context.Context, a *Actions, now time.Duration) {
	for _, n := range a.Notes {
		e.logNote(n)
	}
	for _, s := range a.Checks {
		e.calls.Go(func() { e.in.post(Checked{s, s.trouble.Check()}) })
	}
	for _, t := range a.Start {
		e.start(runs, t, now)
	}
	for _, t := range a.End {
		t.run.cancel(t.Cause)
	}
	for _, t := range a.Abandon {
		go e.abandon(t.run)
	}
	for _, t := range a.Written {
		e.logTransition(t)
		e.reportWritten(t)
		e.release(t)
	}
	for _, t := range a.Dropped {
		if t.inTx {
			e.logTransition(t)
		}
		e.release(t)
	}
}

// start gives a task to a goroutine that calls its handler.
func (e *Engine) start(runs context.Context, t *Task, now time.Duration) {
	r := &Run{Claim: *t.Claim, engine: e, task: t, kind: t.kind.Kind, begun: e.origin.Add(now)}
	r.ctx.Context, r.cancel = context.WithCancelCause(runs)
	if t.timeout > 0 {
		r.ctx.limit = r.begun.Add(t.timeout)
	}
	t.run = r
	e.log(slog.LevelDebug, "job started", t.Claim)
	e.workers.give(r)
}

func (e *Engine) run(r *Run) {
	defer e.finish(r) // deferred, because the handler may call runtime.Goexit
	r.handle()
}

// finish makes the outcome of a run whose handler has ended.
func (e *Engine) finish(r *Run) {
	t := r.task
	if !r.close() { // the run was already abandoned, and its outcome is made elsewhere
		e.in.postReturned(t)
		return
	}
	r.end.Elapsed = e.cfg.Clock.Now().Sub(r.begun)
	r.gather(&r.end)
	r.cancel(nil)
	if r.held || t.separate && r.end.How == "" {
		t.Elapsed = r.end.Elapsed
		e.in.postFinished(t)
		return
	}
	if r.end.How == "" {
		e.conclude(t, &r.end)
		e.in.postFinished(t)
		return
	}
	// Make the outcome of a failed run in another goroutine, because this needs more stack
	// than most handlers.
	e.endings.give(r)
}

// endFailed makes the outcome of a run that has failed.
func (e *Engine) endFailed(r *Run) {
	trouble := r.trouble()
	r.end.NotStarted = trouble != nil
	e.conclude(r.task, &r.end)
	if r.task.Outcome.Cause == job.Deferred {
		r.task.trouble = trouble
	}
	e.in.postFinished(r.task)
}

// abandon makes the outcome of a run whose handler has not returned in time.
func (e *Engine) abandon(r *Run) {
	if !r.close() {
		return // the handler has just returned, so its outcome is made elsewhere
	}
	t := r.task
	patience := r.kind.KillGrace + returnGrace
	end := job.Ending{
		Err:     fmt.Errorf("the handler did not return within %s after its context had ended: %w", patience, t.Cause),
		Elapsed: e.cfg.Clock.Now().Sub(r.begun),
	}
	r.gather(&end)
	t.Stuck = true
	e.conclude(t, &end)
	e.in.postFinished(t)
}

// reportWritten calls Config.Written with the outcome of a task, unless the claim was
// handed back before the run began.
func (e *Engine) reportWritten(t *Task) {
	if e.cfg.Written != nil && (t.started || t.Outcome.Cause != job.Interrupted) {
		e.cfg.Written(t.Claim, &t.Outcome, t.Elapsed)
	}
}

// release frees the memory and the directory of a task whose outcome was stored or dropped.
func (e *Engine) release(t *Task) {
	if t.run != nil && t.run.dir != nil {
		e.calls.Go(t.run.removeDir)
	}
	if !t.Stuck {
		t.run = nil
	}
	// The claims of one answer share one slice. Copy the claim, so that a job that runs for
	// hours does not keep the payloads of the other jobs in memory.
	t.Outcome = job.Outcome{}
	*t.Claim = job.Claim{}
}

// queueNames returns the names of the queues that the store has to know.
func (e *Engine) queueNames() []string {
	var names []string
	for _, q := range e.cfg.Queues {
		names = append(names, q.Name)
	}
	return slices.Clip(names)
}
