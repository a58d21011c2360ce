//go:build unix && !linux

package servers

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// diesWith does nothing: on this system only the guard ends the server.
func diesWith(*syscall.SysProcAttr, syscall.Signal) {}

// childrenOf returns the child processes of a process.
func childrenOf(parent int) ([]int, error) {
	out, err := exec.CommandContext(context.Background(), "ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		return nil, err
	}
	var found []int
	for line := range strings.Lines(string(out)) {
		var pid, of int
		if _, err := fmt.Sscan(line, &pid, &of); err == nil && of == parent {
			found = append(found, pid)
		}
	}
	return found, nil
}

// dead reports whether a process is gone.
func dead(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// stopped reports whether a process is paused by SIGSTOP or dead.
func stopped(pid int) bool {
	out, err := exec.CommandContext(context.Background(), "ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err != nil || strings.HasPrefix(string(out), "T")
}

func removeSegment(int) {}

func mountDisk(string, string) error {
	return fmt.Errorf("mount a private file system: %w (it needs Linux and root)", errors.ErrUnsupported)
}

func unmountDisk(string) {}
