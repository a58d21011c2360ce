package storeclock_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redrive/redrive/internal/storeclock"
	"github.com/redrive/redrive/job"
)

var begin = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func TestFollowsTheWallClock(t *testing.T) {
	t.Parallel()
	now := begin
	c := storeclock.New(func() time.Time { return now })
	for _, step := range []time.Duration{0, time.Millisecond, time.Hour, time.Microsecond} {
		now = now.Add(step)
		if got := c.Now(); got != job.At(now) {
			t.Errorf("the clock shows %s, want %s", got.Time(), now)
		}
	}
}

// The clock must continue to run when a stored time is ahead of the wall clock.
// part of: Q2
func TestQ2_GoesOnWhileAhead(t *testing.T) {
	t.Parallel()
	now := begin
	c := storeclock.New(func() time.Time { return now })
	c.Now()
	ahead := job.At(begin.Add(24 * time.Hour))
	c.Floor(ahead)
	now = now.Add(10 * time.Second)
	if got := c.Now(); got != ahead.Add(5*time.Second) {
		t.Errorf("10 s after Floor, the clock is %s after the stored time, want 5s after it", got.Sub(ahead))
	}
	now = now.Add(48 * time.Hour) // from now on the wall clock is ahead of the stored time
	if got := c.Now(); got != job.At(now) {
		t.Errorf("the clock shows %s, want the wall clock's time %s", got.Time(), now)
	}
}

// part of: Q2
func TestQ2_NeverBackwards(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		now := begin
		c := storeclock.New(func() time.Time { return now })
		last := c.Now()
		for range 30 {
			now = now.Add(time.Duration(rapid.Int64Range(int64(-time.Hour), int64(time.Hour)).Draw(rt, "jump")))
			got := c.Now()
			if got < last {
				rt.Fatalf("the clock went back from %d to %d µs", last, got)
			}
			last = got
		}
	})
}
