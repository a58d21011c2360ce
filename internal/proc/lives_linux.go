package proc

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// groupLives reports whether a process group has a member that is not a zombie. The kernel
// counts zombies as members too. An orphan stays a zombie until the first process of the
// system or container waits for it, and this may never happen.
func groupLives(pgid int) bool {
	if errors.Is(syscall.Kill(-pgid, 0), syscall.ESRCH) {
		return false
	}
	if livesIn(strconv.Itoa(pgid), pgid) {
		return true // the leader of the group is alive, so the group lives
	}
	proc, err := os.Open("/proc")
	if err != nil {
		return true // without the list of processes the answer is not known; the caller asks again until its time limit
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

// livesIn reports whether the process with the given number is alive and in the group.
func livesIn(pid string, pgid int) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && statLivesIn(string(stat), pgid)
}

// statLivesIn parses a line "pid (name) state parent group ...". A process can set its own
// name, and the name may contain any characters, including parentheses.
func statLivesIn(stat string, pgid int) bool {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	return len(fields) > 2 && fields[2] == strconv.Itoa(pgid) && fields[0] != "Z" && fields[0] != "X"
}
