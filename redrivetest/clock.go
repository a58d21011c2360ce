package redrivetest

import (
	"sync"
	"time"

	"github.com/redrive/redrive"
)

// clock has the two times of an Engine: the store's time and the client's time. The store's time
// changes only in advance, so that due times are exact. The client's time starts at the same value
// and also runs like the system's clock, because an engine uses it to wait between its calls.
type clock struct {
	mu     sync.Mutex
	stored time.Time
	jumped time.Duration       // the difference between the client's time and the system's time
	timers map[*timer]struct{} // the timers that have not fired yet
}

func newClock(start time.Time) *clock {
	began := time.Now()
	return &clock{stored: start, jumped: start.Sub(began), timers: make(map[*timer]struct{})}
}

// store returns the store's time.
func (c *clock) store() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stored
}

// advance moves both times forward and fires the timers that become due.
func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stored = c.stored.Add(d)
	c.jumped += d
	for t := range c.timers {
		t.Timer.Reset(t.at.Sub(c.now()))
	}
}

func (c *clock) now() time.Time { return time.Now().Add(c.jumped) }

// Now implements redrive.Clock.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

// AfterFunc implements redrive.Clock.
func (c *clock) AfterFunc(d time.Duration, f func()) redrive.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{clock: c, at: c.now().Add(d)}
	c.timers[t] = struct{}{}
	t.Timer = time.AfterFunc(d, func() {
		if t.due() {
			f()
		}
	})
	return t
}

// timer is a pending call of a function; see redrive.Clock.
type timer struct {
	*time.Timer
	clock *clock
	at    time.Time
}

// due reports whether the call must be made now. A timer that was stopped or reset in the meantime
// is not due.
func (t *timer) due() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	if _, pending := t.clock.timers[t]; !pending || t.at.After(t.clock.now()) {
		return false
	}
	delete(t.clock.timers, t)
	return true
}

// Reset implements redrive.Timer.
func (t *timer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.at = t.clock.now().Add(d)
	t.clock.timers[t] = struct{}{}
	return t.Timer.Reset(d)
}

// Stop implements redrive.Timer.
func (t *timer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	delete(t.clock.timers, t)
	return t.Timer.Stop()
}
