//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package tempdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

const canLock = true

// lock locks an open directory. The lock ends when the file is closed or the process ends.
// Child processes do not inherit it.
func lock(dir *os.File) error {
	err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return errTaken
	default:
		return fmt.Errorf("lock %s: %w: the base of the temp directories must be on a local file system", dir.Name(), err)
	}
}

// private reports whether this user is the only one who may write to the directory.
func private(dir fs.FileInfo) bool {
	return owner(dir) == os.Geteuid() && dir.Mode().Perm()&0o022 == 0
}

// trusted reports whether a path belongs to this user or to root.
func trusted(path fs.FileInfo) bool {
	uid := owner(path)
	return uid == os.Geteuid() || uid == 0
}

func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
