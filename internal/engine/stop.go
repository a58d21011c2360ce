package engine

import (
	"slices"
	"time"
)

// stopPhase is how far a stop has come.
type stopPhase uint8

const (
	serving  stopPhase = iota
	graceful           // no new claims; what runs may finish
	halting            // the contexts have ended
)

// lastAttempts is how long a stopping engine tries to write what has finished
// when nothing runs any more and the store fails.
const lastAttempts = 10 * time.Second

func (StopAsked) apply(c *Core, now time.Duration) {
	if c.stop == serving {
		c.stop = graceful
		c.graceAt = now + max(0, c.cfg.Grace)
	}
}

func (HaltAsked) apply(c *Core, now time.Duration) {
	if c.stop != halting {
		c.stop = graceful
		c.graceAt = now
	}
}

// advanceStop ends the grace time when it is over.
func (c *Core) advanceStop(now time.Duration) {
	if c.stop != graceful || now < c.graceAt {
		return
	}
	c.stop = halting
	for _, t := range c.tasks {
		if t.phase == running {
			c.end(t, ErrInterrupted, now)
		}
	}
}

// done reports whether a stop is complete: everything is written, or what is
// not will not be.
func (c *Core) done(now time.Duration) bool {
	switch {
	case c.stop == serving || slices.ContainsFunc(c.tasks, func(t *Task) bool { return t.phase != finished }):
		return false
	case len(c.tasks) == 0 && !c.exchange.busy:
		return true
	case c.giveUp == 0:
		c.giveUp = now + lastAttempts
	case now >= c.giveUp:
		if c.unsaved = len(c.tasks); c.unsaved > 0 {
			c.note(Note{Kind: OutcomesGivenUp, N: c.unsaved})
		}
		for len(c.tasks) > 0 {
			c.discard(c.tasks[0])
		}
		return true
	}
	return false
}

// stopAt returns when the stop next needs a step.
func (c *Core) stopAt() time.Duration {
	at := never
	if c.stop == graceful {
		at = c.graceAt
	}
	if c.giveUp > 0 {
		at = min(at, c.giveUp)
	}
	return at
}
