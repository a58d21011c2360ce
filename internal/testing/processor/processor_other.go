//go:build !linux

package processor

import (
	"testing"
	"time"
)

var processStart = time.Now()

// Time returns the time since the tests began, because the processor time of a thread is not known here.
func Time(*testing.T) time.Duration { return time.Since(processStart) }
