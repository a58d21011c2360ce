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

// loop is the only goroutine that touches the core. Handlers get contexts made
// of runs, the store gets calls.
func (e *Engine) loop(runs, calls context.Context, woken <-chan struct{}) {
	timer := e.cfg.Clock.AfterFunc(0, e.in.nudge)
	defer timer.Stop()
	var b batch
	var waiters []chan<- struct{}
	wake, notified := time.Duration(0), false
	for {
		// Looked at again, so that whoever asks for Idle after an enqueue finds
		// its notification taken into account.
		select {
		case <-woken:
			notified = true
		default:
		}
		e.in.swap(&b)
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
		if wake != actions.Wake {
			wake = actions.Wake
			setTimer(timer, wake, now)
		}
		select {
		case <-e.in.wake:
		case <-woken:
			notified = true
		}
		// Let the runs that are about to finish do so first: one exchange for
		// many outcomes, not one for the first of them and one for the rest.
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

// act does what the core wants done with runs.
func (e *Engine) act(runs context.Context, a *Actions, now time.Duration) {
	for _, n := range a.Notes {
		e.logNote(n)
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

// start gives a task to its handler.
func (e *Engine) start(runs context.Context, t *Task, now time.Duration) {
	r := &Run{Claim: *t.Claim, engine: e, task: t, kind: t.kind.Kind, begun: e.origin.Add(now)}
	r.ctx.Context, r.cancel = context.WithCancelCause(runs)
	if r.kind.Timeout > 0 {
		r.ctx.limit = r.begun.Add(r.kind.Timeout)
	}
	t.run = r
	e.log(slog.LevelDebug, "job started", t.Claim)
	e.hands.give(r)
}

func (e *Engine) run(r *Run) {
	defer e.finish(r) // deferred because a handler may call runtime.Goexit
	r.handle()
}

// finish makes the outcome of a run whose handler has come to its end.
func (e *Engine) finish(r *Run) {
	t := r.task
	if !r.close() { // abandoned before
		e.in.postReturned(t)
		return
	}
	r.end.Elapsed = e.cfg.Clock.Now().Sub(r.begun)
	r.gather(&r.end)
	r.cancel(nil)
	if r.held {
		t.Elapsed = r.end.Elapsed
		e.in.postFinished(t)
		return
	}
	if r.end.How == "" {
		e.conclude(t, &r.end)
		e.in.postFinished(t)
		return
	}
	// Not here: it takes more stack than a handler needs.
	e.judges.give(r)
}

// judge makes the outcome of a run that failed.
func (e *Engine) judge(r *Run) {
	e.conclude(r.task, &r.end)
	e.in.postFinished(r.task)
}

// abandon makes the outcome of a run without its handler.
func (e *Engine) abandon(r *Run) {
	if !r.close() {
		return // it has just returned
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

// reportWritten tells Config.Written about an outcome. A claim that was handed back
// before its run began has none.
func (e *Engine) reportWritten(t *Task) {
	if e.cfg.Written != nil && (t.started || t.Outcome.Cause != job.Interrupted) {
		e.cfg.Written(t.Claim, &t.Outcome, t.Elapsed)
	}
}

// release lets go of what a task holds, once its outcome is stored or void.
func (e *Engine) release(t *Task) {
	if t.run != nil && t.run.dir != nil {
		e.calls.Go(t.run.removeDir)
	}
	if !t.Stuck {
		t.run = nil
	}
	// Claims of one answer share their memory: one that runs for hours must not
	// keep the payloads of the others.
	t.Outcome = job.Outcome{}
	*t.Claim = job.Claim{}
}

// queueNames returns the names of the queues, for the store to know them.
func (e *Engine) queueNames() []string {
	var names []string
	for _, q := range e.cfg.Queues {
		names = append(names, q.Name)
	}
	return slices.Clip(names)
}
