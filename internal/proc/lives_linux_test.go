package proc

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestStatLineWithAnyName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		stat string
		want bool
	}{
		{"7 (ffmpeg) S 1 42 42 0", true},
		{"7 (ffmpeg) R 1 42 42 0", true},
		{"7 (ffmpeg) Z 1 42 42 0", false},
		{"7 (ffmpeg) X 1 42 42 0", false},
		{"7 (ffmpeg) S 1 421 42 0", false},
		{"7 (evil) Z 1 42) S 1 43 42 0", false},
		{"7 (evil) Z 1 43) S 1 42 42 0", true},
		{"7 (cut", false},
		{"", false},
	} {
		if got := statLivesIn(tt.stat, 42); got != tt.want {
			t.Errorf("statLivesIn(%q) = %v, want %v", tt.stat, got, tt.want)
		}
	}
}

// When a group is gone, the system may give its number to another group. The other group must
// not be killed.
func TestStrangerWithOurNumberIsLeftAlone(t *testing.T) {
	t.Parallel()
	group, others := NewGroup(0), NewGroup(0)
	ours := group.command(t.Context(), "true")
	if err := ours.cmd.Run(); err != nil {
		t.Fatal(err)
	}
	stranger := others.command(t.Context(), "cat")
	input, err := stranger.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := stranger.cmd.Start(); err != nil {
		t.Fatal(err)
	}

	ours.pid = stranger.pid
	if err := group.Close(); err != nil {
		t.Error(err)
	}

	input.Close()
	if err := stranger.cmd.Wait(); err != nil {
		t.Errorf("a process of another group ended with %v, want no error", err)
	}
	if err := others.Close(); err != nil {
		t.Error(err)
	}
}

// Close cannot kill a command that is just being started. Such a command is killed as soon as
// it has started, without a grace time, because its context has already ended.
func TestLateStarterHasNoGrace(t *testing.T) {
	t.Parallel()
	group := NewGroup(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	c := group.command(ctx, "sh", "-c", "trap '' TERM; echo; exec cat </dev/zero >/dev/null")
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}

	close(group.closed)
	cancel()
	done := make(chan error, 1)
	go func() { done <- c.cmd.Wait() }()
	select {
	case err := <-done:
		if status, _ := StatusOf(err); status.Signal != "SIGKILL" {
			t.Errorf("Wait returned %v, want an end by SIGKILL", err)
		}
	case <-time.After(2 * time.Minute):
		t.Error("the command still runs after 2 minutes, want no grace time")
	}
	if err := group.Close(); err != nil {
		t.Error(err)
	}
}

// If a worker is the first process of a container, it becomes the parent of orphans and has
// to wait for them.
func TestOrphansAreBuried(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()

	group := NewGroup(0)
	c := group.command(t.Context(), "sh", "-c", "cat </dev/zero >/dev/null 2>&1 & exit 0")
	if err := c.cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if !c.alive() {
		t.Fatal("the shell left no process behind, but the test needs one")
	}
	if err := group.Close(); err != nil {
		t.Error(err)
	}
	if _, err := syscall.Wait4(-c.pid, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
		t.Errorf("waiting for a process of the group returned %v, want ECHILD (no child is left)", err)
	}
}
