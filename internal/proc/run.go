package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// StdoutMax is how much of standard output [Run] keeps by default: 64 KiB.
const StdoutMax = 64 << 10

// Spec describes one run of a program. No shell is involved.
type Spec struct {
	Argv      []string          // the program, looked up in PATH unless it has a slash, and its arguments
	Stdin     []byte            // standard input; the program need not read it
	Dir       string            // the working directory, by default that of this process
	Inherit   []string          // names of variables taken from this process; nothing else is inherited
	Env       map[string]string // further variables; they replace inherited ones of the same name
	StdoutMax int               // bytes of standard output to keep, by default [StdoutMax]
	Grace     time.Duration     // from SIGTERM to SIGKILL, by default [DefaultGrace]
}

// Result is the result of a program that ran.
type Result struct {
	Status    Status
	Stdout    []byte // the first bytes, as many as the Spec allows
	Truncated bool   // the program wrote more to standard output
	Stderr    []byte // the last [TailMax] bytes
	Cause     error  // why the context ended the program; nil when it ended by itself
}

// Run runs a program to its end and leaves nothing of its process group alive.
// When ctx ends first, the group is ended as by [Group.Command].
//
// The error is nil when the program exited with code 0 by itself, an
// *[ExitError] when it ended in another way, and otherwise says why the program could
// not be run; exec.ErrNotFound means that there is no such program.
func Run(ctx context.Context, s Spec) (Result, error) {
	env, err := s.environ()
	if err != nil {
		return Result{}, err
	}
	stdout := head{max: s.StdoutMax}
	if stdout.max <= 0 {
		stdout.max = StdoutMax
	}
	group := NewGroup(s.Grace)
	c := group.command(ctx, s.Argv[0], s.Argv[1:]...)
	c.cmd.Stdin = bytes.NewReader(s.Stdin)
	c.cmd.Stdout = &stdout
	c.cmd.Dir = s.Dir
	c.cmd.Env = env

	err = c.cmd.Run()
	closeErr := group.Close()
	if c.cmd.ProcessState == nil {
		return Result{}, s.startError(ctx, err)
	}
	r := Result{
		Status:    statusOf(c.cmd.ProcessState),
		Stdout:    stdout.kept,
		Truncated: stdout.truncated,
		Stderr:    group.Stderr(),
	}
	if c.stopped {
		r.Cause = context.Cause(ctx)
	}
	err = r.failure(s.Argv[0], err)
	if closeErr != nil {
		err = errors.Join(err, closeErr)
	}
	return r, err
}

// failure turns the error of a command that ran into the one that Run returns.
func (r Result) failure(name string, err error) error {
	switch {
	case r.Cause != nil || r.Status != Status{}:
		return &ExitError{Name: name, Status: r.Status, Stderr: r.Stderr, Cause: r.Cause}
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // success; a process left behind still holds a pipe
		return nil
	default:
		return fmt.Errorf("command %q: %w", name, err)
	}
}

func (s Spec) startError(ctx context.Context, err error) error {
	name := s.Argv[0]
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("command %q: %w: install it or give its full path", name, exec.ErrNotFound)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("command %q: not started: %w", name, context.Cause(ctx))
	}
	// For a missing directory, the error of the system names the program.
	if _, dirErr := os.Stat(s.Dir); s.Dir != "" && dirErr != nil {
		return fmt.Errorf("command %q: working directory: %w", name, dirErr)
	}
	return fmt.Errorf("command %q: %w", name, err)
}

// environ checks the Spec and returns the environment of the program. It is never nil,
// because for exec.Cmd nil means to inherit all variables.
func (s Spec) environ() ([]string, error) {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return nil, errors.New("command: argv is empty: name a program")
	}
	env := []string{}
	for _, name := range s.Inherit {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if name == "" || strings.Contains(name, "=") {
			return nil, fmt.Errorf("command %q: environment variable %q: a name must not be empty or contain \"=\"", s.Argv[0], name)
		}
		env = append(env, name+"="+s.Env[name])
	}
	return env, nil
}
