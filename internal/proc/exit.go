package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Status says how a process ended.
type Status struct {
	Code   int    // the exit code of the process; -1 if a signal ended the process
	Signal string // the name of the signal that ended the process, such as SIGKILL; otherwise empty
}

// String returns a text such as "exit code 3" or "SIGKILL".
func (s Status) String() string {
	if s.Signal != "" {
		return s.Signal
	}
	return fmt.Sprintf("exit code %d", s.Code)
}

// ExitError is the error of a command that started and did not succeed.
type ExitError struct {
	Name   string // the name of the program, as the caller wrote it
	Status Status
	Stderr []byte // the last TailMax bytes of standard error, from the beginning of a line
	Stdout []byte // the last TailMax bytes of standard output, from the beginning of a line
	Cause  error  // why the context ended the command; nil if the command ended by itself
}

// Error returns a text with the program and how it ended.
func (e *ExitError) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("command %q: stopped (%v): %v", e.Name, e.Status, e.Cause)
	}
	return fmt.Sprintf("command %q: %v", e.Name, e.Status)
}

// Unwrap returns the field Cause.
func (e *ExitError) Unwrap() error { return e.Cause }

// ExitCode returns the exit code, like the method of *exec.ExitError.
func (e *ExitError) ExitCode() int { return e.Status.Code }

// StatusOf returns how a command ended. err is an error of [Run] or of a command of a [Group].
// The result ok is false if err does not come from a process that ended.
func StatusOf(err error) (Status, bool) {
	if own, ok := errors.AsType[*ExitError](err); ok {
		return own.Status, true
	}
	if std, ok := errors.AsType[*exec.ExitError](err); ok && std.ProcessState != nil {
		return statusOf(std.ProcessState), true
	}
	return Status{}, false
}

func statusOf(p *os.ProcessState) Status {
	s := Status{Code: p.ExitCode()}
	if w, ok := p.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		s.Signal = signalName(w.Signal())
	}
	return s
}
