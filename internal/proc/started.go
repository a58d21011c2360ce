package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"syscall"
)

// ErrNotStarted says that a program was not started, so that the run has not begun its work.
// errors.Is finds it in every [NotStartedError].
var ErrNotStarted = errors.New("the program was not started")

// NotStartedError is the error of a program that this process could not start. Another process
// may be able to start it, or this process may be able to start it later.
type NotStartedError struct {
	Err error
	// Process says that the process lacks something that every program needs, such as file
	// descriptors. Otherwise only this program cannot be started.
	Process bool
	// Check returns an error if the cause still exists, and nil if it is gone. It starts no
	// program. If Check is nil, only another start of the program can show whether the cause
	// still exists.
	Check func() error
}

func (e *NotStartedError) Error() string { return e.Err.Error() }

func (e *NotStartedError) Unwrap() error { return e.Err }

// Is makes errors.Is find ErrNotStarted.
func (e *NotStartedError) Is(target error) bool { return target == ErrNotStarted }

// The first list contains errors of a process that lacks something. The second list contains
// errors about the arguments of a program; the arguments come from the job.
var (
	processErrors  = []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ENOSPC}
	argumentErrors = []syscall.Errno{syscall.E2BIG, syscall.EINVAL, syscall.ENAMETOOLONG}
)

// NotStarted returns err as a *NotStartedError. It returns err unchanged if the arguments of
// the program are the cause, because they are the same in every process.
func NotStarted(err error, check func() error) error {
	errno, _ := errors.AsType[syscall.Errno](err)
	if slices.Contains(argumentErrors, errno) {
		return err
	}
	e := &NotStartedError{Err: err, Process: slices.Contains(processErrors, errno), Check: check}
	switch {
	case errno == syscall.EMFILE || errno == syscall.ENFILE:
		e.Check = checkFiles
	case e.Process:
		e.Check = nil // a check cannot show whether this cause still exists
	}
	return e
}

// Refused returns a *NotStartedError if err, which a handler returned, is the error of a
// command that could not be started. Otherwise it returns nil. The group may be nil.
func (g *Group) Refused(err error) *NotStartedError {
	if e, ok := errors.AsType[*NotStartedError](err); ok {
		return e
	}
	if errors.Is(err, ErrNotStarted) {
		return &NotStartedError{Err: err}
	}
	if g == nil || !g.hasIdle() {
		return nil
	}
	e, ok := errors.AsType[*NotStartedError](NotStarted(err, nil))
	if !ok {
		return nil
	}
	path, isPath := errors.AsType[*fs.PathError](err)
	if e.Process || isPath && path.Op == "fork/exec" {
		return e
	}
	return nil
}

// hasIdle reports whether a command of the group was not started.
func (g *Group) hasIdle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.commands, (*command).idle)
}

// check returns nil if the program and its working directory exist.
func (s Spec) check() error {
	if _, err := exec.LookPath(s.Argv[0]); err != nil {
		return fmt.Errorf("command %q: %w", s.Argv[0], err)
	}
	if s.Dir == "" {
		return nil
	}
	if _, err := os.Stat(s.Dir); err != nil {
		return fmt.Errorf("command %q: working directory: %w", s.Argv[0], err)
	}
	return nil
}

// startFiles is at least the number of files that the start of a program opens.
const startFiles = 16

// checkFiles returns nil if this process can open as many files as the start of a program
// needs.
func checkFiles() error {
	for range startFiles / 2 {
		r, w, err := os.Pipe()
		if err != nil {
			return fmt.Errorf("open %d files: %w", startFiles, err)
		}
		defer r.Close() // all files have to be open at the same time
		defer w.Close()
	}
	return nil
}
