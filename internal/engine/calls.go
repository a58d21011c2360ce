package engine

import (
	"context"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// callTimeoutMin is the shortest time limit of a store call. A call that reaches its limit
// is repeated, so the limit only matters for a call that hangs.
const callTimeoutMin = 5 * time.Second

// call makes the store calls that a step asks for. Each call posts its answer as an event.
func (e *Engine) call(ctx context.Context, a *Actions) {
	if a.Exchange != nil {
		x := *a.Exchange
		e.calls.Go(func() { e.exchange(ctx, x) })
	}
	if a.Late != nil {
		x := *a.Late
		e.calls.Go(func() {
			ctx, cancel := e.limited(ctx)
			defer cancel()
			answer, err := e.cfg.Store.Exchange(ctx, x)
			e.in.post(LateAsked{answer, err})
		})
	}
	if len(a.Beat) > 0 {
		beat := e.beat(a.Beat)
		e.calls.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, max(e.cfg.Lease/3, LeaseMin))
			defer cancel()
			status, err := e.cfg.Store.Heartbeat(ctx, beat)
			e.in.post(Beaten{status, err})
		})
	}
	if len(a.Begin) > 0 {
		beat := e.beat(a.Begin)
		beat.Begin = true
		e.calls.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, max(e.cfg.Lease/3, LeaseMin))
			defer cancel()
			status, err := e.cfg.Store.Heartbeat(ctx, beat)
			e.in.post(Begun{status, err})
		})
	}
	if a.Rescue > 0 {
		limit := a.Rescue
		e.calls.Go(func() { e.rescue(ctx, limit) })
	}
	if a.Signals {
		e.calls.Go(func() {
			ctx, cancel := e.limited(ctx)
			defer cancel()
			signals, err := e.cfg.Store.Signals(ctx, e.cfg.Holder)
			e.in.post(SignalsRead{signals, err})
		})
	}
	if a.Sign != nil {
		s := *a.Sign
		e.calls.Go(func() { e.sign(ctx, s) })
	}
	if a.Declare {
		e.calls.Go(func() {
			ctx, cancel := e.limited(ctx)
			defer cancel()
			e.in.post(Declared{e.cfg.Store.Declare(ctx, e.queueNames())})
		})
	}
}

func (e *Engine) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, max(e.cfg.Lease, callTimeoutMin))
}

func (e *Engine) exchange(ctx context.Context, x store.Exchange) {
	ctx, cancel := e.limited(ctx)
	defer cancel()
	answer, err := e.cfg.Store.Exchange(ctx, x)
	if err == nil {
		e.logExpired(answer.Expired)
	}
	e.in.post(Exchanged{answer, err})
}

// beat returns the heartbeat for the given tasks. It contains the progress of each task whose
// progress is new.
func (e *Engine) beat(tasks []*Task) store.Beat {
	b := store.Beat{Lease: e.cfg.Lease, Runs: make([]store.Run, 0, len(tasks))}
	for _, t := range tasks {
		b.Runs = append(b.Runs, t.name())
		if t.HasNews() {
			p := t.run.lastProgress()
			p.Note = cut(e.outside(p.Note), job.TextMax)
			b.Progress = append(b.Progress, p)
		}
	}
	return b
}

func (r *Run) lastProgress() job.Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.progress
}

// rescue ends the runs of workers that no longer exist, and removes the temp directories
// that workers on this machine have left.
func (e *Engine) rescue(ctx context.Context, limit int) {
	limited, cancel := e.limited(ctx)
	defer cancel()
	rescue, err := e.cfg.Store.Rescue(limited, limit)
	if err == nil {
		e.logRescued(rescue.Jobs)
	}
	e.in.post(Rescued{len(rescue.Jobs), rescue.NextExpiry, err})
	if e.cfg.Dirs != nil {
		e.sweepDirs(ctx)
	}
}

func (e *Engine) sweepDirs(ctx context.Context) {
	removed, err := e.cfg.Dirs.Sweep(ctx)
	if removed > 0 {
		e.cfg.Logger.InfoContext(ctx, "removed temp directories of workers that have ended", "directories", removed)
	}
	if err != nil && ctx.Err() == nil {
		e.cfg.Logger.WarnContext(ctx, "cannot remove temp directories of workers that have ended", "error", err)
	}
}
