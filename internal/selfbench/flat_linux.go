package selfbench

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// dropCache removes the pages of a file from the page cache of the kernel.
func dropCache(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil { // sync first, because the kernel removes only pages that are written to the disk
		return err
	}
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// peakMemory returns the peak memory of this process in bytes.
func peakMemory() (int64, error) { return highWater("/proc/self/status") }

// peakMemoryOf returns the peak memory of another process in bytes.
func peakMemoryOf(pid int) (int64, error) { return highWater(fmt.Sprintf("/proc/%d/status", pid)) }

// memoryNow returns the memory of this process in bytes, or 0 if it is not known.
func memoryNow() int64 {
	n, _ := memoryLine("/proc/self/status", "VmRSS:")
	return n
}

func highWater(status string) (int64, error) { return memoryLine(status, "VmHWM:") }

// memoryLine returns the value of one line in the status file of a process, in bytes.
func memoryLine(status, name string) (int64, error) {
	f, err := os.Open(status)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for scan := bufio.NewScanner(f); scan.Scan(); {
		if value, ok := strings.CutPrefix(scan.Text(), name); ok {
			var kib int64
			_, err := fmt.Sscan(value, &kib)
			return kib << 10, err
		}
	}
	return 0, errors.New(status + " has no line " + name)
}

// processorTime returns the time for which this process has used a processor.
func processorTime() time.Duration {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// peakOf runs a command and returns the peak memory of its process in bytes. It reads the
// memory every few milliseconds. getrusage(2) is of no use here: for a child it includes
// the memory of the parent, because the child begins as a copy of the parent.
func peakOf(cmd *exec.Cmd) (peak int64, err error) {
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return peak, err
		case <-ticker.C:
			if now, err := peakMemoryOf(cmd.Process.Pid); err == nil { // reading fails if the process has ended
				peak = max(peak, now)
			}
		}
	}
}
