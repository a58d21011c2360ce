// Package proc runs the subprocesses of a job so that none outlives it.
//
// Each command leads a process group of its own. When its context ends, the
// whole group gets SIGTERM and, after a grace, SIGKILL; what a command leaves
// behind when it exits by itself is killed when its [Group] is closed.
//
// Two limits. A process that leaves the group (setsid) is out of reach, though
// it cannot hold up a Wait. And nobody is there to kill when the worker itself
// is killed by SIGKILL: its commands then live until they finish, read end of
// file or write to a closed pipe. The kernel's parent death signal is no cure,
// because it fires when the thread that forked ends, which in Go is not when
// the process ends. Where that matters, let something above the worker own the
// whole tree: a service unit that kills its control group, or a container
// whose first process is the worker.
//
// On systems without process groups only the command itself is killed, and at
// once.
package proc

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// DefaultGrace is the time between SIGTERM and SIGKILL where none is given.
const DefaultGrace = 5 * time.Second

const (
	// killWait bounds the wait for a group to be gone after SIGKILL.
	killWait = time.Second
	// pipeWait bounds the wait for output after a command has exited. Only a
	// process that the command left behind keeps the pipes open that long.
	pipeWait = time.Second
	// pollMin and pollMax bound the pause between two looks at a group that is
	// ending: the system offers nothing to wait on for a group as a whole.
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

// Command returns a command to be used as one from exec.CommandContext, in a
// process group of its own. When ctx ends, or at Close, all of that process
// group is ended, and Wait returns when it is gone.
//
// Wait returns at most a second after the command's exit, with
// exec.ErrWaitDelay if a process left behind still held an output pipe.
//
// Stderr is set to the group's tail. To read it as well, replace it with
// io.MultiWriter(cmd.Stderr, w); what goes elsewhere is missing from the
// evidence. CombinedOutput and StderrPipe want it nil. Add to SysProcAttr
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

// Close kills what is left of every command and waits until it is gone, for a
// second at most; the error names what is still there then. Call it when the
// handler has returned: later commands are refused, and what the handler has
// not waited for is gone without a trace.
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
