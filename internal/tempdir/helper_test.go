//go:build unix

package tempdir_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redrive/redrive/internal/tempdir"
)

// The tests start their own test binary in these roles, as other processes that use the
// same base.
const (
	roleVar = "TEMPDIR_TEST_ROLE"
	baseVar = "TEMPDIR_TEST_BASE"

	// The tests become the user nobody when they run as root, because file modes do not
	// restrict root.
	nobody = 65534
)

func TestMain(m *testing.M) {
	role := os.Getenv(roleVar)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := play(role, os.Getenv(baseVar)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		syscall.Exit(1)
	}
	syscall.Exit(0)
}

func play(role, path string) error {
	base, err := tempdir.Open(path)
	if err != nil {
		return err
	}
	defer base.Close()
	switch role {
	case "worker":
		return work(base)
	case "ordinary user":
		return removeWithoutAccess(base, path)
	}
	return fmt.Errorf("unknown role %q", role)
}

// work makes a directory and keeps it until the process is killed.
func work(base *tempdir.Base) error {
	dir, err := base.Create(42)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir.Path(), "clip"), nil, 0o600); err != nil {
		return err
	}
	fmt.Println(dir.Path())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// removeWithoutAccess removes and sweeps directories that their owner may not read. Then it
// checks the errors for a directory that its owner may not remove.
func removeWithoutAccess(base *tempdir.Base, path string) error {
	dir, err := base.Create(1)
	if err != nil {
		return err
	}
	for _, top := range []string{dir.Path(), filepath.Join(path, "job-2")} {
		if err := lockUp(top); err != nil {
			return err
		}
	}
	if err := dir.Remove(); err != nil {
		return err
	}
	if n, err := base.Sweep(context.Background()); n != 1 || err != nil {
		return fmt.Errorf("Sweep removed %d directories with error %w, want 1 and no error", n, err)
	}
	if left, err := os.ReadDir(path); len(left) != 0 || err != nil {
		return fmt.Errorf("got the files %v and the error %w after Sweep, want no files and no error", left, err)
	}

	if dir, err = base.Create(3); err != nil {
		return err
	}
	if err := os.Chmod(path, 0o500); err != nil {
		return err
	}
	if err := dir.Remove(); !errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("Remove in a read-only base: got the error %w, want os.ErrPermission", err)
	}
	n, err := base.Sweep(context.Background())
	if n != 0 || !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "1 directories") {
		return fmt.Errorf("Sweep of a read-only base removed %d directories with error %w, want 0 and os.ErrPermission", n, err)
	}
	if err := os.Chmod(path, 0o700); err != nil {
		return err
	}
	if n, err := base.Sweep(context.Background()); n != 1 || err != nil {
		return fmt.Errorf("Sweep after a failed Remove: removed %d directories with error %w, want 1 and no error", n, err)
	}
	return nil
}

// lockUp makes a directory tree and removes all access rights from it.
func lockUp(top string) error {
	inner := filepath.Join(top, "a", "b")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(inner, "file"), nil, 0); err != nil {
		return err
	}
	for _, dir := range []string{inner, filepath.Dir(inner), top} {
		if err := os.Chmod(dir, 0); err != nil {
			return err
		}
	}
	return nil
}

// process prepares another process that uses the same base in a role.
func process(role, base string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"="+role, baseVar+"="+base)
	return cmd
}

// startWorker starts a worker process and returns it with the directory that the worker
// made.
func startWorker(t *testing.T, base string) (*exec.Cmd, string) {
	t.Helper()
	cmd := process("worker", base)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(t, cmd) })
	path, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(path)
}

// kill ends a worker process by SIGKILL. A second call does nothing.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if cmd.ProcessState != nil {
		return
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // Wait always returns an error here, because the process was killed
}
