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
// process has ended.

// separates reports whether a buffered task gets a process of its own.
func (c *Core) separates(t *Task) bool {
	return c.cfg.Separate != nil && t.crashed() && t.endsJob()
}

// separate gives a buffered task a slot and lets another process run it.
func (c *Core) separate(t *Task, now time.Duration) {
	t.separate = true
	c.start(t, now)
}

// elsewhere reports whether another process has taken over the task, which has ended here without an
// outcome.
func (t *Task) elsewhere() bool { return t.separate && t.Outcome.ID == 0 }

// elsewhere lets another process run the job. An error that says that no process was started is a
// trouble of this process.
func (r *Run) elsewhere() error {
	err := r.engine.cfg.Separate(&r.ctx, &r.Claim, r.engine.now()-r.task.sentAt)
	if err == nil || errors.Is(err, proc.ErrNotStarted) {
		return err
	}
	return &proc.NotStartedError{Err: err, Process: true}
}
