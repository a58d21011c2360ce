//go:build !linux

package selfbench

import (
	"fmt"
	"os/exec"
	"runtime"
	"time"
)

// dropCache removes the pages of a file from the page cache of the kernel.
func dropCache(path string) error {
	return fmt.Errorf("cannot remove %s from the page cache: this works only on Linux, but the system is %s", path, runtime.GOOS)
}

// peakMemory returns the peak memory of this process in bytes.
func peakMemory() (int64, error) {
	return 0, fmt.Errorf("cannot measure the peak memory of a process: this works only on Linux, but the system is %s", runtime.GOOS)
}

// peakOf runs a command and returns the peak memory of its process in bytes.
func peakOf(*exec.Cmd) (int64, error) { return peakMemory() }

// peakMemoryOf returns the peak memory of another process in bytes.
func peakMemoryOf(int) (int64, error) { return peakMemory() }

// memoryNow returns the memory of this process in bytes, or 0 if it is not known.
func memoryNow() int64 { return 0 }

// processorTime returns 0, because it is not known.
func processorTime() time.Duration { return 0 }
