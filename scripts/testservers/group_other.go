//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// leadGroup does nothing, because this system has no process groups.
func leadGroup(*exec.Cmd) {}

// signalGroup kills the command, because this system cannot send other signals to it.
func signalGroup(cmd *exec.Cmd, _ os.Signal) { _ = cmd.Process.Kill() }
