package tempdir

import (
	"errors"
	"io/fs"
	"os"
)

// errTaken means that another run or a sweep has locked the directory, or that it was
// removed.
var errTaken = errors.New("the directory is in use")

// acquire locks the directory for this process, until the returned file is closed.
func acquire(root *os.Root, name string) (*os.File, error) {
	dir, err := root.Open(name)
	if errors.Is(err, fs.ErrPermission) && root.Chmod(name, 0o700) == nil {
		dir, err = root.Open(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errTaken
	}
	if err != nil {
		return nil, err
	}
	if err := lock(dir); err != nil {
		dir.Close()
		return nil, err
	}
	if !stands(root, name, dir) {
		dir.Close()
		return nil, errTaken
	}
	return dir, nil
}

// stands reports whether the directory that was locked still has this name. Another process
// may have removed it between the opening and the locking, and another run may have created
// a new directory with the same name.
func stands(root *os.Root, name string, dir *os.File) bool {
	locked, err := dir.Stat()
	if err != nil {
		return false
	}
	named, err := root.Lstat(name)
	return err == nil && os.SameFile(locked, named)
}

// removeAll removes a directory and its content. If directories in it are not accessible,
// it first gives the owner access to them.
func removeAll(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	openUp(root, name)
	return root.RemoveAll(name)
}

// openUp gives the owner full access to every directory of a tree. It ignores errors,
// because the removal afterwards reports them.
func openUp(root *os.Root, name string) {
	_ = root.Chmod(name, 0o700)
	dir, err := root.Open(name)
	if err != nil {
		return
	}
	entries, _ := dir.ReadDir(-1)
	dir.Close()
	for _, e := range entries {
		if e.IsDir() {
			openUp(root, name+"/"+e.Name())
		}
	}
}
