package servers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// diesWith makes a process get a signal when its parent ends.
func diesWith(attr *syscall.SysProcAttr, death syscall.Signal) { attr.Pdeathsig = death }

// children returns the processes whose parent a process is, without zombies.
func children(parent int) ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var found []int
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		// The second field, the name in parentheses, may hold anything.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 || fields[0] == "Z" || fields[1] != strconv.Itoa(parent) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return nil, err
		}
		found = append(found, pid)
	}
	return found, nil
}

// dead reports whether a process is gone or a zombie.
func dead(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return len(fields) > 0 && (fields[0] == "Z" || fields[0] == "X")
}

// removeSegment removes the shared memory that a killed server has left.
func removeSegment(id int) { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) }

// mountDisk puts a file system of a size, such as 160m, at a directory.
func mountDisk(dir, size string) error {
	if err := unix.Mount("redrive-test", dir, "tmpfs", 0, "size="+size); err != nil {
		return fmt.Errorf("mount a disk of %s (needs root): %w", size, err)
	}
	return nil
}

func unmountDisk(dir string) { _ = unix.Unmount(dir, unix.MNT_DETACH) }
