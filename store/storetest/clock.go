package storetest

import (
	"sync/atomic"
	"time"
)

// Clock is a clock that changes only when a test moves it. It is safe for concurrent
// use.
type Clock struct{ micros atomic.Int64 }

// NewClock returns a clock. It starts at the same time in every test.
func NewClock() *Clock {
	c := &Clock{}
	c.Set(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))
	return c
}

// Now returns the current time of the clock.
func (c *Clock) Now() time.Time { return time.UnixMicro(c.micros.Load()).UTC() }

// Set sets the clock to t, truncated to the microsecond.
func (c *Clock) Set(t time.Time) { c.micros.Store(t.UnixMicro()) }

// Advance moves the clock forward by d, truncated to the microsecond.
func (c *Clock) Advance(d time.Duration) { c.micros.Add(d.Microseconds()) }
