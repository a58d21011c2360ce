package failure_test

import (
	"syscall"
	"testing"
	"time"
)

// processorTime returns the processor time that this thread has used so far. Other work on the
// machine does not add to it.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_THREAD, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
