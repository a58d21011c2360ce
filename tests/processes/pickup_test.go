//go:build linux

package processes

import (
	"io"
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/tests/processes/line"
)

// pickupMax is the longest accepted time from the enqueue of a job to its start. It is far above
// the usual time, and below the poll interval of 30 s, so that a start by a poll is noticed.
const pickupMax = 5 * time.Second

// A job that one process enqueues starts immediately in another process that is idle.
// part of: Q10
func TestQ10_IdlePickupAcrossProcesses(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.start("idle", "-kinds", "quick", "-poll", "30s").isUp()
	busy := f.start("enqueues", "-kinds", "quick", "-enqueue")
	busy.isUp()
	const jobs = 200
	var taken, called []time.Duration
	for n := 1; n <= jobs; n++ {
		if _, err := io.WriteString(busy.input, "\n"); err != nil {
			t.Fatal(err)
		}
		lines := f.await("the job has run", func(lines []line.Line) bool {
			return count(lines, line.End, "idle") == n && count(lines, line.Taken, "enqueues") == n
		})
		var enqueued, began line.Line
		for i := range lines {
			switch lines[i].Op {
			case line.Taken:
				enqueued = lines[i]
			case line.Begin:
				began = lines[i]
			}
		}
		taken = append(taken, time.Duration(began.At-enqueued.At)*time.Microsecond)
		called = append(called, time.Duration(began.At-enqueued.Call)*time.Microsecond)
	}
	slices.Sort(taken)
	slices.Sort(called)
	t.Logf("start of %d jobs in an idle process: after the answer to the enqueue p50 %s, p99 %s; after the call of the enqueue p50 %s, p99 %s",
		jobs, taken[jobs/2], taken[jobs*99/100], called[jobs/2], called[jobs*99/100])
	if taken[jobs/2] > pickupMax {
		t.Errorf("half of the jobs began more than %s after they were enqueued, want an immediate start by a notification", taken[jobs/2])
	}
}
