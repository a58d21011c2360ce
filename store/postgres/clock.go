package postgres

import (
	"sync"
	"time"

	"github.com/redrive/redrive/internal/storeclock"
	"github.com/redrive/redrive/job"
)

const (
	// jumpMin is how far the server's clock may be from what was expected of it
	// before that counts as a jump. Slewing by NTP stays far below.
	jumpMin = time.Second
	// sampleOld is the age at which what is known of the server's clock is asked
	// again: machine clocks drift by some 50 µs a second.
	sampleOld = time.Second
)

// clock is the server's clock, as this process knows it: all processes of a
// store go by the same one. It goes on by the machine's monotonic clock from the
// last time that the server told, so that steps of the machine's own clock mean
// nothing, and never runs backwards. When the server's clock is set back, time
// goes on at half speed until that has caught up.
type clock struct {
	injected *storeclock.Clock // instead of all that follows; for tests

	local func() time.Time
	// between is the time between two readings by the monotonic clock.
	between func(from, to time.Time) time.Duration

	mu     sync.Mutex
	base   time.Time  // local reading at which the server's time was server; zero: not known
	server job.Micros // as well as can be told
	trip   time.Duration
	mark   job.Micros // the latest time given or stored
	last   time.Time  // local reading that it was given at
	jumped time.Time  // local reading after the last jump forward; zero: none
}

func newClock(injected func() time.Time) *clock {
	if injected != nil {
		return &clock{injected: storeclock.New(injected), local: time.Now}
	}
	return &clock{local: time.Now, between: func(from, to time.Time) time.Duration { return to.Sub(from) }}
}

// Now returns the store's time.
func (c *clock) Now() job.Micros {
	if c.injected != nil {
		return c.injected.Now()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.local()
	at := c.expected(r)
	if at < c.mark {
		passed := time.Duration(0)
		if !c.last.IsZero() {
			passed = max(0, c.between(c.last, r))
		}
		at = c.mark.Add(passed / 2)
	}
	c.mark, c.last = at, r
	return at
}

// expected is the server's time at a local reading.
func (c *clock) expected(r time.Time) job.Micros {
	if c.base.IsZero() {
		return job.At(r) // never asked: the machine's clock is the best guess
	}
	return c.server.Add(c.between(c.base, r))
}

// Floor raises the clock to a stored time: nothing is given below it any more.
func (c *clock) Floor(at job.Micros) {
	if c.injected != nil {
		c.injected.Floor(at)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at > c.mark {
		c.mark, c.last = at, c.local()
	}
}

// SinceJump returns how long ago the server's clock was last seen to have jumped
// forward, or this machine to have slept, and whether that ever happened. Leases
// that ended in such a gap ended while their holders could not say a word.
func (c *clock) SinceJump() (time.Duration, bool) {
	if c.injected != nil {
		return c.injected.SinceJump()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jumped.IsZero() {
		return 0, false
	}
	return c.between(c.jumped, c.local()), true
}

// old reports whether the server should be asked again, because it was asked
// long ago or because this machine has slept since: then the two clocks of the
// machine have run apart.
func (c *clock) old() bool {
	if c.injected != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.base.IsZero() {
		return true
	}
	r := c.local()
	age := c.between(c.base, r)
	apart := r.Round(0).Sub(c.base.Round(0)) - age
	return age >= sampleOld || apart > jumpMin || apart < -jumpMin
}

// sample takes in that the server's clock showed a time at some moment between
// two local readings.
func (c *clock) sample(sent, received time.Time, server job.Micros) {
	if c.injected != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	trip := max(0, c.between(sent, received))
	if c.base.IsZero() {
		c.set(received, server, trip)
		return
	}
	at := c.expected(received)
	switch {
	case at < server: // the server's clock is ahead of what was expected
		if server.Sub(at) > jumpMin {
			c.jumped = received
		}
		c.set(received, server, trip)
	case at > server.Add(trip):
		c.set(received, server, trip)
	case trip <= c.trip || c.between(c.base, received) >= sampleOld:
		c.set(received, server, trip)
	}
}

// set notes the server's time, which is best guessed as that of the middle of the
// round trip.
func (c *clock) set(received time.Time, server job.Micros, trip time.Duration) {
	c.base, c.server, c.trip = received, server.Add(trip/2), trip
}
