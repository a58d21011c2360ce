// Package processor measures the processor time that a test uses.
package processor

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Time returns the processor time that this thread has used so far. Other work on the
// machine does not add to it. The caller has locked its goroutine to the thread.
func Time(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Nano())
}
