//go:build !linux

package failure_test

import (
	"testing"
	"time"
)

var processStart = time.Now()

// processorTime returns the time since the tests began, because the processor time of a thread is
// not known here.
func processorTime(*testing.T) time.Duration { return time.Since(processStart) }
