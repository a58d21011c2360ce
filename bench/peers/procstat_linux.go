package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc.
const tick = 10 * time.Millisecond

// cpuOf returns the processor time of a process and its ended children, and optionally also of
// its living children. For a process that is gone it returns 0.
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

// stat reads the processor times and the parent of a process.
func stat(pid string) (used time.Duration, parent int, ok bool) {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, 0, false
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name of a process may contain spaces, but is unlikely to contain this text
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

// others returns the share of the processors that other programs use. It measures for one second,
// in which this program waits.
func others(ctx context.Context) float64 {
	idle, total := processors()
	pause(ctx, time.Second)
	idleEnd, totalEnd := processors()
	if totalEnd == total {
		return 0
	}
	return 1 - (idleEnd-idle)/(totalEnd-total)
}

// processors returns, in ticks and summed over all processors, the time spent idle or waiting for
// the disk, and the total time.
func processors() (idle, total float64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	const idleField, diskField, last = 4, 5, 8 // the fields with guest times are not read, because the first fields already include these times
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
