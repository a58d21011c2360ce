package engine

import (
	"math"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// never is a time that is never reached.
const never = time.Duration(math.MaxInt64)

// phase is the state of a task.
type phase uint8

const (
	buffered  phase = iota // The task was claimed ahead and waits for a slot.
	running                // The handler of the task is running.
	ending                 // The context has ended, and the handler has not returned yet.
	abandoned              // The engine no longer waits for the handler.
	finished               // The outcome waits to be written.
)

// Task is one run that this process has claimed. It exists from the claim until its outcome
// is written or refused, and belongs to the core. Outcome, Elapsed and Stuck are set before
// the task is reported as Finished, or by the core if the task needs no decision.
type Task struct {
	Claim *job.Claim

	Outcome job.Outcome
	Elapsed time.Duration // Elapsed is the time that the handler took.
	// Stuck is true when the outcome was made without the handler, which still occupies its
	// slot.
	Stuck bool

	// Cause is the reason why the core ended the context of the run, or nil if the core did
	// not end it.
	Cause error

	queue *queue
	kind  *kind
	phase phase
	index int // index is the index in Core.tasks. It is negative after the task was removed.

	arrivedAt   time.Duration // arrivedAt is when the claim came.
	waited      time.Duration // waited is the time from the claim to the start.
	confirmedAt time.Duration // confirmedAt is when the last call that confirmed the lease was sent.
	limitAt     time.Duration // limitAt is when the time limit of a running task ends.
	giveUpAt    time.Duration // giveUpAt is when the engine stops waiting for the handler after the end of its context.

	started  bool // started is true when the handler was started.
	lost     bool // lost is true when the store said that the lease is lost.
	inTx     bool // inTx is true when the success was written in a transaction of the handler.
	replaced bool // replaced is true when the outcome replaces one that was refused.
	reported bool // reported is true when the task has progress that the store does not know yet.
	telling  bool // telling is true when the heartbeat under way contains the progress of the task.

	run *Run // run is used by the loop only.
}

// name returns the identity of the task for the store.
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

// start gives a free slot to a buffered task.
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

// freeSlot releases the slot of a task.
func (c *Core) freeSlot(t *Task) {
	t.queue.busy--
	t.kind.busy--
	c.more = true
}

// pend adds a task to the tasks whose outcomes must be written.
func (c *Core) pend(t *Task) {
	t.phase = finished
	c.pending = append(c.pending, t)
}

// handBack returns a buffered task to the store, as if it had not been claimed. The caller
// removes the task from the buffer of its queue.
func (c *Core) handBack(t *Task) {
	t.kind.buffered--
	t.settle(job.Interrupted, job.Waiting)
	c.pend(t)
}
