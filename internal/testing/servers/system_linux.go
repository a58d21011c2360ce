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

// diesWith makes the kernel send a signal to the process when its parent ends.
func diesWith(attr *syscall.SysProcAttr, death syscall.Signal) { attr.Pdeathsig = death }

// childrenOf returns the child processes of a process, without zombies.
func childrenOf(parent int) ([]int, error) {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var found []int
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended since its directory was listed, so skip it
		}
		fields := fieldsOf(stat)
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

// fieldsOf returns the fields of /proc/PID/stat from the third one on: state, parent and so on. The
// second field is the name in parentheses, which may contain anything.
func fieldsOf(stat []byte) []string {
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}

// state returns the letter of a process's state; X means that it is gone.
func state(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if fields := fieldsOf(stat); err == nil && len(fields) > 0 {
		return fields[0]
	}
	return "X"
}

// dead reports whether a process is gone or a zombie.
func dead(pid int) bool { return state(pid) == "X" || state(pid) == "Z" }

// stopped reports whether a process is paused by SIGSTOP or dead. A signal takes effect when the
// process runs next.
func stopped(pid int) bool { return state(pid) == "T" || dead(pid) }

// removeSegment removes a shared memory segment that a killed server has left.
func removeSegment(id int) { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) }

// mountDisk mounts a file system of the given size, such as 160m, at a directory.
func mountDisk(dir, size string) error {
	if err := unix.Mount("redrive-test", dir, "tmpfs", 0, "size="+size); err != nil {
		return fmt.Errorf("mount a disk of %s (needs root): %w", size, err)
	}
	return nil
}

func unmountDisk(dir string) { _ = unix.Unmount(dir, unix.MNT_DETACH) }
