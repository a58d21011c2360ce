package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// command is one command and the context that its exec.Cmd watches.
type command struct {
	context.Context //nolint:containedctx // the caller's, also ended by Close; the command ends with it
	cancel          context.CancelCauseFunc
	group           *Group
	cmd             *exec.Cmd
	stopped         bool // the context ended it; to be read after Wait

	// Set once the command has started, guarded by group.mu. The number is kept
	// apart because os.Process.Release overwrites its own with -1, and the
	// group -(-1) is not ours to kill.
	process *os.Process
	pid     int
}

// Done implements context.Context, and notes the command's process. exec.Cmd.Start calls
// Done once more after it has forked. Only then can the process be read without a data
// race with a handler that is still running.
func (c *command) Done() <-chan struct{} {
	c.group.mu.Lock()
	defer c.group.mu.Unlock()
	if c.process == nil && c.cmd.Process != nil {
		c.process, c.pid = c.cmd.Process, c.cmd.Process.Pid
	}
	return c.Context.Done()
}

// stop ends the process group of a command whose context has ended. It is the command's
// Cancel, so Wait does not return before the group is gone.
func (c *command) stop() error {
	if !c.alive() {
		return os.ErrProcessDone
	}
	if err := c.signal(syscall.SIGTERM); err != nil {
		return err
	}
	c.stopped = true
	if !c.await(0, c.group.grace, c.group.closed) {
		c.await(syscall.SIGKILL, killWait, nil)
	}
	return nil
}

// finish kills what is left of the process group and waits until it is gone.
func (c *command) finish() error {
	if !c.await(syscall.SIGKILL, killWait, nil) {
		return fmt.Errorf("command %q: process group %d is still there %v after SIGKILL", c.cmd.Args[0], c.pid, killWait)
	}
	c.reap()
	return nil
}

// await sends sig repeatedly, or no signal if sig is 0, until the group is gone. It
// returns false if the limit passed or skip was closed before.
func (c *command) await(sig syscall.Signal, limit time.Duration, skip <-chan struct{}) bool {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for pause := pollMin; ; pause = min(2*pause, pollMax) {
		_ = c.signal(sig) // if it fails, the limit ends the loop
		if !c.alive() {
			return true
		}
		select {
		case <-time.After(pause):
		case <-timeout.C:
			return false
		case <-skip:
			return false
		}
	}
}

// idle reports whether the command has not been started.
func (c *command) idle() bool { return c.process == nil }

// release frees a command whose processes are all gone, and reports whether it did.
func (c *command) release() bool {
	if c.idle() || !c.reaped() || c.alive() {
		return false
	}
	c.reap()
	c.cancel(nil)
	return true
}

// reaped reports whether the command's own process has been waited for.
func (c *command) reaped() bool {
	return errors.Is(c.process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
