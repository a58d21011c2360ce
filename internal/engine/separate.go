package engine

import (
	"errors"
	"time"

	"github.com/redrive/redrive/internal/proc"
)

// A job that has crashed, and that would be dead after one more crash, must not share its process with
// other jobs; see suspect.go. If Config.Separate is set, it gets a process of its own, so that this
// process can go on with its other jobs. The other process takes the run over: it extends the lease,
// checks the time limit and writes the outcome. Here the run only occupies its slot until the other
// process has ended. If the other process cannot be started, the job is handed back, and last chances
// get this process to themselves for separatePause.

// separatePause is the time after a failed start in which no other process is started.
const separatePause = time.Minute

// lastChance reports whether one more crash would end the job of the task, which has crashed.
func (t *Task) lastChance() bool { return t.crashed() && t.endsJob() }

// separates reports whether a job that the next crash would end now gets a process of its own.
func (c *Core) separates(now time.Duration) bool {
	return c.cfg.Separate != nil && now >= c.suspects.separateFrom
}

// separate gives a buffered task a slot and lets another process run it.
func (c *Core) separate(t *Task, now time.Duration) {
	t.separate = true
	c.start(t, now)
}

// elsewhere reports whether another process has taken over the task, which has ended here without an
// outcome.
func (t *Task) elsewhere() bool { return t.separate && t.Outcome.ID == 0 }

// endElsewhere handles the end of a separate run in this process.
func (c *Core) endElsewhere(t *Task, now time.Duration) {
	if t.separate && t.trouble != nil {
		c.suspects.separateFrom = now + separatePause
		t.trouble = nil // this process can start the programs of other jobs
	}
}

// elsewhere lets another process run the job. Any error says that no process was started.
func (r *Run) elsewhere() error {
	err := r.engine.cfg.Separate(&r.ctx, &r.Claim, r.engine.now()-r.task.sentAt)
	if err == nil || errors.Is(err, proc.ErrNotStarted) {
		return err
	}
	return &proc.NotStartedError{Err: err}
}
