package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of the times in /proc.
const tick = 10 * time.Millisecond

// cpuOf returns the processor time that a process has used, with that of its
// ended children, and with that of its living ones if asked for. What is gone has
// used none.
func cpuOf(pid int, children bool) time.Duration {
	used, _, ok := stat(strconv.Itoa(pid))
	if !ok || !children {
		return used
	}
	paths, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return used
	}
	for _, path := range paths {
		if child, parent, ok := stat(filepath.Base(path)); ok && parent == pid {
			used += child
		}
	}
	return used
}

// stat reads the times and the parent of a process.
func stat(pid string) (used time.Duration, parent int, ok bool) {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, 0, false
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name may hold spaces, but hardly this
	fields := strings.Fields(rest)
	const ppid, utime, cstime = 1, 11, 14
	if len(fields) <= cstime {
		return 0, 0, false
	}
	for _, field := range fields[utime : cstime+1] {
		n, _ := strconv.Atoi(field)
		used += time.Duration(n) * tick
	}
	parent, _ = strconv.Atoi(fields[ppid])
	return used, parent, true
}
