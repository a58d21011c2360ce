package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"sync"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/internal/storeclock"
	"github.com/redrive/redrive/job"
)

const (
	// jumpMin is how far the server's clock may be from what was expected of it
	// before that counts as a jump. Slewing by NTP stays far below.
	jumpMin = time.Second
	// drift is how much of the time that passes the machine's clock may gain or lose
	// against the server's, one part in so many.
	drift = 10_000
)

// clock is the server's clock, as this process knows it: all processes of a
// store go by the same one. It goes on by the machine's monotonic clock from the
// last time that the server notice, so that steps of the machine's own clock mean
// nothing, and never runs backwards. When the server's clock is set back, time
// goes on at half speed until that has caught up.
type clock struct {
	injected *storeclock.Clock // instead of all that follows; for tests

	local func() time.Time
	// between is the time between two readings by the monotonic clock.
	between func(from, to time.Time) time.Duration

	mu     sync.Mutex
	base   time.Time  // local reading at which the server's time was server; zero: not known
	server job.Micros // as well as is known
	trip   time.Duration
	mark   job.Micros // the latest time given or stored
	last   time.Time  // local reading that it was given at
	jumped time.Time  // local reading after the last jump; zero: none
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

// SinceJump returns how long ago the server's clock was last seen to have jumped,
// or this machine to have slept, and whether that ever happened. Leases that ended
// in a gap ended while their holders could not say a word; and where the clock was
// set back, other processes may go by an earlier time than this one, so that their
// new leases look old from here, until agree has informed them.
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

// sample takes in that the server's clock showed a time at some moment between
// two local readings. It reports whether the server's time is ahead of what was
// given out for it by more than jumpMin: a call that has begun with that time has to
// begin anew.
func (c *clock) sample(sent, received time.Time, server job.Micros) (behind bool) {
	if c.injected != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	trip := max(0, c.between(sent, received))
	if c.base.IsZero() {
		c.set(received, server.Add(trip/2), trip)
		return false
	}
	at, latest := c.expected(received), server.Add(trip)
	// An answer that took long, as one of many statements, says little; what was
	// known before says less the older it is.
	sharp := trip <= c.trip+2*c.between(c.base, received)/drift
	off := max(server.Sub(at), at.Sub(latest))
	switch {
	case off > jumpMin:
		c.jumped = received
		c.set(received, server.Add(trip/2), trip)
		return server > at
	case sharp:
		c.set(received, server.Add(trip/2), trip)
	case off > 0:
		c.set(received, min(max(at, server), latest), trip)
	}
	return false
}

// set notes the server's time at a local reading, and the round trip in which it
// was asked for.
func (c *clock) set(received time.Time, server job.Micros, trip time.Duration) {
	c.base, c.server, c.trip = received, server, trip
}

// ahead returns the current time if it is more than jumpMin ahead of the server's
// clock, and 0 otherwise.
func (c *clock) ahead() job.Micros {
	if c.injected != nil {
		return 0
	}
	now := c.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.expected(c.last)) <= jumpMin {
		return 0
	}
	return now
}

var (
	selStored = &sqlstore.Query{Name: "selStored"}
	selClock  = &sqlstore.Query{Name: "selClock"}
	setClock  = &sqlstore.Query{Name: "setClock"}
)

// resume raises the clock of a new process to what was stored. Newest is the time of
// the latest event, and opened the time before.
func (s *Store) resume(c *pg.Session) (newest, opened job.Micros, err error) {
	opened = s.clock.Now()
	shared := job.Micros(0)
	err = c.Send(pg.Step{Q: selStored, Each: func(r sqlstore.Row) error {
		newest, shared = job.Micros(r.Int(0)), job.Micros(r.Int(1))
		return nil
	}})
	if err == nil {
		s.clock.Floor(max(newest, shared))
	}
	return newest, opened, err
}

// agree keeps the processes together when the server's clock was set back: those
// that are ahead of it write down how far they are, and nobody stays behind that.
// A process that is idle has no event of its time, and would take what one that was
// started later claims for runs whose leases are over.
func (s *Store) agree(c *pg.Session) error {
	if s.clock.injected != nil {
		return nil
	}
	look := pg.Step{Q: selClock}
	if now := s.clock.ahead(); now != 0 {
		look = pg.Step{Q: setClock, Args: []any{int64(now)}}
	}
	look.Each = func(r sqlstore.Row) error { s.clock.Floor(job.Micros(r.Int(0))); return nil }
	return c.Send(look)
}
