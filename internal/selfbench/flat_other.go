//go:build !linux

package selfbench

import (
	"fmt"
	"os/exec"
	"runtime"
)

// dropCache has the kernel forget what it holds of a file.
func dropCache(path string) error {
	return fmt.Errorf("%s cannot be made cold: only Linux can be asked for it, this is %s", path, runtime.GOOS)
}

// peakMemory returns the most memory, in bytes, that this process had.
func peakMemory() (int64, error) {
	return 0, fmt.Errorf("the most memory of a process is known on Linux only, this is %s", runtime.GOOS)
}

// peakOf runs a command and returns the most memory, in bytes, that its process had.
func peakOf(*exec.Cmd) (int64, error) { return peakMemory() }

// memoryNow returns the bytes that this process has in memory; 0 is not known.
func memoryNow() int64 { return 0 }
