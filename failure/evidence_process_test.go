package failure_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/redrive/redrive/failure"
)

func TestMain(m *testing.M) {
	switch os.Getenv("FAILURE_TEST_ROLE") {
	case "exit":
		os.Exit(65)
	case "complain":
		_, _ = io.WriteString(os.Stderr, "moov atom not found\n")
		os.Exit(1)
	case "die":
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		select {}
	case "hang":
		_, _ = io.WriteString(os.Stdout, "ready\n")
		select {}
	}
	os.Exit(m.Run())
}

// self runs this test binary in a role, by a shell if one is given.
func self(ctx context.Context, role string, shell ...string) *exec.Cmd {
	args := append(shell, os.Args[0])
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "FAILURE_TEST_ROLE="+role)
	return cmd
}

// part of: F1, F7
func TestF1_EvidenceOfARealSubprocess(t *testing.T) {
	t.Parallel()
	of := func(err error) failure.Evidence { return failure.Of(fmt.Errorf("encode: %w", err)) }
	if e := of(self(t.Context(), "exit").Run()); e.Exit == nil || *e.Exit != 65 || e.Signal != "" {
		t.Errorf("exit 65: %+v", e)
	}
	if e := of(self(t.Context(), "die").Run()); e.Exit != nil || e.Signal != "SIGKILL" {
		t.Errorf("killed: %+v", e)
	}
	if runtime.GOOS != "windows" {
		shell := []string{"/bin/sh", "-c", `"$0"; exit $?`}
		if e := of(self(t.Context(), "die", shell...).Run()); e.Exit == nil || *e.Exit != 137 || e.Signal != "" {
			t.Errorf("killed behind a shell: %+v", e)
		}
	}
	_, err := self(t.Context(), "complain").Output()
	if e := of(err); string(e.Stderr) != "moov atom not found\n" || e.Exit == nil || *e.Exit != 1 {
		t.Errorf("stderr: %+v", e)
	}
}

// A command that its context has ended looks like one that somebody killed.
//
// part of: F13
func TestF13_AnEndedCommandDoesNotTellWhy(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cmd := self(ctx, "hang")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel(errors.New("the time limit"))
	e := failure.Of(cmd.Wait())
	if e.Timeout || e.Canceled || e.Signal != "SIGKILL" || e.Exit != nil {
		t.Errorf("%+v, want a signal and no more", e)
	}
}

// part of: F7
func TestF7_MissingProgramsAndFiles(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	_, lookErr := exec.LookPath("redrive-no-such-program")
	_, openErr := os.Open(missing)
	_, dirErr := os.ReadFile(t.TempDir())
	tests := []struct {
		name, errno, types string
		err                error
	}{
		{"a program that is not in the path", "", "exec.Error", lookErr},
		{"a program by its path", "ENOENT", "fs.PathError", exec.CommandContext(t.Context(), missing).Run()},
		{"a file", "ENOENT", "fs.PathError", openErr},
		{"a link", "ENOENT", "os.LinkError", os.Link(missing, missing+"2")},
		{"an existing folder", "EEXIST", "fs.PathError", os.Mkdir(t.TempDir(), 0o700)},
		{"a folder that is read as a file", "EISDIR", "fs.PathError", dirErr},
		{"a closed file", "", "fs.PathError fs.ErrClosed", closedFile(t)},
	}
	if runtime.GOOS == "linux" {
		tests = append(tests, struct {
			name, errno, types string
			err                error
		}{"a full disk", "ENOSPC", "fs.PathError", os.WriteFile("/dev/full", []byte("x"), 0o600)})
	}
	for _, tt := range tests {
		if runtime.GOOS == "windows" && tt.errno == "EISDIR" {
			continue
		}
		e := failure.Of(fmt.Errorf("read input: %w", tt.err))
		if types := strings.Join(e.Types, " "); e.Errno != tt.errno || types != tt.types || e.Exit != nil || e.Signal != "" {
			t.Errorf("%s: %v: errno %q and types %q, want %q and %q", tt.name, tt.err, e.Errno, types, tt.errno, tt.types)
		}
	}
}

func closedFile(t *testing.T) error {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write([]byte("x"))
	return err
}
