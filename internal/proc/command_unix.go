//go:build unix

package proc

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// leadGroup makes the command start as the leader of a new process group.
func leadGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// signal sends a signal to every process of the command's group. It returns
// os.ErrProcessDone if the group is gone.
func (c *command) signal(sig syscall.Signal) error {
	if !c.ownsGroup() {
		return os.ErrProcessDone
	}
	err := syscall.Kill(-c.pid, sig)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// alive reports whether the command's group still has a process.
func (c *command) alive() bool { return c.ownsGroup() && groupLives(c.pid) }

// ownsGroup reports whether the group's number still belongs to this command. While the group
// has members, the system does not give this number to another process. So if the leader has
// been reaped and a process has this number again, the number now belongs to a different group.
func (c *command) ownsGroup() bool {
	return !c.reaped() || errors.Is(syscall.Kill(c.pid, 0), syscall.ESRCH)
}

// reap removes zombies of the group that are children of this process. These are a leader
// for which Wait is not called, and orphans: the first process of a container becomes the
// parent of all orphans.
func (c *command) reap() {
	for c.ownsGroup() {
		pid, err := syscall.Wait4(-c.pid, nil, syscall.WNOHANG, nil)
		if pid <= 0 && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// signalName returns the name of a signal, such as SIGKILL.
func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return s.String()
}
