package engine

import (
	"context"
	"time"

	"github.com/redrive/redrive/store"
)

// leaveTimeout is how long a stopping engine waits for the call that removes its process
// from the register.
const leaveTimeout = 2 * time.Second

// Sign is a sign of life of the process.
type Sign struct {
	Slots   int // the number of jobs that the process can run at the same time
	Running int // the number of jobs that the process runs now
	Sick    []Ailment
	Leaving bool // whether the process stops, so that this is its last sign of life
}

// presence is the part of a Core that sends signs of life of the process to the store.
type presence struct {
	call
	sent  bool // whether the process has sent a sign of life before
	quiet bool // whether a person has ordered the process to claim no jobs
}

// Presented is the answer to a sign of life.
type Presented struct {
	Orders store.Orders
	Err    error
}

// sendSign sends a sign of life if one is due.
func (c *Core) sendSign(now time.Duration) {
	if now < c.signAt() {
		return
	}
	c.presence.send(now)
	c.presence.sent = true
	c.out.Sign = &Sign{Running: c.runningTasks(), Sick: c.ailments()}
	for _, q := range c.queues {
		c.out.Sign.Slots += q.workers
	}
}

// signAt returns when the next sign of life is due.
func (c *Core) signAt() time.Duration {
	if c.presence.busy || c.cfg.Present == nil {
		return never
	}
	return c.presence.at
}

// runningTasks returns the number of runs whose handlers have not returned.
func (c *Core) runningTasks() (n int) {
	for _, q := range c.queues {
		n += q.busy
	}
	return n
}

// apply handles the answer to a sign of life. A failed call changes nothing: it does not
// count as a failure of the store, and the next sign is sent at its usual time.
func (e Presented) apply(c *Core, now time.Duration) {
	p := &c.presence
	p.busy, p.at = false, p.sentAt+store.PresentEvery
	if e.Err != nil {
		if p.fails++; p.fails == 1 {
			c.note(Note{Kind: SignFailed, Err: e.Err})
		}
		return
	}
	p.fails = 0
	c.lookBy(p.sentAt, e.Orders.NextExpiry)
	if e.Orders.Quiet == p.quiet {
		return
	}
	p.quiet = e.Orders.Quiet
	if p.quiet {
		c.note(Note{Kind: QuietBegan})
		return
	}
	c.more = true
	c.note(Note{Kind: QuietEnded})
}

// sign makes the call for a sign of life.
func (e *Engine) sign(ctx context.Context, s Sign) {
	ctx, cancel := e.limited(ctx)
	defer cancel()
	orders, err := e.cfg.Present(ctx, s)
	e.in.post(Presented{orders, err})
}

// leave removes the process from the register. It does not try if the last sign of life
// has failed.
func (e *Engine) leave(ctx context.Context) {
	if p := &e.core.presence; !p.sent || p.fails > 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	if _, err := e.cfg.Present(ctx, Sign{Leaving: true}); err != nil {
		e.cfg.Logger.WarnContext(ctx, "the process could not be removed from the list of workers; it is shown as silent there", "error", err)
	}
}
