//go:build unix && !linux

package proc

import "syscall"

// groupLives reports whether a process group has a member that can get a signal.
func groupLives(pgid int) bool { return syscall.Kill(-pgid, 0) == nil }
