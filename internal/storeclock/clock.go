// Package storeclock is the clock of a store. The clock counts microseconds. It never goes
// back and never stands still, even when the machine's clock is changed.
package storeclock

import (
	"sync"
	"time"

	"github.com/redrive/redrive/job"
)

// jumpMin is the smallest change of the wall clock that counts as a jump. Such a change is a
// difference between the time that passes by the wall clock and the time that passes by the
// monotonic clock. Small corrections by NTP are far below this value.
const jumpMin = time.Second

// Clock is a store's clock. It follows the wall clock. If the wall clock is behind a time
// that is already stored, the Clock runs at half speed until the wall clock has caught up.
// So leases and waits still end, and events stay in order.
type Clock struct {
	read func() time.Time
	// elapsed returns the time between two readings. It uses the monotonic clock if both
	// readings have one.
	elapsed func(from, to time.Time) time.Duration

	mu   sync.Mutex
	mark job.Micros // the latest time that the clock has returned or the store has stored
	last time.Time  // the time of the wall clock at the last call of Now
	// jumped is the time of the wall clock just after its last forward jump. It is zero before
	// the first jump.
	jumped time.Time
}

// New returns a clock that reads the time by calling the given function, such as time.Now.
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

// Floor raises the clock to a stored time. After this call, Now never returns an earlier time
// than the stored time.
func (c *Clock) Floor(at job.Micros) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mark = max(c.mark, at)
}

// SinceJump returns the time since the wall clock last jumped forward, and whether there
// was such a jump. The wall clock jumps when a suspended machine wakes up. Workers could
// not extend their leases while the machine was suspended.
func (c *Clock) SinceJump() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jumped.IsZero() {
		return 0, false
	}
	return c.elapsed(c.jumped, c.last), true
}
