package redrive

import (
	"time"

	"github.com/redrive/redrive/internal/engine"
)

// Clock is where a client's time comes from. Due times and leases go by the
// store's clock, not by this one.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in a goroutine of its own after d.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a call that a Clock will make; *time.Timer is one.
type Timer interface {
	Reset(d time.Duration) bool
	Stop() bool
}

// now returns the time by the client's clock.
func (c *Config) now() time.Time {
	if c.Clock == nil {
		return time.Now()
	}
	return c.Clock.Now()
}

// afterFunc calls f after d, by the client's clock.
func (c *Config) afterFunc(d time.Duration, f func()) Timer {
	if c.Clock == nil {
		return time.AfterFunc(d, f)
	}
	return c.Clock.AfterFunc(d, f)
}

// engineClock returns the clock as the engine takes it; nil means the system's.
func (c *Config) engineClock() engine.Clock {
	if c.Clock == nil {
		return nil
	}
	return engineClock{c.Clock}
}

// engineClock is a Clock whose timers are the engine's.
type engineClock struct{ Clock }

func (c engineClock) AfterFunc(d time.Duration, f func()) engine.Timer {
	return c.Clock.AfterFunc(d, f)
}
