//go:build unix

package proc_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/proc"
)

var errTimeLimit = errors.New("time limit reached")

func wait(cmd *exec.Cmd) <-chan error {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	return done
}

func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

// proves: Q5
func TestQ5_TimeLimitKillsTheGroup(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	group := proc.NewGroup(termGrace)
	ctx, cancel := context.WithCancelCause(t.Context())
	cmd := s.cast(group.Command(ctx, os.Args[0]), "parent", "stubborn")
	var out bytes.Buffer // Wait also waits until the child of the command closes this pipe
	cmd.Stdout = &out
	start(t, cmd)
	cast := s.enter(t, "parent", "stubborn")

	cancel(errTimeLimit)
	err := result(t, wait(cmd))

	for _, a := range cast {
		a.expect(t, "term", "dead") // each process gets SIGTERM first, and SIGKILL only later
	}
	if status, ok := proc.StatusOf(err); !ok || status.Signal != "SIGKILL" || status.Code != -1 {
		t.Errorf("Wait returned %v, want an end by SIGKILL", err)
	}
	if err := group.Close(); err != nil {
		t.Error(err)
	}
}

// proves: Q5
func TestQ5_PoliteCommandIsNotKilled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	group := proc.NewGroup(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	cmd := s.cast(group.Command(ctx, os.Args[0]), "polite", "")
	start(t, cmd)
	polite := s.enter(t, "polite")["polite"]

	cancel()
	if err := result(t, wait(cmd)); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait returned %v, want the error of the context", err)
	}
	polite.expect(t, "term", "dead")
	if err := group.Close(); err != nil {
		t.Error(err)
	}
}

// proves: Q5
func TestQ5_ChildHasItsGraceAfterTheLeaderDied(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	group := proc.NewGroup(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	cmd := s.cast(group.Command(ctx, os.Args[0]), "leader", "slow")
	start(t, cmd)
	cast := s.enter(t, "leader", "slow")

	cancel()
	done := wait(cmd)
	cast["leader"].expect(t, "dead")
	cast["slow"].expect(t, "term")
	select {
	case <-done:
		t.Fatal("Wait returned while the child was still cleaning up, want it to wait until the child has ended")
	default:
	}
	cast["slow"].release()
	cast["slow"].expect(t, "dead")
	if status, _ := proc.StatusOf(result(t, done)); status.Signal != "SIGTERM" {
		t.Errorf("the first process of the group ended with %v, want SIGTERM", status)
	}
	if err := group.Close(); err != nil {
		t.Error(err)
	}
}

// proves: Q5
func TestQ5_CloseEndsTheGrace(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	group := proc.NewGroup(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	cmd := s.cast(group.Command(ctx, os.Args[0]), "stubborn", "")
	start(t, cmd)
	stubborn := s.enter(t, "stubborn")["stubborn"]

	cancel()
	done := wait(cmd)
	stubborn.expect(t, "term")
	if err := group.Close(); err != nil {
		t.Error(err)
	}
	stubborn.expectDead(t)
	_ = result(t, done) // another test checks the status of the command
}

func TestLeftoverHoldingThePipeNeitherHangsWaitNorSurvivesClose(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	group := proc.NewGroup(time.Hour)
	cmd := s.cast(group.Command(t.Context(), os.Args[0]), "leader", "stubborn")
	var out bytes.Buffer
	cmd.Stdout = &out
	start(t, cmd)
	cast := s.enter(t, "leader", "stubborn")

	cast["leader"].release()
	if err := result(t, wait(cmd)); !errors.Is(err, exec.ErrWaitDelay) {
		t.Errorf("Wait returned %v, want ErrWaitDelay", err)
	}
	if err := group.Close(); err != nil {
		t.Error(err)
	}
	cast["stubborn"].expectDead(t)
}

func TestCloseKillsWhatTheHandlerForgot(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	group := proc.NewGroup(time.Hour)
	cmd := s.cast(group.Command(context.Background(), os.Args[0]), "parent", "stubborn")
	start(t, cmd)
	cast := s.enter(t, "parent", "stubborn")

	if err := group.Close(); err != nil {
		t.Error(err)
	}
	for _, a := range cast {
		a.expectDead(t)
	}
	if err := group.Close(); err != nil {
		t.Errorf("the second Close returned %v, want no error", err)
	}
	if err := result(t, wait(cmd)); err == nil {
		t.Error("Wait found the child, but Close should have reaped it")
	}
}

// A handler that ignores its context may start commands while its run is cleaned up. With
// the race detector, the test also finds data races.
func TestCloseWhileCommandsAreStarted(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	group := proc.NewGroup(time.Hour)
	refused, closing := make(chan error, 1), make(chan struct{})
	var running []<-chan error
	go func() {
		for {
			if len(running) == 5 {
				<-closing
			}
			cmd := s.cast(group.Command(context.Background(), os.Args[0]), "stubborn", "")
			if err := cmd.Start(); err != nil {
				refused <- err
				return
			}
			running = append(running, wait(cmd))
		}
	}()
	s.enter(t, "stubborn")
	close(closing)
	if err := group.Close(); err != nil {
		t.Error(err)
	}
	if err := result(t, refused); !errors.Is(err, context.Canceled) {
		t.Errorf("Start after the end of the run returned %v, want context.Canceled", err)
	}
	for _, done := range running {
		if err := result(t, done); err == nil {
			t.Error("a command that was killed returned no error, want an error")
		}
	}
}

func TestNoCommandStartsAfterItsRun(t *testing.T) {
	t.Parallel()
	group := proc.NewGroup(0)
	before := group.Command(t.Context(), os.Args[0])
	if err := group.Close(); err != nil {
		t.Fatal(err)
	}
	after := group.Command(t.Context(), os.Args[0])
	for _, cmd := range []*exec.Cmd{before, after} {
		if err := cmd.Run(); !errors.Is(err, context.Canceled) || cmd.Process != nil {
			t.Errorf("Run of a command of a closed group returned %v, want context.Canceled", err)
		}
	}
}

func TestManyCommandsInOneRun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	group := proc.NewGroup(0)
	for _, in := range []string{"first", "second", "third"} {
		cmd := s.cast(group.Command(t.Context(), os.Args[0]), "echo", "")
		cmd.Stdin = strings.NewReader(in)
		out, err := cmd.Output()
		if err != nil || string(out) != in {
			t.Errorf("the command returned the output %q and the error %v, want its input %q", out, err, in)
		}
	}
	if err := group.Close(); err != nil {
		t.Error(err)
	}
}

// proves: T2
func TestT2_LastBytesOfStderrAreKept(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	group := proc.NewGroup(0)
	if err := s.cast(group.Command(t.Context(), os.Args[0]), "flood", "").Run(); err != nil {
		t.Fatal(err)
	}
	got := group.Stderr()
	if len(got) != proc.TailMax || !bytes.HasSuffix(got, []byte("eeethe end")) {
		t.Errorf("kept %d bytes of standard error that end in %q, want the last %d bytes", len(got), got[max(0, len(got)-10):], proc.TailMax)
	}
	if err := s.cast(group.Command(t.Context(), os.Args[0]), "fail", "").Run(); err == nil {
		t.Error("the failing command returned no error, want an error")
	}
	if got := group.Stderr(); !bytes.HasSuffix(got, []byte("the enddisk full")) {
		t.Errorf("the kept output ends in %q, want the output of the second command at its end", got[len(got)-20:])
	}
	if err := group.Close(); err != nil {
		t.Error(err)
	}
}
