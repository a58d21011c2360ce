//go:build unix

package engine_test

import (
	"sync"
	"time"

	"github.com/redrive/redrive/internal/engine"
)

// hasty is a clock for one engine that a test sets ahead.
type hasty struct {
	mu    sync.Mutex
	ahead time.Duration
	wake  func()
}

func (h *hasty) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Now().Add(h.ahead)
}

func (h *hasty) AfterFunc(d time.Duration, f func()) engine.Timer {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wake = f
	return time.AfterFunc(d, f)
}

// skip sets the clock ahead and lets the engine look at it.
func (h *hasty) skip(d time.Duration) {
	h.mu.Lock()
	h.ahead += d
	wake := h.wake
	h.mu.Unlock()
	wake()
}
