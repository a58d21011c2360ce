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

// command is a command of a Group, and the context that its exec.Cmd watches.
type command struct {
	context.Context //nolint:containedctx // derived from the caller's context; Close ends it too, and its end ends the command
	cancel          context.CancelCauseFunc
	group           *Group
	cmd             *exec.Cmd
	stopped         bool // whether the context ended the command; read it after Wait only

	// These fields are set when the command has started. Group.mu guards them. The process
	// number is stored here because os.Process.Release sets its own copy to -1, and a
	// signal to group -(-1) would reach other processes.
	process *os.Process
	pid     int
}

// Done implements context.Context, and stores the command's process. exec.Cmd.Start calls
// Done again after it has forked. This is the first moment when the process can be read
// without a data race with the handler.
func (c *command) Done() <-chan struct{} {
	c.group.mu.Lock()
	defer c.group.mu.Unlock()
	if c.process == nil && c.cmd.Process != nil {
		c.process, c.pid = c.cmd.Process, c.cmd.Process.Pid
	}
	return c.Context.Done()
}

// stop ends the process group of a command whose context has ended. It is the function Cancel of
// exec.Cmd. So Wait of the command does not return before all processes of the group are gone.
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

// finish kills the remaining processes of the group and waits until they are gone.
func (c *command) finish() error {
	if errors.Is(c.signal(syscall.SIGKILL), os.ErrProcessDone) {
		return nil // the usual case: the group has no members, not even zombies
	}
	if !c.await(syscall.SIGKILL, killWait, nil) {
		return fmt.Errorf("command %q: the process group %d still exists %v after SIGKILL", c.cmd.Args[0], c.pid, killWait)
	}
	c.reap()
	return nil
}

// await sends the signal repeatedly until the group is gone. If sig is 0, it only waits and
// sends no signal. It returns false if the group still exists at the time limit, or when the
// channel is closed.
func (c *command) await(sig syscall.Signal, limit time.Duration, skip <-chan struct{}) bool {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	for pause := pollMin; ; pause = min(2*pause, pollMax) {
		_ = c.signal(sig) // the error is ignored, because the time limit ends the loop
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

// idle reports whether the command has not been started yet.
func (c *command) idle() bool { return c.process == nil }

// release frees the resources of a command if all its processes are gone. It reports whether
// they are gone.
func (c *command) release() bool {
	if c.idle() || !c.reaped() || c.alive() {
		return false
	}
	c.reap()
	c.cancel(nil)
	return true
}

// reaped reports whether Wait has returned for the command's own process.
func (c *command) reaped() bool {
	return errors.Is(c.process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
