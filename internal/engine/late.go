package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// An outcome is late if the store has written other outcomes but could not write this one
// yet, because another transaction has locked rows that it needs. Separate exchanges write
// late outcomes, so that they do not delay claims and other outcomes.
const (
	// lateMax is the number of late outcomes at which the core stops claiming jobs. The results
	// of late outcomes stay in memory; this limit keeps them below 16 MiB.
	lateMax = 256
	// lateWaitMax is the longest wait between two attempts to write late outcomes. The
	// store also waits for locks during each attempt.
	lateWaitMax = 2 * time.Second
)

// late contains the late outcomes and their schedule.
type late struct {
	tasks   []*Task       // the tasks whose late outcomes have to be written
	flying  []*Task       // the tasks whose late outcomes are in the exchange that is being made
	since   time.Duration // when the first of the late outcomes became late; never if no outcome is late
	request store.Exchange
	call    call
}

// keepLate adds a task to the tasks with late outcomes.
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

// lateAt returns when the next attempt to write the late outcomes is due.
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
		c.written(c.late.flying, &e.Answer, now)
	case errors.Is(err, store.ErrInvalid), errors.Is(err, store.ErrTooLarge): // the store does not say which outcome is invalid: move all of them to c.pending, where the core writes them one by one
		c.pending = append(c.pending, c.late.flying...)
	default:
		c.late.tasks = append(c.late.tasks, c.late.flying...)
	}
	c.late.call.fails++
	if len(c.late.tasks) < before+len(c.late.flying) { // the store has written some of the outcomes, so try again soon
		c.late.call.fails = 1
	}
	c.late.flying = emptied(c.late.flying)
	c.late.call.at = now + c.backoff(&c.late.call)
	if len(c.late.tasks) == 0 {
		if err == nil { // after an error, the outcomes were not written but moved to c.pending
			c.note(Note{Kind: LateWritten, Elapsed: now - c.late.since})
		}
		c.late.call.fails, c.late.since = 0, never
	}
}

// wrongLength is the error for an answer of the store with a wrong number of results.
func wrongLength(answers, outcomes int) error {
	return fmt.Errorf("the store returned %d results for %d outcomes: %w", answers, outcomes, store.ErrUnknown)
}

// shifted returns s without its first n elements. The result uses the memory of s.
func shifted(s []*Task, n int) []*Task {
	rest := copy(s, s[n:])
	clear(s[rest:])
	return s[:rest]
}
