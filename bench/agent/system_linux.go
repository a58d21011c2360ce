package agent

import (
	"os/exec"
	"syscall"
)

// ownProcess makes the agent end with its parent, and Ctrl-C not reach it.
func ownProcess(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
