package agent

import (
	"os/exec"
	"syscall"
)

// ownProcess makes the agent end when its parent ends, and protects the agent from Ctrl-C.
func ownProcess(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
