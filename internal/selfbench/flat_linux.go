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

// dropCache has the kernel forget what it holds of a file.
func dropCache(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil { // pages that are not written yet stay
		return err
	}
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// peakMemory returns the most memory, in bytes, that this process had.
func peakMemory() (int64, error) { return highWater("/proc/self/status") }

// memoryNow returns the bytes that this process has in memory; 0 is not known.
func memoryNow() int64 {
	n, _ := memoryLine("/proc/self/status", "VmRSS:")
	return n
}

func highWater(status string) (int64, error) { return memoryLine(status, "VmHWM:") }

// memoryLine reads a line of a process's status, in bytes.
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
	return 0, errors.New(status + ": no line " + name)
}

// peakOf runs a command and returns the most memory, in bytes, that its process
// had, as it was seen every few milliseconds. What getrusage(2) tells of a child
// has the memory of its parent in it, whose image it was before it became another.
func peakOf(cmd *exec.Cmd) (peak int64, err error) {
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	status := fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return peak, err
		case <-ticker.C:
			if now, err := highWater(status); err == nil { // it may have ended
				peak = max(peak, now)
			}
		}
	}
}
