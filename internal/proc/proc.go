// Package proc runs the subprocesses of a job and ends them with the run.
//
// Each command leads a new process group. When the context of the command ends, all
// processes of the group get SIGTERM and, after a grace time, SIGKILL. If a command exits
// and leaves processes behind, they are killed when its [Group] is closed.
//
// There are two limits. A process that leaves the group (setsid) is not killed, and Wait
// does not wait for it. And if the worker itself is killed by SIGKILL, only the commands end
// that a [Guard] has started on Linux. Others run until they finish, read end of file or
// write to a closed pipe. A command of [Group.Command] is started by the caller, on a thread
// that may end before the process, so the kernel's parent death signal cannot be used for it.
// If this matters, run the worker under a supervisor that kills all processes: a service unit
// that kills its control group, or a container whose first process is the worker.
//
// On systems without process groups, only the command itself is killed, without a grace
// time.
package proc

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// DefaultGrace is the default time between SIGTERM and SIGKILL.
const DefaultGrace = 5 * time.Second

const (
	// killWait is the longest wait for a group to be gone after SIGKILL.
	killWait = time.Second
	// pipeWait is the longest wait for output after a command has exited. The pipes stay
	// open this long only if the command left a process behind.
	pipeWait = time.Second
	// pollMin and pollMax are the shortest and the longest pause between two checks of a
	// group that is ending. The system has no call that waits for a whole group.
	pollMin, pollMax = time.Millisecond, 50 * time.Millisecond
)

var errClosed = errors.New("the run that started the command has ended")

// Group contains the commands of one run of a job. Its methods are safe for concurrent use.
type Group struct {
	grace  time.Duration
	stderr Tail
	closed chan struct{}

	mu       sync.Mutex
	commands []*command
}

// NewGroup returns an empty group. The grace time is the time between SIGTERM and SIGKILL; if
// it is zero or negative, it is [DefaultGrace].
func NewGroup(grace time.Duration) *Group {
	if grace <= 0 {
		grace = DefaultGrace
	}
	return &Group{grace: grace, closed: make(chan struct{})}
}

// Command returns a command that is used like a command from exec.CommandContext and runs
// in a new process group. When ctx ends, and at Close, all processes of the group are
// ended. Wait returns when they are gone.
//
// Wait returns at most a second after the command's exit. Its error is exec.ErrWaitDelay if
// a process that was left behind still held an output pipe.
//
// Stderr is set to the group's tail, which keeps the last output as evidence. To read
// standard error as well, replace Stderr with io.MultiWriter(cmd.Stderr, w). CombinedOutput
// and StderrPipe only work if Stderr is nil. Add to SysProcAttr instead of replacing it.
func (g *Group) Command(ctx context.Context, name string, arg ...string) *exec.Cmd {
	return g.command(ctx, name, arg...).cmd
}

func (g *Group) command(ctx context.Context, name string, arg ...string) *command {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &command{Context: ctx, cancel: cancel, group: g}
	c.cmd = exec.CommandContext(c, name, arg...)
	c.cmd.Cancel = c.stop
	c.cmd.WaitDelay = pipeWait
	c.cmd.Stderr = &g.stderr
	if c.cmd.Err != nil {
		c.cmd.Err = NotStarted(c.cmd.Err, nil) // the program was not found; Start returns this error
	}
	leadGroup(c.cmd)

	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isClosed() {
		cancel(errClosed)
		return c
	}
	g.commands = append(slices.DeleteFunc(g.commands, (*command).release), c)
	return c
}

// Stderr returns the last [TailMax] bytes that the commands wrote to standard error, in the
// order of writing.
func (g *Group) Stderr() []byte { return g.stderr.Bytes() }

// Close kills all remaining processes of the commands and waits at most a second until they
// are gone. The error names the groups that still exist. Call Close when the handler has
// returned. Later commands are refused, and results of commands for which the handler did
// not wait are lost.
func (g *Group) Close() error {
	g.mu.Lock()
	commands := g.commands
	g.commands = nil
	if !g.isClosed() {
		close(g.closed)
	}
	started := slices.DeleteFunc(slices.Clone(commands), (*command).idle)
	g.mu.Unlock()

	for _, c := range commands {
		c.cancel(errClosed) // the cancelled context makes later calls of Start fail, and ends a command that is being started
	}
	errs := make([]error, len(started))
	var wg sync.WaitGroup
	for i, c := range started {
		finish := func() { errs[i] = c.finish() }
		if i < len(started)-1 {
			wg.Go(finish)
		} else {
			finish() // a single command, the usual case, needs no goroutine
		}
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (g *Group) isClosed() bool {
	select {
	case <-g.closed:
		return true
	default:
		return false
	}
}
