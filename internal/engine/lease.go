package engine

import (
	"time"

	"github.com/redrive/redrive/store"
)

// lostAt returns the time at which a task's lease counts as lost, unless it is extended by then.
func (c *Core) lostAt(t *Task) time.Duration { return t.confirmedAt + c.cfg.Lease*2/3 }

// beatDue returns the time at which a heartbeat has to extend a task's lease.
func (c *Core) beatDue(t *Task) time.Duration { return t.confirmedAt + c.cfg.Lease/3 }

// sweepBy makes sure that tasks are checked at the given time or earlier.
func (c *Core) sweepBy(at time.Duration) { c.sweepAt = min(c.sweepAt, at) }

// beatBy makes sure that a heartbeat is sent at the given time or earlier.
func (c *Core) beatBy(at time.Duration) { c.beatAt = min(c.beatAt, at) }

// sweep checks all tasks when the first task needs a check. Tasks have no timers, because
// most short runs begin and end between two checks.
func (c *Core) sweep(now time.Duration) {
	if now < c.sweepAt {
		return
	}
	c.sweepAt = never
	for _, t := range c.tasks {
		if at := c.look(t, now); at < never {
			c.sweepBy(at)
		}
	}
}

// look does everything that is due for one task, and returns when to check the task again.
func (c *Core) look(t *Task, now time.Duration) time.Duration {
	switch t.phase {
	case buffered:
		if now < c.staleAt(t) {
			return c.staleAt(t)
		} // if the task has waited too long, c.fill hands it back
	case beginning:
		if now < c.lostAt(t) {
			return c.lostAt(t)
		} // the method sendBegin, or the answer to the begin call, hands the task back if necessary
	case running:
		switch {
		case t.separate:
			return never
		case now >= t.limitAt:
			c.end(t, limitReached(t.timeout), now)
		case now >= c.lostAt(t) && !t.lost:
			c.note(Note{Kind: LeaseExpiring, Task: t})
			c.end(t, ErrLeaseLost, now)
		default:
			return min(t.limitAt, c.lostAt(t))
		}
		return t.giveUpAt
	case ending:
		if now < t.giveUpAt {
			return t.giveUpAt
		}
		t.phase = abandoned
		c.out.Abandon = append(c.out.Abandon, t)
	case abandoned, finished:
	}
	return never
}

// sendBeat extends the leases whose extension is due now or soon, and writes new progress in
// the same call.
func (c *Core) sendBeat(now time.Duration) {
	if now < c.nextBeat() {
		return
	}
	c.beatAt = never
	news := c.news > 0 && now >= c.progressAt
	for _, t := range c.tasks {
		t.telling = news && t.reported && !t.lost
		switch {
		case t.lost, t.separate:
		case t.telling, now >= t.confirmedAt+c.cfg.Lease/4:
			c.out.Beat = append(c.out.Beat, t)
		default:
			c.beatBy(c.beatDue(t))
		}
	}
	if len(c.out.Beat) == 0 {
		c.answered(&c.beat, nil, now) // no heartbeat is due, so a failed call need not be repeated
		return
	}
	c.beating = append(c.beating[:0], c.out.Beat...)
	c.beat.send(now)
	if news {
		c.progressAt = now + progressGap
		c.setReported(c.beating, false)
	}
}

// nextBeat returns when the next heartbeat is due.
func (c *Core) nextBeat() time.Duration {
	if c.beat.busy {
		return never
	}
	at := c.beatAt
	if c.news > 0 {
		at = min(at, c.progressAt)
	}
	return max(at, c.beat.at)
}

func (e Beaten) apply(c *Core, now time.Duration) {
	err := e.Err
	if err == nil && len(e.Status) != len(c.beating) {
		err = store.ErrUnknown
	}
	ok := c.answered(&c.beat, err, now)
	for i, t := range c.beating {
		if t.index < 0 || t.separate {
			continue
		}
		switch {
		case !ok:
			c.beatBy(now)
			if t.telling && t.phase <= ending {
				c.setReported(c.beating[i:i+1], true)
			}
		case !e.Status[i].Held:
			c.taken(t, now)
		default:
			t.confirmedAt = c.beat.sentAt
			c.beatBy(c.beatDue(t))
			if e.Status[i].Cancel {
				c.cancel(t, now)
			}
		}
	}
	c.beating = emptied(c.beating)
}

// taken handles a store's answer that the lease of a task is lost.
func (c *Core) taken(t *Task, now time.Duration) {
	switch t.phase {
	case buffered:
		t.queue.drop(t)
		t.kind.buffered--
		c.discard(t)
	case beginning:
		c.leaveBegin(t)
		c.discard(t)
	case running, ending:
		t.lost = true
		if t.inTx {
			return // a transaction of the handler has ended the job, so the handler may continue
		}
		c.note(Note{Kind: LeaseTaken, Task: t})
		if t.phase == running {
			c.end(t, ErrLeaseLost, now)
		}
	case abandoned, finished: // nothing to do: the store's answer to the task's outcome comes later
	}
}

func (e Reported) apply(c *Core, now time.Duration) {
	c.setReported(e.Tasks, true)
}

// setReported records which tasks have progress that must still be written.
func (c *Core) setReported(tasks []*Task, reported bool) {
	for _, t := range tasks {
		switch {
		case t.reported == reported || reported && t.phase > ending:
		case reported:
			c.news++
			t.reported = true
		default:
			c.news--
			t.reported = false
		}
	}
}

func (e WrittenInTx) apply(*Core, time.Duration) { e.Task.inTx = true }
