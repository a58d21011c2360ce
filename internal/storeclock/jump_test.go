package storeclock

import (
	"testing"
	"time"
)

// part of: Q3
func TestQ3_JumpsAreSeen(t *testing.T) {
	t.Parallel()
	var wall, monotonic time.Duration
	begin := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	c := New(func() time.Time { return begin.Add(wall) })
	// asleep is how long the machine was suspended. The wall clock counts this time, the
	// monotonic clock does not.
	asleep := time.Duration(0)
	c.elapsed = func(from, to time.Time) time.Duration { return to.Sub(from) - asleep }
	step := func(awake, suspended time.Duration) {
		wall += awake + suspended
		monotonic += awake
		asleep = suspended
		c.Now()
		asleep = 0
	}
	c.Now()
	step(time.Minute, 0)
	step(time.Minute, jumpMin/2) // this is a small correction of the wall clock and no jump
	if _, jumped := c.SinceJump(); jumped {
		t.Fatal("SinceJump reports a jump after a small correction of the wall clock, want no jump")
	}
	step(time.Second, time.Hour)
	if ago, jumped := c.SinceJump(); !jumped || ago != 0 {
		t.Errorf("after an hour of suspension: SinceJump returned %s and %v, want 0s and true", ago, jumped)
	}
	step(5*time.Second, 0)
	if ago, jumped := c.SinceJump(); !jumped || ago != 5*time.Second {
		t.Errorf("5 s after the jump: SinceJump returned %s and %v, want 5s and true", ago, jumped)
	}
}
