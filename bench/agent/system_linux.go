package agent

import (
	"os/exec"
	"syscall"
)

// ownProcess makes the agent die with its parent, and keeps Ctrl-C from it.
func ownProcess(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
