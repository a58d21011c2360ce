package redrive

import (
	"time"

	"github.com/redrive/redrive/internal/engine"
)

// Clock gives a client the time. Due times and leases do not depend on this clock; the
// store's clock decides them. The client uses this clock to wait between its calls of
// the store, so the clock must not stand still while the client runs.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in a new goroutine when Now has advanced by d.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a call that Clock.AfterFunc has scheduled. *time.Timer implements it.
type Timer interface {
	Reset(d time.Duration) bool
	Stop() bool
}

// now returns the time of the client's clock.
func (c *Config) now() time.Time {
	if c.Clock == nil {
		return time.Now()
	}
	return c.Clock.Now()
}

// afterFunc calls f when the duration d has passed on the client's clock.
func (c *Config) afterFunc(d time.Duration, f func()) Timer {
	if c.Clock == nil {
		return time.AfterFunc(d, f)
	}
	return c.Clock.AfterFunc(d, f)
}

// engineClock returns the client's clock as an engine.Clock. A nil clock means the system's clock.
func (c *Config) engineClock() engine.Clock {
	if c.Clock == nil {
		return nil
	}
	return engineClock{c.Clock}
}

// engineClock adapts a Clock to the engine's timer type.
type engineClock struct{ Clock }

func (c engineClock) AfterFunc(d time.Duration, f func()) engine.Timer {
	return c.Clock.AfterFunc(d, f)
}
