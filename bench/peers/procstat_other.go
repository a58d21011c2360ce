//go:build !linux

package main

import (
	"context"
	"time"
)

// cpuOf knows nothing on this system.
func cpuOf(int, bool) time.Duration { return 0 }

// others knows nothing on this system.
func others(context.Context) float64 { return 0 }
