package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// An outcome is late if the store could not write it yet, but has written others, because
// an open transaction has locked rows that it needs. Late outcomes are written by separate
// exchanges, so that they do not delay claims and other outcomes.
const (
	// lateMax is the number of late outcomes at which the engine stops claiming jobs. The
	// results of late outcomes stay in memory, at most 16 MiB.
	lateMax = 256
	// lateWaitMax limits the back-off between the attempts. The store also waits during
	// each call.
	lateWaitMax = 2 * time.Second
)

// late is the state of the late outcomes.
type late struct {
	tasks   []*Task       // tasks are the tasks whose late outcomes must be written.
	flying  []*Task       // flying are the tasks in the call under way.
	since   time.Duration // since is the time since when outcomes are late. It is never if no outcome is late.
	request store.Exchange
	call    call
}

// keepLate adds a task to those whose outcomes are late.
func (c *Core) keepLate(t *Task, err error, now time.Duration) {
	if c.late.since == never {
		c.late.since = now
		c.late.call.fails = 1
		c.late.call.at = now + c.backoff(&c.late.call)
		c.note(Note{Kind: OutcomesLate, Task: t, Err: err})
	}
	c.late.tasks = append(c.late.tasks, t)
}

// tooLate reports whether there are too many late outcomes to claim more jobs.
func (c *Core) tooLate() bool { return len(c.late.tasks)+len(c.late.flying) >= lateMax }

// lateAt returns when the late outcomes are sent again.
func (c *Core) lateAt() time.Duration {
	if c.late.call.busy || len(c.late.tasks) == 0 {
		return never
	}
	return c.late.call.at
}

func (c *Core) sendLate(now time.Duration) {
	if now < c.lateAt() {
		return
	}
	n := min(len(c.late.tasks), job.ExchangeMax)
	c.late.flying = append(c.late.flying[:0], c.late.tasks[:n]...)
	c.late.tasks = shifted(c.late.tasks, n)
	x := &c.late.request
	x.Holder, x.Lease, x.Settle = c.cfg.Holder, c.cfg.Lease, x.Settle[:0]
	for _, t := range c.late.flying {
		x.Settle = append(x.Settle, t.Outcome)
	}
	c.late.call.send(now)
	c.out.Late = x
}

func (e LateAsked) apply(c *Core, now time.Duration) {
	c.late.call.busy = false
	err := e.Err
	if err == nil && len(e.Answer.Settled) != len(c.late.flying) {
		err = wrongLength(len(e.Answer.Settled), len(c.late.flying))
	}
	before := len(c.late.tasks)
	switch {
	case err == nil:
		c.written(c.late.flying, e.Answer.Settled, now)
	// One of the outcomes is invalid. It is found after they are moved to the pending ones.
	case errors.Is(err, store.ErrInvalid), errors.Is(err, store.ErrTooLarge):
		c.pending = append(c.pending, c.late.flying...)
	default:
		c.late.tasks = append(c.late.tasks, c.late.flying...)
	}
	c.late.call.fails++
	// Some outcomes were written, so the others are tried again soon.
	if len(c.late.tasks) < before+len(c.late.flying) {
		c.late.call.fails = 1
	}
	c.late.flying = emptied(c.late.flying)
	c.late.call.at = now + c.backoff(&c.late.call)
	if len(c.late.tasks) == 0 {
		// After an error, the outcomes are pending and not written.
		if err == nil {
			c.note(Note{Kind: LateWritten, Elapsed: now - c.late.since})
		}
		c.late.call.fails, c.late.since = 0, never
	}
}

// wrongLength returns the error for an answer with a wrong number of results.
func wrongLength(answers, outcomes int) error {
	return fmt.Errorf("the store answered %d of %d outcomes: %w", answers, outcomes, store.ErrUnknown)
}

// shifted returns s without its first n elements. It uses the same memory.
func shifted(s []*Task, n int) []*Task {
	rest := copy(s, s[n:])
	clear(s[rest:])
	return s[:rest]
}
