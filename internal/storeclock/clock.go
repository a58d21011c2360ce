// Package storeclock is the clock of a store. It counts microseconds, never goes back
// and never stands still, also when the machine's clock is changed.
package storeclock

import (
	"sync"
	"time"

	"github.com/redrive/redrive/job"
)

// jumpMin is the least difference between the wall clock and the monotonic clock, from
// one reading to the next, that counts as a jump. Slewing by NTP stays far below.
const jumpMin = time.Second

// Clock is a store's clock. It follows the wall clock. While the wall clock is behind a
// stored time, because it was set back or had been ahead, the Clock runs at half speed
// until the wall clock has caught up: leases and waits still end, and events stay in
// order.
type Clock struct {
	read    func() time.Time
	elapsed func(from, to time.Time) time.Duration // by the monotonic clock, if the readings have one

	mu     sync.Mutex
	mark   job.Micros // the latest time given or stored
	last   time.Time  // the reading of the last call of Now
	jumped time.Time  // the reading after the last forward jump; zero before the first
}

// New returns a clock that reads the time by a function such as time.Now.
func New(read func() time.Time) *Clock {
	return &Clock{read: read, elapsed: func(from, to time.Time) time.Duration { return to.Sub(from) }}
}

// Now returns the store's time.
func (c *Clock) Now() job.Micros {
	c.mu.Lock()
	defer c.mu.Unlock()
	reading := c.read()
	passed := time.Duration(0)
	if !c.last.IsZero() {
		passed = max(0, c.elapsed(c.last, reading))
		if wall := reading.Round(0).Sub(c.last.Round(0)); wall-passed > jumpMin {
			c.jumped = reading
		}
	}
	c.last = reading
	if at := job.At(reading); at >= c.mark {
		c.mark = at
	} else {
		c.mark = c.mark.Add(passed / 2)
	}
	return c.mark
}

// Floor raises the clock to a stored time: later times are not below it.
func (c *Clock) Floor(at job.Micros) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mark = max(c.mark, at)
}

// SinceJump returns how long ago the wall clock last jumped forward, and whether it ever
// did. It jumps when a suspended machine wakes up: holders of leases that ended meanwhile
// had no chance to extend them.
func (c *Clock) SinceJump() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jumped.IsZero() {
		return 0, false
	}
	return c.elapsed(c.jumped, c.last), true
}
