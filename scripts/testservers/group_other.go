//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// leadGroup does nothing where there are no process groups.
func leadGroup(*exec.Cmd) {}

// signalGroup ends the command, which is all that can be done to it.
func signalGroup(cmd *exec.Cmd, _ os.Signal) { _ = cmd.Process.Kill() }
