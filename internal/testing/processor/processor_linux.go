// Package processor measures the processor time that a test uses.
package processor

import (
	"syscall"
	"testing"
	"time"
)

// Time returns the processor time that this thread has used so far. Other work on the machine does not
// add to it. The caller has locked its goroutine to the thread.
func Time(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_THREAD, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
