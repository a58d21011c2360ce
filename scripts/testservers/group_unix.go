//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// leadGroup makes the command the leader of a process group.
func leadGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup sends a signal to the process group of the command. Errors are ignored,
// because the group may already have ended.
func signalGroup(cmd *exec.Cmd, s os.Signal) {
	if number, ok := s.(syscall.Signal); ok {
		_ = syscall.Kill(-cmd.Process.Pid, number)
	}
}
