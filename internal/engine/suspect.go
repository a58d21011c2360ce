package engine

import (
	"slices"
	"time"

	"github.com/redrive/redrive/job"
)

// The crash that ends a job must be the job's own. When a process is killed, all jobs that
// it has claimed count a crash, because nobody knows which job killed it. So a job that has
// crashed, and that would be dead after one more crash, is a suspect. A suspect gets the
// process to itself: the core hands back all other buffered tasks, claims no jobs, waits
// until the running tasks have ended, and runs the suspect alone.
//
// A run whose crash would be the last one must begin in the store before its handler is
// called. If the process is killed before that, the store counts no crash.

// endsJob reports whether a crash of the task would be the last one of its job.
func (t *Task) endsJob() bool {
	_, maxCrashes := t.kind.limits()
	return int(t.Claim.Counters.Crashes)+1 >= maxCrashes
}

// crashed reports whether the job of the task has crashed in its present life.
func (t *Task) crashed() bool { return t.Claim.Counters.Crashes > 0 }

// suspects contains the fields of the core for suspects and for runs that begin in the store.
type suspects struct {
	task   *Task   // the suspect that has the process to itself, or waits for it; nil means none
	waits  []*Task // the tasks in the phase beginning that the next begin call must contain
	flying []*Task // the tasks in the begin call that is being made
	call   call

	separateFrom time.Duration // the time from which on processes may be started for suspects
}

// suspect makes a buffered task the suspect if it is the last chance of its job, cannot get a process of
// its own, and there is no suspect yet.
func (c *Core) suspect(t *Task, now time.Duration) {
	if c.suspects.task == nil && t.lastChance() && !c.separates(now) {
		c.suspects.task = t
	}
}

// unsuspect makes the process run other jobs again, if the given task is the suspect.
func (c *Core) unsuspect(t *Task) {
	if c.suspects.task == t {
		c.suspects.task = nil
		c.more = true
	}
}

// alone reports whether the suspect is the only task in this process. Late outcomes do not
// count: their handlers have returned, so a crash would not be the last one of their jobs. An
// exchange that may still bring jobs counts as a task.
func (c *Core) alone() bool {
	return len(c.tasks)-len(c.late.tasks)-len(c.late.flying) == 1 && (!c.exchange.busy || len(c.request.Want) == 0)
}

// begin gives a buffered task a slot. The handler is started after the store has written
// that the run begins.
func (c *Core) begin(t *Task) {
	c.takeSlot(t)
	t.phase = beginning
	c.suspects.waits = append(c.suspects.waits, t)
}

// unbegin hands back a task in the phase beginning.
func (c *Core) unbegin(t *Task) {
	c.freeSlot(t)
	t.settle(job.Interrupted, job.Waiting)
	c.pend(t)
	c.unsuspect(t)
}

// leaveBegin removes a task in the phase beginning from the next begin call and frees its slot.
func (c *Core) leaveBegin(t *Task) {
	c.suspects.waits = slices.DeleteFunc(c.suspects.waits, func(w *Task) bool { return w == t })
	c.freeSlot(t)
}

// mustReturn reports whether a task in the phase beginning must be handed back.
func (c *Core) mustReturn(t *Task, now time.Duration) bool {
	return c.stop != serving || now >= c.lostAt(t) || c.expired(t, now)
}

// beginAt returns when the next begin call is due.
func (c *Core) beginAt() time.Duration {
	if c.suspects.call.busy || len(c.suspects.waits) == 0 {
		return never
	}
	return c.suspects.call.at
}

// sendBegin asks the store to write that runs begin.
func (c *Core) sendBegin(now time.Duration) {
	s := &c.suspects
	if s.call.busy || len(s.waits) == 0 {
		return
	}
	keep := s.waits[:0]
	for _, t := range s.waits {
		if c.mustReturn(t, now) {
			c.unbegin(t)
		} else {
			keep = append(keep, t)
		}
	}
	clear(s.waits[len(keep):])
	s.waits = keep
	switch {
	case len(s.waits) == 0:
		c.answered(&s.call, nil, now) // no run has to begin, so a failed call need not be repeated
	case now >= s.call.at:
		c.out.Begin = append(c.out.Begin, s.waits...)
		s.flying, s.waits = append(s.flying[:0], s.waits...), emptied(s.waits)
		s.call.send(now)
	}
}

func (e Begun) apply(c *Core, now time.Duration) {
	s := &c.suspects
	err := e.Err
	if err == nil && len(e.Status) != len(s.flying) {
		err = wrongLength(len(e.Status), len(s.flying))
	}
	ok := c.answered(&s.call, err, now)
	for i, t := range s.flying {
		switch {
		case t.index < 0 || t.phase != beginning: // the task was cancelled or lost during the call
		case !ok:
			s.waits = append(s.waits, t)
		case !e.Status[i].Held:
			c.taken(t, now)
		default:
			t.confirmedAt = s.call.sentAt
			c.beatBy(c.beatDue(t))
			switch {
			case e.Status[i].Cancel:
				c.cancel(t, now)
			case c.mustReturn(t, now):
				c.unbegin(t)
			default:
				c.run(t, now)
			}
		}
	}
	s.flying = emptied(s.flying)
	if !ok && len(s.waits) == 0 {
		c.answered(&s.call, nil, now)
	}
}
