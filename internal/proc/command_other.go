//go:build !unix

package proc

import (
	"os/exec"
	"syscall"
)

// On systems without process groups, a command is a single process, and every signal kills
// it.

func leadGroup(*exec.Cmd) {}

func (c *command) signal(sig syscall.Signal) error {
	if sig == 0 {
		return nil
	}
	return c.process.Kill()
}

func (c *command) alive() bool { return !c.reaped() }

func (c *command) reap() {}

func signalName(s syscall.Signal) string { return s.String() }
