package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// An outcome is late when the store could not write it yet and has written others:
// somebody's open transaction holds what it needs. Late outcomes are asked again in
// exchanges of their own, so that claims and all other outcomes go on.
const (
	// lateMax is how many outcomes may be late before no more jobs are claimed: what
	// they hold is kept in memory. That is at most 16 MiB of results.
	lateMax = 256
	// lateWaitMax bounds the back-off: the store waits by itself while it is asked.
	lateWaitMax = 2 * time.Second
)

// late are the outcomes that are late.
type late struct {
	tasks   []*Task       // to be asked again
	flying  []*Task       // in the call under way
	since   time.Duration // never when none is late
	request store.Exchange
	call    call
}

// keepLate puts a task among those whose outcomes are late.
func (c *Core) keepLate(t *Task, err error, now time.Duration) {
	if c.late.since == never {
		c.late.since = now
		c.late.call.fails = 1
		c.late.call.at = now + c.backoff(&c.late.call)
		c.note(Note{Kind: OutcomesLate, Task: t, Err: err})
	}
	c.late.tasks = append(c.late.tasks, t)
}

// tooLate reports whether so many outcomes are late that no more jobs are claimed.
func (c *Core) tooLate() bool { return len(c.late.tasks)+len(c.late.flying) >= lateMax }

// lateAt returns when to ask for the late outcomes again.
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
	case errors.Is(err, store.ErrInvalid), errors.Is(err, store.ErrTooLarge): // one of them: it is found among the others
		c.pending = append(c.pending, c.late.flying...)
	default:
		c.late.tasks = append(c.late.tasks, c.late.flying...)
	}
	c.late.call.fails++
	if len(c.late.tasks) < before+len(c.late.flying) { // it is worth going on
		c.late.call.fails = 1
	}
	c.late.flying = emptied(c.late.flying)
	c.late.call.at = now + c.backoff(&c.late.call)
	if len(c.late.tasks) == 0 {
		if err == nil { // else they are pending, and nothing is written
			c.note(Note{Kind: LateWritten, Elapsed: now - c.late.since})
		}
		c.late.call.fails, c.late.since = 0, never
	}
}

// wrongLength is the error of an answer that does not fit what was asked.
func wrongLength(answers, outcomes int) error {
	return fmt.Errorf("the store answered %d of %d outcomes: %w", answers, outcomes, store.ErrUnknown)
}

// shifted returns s without its first n elements, in its place.
func shifted(s []*Task, n int) []*Task {
	rest := copy(s, s[n:])
	clear(s[rest:])
	return s[:rest]
}
