package storetest

import (
	"sync/atomic"
	"time"
)

// Clock is a clock for tests: its time changes only when a test changes it. It is safe for
// concurrent use.
type Clock struct{ micros atomic.Int64 }

// NewClock returns a new clock. Its first time is the same in every test.
func NewClock() *Clock {
	c := &Clock{}
	c.Set(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))
	return c
}

// Now returns the current time of the clock.
func (c *Clock) Now() time.Time { return time.UnixMicro(c.micros.Load()).UTC() }

// Set sets the clock to the time t, rounded down to a whole microsecond.
func (c *Clock) Set(t time.Time) { c.micros.Store(t.UnixMicro()) }

// Advance moves the clock forward by the duration d, rounded down to a whole microsecond.
func (c *Clock) Advance(d time.Duration) { c.micros.Add(d.Microseconds()) }
