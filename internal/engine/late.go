package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// An outcome is late if the store could not write it yet but has written others, because
// an open transaction has locked rows that it needs. Late outcomes are written by separate
// exchanges, so that they do not delay claims and other outcomes.
const (
	// lateMax is the number of late outcomes at which no more jobs are claimed. Their
	// results stay in memory, at most 16 MiB.
	lateMax = 256
	// lateWaitMax bounds the back-off. The store also waits during the call.
	lateWaitMax = 2 * time.Second
)

// late is the state of the late outcomes.
type late struct {
	tasks   []*Task       // to be written
	flying  []*Task       // in the call under way
	since   time.Duration // since when outcomes are late; never if no outcome is
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

// tooLate reports whether too many outcomes are late to claim more jobs.
func (c *Core) tooLate() bool { return len(c.late.tasks)+len(c.late.flying) >= lateMax }

// lateAt returns when to try the late outcomes again.
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
	case errors.Is(err, store.ErrInvalid), errors.Is(err, store.ErrTooLarge): // one of them cannot be written: it is found among the pending ones
		c.pending = append(c.pending, c.late.flying...)
	default:
		c.late.tasks = append(c.late.tasks, c.late.flying...)
	}
	c.late.call.fails++
	if len(c.late.tasks) < before+len(c.late.flying) { // some were written: try again soon
		c.late.call.fails = 1
	}
	c.late.flying = emptied(c.late.flying)
	c.late.call.at = now + c.backoff(&c.late.call)
	if len(c.late.tasks) == 0 {
		if err == nil { // else they are pending and not written
			c.note(Note{Kind: LateWritten, Elapsed: now - c.late.since})
		}
		c.late.call.fails, c.late.since = 0, never
	}
}

// wrongLength is the error of an answer with a wrong number of results.
func wrongLength(answers, outcomes int) error {
	return fmt.Errorf("the store answered %d of %d outcomes: %w", answers, outcomes, store.ErrUnknown)
}

// shifted returns s without its first n elements, in the same memory.
func shifted(s []*Task, n int) []*Task {
	rest := copy(s, s[n:])
	clear(s[rest:])
	return s[:rest]
}
