package engine

import (
	"math"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// never is a time that is not reached.
const never = time.Duration(math.MaxInt64)

// phase is the state of a task.
type phase uint8

const (
	buffered  phase = iota // claimed ahead, waits for a slot
	running                // in its handler
	ending                 // its context has ended, its handler has not returned yet
	abandoned              // its handler is not waited for any longer
	finished               // its outcome waits to be written
)

// Task is one run that this process has claimed, from the claim until its outcome is
// written or refused. The core owns it. Outcome, Elapsed and Stuck are set before the
// task is reported as Finished, or by the core if the task needs no decision.
type Task struct {
	Claim *job.Claim

	Outcome job.Outcome
	Elapsed time.Duration // what the handler took
	Stuck   bool          // the outcome was made without the handler, which still occupies its slot

	// Cause is why the core ended the run's context; nil if it has not.
	Cause error

	queue *queue
	kind  *kind
	phase phase
	index int // in Core.tasks; negative when the task is removed

	arrivedAt   time.Duration // when the claim came
	waited      time.Duration // from then to the start
	confirmedAt time.Duration // when the last call that confirmed the lease was sent
	limitAt     time.Duration // running: its time limit
	giveUpAt    time.Duration // ending: when it is abandoned

	started  bool // its handler was started
	lost     bool // the store said that the lease is lost
	inTx     bool // its success was written in a transaction of the handler
	replaced bool // its outcome was refused and is a replacement
	reported bool // it has progress that the store does not know yet
	telling  bool // the heartbeat under way contains its progress

	run *Run // used by the loop only
}

// name returns the identity of the task in the store.
func (t *Task) name() store.Run { return store.Run{ID: t.Claim.ID, Token: t.Claim.Token} }

// settle gives the task an outcome that needs no decision.
func (t *Task) settle(cause job.Cause, to job.State) {
	t.Outcome = job.Outcome{ID: t.Claim.ID, Token: t.Claim.Token, Cause: cause, To: to}
}

// add adds a task to Core.tasks.
func (c *Core) add(t *Task) {
	t.index = len(c.tasks)
	c.tasks = append(c.tasks, t)
}

// remove removes a task from Core.tasks.
func (c *Core) remove(t *Task) {
	last := len(c.tasks) - 1
	moved := c.tasks[last]
	c.tasks[t.index] = moved
	moved.index = t.index
	c.tasks[last] = nil
	c.tasks = c.tasks[:last]
	t.index = -1
}

// start gives a buffered task its slot.
func (c *Core) start(t *Task, now time.Duration) {
	t.phase = running
	t.started = true
	t.waited = now - t.arrivedAt
	t.queue.busy++
	t.kind.busy++
	t.kind.buffered--
	t.limitAt = never
	if t.kind.Timeout > 0 {
		t.limitAt = now + t.kind.Timeout
	}
	c.sweepBy(min(t.limitAt, c.lostAt(t)))
	c.out.Start = append(c.out.Start, t)
}

// end ends the context of a running task.
func (c *Core) end(t *Task, cause error, now time.Duration) {
	t.phase = ending
	t.Cause = cause
	t.giveUpAt = now + t.kind.KillGrace + returnGrace
	c.sweepBy(t.giveUpAt)
	c.out.End = append(c.out.End, t)
}

// freeSlot gives a task's slot back.
func (c *Core) freeSlot(t *Task) {
	t.queue.busy--
	t.kind.busy--
	c.more = true
}

// pend adds a task to those whose outcomes are to be written.
func (c *Core) pend(t *Task) {
	t.phase = finished
	c.pending = append(c.pending, t)
}

// handBack returns a buffered task to the store, as if it had not been claimed. The
// caller removes it from its queue's buffer.
func (c *Core) handBack(t *Task) {
	t.kind.buffered--
	t.settle(job.Interrupted, job.Waiting)
	c.pend(t)
}
