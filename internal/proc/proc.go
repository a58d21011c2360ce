// Package proc runs the subprocesses of a job so that none outlives it.
//
// Each command leads a new process group. When its context ends, the whole group gets
// SIGTERM and, after a grace time, SIGKILL. Processes that a command leaves behind when
// it exits are killed when its [Group] is closed.
//
// There are two limits. A process that leaves the group (setsid) is not killed, but Wait
// does not wait for it. And if the worker itself is killed by SIGKILL, its commands are
// not: they run until they finish, read end of file or write to a closed pipe. The
// kernel's parent death signal does not help, because it is sent when the thread that
// forked ends, which in Go may be before the process ends. If that matters, run the
// worker under a supervisor that kills all processes: a service unit that kills its
// control group, or a container whose first process is the worker.
//
// On systems without process groups only the command itself is killed, without a grace
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
	// killWait bounds the wait for a group to be gone after SIGKILL.
	killWait = time.Second
	// pipeWait bounds the wait for output after a command has exited. Only a
	// process that the command left behind keeps the pipes open that long.
	pipeWait = time.Second
	// pollMin and pollMax bound the pause between two checks of a group that is
	// ending: the system has no call that waits for a whole group.
	pollMin, pollMax = time.Millisecond, 50 * time.Millisecond
)

var errClosed = errors.New("the run that started the command has ended")

// Group holds the commands of one run of a job. Its methods may be called from
// several goroutines at a time.
type Group struct {
	grace  time.Duration
	stderr Tail
	closed chan struct{}

	mu       sync.Mutex
	commands []*command
}

// NewGroup returns an empty group. A grace of zero or less is [DefaultGrace].
func NewGroup(grace time.Duration) *Group {
	if grace <= 0 {
		grace = DefaultGrace
	}
	return &Group{grace: grace, closed: make(chan struct{})}
}

// Command returns a command to be used like one from exec.CommandContext, in a new
// process group. When ctx ends, and at Close, the whole process group is ended, and Wait
// returns when it is gone.
//
// Wait returns at most a second after the command's exit, with
// exec.ErrWaitDelay if a process left behind still held an output pipe.
//
// Stderr is set to the group's tail. To read standard error as well, replace it with
// io.MultiWriter(cmd.Stderr, w); what is not written to the tail is missing from the
// evidence. CombinedOutput and StderrPipe need Stderr to be nil. Add to SysProcAttr
// instead of replacing it.
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

// Stderr returns the last [TailMax] bytes that the commands wrote to standard
// error, in the order of writing.
func (g *Group) Stderr() []byte { return g.stderr.Bytes() }

// Close kills the processes of every command that are left, and waits until they are
// gone, at most a second. The error names the groups that are still there. Call it when
// the handler has returned: later commands are refused, and the results of commands for
// which the handler did not wait are lost.
func (g *Group) Close() error {
	g.mu.Lock()
	commands := g.commands
	g.commands = nil
	if !g.isClosed() {
		close(g.closed)
	}
	started := slices.DeleteFunc(slices.Clone(commands), (*command).idle)
	g.mu.Unlock()

	errs := make([]error, len(started))
	var wg sync.WaitGroup
	for i, c := range started {
		wg.Go(func() { errs[i] = c.finish() })
	}
	for _, c := range commands {
		c.cancel(errClosed) // refuses a later Start and ends one that is under way
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
