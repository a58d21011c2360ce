// Package tempdir makes a separate directory for each run of a job below one base
// directory, and makes sure that all of them are removed in the end.
//
// A directory belongs to the process that holds a lock on it. The operating system releases
// the lock whenever the process ends, also after a crash. A directory without a lock therefore
// belongs to a process that has ended, and it can be removed. No clocks, process numbers or stores
// are needed to find this out. Workers of several stores may share a base. The base must be on a
// local file system.
//
// No operation leaves the base directory: links are removed and never followed.
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
	"sync/atomic"
)

// createTries is the number of names that Create tries. A name is not free if the directory of
// an earlier run still exists.
const createTries = 100

var errPrivate = errors.New("name a directory that only the user of the worker can write to")

// leftover matches the names that Create gives to directories, such as job-42 and job-42-2.
var leftover = regexp.MustCompile(`^job-[0-9]+(-[0-9]+)?$`)

// Base is the directory below which the directories of jobs are made. Its methods may be
// called from several goroutines at once. If the base directory is removed while the Base is open,
// Create makes it again.
type Base struct {
	path string
	root atomic.Pointer[os.Root]
}

// Open opens the base directory at path. A missing directory is made with mode 0700. Every
// directory in the base with the name of a job's directory may be removed, so the base must
// be private: Open returns an error if another user owns it or may write to it, or if path
// is a link that another user made.
func Open(path string) (*Base, error) {
	if path == "" {
		return nil, errors.New("base of the temp directories: the path is empty")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("base of the temp directories: %w", err)
	}
	root, err := openRoot(path)
	if err != nil {
		return nil, err
	}
	b := &Base{path: path}
	b.root.Store(root)
	return b, nil
}

// openRoot opens the base directory, and makes it if it is missing.
func openRoot(path string) (*os.Root, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("base of the temp directories: %w", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("base of the temp directories: %w", err)
	}
	if err := check(root, path); err != nil {
		root.Close()
		return nil, fmt.Errorf("base of the temp directories: %w", err)
	}
	return root, nil
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

// Close closes the base. The directories in it must be removed first.
func (b *Base) Close() error { return b.root.Load().Close() }

// Dir is the directory of one run. Only one goroutine may use it at a time.
type Dir struct {
	root *os.Root
	name string
	lock *os.File
}

// Create makes a directory for one run of a job, with the name job-<id> and mode 0700. If the
// directory of an earlier run of the job still exists, a number is added to the name:
// job-<id>-2.
func (b *Base) Create(id int64) (*Dir, error) {
	root := b.root.Load()
	dir, err := create(root, id)
	if !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	// The base directory was removed, so the open base directory cannot be used any more. Do
	// not close it, because other runs may have directories in it.
	again, err := openRoot(b.path)
	if err != nil {
		return nil, err
	}
	if !b.root.CompareAndSwap(root, again) {
		again.Close() // another goroutine was faster
	}
	return create(b.root.Load(), id)
}

func create(root *os.Root, id int64) (*Dir, error) {
	for n := range createTries {
		name := fmt.Sprintf("job-%d", id)
		if n > 0 {
			name = fmt.Sprintf("job-%d-%d", id, n+1)
		}
		err := root.Mkdir(name, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("create the temp directory of job %d: %w", id, err)
		}
		lock, err := acquire(root, name)
		if errors.Is(err, errTaken) {
			continue // a sweep has removed the directory before it was locked, so try again
		}
		if err != nil {
			return nil, fmt.Errorf("lock the temp directory of job %d: %w", id, errors.Join(err, root.Remove(name)))
		}
		return &Dir{root: root, name: name, lock: lock}, nil
	}
	return nil, fmt.Errorf("create a temp directory: %s holds %d directories of job %d: remove these directories",
		root.Name(), createTries, id)
}

// checkID is the id in the name of the directory that Check makes. No job has this id.
const checkID = 0

// checkSize is how many bytes Check writes.
const checkSize = 4 << 10

// Check returns an error if no directory can be made in the base, or if no file can be written
// there. It removes the directory and the file that it makes.
func (b *Base) Check() error {
	dir, err := b.Create(checkID)
	if err != nil {
		return err
	}
	err = dir.root.WriteFile(filepath.Join(dir.name, "check"), make([]byte, checkSize), 0o600)
	if err != nil {
		err = fmt.Errorf("write a file in %s: %w", dir.Path(), err)
	}
	return errors.Join(err, dir.Remove())
}

// Path returns the absolute path of the directory.
func (d *Dir) Path() string { return filepath.Join(d.root.Name(), d.name) }

// Remove removes the directory and its contents. Files that cannot be removed stay until
// the next sweep. A second call does nothing.
func (d *Dir) Remove() error {
	lock := d.lock
	if lock == nil {
		return nil
	}
	d.lock = nil
	defer lock.Close()
	if err := removeAll(d.root, d.name); err != nil {
		return fmt.Errorf("remove the temp directory of a run: %w", err)
	}
	return nil
}

// Sweep removes the directories whose process has ended, and returns the number of removed
// directories. It stops when ctx ends. It continues after a directory that cannot be removed;
// the error then gives the number of these directories and the error of the first one.
func (b *Base) Sweep(ctx context.Context) (removed int, err error) {
	if !canLock {
		return 0, nil
	}
	root := b.root.Load()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return 0, fmt.Errorf("sweep the temp directories in %s: %w", root.Name(), err)
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
		err := sweep(root, e.Name())
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
		return removed, fmt.Errorf("sweep the temp directories in %s: %d directories cannot be removed; the error of the first: %w", root.Name(), stuck, first)
	}
	return removed, nil
}

// sweep removes one directory unless it is in use.
func sweep(root *os.Root, name string) error {
	lock, err := acquire(root, name)
	if err != nil {
		return err
	}
	defer lock.Close()
	return removeAll(root, name)
}
