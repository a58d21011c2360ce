package selfbench

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

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
func peakMemory() (int64, error) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for scan := bufio.NewScanner(f); scan.Scan(); {
		if value, ok := strings.CutPrefix(scan.Text(), "VmHWM:"); ok {
			var kib int64
			_, err := fmt.Sscan(value, &kib)
			return kib << 10, err
		}
	}
	return 0, errors.New("/proc/self/status: no line VmHWM")
}

// peakOf returns the most memory, in bytes, that a process had which has ended.
func peakOf(p *os.ProcessState) (int64, error) {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, errors.New("the system does not say how much memory the process had")
	}
	return usage.Maxrss << 10, nil // in KiB, see getrusage(2)
}
