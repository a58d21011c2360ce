//go:build unix && !linux

package servers

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
)

// diesWith does nothing: the guard alone ends the server.
func diesWith(*syscall.SysProcAttr, syscall.Signal) {}

// children returns the processes whose parent a process is.
func children(parent int) ([]int, error) {
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

func removeSegment(int) {}

func mountDisk(string, string) error {
	return fmt.Errorf("a small disk: %w (it needs Linux and root)", errors.ErrUnsupported)
}

func unmountDisk(string) {}
