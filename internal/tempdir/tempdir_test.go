//go:build unix

package tempdir_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/tempdir"
)

func open(t *testing.T) (*tempdir.Base, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "base")
	base, err := tempdir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { base.Close() })
	return base, path
}

func create(t *testing.T, base *tempdir.Base, id int64) *tempdir.Dir {
	t.Helper()
	dir, err := base.Create(id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Remove(); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// must stops the test if one of the errors is not nil.
func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func write(path string) error { return os.WriteFile(path, []byte("keep"), 0o600) }

// names returns the names of the files in a directory.
func names(t *testing.T, path string) []string {
	t.Helper()
	entries, err := os.ReadDir(path)
	must(t, err)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func sweep(t *testing.T, base *tempdir.Base, want int) {
	t.Helper()
	if n, err := base.Sweep(t.Context()); n != want || err != nil {
		t.Errorf("Sweep removed %d directories with error %v, want %d and no error", n, err, want)
	}
}

// proves: T1
func TestT1_EachRunHasItsOwnDirectory(t *testing.T) {
	t.Parallel()
	base, path := open(t)
	zombie, rerun, other := create(t, base, 42), create(t, base, 42), create(t, base, 7)
	if want := filepath.Join(path, "job-42"); zombie.Path() != want {
		t.Errorf("got the path %s, want %s", zombie.Path(), want)
	}
	if diff := cmp.Diff([]string{"job-42", "job-42-2", "job-7"}, names(t, path)); diff != "" {
		t.Error(diff)
	}
	for _, dir := range []*tempdir.Dir{zombie, rerun, other} {
		info, err := os.Stat(dir.Path())
		must(t, err, write(filepath.Join(dir.Path(), "clip")))
		if info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v, want 0700", dir.Path(), info.Mode())
		}
	}
	must(t, zombie.Remove(), zombie.Remove())
	if diff := cmp.Diff([]string{"job-42-2", "job-7"}, names(t, path)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"clip"}, names(t, rerun.Path())); diff != "" {
		t.Error(diff)
	}
}

// proves: T1
func TestT1_RemoveDoesNotFollowLinks(t *testing.T) {
	t.Parallel()
	base, path := open(t)
	outside := t.TempDir()
	must(t, write(filepath.Join(outside, "file")))
	dir := create(t, base, 1)
	leftover := filepath.Join(path, "job-2")
	must(t, os.Mkdir(leftover, 0o700))
	for _, in := range []string{dir.Path(), leftover} {
		must(t,
			os.Symlink(outside, filepath.Join(in, "dir")),
			os.Symlink(filepath.Join(outside, "file"), filepath.Join(in, "file")),
			os.Symlink("../../..", filepath.Join(in, "up")),
			os.Link(filepath.Join(outside, "file"), filepath.Join(in, "hard")))
	}
	must(t, dir.Remove())
	sweep(t, base, 1)
	if left := names(t, path); left != nil {
		t.Errorf("got the files %v after Remove, want none", left)
	}
	got, err := os.ReadFile(filepath.Join(outside, "file"))
	if err != nil || string(got) != "keep" {
		t.Errorf("the file outside of the base: got the content %q and the error %v, want the content keep and no error", got, err)
	}
}

// proves: T1
func TestT1_SweepRemovesOnlyLeftovers(t *testing.T) {
	t.Parallel()
	base, path := open(t)
	outside := t.TempDir()
	must(t, write(filepath.Join(outside, "file")))
	living := create(t, base, 1)
	must(t, write(filepath.Join(living.Path(), "clip")))
	for _, name := range []string{"job-2", "job-2-2", "job-9223372036854775807", "cache", "job-x", "job-", "job-4-", "job-5.bak", "myjob-6"} {
		must(t, os.Mkdir(filepath.Join(path, name), 0o700), write(filepath.Join(path, name, "file")))
	}
	must(t, write(filepath.Join(path, "job-8")), os.Symlink(outside, filepath.Join(path, "job-9")),
		os.Symlink("cache", filepath.Join(path, "job-10")))

	sweep(t, base, 3)
	want := []string{"cache", "job-", "job-1", "job-10", "job-4-", "job-5.bak", "job-8", "job-9", "job-x", "myjob-6"}
	if diff := cmp.Diff(want, names(t, path)); diff != "" {
		t.Error(diff)
	}
	for _, kept := range []string{filepath.Join(living.Path(), "clip"), filepath.Join(outside, "file"), filepath.Join(path, "cache", "file")} {
		if _, err := os.Stat(kept); err != nil {
			t.Error(err)
		}
	}
}

// proves: T1
func TestT1_SweepKeepsDirectoriesOfLivingProcesses(t *testing.T) {
	t.Parallel()
	base, path := open(t)
	worker, dir := startWorker(t, path)
	sweep(t, base, 0)
	if _, err := os.Stat(filepath.Join(dir, "clip")); err != nil {
		t.Errorf("reading the directory of a living worker: got the error %v, want none", err)
	}
	rerun := create(t, base, 42)
	if rerun.Path() == dir {
		t.Error("the second run got the same directory as the first run, want another directory")
	}

	kill(t, worker)
	sweep(t, base, 1)
	if diff := cmp.Diff([]string{filepath.Base(rerun.Path())}, names(t, path)); diff != "" {
		t.Error(diff)
	}
}

// proves: T1
func TestT1_UnreadableDirectoriesAreRemoved(t *testing.T) {
	t.Parallel()
	path, err := os.MkdirTemp("", "redrive-test") //nolint:usetesting // another user must reach the directory, and t.TempDir is in a private folder
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(path)) })
	cmd := process("ordinary user", path)
	if os.Geteuid() == 0 {
		must(t, os.Chown(path, nobody, nobody))
		cmd.Path = "/proc/self/exe" // The user nobody has no access to the path of the test binary.
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the process as an ordinary user failed: %v: %s", err, out)
	}
}

