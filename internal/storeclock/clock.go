// Package storeclock keeps the time of a store: microseconds that never run
// backwards and never stand still, whatever happens to the machine's clock.
package storeclock

import (
	"sync"
	"time"

	"github.com/redrive/redrive/job"
)

// jumpMin is how far the wall clock may run away from the monotonic one between
// two readings before it counts as a jump. Slewing by NTP stays far below.
const jumpMin = time.Second

// Clock is a store's clock. It follows the wall clock. When that is behind what
// was stored before (it was set back, or had been ahead), time goes on at half
// speed until the wall clock has caught up: leases and waits go on, and order
// holds.
type Clock struct {
	read    func() time.Time
	elapsed func(from, to time.Time) time.Duration // by the monotonic clock, where readings have it

	mu     sync.Mutex
	mark   job.Micros // the latest time given or stored
	last   time.Time  // the reading that it was given at
	jumped time.Time  // the reading after the last forward jump; zero when none
}

// New returns a clock on a reading of the time, such as time.Now.
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

// Floor raises the clock to a stored time: nothing is given below it any more.
func (c *Clock) Floor(at job.Micros) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mark = max(c.mark, at)
}

// SinceJump returns how long ago the wall clock last jumped forward, as after a
// suspended machine wakes up, and whether it ever did. Leases that ended in
// such a gap ended while their holders could not say a word.
func (c *Clock) SinceJump() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jumped.IsZero() {
		return 0, false
	}
	return c.elapsed(c.jumped, c.last), true
}
