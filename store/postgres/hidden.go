package postgres

import (
	"sync/atomic"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
)

// A claim passes over what others have locked, and they may not take all of that:
// of many lanes they lock more than they need. Nobody tells when such a job is free
// again. So a claim that did not get all that it wanted looks whether there is more
// than it found, and then asks to be repeated soon.

// hiddenJobs tells whether a place has jobs that are due. Those that this
// transaction has claimed are running by then.
var hiddenJobs = &sqlstore.Query{Name: "hiddenJobs"}

const (
	// hiddenAgain is when a claim is repeated that has found hidden jobs, at first.
	// Whoever holds them may do so for long: the time doubles while nothing comes.
	hiddenAgain  = 5 * time.Millisecond
	hiddenDouble = 8 // times at most: to 1.28 s
	// hiddenMost is how many claims are followed by others soon anyway.
	hiddenMost = 64
)

// hidden counts the claims in a row that have found nothing but hidden jobs.
type hidden struct{ vain atomic.Int32 }

// again returns when to ask again, after a claim that has found hidden jobs and
// taken so many others.
func (h *hidden) again(took int) time.Duration {
	if took > 0 {
		h.vain.Store(0)
		return hiddenAgain
	}
	return hiddenAgain << (min(h.vain.Add(1), hiddenDouble+1) - 1)
}

// behindOthers returns the steps that look for hidden jobs in lanes where this claim has taken all
// that it found. It returns nil if there is no such lane.
func (c *source) behindOthers() []step {
	if c.out.Full || len(c.out.Claims) > hiddenMost {
		return nil
	}
	left := make(map[int64]bool)
	for _, f := range c.found { // what is left lacks room, and others like it do, too
		left[f.run.Lane()] = true
	}
	lanes, priorities, lows := ints(len(c.tried)), ints(len(c.tried)), ints(len(c.tried))
	for _, p := range c.tried {
		if !left[p.lane] {
			lanes.int(p.lane)
			priorities.int(int64(p.priority))
			lows.int(int64(c.s.hot.heads.from(p.readyPlace, false, earliest)))
		}
	}
	if lanes.n == 0 {
		return nil
	}
	return []step{{q: hiddenJobs, args: []any{lanes, priorities, lows, int64(c.t.Now()), int64(-1 << 63)},
		each: func(r sqlstore.Row) error {
			if r.Int(0) == 0 {
				c.s.hot.hidden.vain.Store(0)
			} else {
				c.out.NextDue = min(c.out.NextDue, c.s.hot.hidden.again(len(c.out.Claims)))
			}
			return nil
		}}}
}
