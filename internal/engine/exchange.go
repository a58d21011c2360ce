package engine

import (
	"errors"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	// emptyFree is the number of exchanges in a row that may claim no job and write no outcome.
	// Each further exchange of this sort waits for emptyGap. This limits the calls that
	// notifications about jobs of other workers cause.
	emptyFree = 4
	emptyGap  = 5 * time.Millisecond
)

// sendExchange sends an exchange if one is due.
func (c *Core) sendExchange(now time.Duration) {
	if now < c.exchangeAt() {
		return
	}
	x := &c.request
	c.takePending()
	x.Settle = x.Settle[:0]
	for _, t := range c.flying {
		x.Settle = append(x.Settle, t.Outcome)
	}
	// While the store fails, outcomes are written without claiming jobs. Outcomes may free
	// space, and if the answer to a claim is lost, the job waits until its lease is over.
	x.Want = x.Want[:0]
	if c.stop == serving && !c.tooLate() && (len(x.Settle) == 0 || c.exchange.fails == 0 && c.singly == 0) {
		x.Want = c.wants(x.Want)
		c.askedAt = now
		c.more = false
	}
	if len(x.Settle) == 0 && len(x.Want) == 0 {
		return
	}
	x.Holder, x.Lease = c.cfg.Holder, c.cfg.Lease
	c.exchange.send(now)
	c.out.Exchange = x
}

// exchangeAt returns when the next exchange is due.
func (c *Core) exchangeAt() time.Duration {
	switch {
	case c.exchange.busy:
		return never
	case len(c.pending) > 0:
		return c.exchange.at
	case c.stop != serving || c.tooLate() || !c.hasRoom():
		return never
	}
	at := c.exchange.at
	if c.emptyExchanges >= emptyFree {
		at = max(at, c.askedAt+emptyGap)
	}
	if c.more {
		return at
	}
	return max(at, min(c.dueAt, c.askedAt+c.cfg.Poll))
}

// takePending moves the outcomes for the next exchange from pending to flying.
func (c *Core) takePending() {
	n := min(len(c.pending), job.ExchangeMax)
	if c.singly > 0 {
		n = min(n, 1)
	}
	c.flying = append(c.flying[:0], c.pending[:n]...)
	c.pending = shifted(c.pending, n)
}

func (e Exchanged) apply(c *Core, now time.Duration) {
	err := e.Err
	if err == nil && len(e.Answer.Settled) != len(c.flying) {
		err = wrongLength(len(e.Answer.Settled), len(c.flying))
	}
	if err != nil && !c.isolates(err) {
		c.pending = append(c.flying, c.pending...)
		c.flying = nil
		c.more = true
		c.answered(&c.exchange, err, now)
		return
	}
	asked := len(c.request.Want) > 0
	if err == nil {
		c.roundTrip.add(now - c.exchange.sentAt)
		wrote := len(c.flying)
		c.written(c.flying, &e.Answer, now)
		if asked {
			c.acceptClaims(&e.Answer, wrote, now)
		}
	} else { // the store works, and only one of the outcomes cannot be written
		c.more = c.more || asked
	}
	c.flying = emptied(c.flying)
	c.answered(&c.exchange, nil, now)
}

// acceptClaims handles the answer to an exchange that asked for jobs.
func (c *Core) acceptClaims(a *store.Exchanged, wrote int, now time.Duration) {
	c.accept(a.Claims, now)
	if wrote > 0 || len(a.Claims) > 0 {
		c.emptyExchanges = 0
	} else {
		c.emptyExchanges++
	}
	if !c.skipped || c.emptyExchanges <= 1 || c.dueAt <= now { // if the exchange did not request jobs of some kinds, the earlier time stays valid for these kinds
		c.dueAt = never
	}
	if a.NextDue < never-now {
		c.dueAt = min(c.dueAt, now+max(a.NextDue, time.Millisecond))
	}
	c.more = c.more || a.Full || c.asksAgain()
}

// written handles the answers for the outcomes of tasks.
func (c *Core) written(tasks []*Task, answer *store.Exchanged, now time.Duration) {
	for _, i := range answer.Cancelled {
		if i >= 0 && i < len(tasks) {
			o := &tasks[i].Outcome
			o.To, o.Delay, o.NotBefore = job.Cancelled, 0, 0
		}
	}
	for i, t := range tasks {
		err := answer.Settled[i]
		switch {
		case err == nil:
			c.close(t)
			c.out.Written = append(c.out.Written, t)
		case errors.Is(err, store.ErrLeaseLost), errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrConflict):
			if !t.inTx { // the store refuses a run that is completed already: by the transaction of its handler
				c.note(Note{Kind: OutcomeRefused, Task: t, Err: err})
			}
			c.discard(t)
		case errors.Is(err, store.ErrInvalid), errors.Is(err, store.ErrTooLarge):
			c.replace(t, err)
		default:
			c.keepLate(t, err, now)
		}
	}
}

// isolates handles an exchange that the store refused because one outcome cannot be
// written. The outcomes are then written one by one until this outcome is found. isolates
// reports whether it has handled the error.
func (c *Core) isolates(err error) bool {
	if !errors.Is(err, store.ErrInvalid) && !errors.Is(err, store.ErrTooLarge) || len(c.flying) == 0 {
		return false
	}
	if len(c.flying) == 1 {
		c.replace(c.flying[0], err)
		return true
	}
	c.singly = len(c.flying) + 1 // one more than the number of outcomes, because c.answered will subtract 1 for this exchange
	c.pending = append(c.flying, c.pending...)
	c.flying = nil
	return true
}

// replace replaces an outcome that cannot be written with a failure, so that the job ends.
// If the store also refuses the replacement, the outcome is dropped.
func (c *Core) replace(t *Task, err error) {
	if t.replaced {
		c.note(Note{Kind: OutcomeRefused, Task: t, Err: err})
		c.discard(t)
		return
	}
	c.note(Note{Kind: OutcomeInvalid, Task: t, Err: err})
	t.replaced = true
	t.Outcome = job.Unwritable(t.Claim, &job.Ending{
		Holder: c.cfg.Holder, Build: c.cfg.Build, Cost: t.Outcome.Cost, Sends: t.Outcome.Sends, Progressed: true,
	}, err)
	c.pending = append(c.pending, t)
}

// discard removes a task whose outcome will never be written.
func (c *Core) discard(t *Task) {
	c.remove(t)
	c.out.Dropped = append(c.out.Dropped, t)
}

// close removes a task whose outcome was written.
func (c *Core) close(t *Task) {
	c.remove(t)
	if c.stop != serving && t.started && t.Outcome.Cause == job.Interrupted {
		c.handed++
	}
}

func (e Finished) apply(c *Core, now time.Duration) {
	c.setReported(e.Tasks, false)
	for _, t := range e.Tasks {
		if t.Stuck {
			c.note(Note{Kind: HandlerStuck, Task: t})
		} else {
			c.freeSlot(t)
		}
		t.queue.runs.add(t.Elapsed)
		t.kind.runs.add(t.Elapsed)
		c.endElsewhere(t, now)
		c.examine(t, now)
		if t.lost || t.elsewhere() {
			c.discard(t)
			continue
		}
		c.pend(t)
	}
}

func (e Unstuck) apply(c *Core, now time.Duration) {
	for _, t := range e.Tasks {
		c.freeSlot(t)
		c.note(Note{Kind: HandlerReturned, Task: t})
	}
}
