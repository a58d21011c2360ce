package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// StdoutMax is how many bytes of standard output [Run] keeps by default: 64 KiB.
const StdoutMax = 64 << 10

// Spec describes one run of a program. The program is started without a shell.
type Spec struct {
	Argv      []string          // the program and its arguments; the program is looked up in PATH unless it contains a slash
	Stdin     []byte            // the content of standard input, which is written to a file before the program starts
	Dir       string            // the working directory; the default is the directory of this process
	Inherit   []string          // names of environment variables to copy from this process; no others are inherited
	Env       map[string]string // environment variables to add; they replace inherited variables of the same name
	StdoutMax int               // bytes of standard output to keep; the default is [StdoutMax]
	Grace     time.Duration     // time between SIGTERM and SIGKILL; the default is [DefaultGrace]
	TempDir   string            // directory for the file of Stdin, where the system has no files in memory; the default is that of the system
	Report    io.Writer         // receives what the program writes to the file descriptor ReportFD; nil means that the program has no such descriptor
	Guard     *Guard            // the guard that starts the program; nil means that the program survives a worker that is killed
}

// Result is the result of a program that was started.
type Result struct {
	Status    Status
	Stdout    []byte // the first bytes of standard output, as many as the Spec allows
	Truncated bool   // whether the program wrote more to standard output
	Stderr    []byte // the last [TailMax] bytes of standard error, from the beginning of a line
	Cause     error  // why the context ended the program; nil if the program ended by itself
}

// Run runs a program until it ends, and kills all processes of its group that remain. If
// ctx ends first, the process group is ended as described at [Group.Command].
//
// The error is nil if the program exited with code 0 by itself. It is an *[ExitError] if
// the program ended in another way. Other errors say why the program could not be run;
// exec.ErrNotFound means that the program was not found. They are *[NotStartedError], unless
// the Spec is wrong or ctx has ended.
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
	c.cmd.Stdout = &stdout
	c.cmd.Dir = s.Dir
	c.cmd.Env = env
	if len(s.Stdin) > 0 {
		in, err := s.stdin()
		if err != nil {
			return Result{}, NotStarted(fmt.Errorf("command %q: standard input: %w", s.Argv[0], err), s.check)
		}
		defer in.Close()
		c.cmd.Stdin = in
	}
	reports, err := s.openReports(c.cmd)
	if err != nil {
		return Result{}, NotStarted(fmt.Errorf("command %q: %w", s.Argv[0], err), s.check)
	}
	if s.Guard != nil {
		err = s.Guard.start(c.cmd)
	} else {
		err = c.cmd.Start()
	}
	reports.started()
	if err == nil {
		err = c.cmd.Wait()
	}
	closeErr := group.Close()
	reports.close()
	if c.cmd.ProcessState == nil {
		return Result{}, s.startError(ctx, err)
	}
	if s.Guard != nil && closeErr == nil {
		s.Guard.ended(c.pid)
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
	err = r.failure(s.Argv[0], err, &stdout)
	if closeErr != nil {
		err = errors.Join(err, closeErr)
	}
	return r, err
}

// stdin returns an open file with the content of Stdin. No directory contains the file. The
// program can read all of Stdin even if this process ends. With a pipe instead of a file, the
// program would lose the rest.
func (s Spec) stdin() (*os.File, error) {
	f, err := unlinkedFile("redrive-payload", s.TempDir)
	if err != nil {
		return nil, err
	}
	if _, err := f.WriteAt(s.Stdin, 0); err != nil { // WriteAt does not move the position from which the program reads
		f.Close()
		return nil, err
	}
	return f, nil
}

// unlinkedFile returns a new file that is in no directory: in memory, or else in dir.
func unlinkedFile(name, dir string) (*os.File, error) {
	f, err := memoryFile(name)
	if errors.Is(err, errors.ErrUnsupported) {
		if f, err = os.CreateTemp(dir, name+"-"); err == nil {
			_ = os.Remove(f.Name()) // Windows cannot remove an open file; on Windows, the file is removed later, with its directory
		}
	}
	return f, err
}

// failure converts the error of a finished command to the error that Run returns.
func (r Result) failure(name string, err error, stdout *head) error {
	switch {
	case r.Cause != nil || r.Status != Status{}:
		return &ExitError{Name: name, Status: r.Status, Stderr: r.Stderr, Stdout: stdout.tail(), Cause: r.Cause}
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // the command succeeded, but a process that it left behind may still hold a pipe
		return nil
	default:
		return fmt.Errorf("command %q: %w", name, err)
	}
}

func (s Spec) startError(ctx context.Context, err error) error {
	name := s.Argv[0]
	if errors.Is(err, exec.ErrNotFound) {
		return NotStarted(fmt.Errorf("command %q: %w: install it or give its full path", name, exec.ErrNotFound), s.check)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("command %q was not started: %w", name, context.Cause(ctx))
	}
	// If the working directory is missing, the system's error names the program instead.
	if _, dirErr := os.Stat(s.Dir); s.Dir != "" && dirErr != nil {
		return NotStarted(fmt.Errorf("command %q: working directory: %w", name, dirErr), s.check)
	}
	return NotStarted(fmt.Errorf("command %q: %w", name, err), s.check)
}

// environ checks the Spec and returns the environment of the program. The result is never
// nil, because nil would make exec.Cmd inherit all variables.
func (s Spec) environ() ([]string, error) {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return nil, errors.New("command: argv is empty: name a program to run")
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
