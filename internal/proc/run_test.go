//go:build unix

package proc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/proc"
)

func spec(role string) proc.Spec {
	return proc.Spec{Argv: []string{os.Args[0]}, Env: map[string]string{roleVar: role}}
}

func TestRunPassesInputAndOutput(t *testing.T) {
	t.Parallel()
	s := spec("echo")
	s.Stdin = []byte(`{"clips":3}`)
	got, err := proc.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(proc.Result{Stdout: s.Stdin}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRunDrainsWhatItDoesNotKeep(t *testing.T) {
	t.Parallel()
	s := spec("flood")
	s.StdoutMax = 1000
	got, err := proc.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Stdout) != 1000 || !got.Truncated {
		t.Errorf("kept %d bytes of standard output, truncated is %v; want 1000 bytes and true", len(got.Stdout), got.Truncated)
	}
	if len(got.Stderr) != proc.TailMax || !bytes.HasSuffix(got.Stderr, []byte("the end")) {
		t.Errorf("kept %d bytes of standard error, want the last %d bytes", len(got.Stderr), proc.TailMax)
	}
}

func TestRunKeepsUpToTheLimit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		max, size int
		truncated bool
	}{
		{"below", 10, 9, false},
		{"on", 10, 10, false},
		{"above", 10, 11, true},
		{"on the default", 0, proc.StdoutMax, false},
		{"above the default", 0, proc.StdoutMax + 1, true},
	} {
		s := spec("echo")
		s.StdoutMax = tt.max
		s.Stdin = bytes.Repeat([]byte("x"), tt.size)
		got, err := proc.Run(t.Context(), s)
		want := tt.size
		if tt.truncated {
			want--
		}
		if err != nil || got.Truncated != tt.truncated || len(got.Stdout) != want {
			t.Errorf("%s: kept %d bytes of standard output, truncated is %v, error is %v; want %d bytes, %v and no error", tt.name, len(got.Stdout), got.Truncated, err, want, tt.truncated)
		}
	}
}

func TestRunDoesNotMindUnreadInput(t *testing.T) {
	t.Parallel()
	s := spec("deaf")
	s.Stdin = make([]byte, floodBytes)
	if _, err := proc.Run(t.Context(), s); err != nil {
		t.Error(err)
	}
}

func TestRunGivesOnlyTheEnvironmentAskedFor(t *testing.T) {
	t.Setenv("PROC_TEST_ALLOWED", "yes")
	t.Setenv("PROC_TEST_SECRET", "hunter2")
	t.Setenv("PROC_TEST_BOTH", "parent")
	s := spec("environ")
	s.Dir = t.TempDir()
	s.Inherit = []string{"PROC_TEST_ALLOWED", "PROC_TEST_BOTH", "PROC_TEST_UNSET"}
	s.Env["PROC_TEST_BOTH"] = "own"
	got, err := proc.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{s.Dir, "PROC_TEST_ALLOWED=yes", "PROC_TEST_BOTH=own"}
	if diff := cmp.Diff(want, strings.Split(string(got.Stdout), "\n")); diff != "" {
		t.Error(diff)
	}
}

// part of: F1
func TestF1_RunTellsHowTheProgramEnded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		role, message string
		want          proc.ExitError
	}{
		{"fail", "exit code 3", proc.ExitError{Status: proc.Status{Code: 3}, Stderr: []byte("disk full")}},
		{"suicide", "SIGKILL", proc.ExitError{Status: proc.Status{Code: -1, Signal: "SIGKILL"}}},
	} {
		got, err := proc.Run(t.Context(), spec(tt.role))
		exit, ok := errors.AsType[*proc.ExitError](err)
		if !ok {
			t.Errorf("%s: got the error %v, want an ExitError", tt.role, err)
			continue
		}
		tt.want.Name = os.Args[0]
		if diff := cmp.Diff(&tt.want, exit); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(proc.Result{Status: tt.want.Status, Stderr: tt.want.Stderr}, got); diff != "" {
			t.Error(diff)
		}
		if !strings.HasSuffix(err.Error(), tt.message) || exit.ExitCode() != tt.want.Status.Code {
			t.Errorf("got the error %q with the exit code %d, want an error that ends with %q and the exit code %d", err, exit.ExitCode(), tt.message, tt.want.Status.Code)
		}
		if status, ok := proc.StatusOf(err); !ok || status != tt.want.Status {
			t.Errorf("StatusOf returned %v and %v, want the status of the process and true", status, ok)
		}
	}
	if status, ok := proc.StatusOf(errors.New("no process")); ok {
		t.Errorf("StatusOf returned the status %v for an error that does not come from a process, want no status", status)
	}
}

