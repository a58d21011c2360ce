package selfbench

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

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
