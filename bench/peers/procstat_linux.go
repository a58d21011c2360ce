package main

import (
	"context"
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

// others returns the share of the processors that is in use while this program
// waits for a second.
func others(ctx context.Context) float64 {
	idle, total := processors()
	pause(ctx, time.Second)
	idleEnd, totalEnd := processors()
	if totalEnd == total {
		return 0
	}
	return 1 - (idleEnd-idle)/(totalEnd-total)
}

// processors returns how long all processors were idle or waiting for the disk,
// and how long they were there, in ticks.
func processors() (idle, total float64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	const idleField, diskField, last = 4, 5, 8 // what guests use is in the first ones already
	for i, field := range strings.Fields(line) {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil || i > last {
			continue
		}
		total += n
		if i == idleField || i == diskField {
			idle += n
		}
	}
	return idle, total
}
