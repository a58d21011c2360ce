package engine

import (
	"math"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// never is a time that is never reached.
const never = time.Duration(math.MaxInt64)

// phase is the phase of a task.
type phase uint8

const (
	buffered  phase = iota // the job is claimed ahead and waits for a slot
	beginning              // the task has a slot, and the store has not written yet that the run begins
	running                // the handler of the task is running
	ending                 // the context of the run has ended, and the handler has not returned yet
	abandoned              // the engine no longer waits until the handler returns
	finished               // the outcome of the task waits to be written
)

// Task is one run that this process has claimed. It exists from the claim until its outcome
// is written or refused. The core owns it. Outcome, Elapsed and Stuck are set before the
// task is reported as Finished, or by the core if no decision is needed.
type Task struct {
	Claim *job.Claim

	Outcome job.Outcome
	Elapsed time.Duration // how long the handler ran
	Stuck   bool          // whether the outcome was made before the handler has returned; the handler then still occupies its slot

	// Cause says why the core has ended the run's context; nil if it has not.
	Cause error

	trouble *Trouble // the trouble of this process that has ended the run; nil if there was none

	queue *queue
	kind  *kind
	phase phase
	index int // the index of the task in Core.tasks; negative after the task was removed

	arrivedAt   time.Duration // when the claim was received
	sentAt      time.Duration // when the exchange that claimed the job was sent
	confirmedAt time.Duration // when the last call that confirmed the lease was sent
	timeout     time.Duration // the time limit of the run; 0 means no limit
	limitAt     time.Duration // when the run reaches its time limit; used in the phase running
	giveUpAt    time.Duration // when the run is abandoned; used in the phase ending

	started  bool // whether the handler was started
	lost     bool // whether the store said that the lease is lost
	inTx     bool // whether a transaction of the handler contains the success
	separate bool // whether another process has the run, or is being started for it; see separate.go
	replaced bool // whether the outcome is a replacement for an outcome that the store refused
	reported bool // whether there is progress that the store does not know yet
	telling  bool // whether the heartbeat that is under way contains the progress

	run *Run // only the loop uses this field
}

// name returns the identity of the run in the store.
func (t *Task) name() store.Run { return store.Run{ID: t.Claim.ID, Token: t.Claim.Token} }

// settle sets an outcome that needs no decision.
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
	c.unsuspect(t)
}

// takeSlot gives a buffered task a slot.
func (c *Core) takeSlot(t *Task) {
	t.queue.busy++
	t.kind.busy++
	t.kind.buffered--
}

// start gives a buffered task a slot and calls its handler.
func (c *Core) start(t *Task, now time.Duration) {
	c.takeSlot(t)
	c.run(t, now)
}

// run calls the handler of a task that has a slot.
func (c *Core) run(t *Task, now time.Duration) {
	t.phase = running
	t.started = true
	t.limitAt = never
	if t.timeout, _ = t.kind.limits(); t.timeout > 0 && !t.separate {
		t.limitAt = now + t.timeout
	}
	c.sweepBy(min(t.limitAt, c.lostAt(t)))
	c.trialStarts(t, now)
	c.out.Start = append(c.out.Start, t)
}

// end ends the context of a running task.
func (c *Core) end(t *Task, cause error, now time.Duration) {
	t.phase = ending
	t.Cause = cause
	t.giveUpAt = now + t.kind.KillGrace + returnGrace
	if t.separate {
		t.giveUpAt = never
	}
	c.sweepBy(t.giveUpAt)
	c.out.End = append(c.out.End, t)
}

// freeSlot frees the slot of a task.
func (c *Core) freeSlot(t *Task) {
	t.queue.busy--
	t.kind.busy--
	c.more = true
}

// pend adds a task to the tasks whose outcomes have to be written.
func (c *Core) pend(t *Task) {
	t.phase = finished
	c.trialEnds(t)
	c.pending = append(c.pending, t)
}

// handBack returns a buffered task to the store, as if it had not been claimed. The caller
// removes the task from the buffer of its queue.
func (c *Core) handBack(t *Task) {
	t.kind.buffered--
	t.settle(job.Interrupted, job.Waiting)
	c.pend(t)
	c.unsuspect(t)
}
