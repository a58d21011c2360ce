// Package tempdir creates a directory for each run of a job, in one base directory, and
// removes it after the run.
//
// A directory belongs to the process that holds a lock on it. The operating system releases
// the lock when the process ends, even if it crashes. So a directory without a lock was
// left behind and can be removed, without looking at a clock, a process number or a store.
// Workers of several stores may use the same base. The base must be on a local file system.
//
// Nothing outside of the base is changed: links are removed and never followed.
//
// On systems where directories cannot be locked, such as Windows, the directories of killed
// workers are not removed.
package tempdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// createTries is the number of names that Create tries when directories of earlier runs
// exist.
const createTries = 100

var errPrivate = errors.New("name a directory that only the user of the worker can write to")

// leftover matches the names of directories that Create makes: job-42, job-42-2.
var leftover = regexp.MustCompile(`^job-[0-9]+(-[0-9]+)?$`)

// Base is the directory that contains the directories of runs. Its methods are safe for
// concurrent use.
type Base struct{ root *os.Root }

// Open opens the base at a path, and creates it with mode 0700 if it is missing. Every
// directory in the base with a name such as job-42 counts as the directory of a run. So the
// base must be private: Open fails if another user owns it or can write to it, or if the
// path is a link of another user.
func Open(path string) (*Base, error) {
	if path == "" {
		return nil, errors.New("temp base: the path is empty")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("temp base: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("temp base: %w", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("temp base: %w", err)
	}
	if err := check(root, path); err != nil {
		root.Close()
		return nil, fmt.Errorf("temp base: %w", err)
	}
	return &Base{root}, nil
}

func check(root *os.Root, path string) error {
	link, err := os.Lstat(path)
	if err != nil {
		return err
	}
	dir, err := root.Stat(".")
	if err != nil {
		return err
	}
	if !trusted(link) {
		return fmt.Errorf("%s belongs to another user: %w", path, errPrivate)
	}
	if !private(dir) {
		return fmt.Errorf("%s has mode %v or belongs to another user: %w, such as %s",
			path, dir.Mode(), errPrivate, filepath.Join(path, "redrive"))
	}
	return nil
}

// Close closes the base. Remove its directories before.
func (b *Base) Close() error { return b.root.Close() }

// Dir is the directory of one run. It must not be used concurrently.
type Dir struct {
	root *os.Root
	name string
	lock *os.File
}

// Create creates a directory with mode 0700 for one run of a job. Its name is job-<id>. If
// the directory of an earlier run of the job still exists, the name gets a number:
// job-<id>-2.
func (b *Base) Create(id int64) (*Dir, error) {
	for n := range createTries {
		name := fmt.Sprintf("job-%d", id)
		if n > 0 {
			name = fmt.Sprintf("job-%d-%d", id, n+1)
		}
		err := b.root.Mkdir(name, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("temp dir: %w", err)
		}
		lock, err := acquire(b.root, name)
		if errors.Is(err, errTaken) {
			continue // a sweep found the directory before it was locked
		}
		if err != nil {
			return nil, fmt.Errorf("temp dir: %w", errors.Join(err, b.root.Remove(name)))
		}
		return &Dir{root: b.root, name: name, lock: lock}, nil
	}
	return nil, fmt.Errorf("temp dir: %s holds %d directories of job %d: remove them by hand",
		b.root.Name(), createTries, id)
}

// Path returns the absolute path of the directory.
func (d *Dir) Path() string { return filepath.Join(d.root.Name(), d.name) }

// Remove removes the directory and its content. What it cannot remove, the next sweep tries
// to remove. A second call does nothing.
func (d *Dir) Remove() error {
	lock := d.lock
	if lock == nil {
		return nil
	}
	d.lock = nil
	defer lock.Close()
	if err := removeAll(d.root, d.name); err != nil {
		return fmt.Errorf("temp dir: %w", err)
	}
	return nil
}

// Sweep removes the directories of runs whose process has ended, and returns how many it
// removed. It stops when ctx ends. If a directory cannot be removed, Sweep continues with
// the others. The error contains the number of such directories and the first error.
func (b *Base) Sweep(ctx context.Context) (removed int, err error) {
	if !canLock {
		return 0, nil
	}
	entries, err := fs.ReadDir(b.root.FS(), ".")
	if err != nil {
		return 0, fmt.Errorf("sweep %s: %w", b.root.Name(), err)
	}
	var stuck int
	var first error
	for _, e := range entries {
		if ctx.Err() != nil {
			return removed, context.Cause(ctx)
		}
		if !e.IsDir() || !leftover.MatchString(e.Name()) {
			continue
		}
		err := b.sweep(e.Name())
		switch {
		case err == nil:
			removed++
		case errors.Is(err, errTaken):
		default:
			if stuck++; stuck == 1 {
				first = err
			}
		}
	}
	if stuck > 0 {
		return removed, fmt.Errorf("sweep %s: %d directories cannot be removed, the first: %w", b.root.Name(), stuck, first)
	}
	return removed, nil
}

// sweep removes one directory, unless it is in use.
func (b *Base) sweep(name string) error {
	lock, err := acquire(b.root, name)
	if err != nil {
		return err
	}
	defer lock.Close()
	return removeAll(b.root, name)
}
