package engine

import (
	"time"
)

// The shortest and the longest back-off after failed store calls. The back-off doubles with
// each failure. A random part of it, up to half, is subtracted.
const (
	backoffMin = 100 * time.Millisecond
	backoffMax = 5 * time.Second
)

// answered records the end of a call and reports whether the call succeeded. After a
// failure, the next call is due after a back-off.
func (c *Core) answered(k *call, err error, now time.Duration) bool {
	k.busy = false
	if err == nil {
		k.fails = 0
		if k == &c.exchange {
			k.at = now
			c.singly = max(0, c.singly-1)
		}
		c.heal(now)
		return true
	}
	c.outage = c.outage || k != &c.rescue
	if k.fails++; c.troubledAt == never {
		c.troubledAt = now
		c.note(Note{Kind: TroubleBegan, Err: err})
	}
	k.at = now + c.backoff(k)
	return false
}

func (c *Core) backoff(k *call) time.Duration {
	shortest, longest := backoffMin, backoffMax
	switch {
	case k == &c.beat:
		shortest = min(backoffMin, c.cfg.Lease/20) // short enough for several attempts before the leases count as lost
	case c.stop != serving:
		longest = time.Second
	case k == &c.late.call:
		longest = lateWaitMax
	}
	wait := min(shortest<<min(k.fails-1, 16), longest)
	return wait - time.Duration(c.cfg.Rand()*float64(wait)/2)
}

// heal records that the store works again, if no kind of call is failing any more.
func (c *Core) heal(now time.Duration) {
	if c.troubledAt == never {
		return
	}
	for _, k := range []*call{&c.exchange, &c.beat, &c.signals, &c.declare, &c.suspects.call} {
		if k.fails > 0 {
			return
		}
	}
	if c.outage {
		c.outage, c.calmAt = false, now+c.cfg.Lease
	}
	if c.rescue.fails > 0 {
		return
	}
	c.note(Note{Kind: TroubleEnded, N: len(c.pending), Elapsed: now - c.troubledAt})
	c.troubledAt = never
}

func (c *Core) note(n Note) { c.out.Notes = append(c.out.Notes, n) }
