package proc

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// groupLives reports whether a process group has a member that is not a zombie. The
// kernel counts zombies as members, and an orphan stays a zombie until the first process
// of the system or container waits for it, which may never happen.
func groupLives(pgid int) bool {
	if errors.Is(syscall.Kill(-pgid, 0), syscall.ESRCH) {
		return false
	}
	if livesIn(strconv.Itoa(pgid), pgid) {
		return true // the leader is alive, so no search is needed
	}
	proc, err := os.Open("/proc")
	if err != nil {
		return true // unknown; the caller has a time limit
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		if _, err := strconv.Atoi(name); err == nil && livesIn(name, pgid) {
			return true
		}
	}
	return false
}

// livesIn reports whether the process with the given number is a living member
// of the group.
func livesIn(pid string, pgid int) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && statLivesIn(string(stat), pgid)
}

// statLivesIn reads a line "pid (name) state parent group ...". The process sets its
// name, which may contain any characters, also parentheses.
func statLivesIn(stat string, pgid int) bool {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	return len(fields) > 2 && fields[2] == strconv.Itoa(pgid) && fields[0] != "Z" && fields[0] != "X"
}
