package tempdir

import (
	"errors"
	"io/fs"
	"os"
)

// errTaken means that another process uses the directory or has removed it.
var errTaken = errors.New("the directory is in use")

// acquire locks the directory for this process until the returned file is closed.
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

// stands reports whether the name still belongs to the locked directory. After this process
// opened the directory and before it got the lock, the directory's owner may have removed it,
// and another run may have made a new directory with the same name.
func stands(root *os.Root, name string, dir *os.File) bool {
	locked, err := dir.Stat()
	if err != nil {
		return false
	}
	named, err := root.Lstat(name)
	return err == nil && os.SameFile(locked, named)
}

// removeAll removes a directory and its contents. It first gives the owner access to
// directories in it that have no access rights.
func removeAll(root *os.Root, name string) error {
	err := root.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	openUp(root, name)
	return root.RemoveAll(name)
}

// openUp gives the owner all access rights to every directory of a tree. It ignores errors,
// because the removal that follows reports them.
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
