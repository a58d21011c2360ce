//go:build linux

package torture

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// smallDisk is the size of the file system that is filled; a round needs a third of it.
const smallDisk = "size=96m"

// mountSmall mounts a small file system at a directory, which needs root. Without root the round
// runs on the normal file system, and the log says so.
func (tt *torture) mountSmall(dir string) bool {
	if err := unix.Mount("redrive-torture", dir, "tmpfs", 0, smallDisk); err != nil {
		tt.Logf("NO FULL DISK in this round: a small file system cannot be mounted: %v", err)
		return false
	}
	tt.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }) // this is needed when the test fails before the end of the round
	return true
}

// unmount unmounts the small file system. If the round has failed, it first moves the files of the
// round to the normal file system.
func (tt *torture) unmount(dir string) {
	if tt.Failed() {
		saved := dir + "-saved"
		if err := os.CopyFS(saved, os.DirFS(dir)); err != nil {
			tt.Error(err)
		}
	}
	err := unix.Unmount(dir, 0)
	for begun := time.Now(); errors.Is(err, unix.EBUSY) && time.Since(begun) < patience; err = unix.Unmount(dir, 0) {
		waitOr(nil, 20*time.Millisecond) // a process that is being started has the files of this one for a moment
	}
	if err != nil {
		tt.Error(err)
	}
}

// fillDisk fills the small file system for a moment, repeatedly.
func (r *round) fillDisk(c int, ends <-chan struct{}) {
	random := r.random(r.n, c, 5)
	filler := filepath.Join(r.dir, "data", "filler")
	for {
		if waitOr(ends, time.Duration(150+random.IntN(400))*time.Millisecond) {
			return
		}
		enough, over := r.lack(), r.troubled("full disk")
		fill(filler)
		r.faulted("full disk")
		waitOr(ends, time.Duration(100+random.IntN(300))*time.Millisecond)
		if err := os.Remove(filler); err != nil {
			r.Error(err)
		}
		enough()
		over()
	}
}

// waitOr waits for the time d and reports whether the cycle has ended in this time.
func waitOr(over <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-over:
		return true
	case <-timer.C:
		return false
	}
}

// fill writes a file until the file system is full.
func fill(path string) {
	f, err := os.Create(path)
	if err != nil {
		return // stop writing, because the file system is full
	}
	defer f.Close()
	for _, chunk := range []int{1 << 20, 4 << 10} {
		for buf := make([]byte, chunk); ; {
			if _, err := f.Write(buf); err != nil {
				break
			}
		}
	}
}
