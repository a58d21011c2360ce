package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// stopPhase is the phase of a stop.
type stopPhase uint8

const (
	serving  stopPhase = iota
	graceful           // the process claims no more jobs, and running jobs may finish
	halting            // the grace time is over: the contexts of running jobs have ended
)

// lastAttempts is how long a stopping engine tries to write the remaining outcomes when no
// job runs anymore and the store fails.
const lastAttempts = 10 * time.Second

func (StopAsked) apply(c *Core, now time.Duration) {
	if c.stop == serving {
		c.stop = graceful
		c.graceAt = now + max(0, c.cfg.Grace)
	}
}

func (HaltAsked) apply(c *Core, now time.Duration) {
	if c.stop != halting {
		c.stop = graceful
		c.graceAt = now
	}
}

// advanceStop ends the grace time of a stop when this time is over.
func (c *Core) advanceStop(now time.Duration) {
	if c.stop != graceful || now < c.graceAt {
		return
	}
	c.stop = halting
	for _, t := range c.tasks {
		if t.phase == running {
			c.end(t, ErrInterrupted, now)
		}
	}
}

// done reports whether a stop is complete: all outcomes are written, or the engine has
// given up.
func (c *Core) done(now time.Duration) bool {
	switch {
	case c.stop == serving || slices.ContainsFunc(c.tasks, func(t *Task) bool { return t.phase != finished }):
		return false
	case len(c.tasks) == 0 && !c.exchange.busy:
		return true
	case c.giveUp == 0:
		c.giveUp = now + lastAttempts
	case now >= c.giveUp:
		if c.unsaved = len(c.tasks); c.unsaved > 0 {
			c.note(Note{Kind: OutcomesGivenUp, N: c.unsaved})
		}
		for len(c.tasks) > 0 {
			c.discard(c.tasks[0])
		}
		return true
	}
	return false
}

// stopAt returns when the stop needs the next step.
func (c *Core) stopAt() time.Duration {
	at := never
	if c.stop == graceful {
		at = c.graceAt
	}
	if c.giveUp > 0 {
		at = min(at, c.giveUp)
	}
	return at
}

// handBackLate hands back the jobs of an exchange that had not been answered when the loop ended.
// Otherwise the leases of these jobs would expire, and each job would count a crash.
func (e *Engine) handBackLate(ctx context.Context) {
	var b batch
	e.in.swap(&b)
	x := store.Exchange{Holder: e.cfg.Holder, Lease: e.cfg.Lease}
	for _, event := range b.events {
		exchanged, ok := event.(Exchanged)
		if !ok || exchanged.Err != nil {
			continue
		}
		for i := range exchanged.Answer.Claims {
			c := &exchanged.Answer.Claims[i]
			x.Settle = append(x.Settle, job.Outcome{ID: c.ID, Token: c.Token, Cause: job.Interrupted, To: job.Waiting})
		}
	}
	if len(x.Settle) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeoutMin)
	defer cancel()
	answer, err := e.cfg.Store.Exchange(ctx, x)
	if err = errors.Join(append(answer.Settled, err)...); err != nil {
		e.cfg.Logger.WarnContext(ctx, "jobs that were claimed while the worker stopped could not be handed back; "+
			"they run again when their leases are over", "jobs", len(x.Settle), "error", err)
	}
}
