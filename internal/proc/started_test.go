//go:build unix

package proc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// part of: Q3
func TestQ3_AProgramThatCannotBeStartedIsKnown(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte{0, 1, 2}, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]Spec{
		"missing":                 {Argv: []string{"no-such-program"}},
		"missing path":            {Argv: []string{filepath.Join(dir, "gone")}},
		"a directory":             {Argv: []string{dir}},
		"not executable":          {Argv: []string{script}},
		"of another machine":      {Argv: []string{text}},
		"missing folder":          {Argv: []string{"true"}, Dir: filepath.Join(dir, "gone")},
		"no folder but a program": {Argv: []string{"true"}, Dir: script},
	} {
		_, err := Run(t.Context(), s)
		e, ok := errors.AsType[*NotStartedError](err)
		if !ok || !errors.Is(err, ErrNotStarted) || e.Process || e.Check == nil {
			t.Errorf("%s: got the error %v (%+v), want a NotStartedError of this program with a check", name, err, e)
			continue
		}
		if name != "of another machine" && name != "no folder but a program" && e.Check() == nil {
			t.Errorf("%s: the check finds no trouble, want an error", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, run := range map[string]func() error{
		"success":           func() error { _, err := Run(t.Context(), Spec{Argv: []string{"true"}}); return err },
		"failure":           func() error { _, err := Run(t.Context(), Spec{Argv: []string{"false"}}); return err },
		"the context ended": func() error { _, err := Run(ctx, Spec{Argv: []string{"true"}}); return err },
		"a bad argument":    func() error { _, err := Run(t.Context(), Spec{Argv: []string{"true", "a\x00b"}}); return err },
		"a bad name variable": func() error {
			_, err := Run(t.Context(), Spec{Argv: []string{"true"}, Env: map[string]string{"": "x"}})
			return err
		},
	} {
		if err := run(); errors.Is(err, ErrNotStarted) {
			t.Errorf("%s: got the error %v, want none that is ErrNotStarted", name, err)
		}
	}
}

// part of: Q3
func TestQ3_ErrorsOfTheSystemSayWhoseTroubleItIs(t *testing.T) {
	for errno, process := range map[syscall.Errno]bool{
		syscall.EMFILE: true, syscall.ENFILE: true, syscall.EAGAIN: true, syscall.ENOMEM: true, syscall.ENOSPC: true,
		syscall.ENOENT: false, syscall.EACCES: false, syscall.ENOEXEC: false, syscall.ETXTBSY: false,
	} {
		err := NotStarted(&fs.PathError{Op: "fork/exec", Path: "x", Err: errno}, nil)
		if e, ok := errors.AsType[*NotStartedError](err); !ok || e.Process != process || !errors.Is(err, errno) {
			t.Errorf("%v: got the error %+v, want a NotStartedError with Process %v", errno, err, process)
		}
	}
	if err := NotStarted(fmt.Errorf("start: %w", syscall.E2BIG), nil); errors.Is(err, ErrNotStarted) {
		t.Errorf("got ErrNotStarted for arguments that are too long, want the error unchanged, because the job is the cause")
	}
	if err := checkFiles(); err != nil {
		t.Errorf("got the error %v of a check with enough files, want none", err)
	}
}

// part of: Q3, Q5
func TestQ3_AHandlerReturnsTheErrorOfACommand(t *testing.T) {
	g := NewGroup(0)
	t.Cleanup(func() { _ = g.Close() })
	err := g.Command(t.Context(), "no-such-program").Run()
	if !errors.Is(err, ErrNotStarted) || !errors.Is(err, exec.ErrNotFound) || g.Refused(fmt.Errorf("render: %w", err)) == nil {
		t.Errorf("got the error %v of a missing program, want ErrNotStarted and exec.ErrNotFound", err)
	}
	err = g.Command(t.Context(), t.TempDir()).Run()
	if err == nil || g.Refused(fmt.Errorf("render: %w", err)) == nil {
		t.Errorf("got the error %v of a directory, want an error for which Refused returns a result", err)
	}
	if g.Refused(fmt.Errorf("no file for the program: %w", os.NewSyscallError("pipe2", syscall.EMFILE))) == nil {
		t.Error("Refused returned nil for the error EMFILE after a command was not started, want a result")
	}
	var none *Group
	for _, e := range []error{errors.New("x"), &fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}, syscall.EMFILE} {
		if none.Refused(e) != nil {
			t.Errorf("Refused returned a result for the error %v of a run without commands, want nil", e)
		}
	}
	if none.Refused(fmt.Errorf("no GPU: %w", ErrNotStarted)) == nil {
		t.Error("Refused returned nil for an error that wraps ErrNotStarted, want a result")
	}
}
