//go:build !linux

package selfbench

import (
	"fmt"
	"os/exec"
	"runtime"
)

// dropCache makes the kernel drop the cached pages of a file.
func dropCache(path string) error {
	return fmt.Errorf("the cache of %s can only be dropped on Linux, this is %s", path, runtime.GOOS)
}

// peakMemory returns the peak memory of this process in bytes.
func peakMemory() (int64, error) {
	return 0, fmt.Errorf("the peak memory of a process is known on Linux only, this is %s", runtime.GOOS)
}

// peakOf runs a command and returns the peak memory of its process in bytes.
func peakOf(*exec.Cmd) (int64, error) { return peakMemory() }

// memoryNow returns the memory of this process in bytes, or 0 when it is not known.
func memoryNow() int64 { return 0 }
