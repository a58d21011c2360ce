//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// leadGroup does nothing on systems without process groups.
func leadGroup(*exec.Cmd) {}

// signalGroup kills the command, because there is no way to signal it.
func signalGroup(cmd *exec.Cmd, _ os.Signal) { _ = cmd.Process.Kill() }
