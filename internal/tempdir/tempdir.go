// Package tempdir gives each run of a job a directory of its own below one base
// and leaves none behind.
//
// A directory belongs to the process that holds a lock on it. The system drops
// the lock when the process ends, however it ends, so a directory without one
// is a leftover: no clock, no process number and no store has to be asked, and
// workers of several stores may share a base. It must be on a local file system.
//
// No operation leaves the base: links are removed and never followed.
//
// Where directories cannot be locked, as on Windows, the leftovers of workers
// that were killed stay.
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

// createTries bounds how many directories of earlier runs Create passes over.
const createTries = 100

var errPrivate = errors.New("name a directory that only the user of the worker can write to")

// leftover matches the names that Create gives: job-42, job-42-2.
var leftover = regexp.MustCompile(`^job-[0-9]+(-[0-9]+)?$`)

// Base is the directory below which the directories of jobs are made. Its
// methods may be called from several goroutines at a time.
type Base struct{ root *os.Root }

// Open opens the base at path and makes it, with mode 0700, if it is missing.
// Everything named like a job's directory in there is taken for one, so the
// base has to be private: it is an error if others own it or may write to it,
// or if path is a link that others made.
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

// Close releases the base. Its directories have to be removed before.
func (b *Base) Close() error { return b.root.Close() }

// Dir is the directory of one run. It belongs to one goroutine at a time.
type Dir struct {
	root *os.Root
	name string
	lock *os.File
}

// Create makes a directory, with mode 0700, for one run of a job: job-<id>. While
// an earlier run of the job still has that one, or has left it behind, the name
// gets a number: job-<id>-2.
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
			continue // a sweep saw it before the lock
		}
		if err != nil {
			return nil, fmt.Errorf("temp dir: %w", errors.Join(err, b.root.Remove(name)))
		}
		return &Dir{root: b.root, name: name, lock: lock}, nil
	}
	return nil, fmt.Errorf("temp dir: %s holds %d directories of job %d: remove what cannot be swept",
		b.root.Name(), createTries, id)
}

// Path returns the absolute path of the directory.
func (d *Dir) Path() string { return filepath.Join(d.root.Name(), d.name) }

// Remove removes the directory with all that is in it. What cannot be removed
// is left to the next sweep. Removing it again does nothing.
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

// Sweep removes the directories of runs whose process has ended, until ctx ends,
// and returns how many it removed. One that cannot be removed does not stop it;
// the error tells how many there are and about the first.
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

// sweep removes one directory unless it is in use.
func (b *Base) sweep(name string) error {
	lock, err := acquire(b.root, name)
	if err != nil {
		return err
	}
	defer lock.Close()
	return removeAll(b.root, name)
}