// A sweep may remove a directory after it was made and before it is locked. Create must then
// return another directory, which exists.
//
// part of: T1
func TestT1_SweepsNeverRemoveADirectoryInUse(t *testing.T) {
	t.Parallel()
	base, path := open(t)
	ctx, stop := context.WithCancel(t.Context())
	var sweepers, workers sync.WaitGroup
	for range 2 {
		sweepers.Go(func() {
			for ctx.Err() == nil {
				if _, err := base.Sweep(ctx); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	for range 4 {
		workers.Go(func() {
			for id := range int64(300) {
				dir, err := base.Create(id % 3)
				if err != nil {
					t.Error(err)
					return
				}
				if err := errors.Join(write(filepath.Join(dir.Path(), "clip")), dir.Remove()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
	stop()
	sweepers.Wait()
	if left := names(t, path); left != nil {
		t.Errorf("got the files %v after the last Remove, want none", left)
	}
}

func TestSweepStopsWithItsContext(t *testing.T) {
	t.Parallel()
	base, path := open(t)
	must(t, os.Mkdir(filepath.Join(path, "job-1"), 0o700))
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("shutting down")
	cancel(cause)
	if n, err := base.Sweep(ctx); n != 0 || !errors.Is(err, cause) {
		t.Errorf("Sweep with an ended context: removed %d directories with error %v, want 0 and the cause of the context", n, err)
	}
}

func TestCreateGivesUpAfterManyLeftovers(t *testing.T) {
	t.Parallel()
	base, path := open(t)
	must(t, os.Mkdir(filepath.Join(path, "job-1"), 0o700))
	for n := 2; n <= 99; n++ {
		must(t, os.Mkdir(filepath.Join(path, fmt.Sprintf("job-1-%d", n)), 0o700))
	}
	last := create(t, base, 1)
	if filepath.Base(last.Path()) != "job-1-100" {
		t.Errorf("got the path %s, want a path that ends with job-1-100", last.Path())
	}
	if _, err := base.Create(1); err == nil || !strings.Contains(err.Error(), "100 directories of job 1") {
		t.Errorf("Create after 100 directories: got the error %v, want an error about 100 directories", err)
	}
	sweep(t, base, 99)
}

func TestOpenRefusesABaseThatIsNotPrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.Mkdir(in("private"), 0o755), os.Symlink("private", in("own link")), write(in("file")),
		os.Mkdir(in("shared"), 0o700), os.Chmod(in("shared"), 0o777),
		os.Mkdir(in("group"), 0o700), os.Chmod(in("group"), 0o720))
	type test struct{ path, refusal string }
	tests := []test{
		{in("private"), ""},
		{in("own link"), ""},
		{in("new/nested"), ""},
		{in("shared"), "such as " + in("shared/redrive")},
		{in("group"), "only the user of the worker"},
		{in("file"), "not a directory"},
		{"", "empty"},
	}
	if os.Geteuid() == 0 {
		must(t, os.Mkdir(in("foreign"), 0o700), os.Chown(in("foreign"), nobody, nobody),
			os.Symlink("private", in("foreign link")), os.Lchown(in("foreign link"), nobody, nobody))
		tests = append(tests, test{in("foreign"), "belongs to another user"}, test{in("foreign link"), "belongs to another user"})
	}
	for _, tt := range tests {
		base, err := tempdir.Open(tt.path)
		if tt.refusal != "" {
			if err == nil || !strings.Contains(err.Error(), tt.refusal) {
				t.Errorf("Open(%q): got the error %v, want an error with %q", tt.path, err, tt.refusal)
			}
			continue
		}
		if err != nil {
			t.Errorf("Open(%q): got the error %v, want none", tt.path, err)
			continue
		}
		must(t, base.Close())
	}
	if info, err := os.Stat(in("new/nested")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the new base: got the file info %v and the error %v, want a directory with mode 0700", info, err)
	}
}

// Handlers may change the working directory, so the path must be absolute.
func TestPathIsAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	base, err := tempdir.Open("relative")
	must(t, err)
	t.Cleanup(func() { base.Close() })
	if dir := create(t, base, 1); !filepath.IsAbs(dir.Path()) {
		t.Errorf("got the path %s, want an absolute path", dir.Path())
	}
}