// proves: Q5
func TestQ5_RunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	var got proc.Result
	go func() {
		var err error
		got, err = proc.Run(ctx, proc.Spec{
			Argv:  []string{os.Args[0]},
			Env:   s.env("parent", "stubborn"),
			Grace: termGrace,
		})
		done <- err
	}()
	cast := s.enter(t, "parent", "stubborn")

	cancel(errTimeLimit)
	err := result(t, done)

	for _, a := range cast {
		a.expect(t, "term", "dead")
	}
	if !errors.Is(err, errTimeLimit) || !errors.Is(got.Cause, errTimeLimit) || got.Status.Signal != "SIGKILL" {
		t.Errorf("Run returned %+v and the error %v, want the cause of the context and SIGKILL", got, err)
	}
}

// A program that exits with 0 after SIGTERM was interrupted, so the run must not count as a
// success.
// part of: Q5
func TestQ5_StoppedProgramHasNotSucceeded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := proc.Run(ctx, proc.Spec{Argv: []string{os.Args[0]}, Env: s.env("polite", "")})
		done <- err
	}()
	polite := s.enter(t, "polite")["polite"]
	cancel(errTimeLimit)
	if err := result(t, done); !errors.Is(err, errTimeLimit) {
		t.Errorf("Run returned %v, want the cause of the context", err)
	}
	polite.expect(t, "term", "dead")
}

func TestRunLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	done := make(chan error, 1)
	go func() {
		_, err := proc.Run(t.Context(), proc.Spec{Argv: []string{os.Args[0]}, Env: s.env("leader", "stubborn")})
		done <- err
	}()
	cast := s.enter(t, "leader", "stubborn")
	cast["leader"].release()
	if err := result(t, done); err != nil {
		t.Errorf("Run returned %v, want no error", err)
	}
	cast["stubborn"].expectDead(t)
}

func TestRunTellsWhyAProgramCannotStart(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errTimeLimit)
	badName, badDir := spec("echo"), spec("echo")
	badName.Env["A=B"] = "c"
	badDir.Dir = t.TempDir() + "/missing"
	for _, tt := range []struct {
		name string
		ctx  context.Context
		spec proc.Spec
		is   error
		text string
	}{
		{"no argv", t.Context(), proc.Spec{}, nil, "name a program"},
		{"no program", t.Context(), proc.Spec{Argv: []string{""}}, nil, "name a program"},
		{"unknown program", t.Context(), proc.Spec{Argv: []string{"ffmpgeg"}}, exec.ErrNotFound, `command "ffmpgeg": executable file not found`},
		{"unknown path", t.Context(), proc.Spec{Argv: []string{"/missing/ffmpeg"}}, os.ErrNotExist, `command "/missing/ffmpeg"`},
		{"unknown program, context over", ended, proc.Spec{Argv: []string{"ffmpgeg"}}, exec.ErrNotFound, "install it"},
		{"unknown directory", t.Context(), badDir, os.ErrNotExist, "working directory: stat " + badDir.Dir},
		{"variable name", t.Context(), badName, nil, `variable "A=B"`},
		{"context over", ended, spec("echo"), errTimeLimit, "not started"},
	} {
		_, err := proc.Run(tt.ctx, tt.spec)
		if err == nil || !strings.Contains(err.Error(), tt.text) || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%s: got the error %v, want an error that contains the text %q and wraps the error %v", tt.name, err, tt.text, tt.is)
		}
		if _, ok := proc.StatusOf(err); ok {
			t.Errorf("%s: StatusOf returned a status for a command that never started, want no status", tt.name)
		}
	}
}

// A command whose worker was killed reads its whole input, also if it begins to read only then.
//
// part of: Q5
func TestQ5_ACommandReadsItsWholeInputAfterItsWorkerWasKilled(t *testing.T) {
	t.Parallel()
	for _, size := range []int{2, 60 << 10, 1 << 20} {
		s := newStage(t)
		worker := s.cast(exec.Command(os.Args[0]), "unguarded", "")
		worker.Env = append(worker.Env, fmt.Sprintf("%s=%d", inputVar, size))
		if err := worker.Start(); err != nil {
			t.Fatal(err)
		}
		reader := s.enter(t, "reader")["reader"]
		if err := worker.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = worker.Wait() // no error check: the worker was killed
		reader.release()
		reader.expect(t, fmt.Sprint(size, " <nil>"))
	}
}
