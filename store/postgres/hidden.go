package postgres

import (
	"github.com/redrive/redrive/store/postgres/internal/claims"

	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"github.com/redrive/redrive/internal/sqlstore"
)

// A claim passes over what others have locked, and they may not take all of that:
// of many lanes they lock more than they need. Nobody tells when such a job is free
// again. So a claim that did not get all that it wanted looks whether there is more
// than it found, and then asks to be repeated soon.

// hiddenJobs tells whether a place has jobs that are due. Those that this
// transaction has claimed are running by then.
var hiddenJobs = &sqlstore.Query{Name: "hiddenJobs"}

// behindOthers returns the steps that look for hidden jobs in lanes where this claim has taken all
// that it found. It returns nil if there is no such lane.
func (c *source) behindOthers() []pg.Step {
	if c.out.Full || len(c.out.Claims) > claims.SkippedMost {
		return nil
	}
	left := make(map[int64]bool)
	for _, f := range c.found { // what is left lacks room, and others like it do, too
		left[f.run.Lane()] = true
	}
	lanes, priorities, lows := pg.Ints(len(c.tried)), pg.Ints(len(c.tried)), pg.Ints(len(c.tried))
	for _, p := range c.tried {
		if !left[p.Lane] {
			lanes.Int(p.Lane)
			priorities.Int(int64(p.Priority))
			lows.Int(int64(c.s.hot.cursors.From(p.Place, false, claims.Earliest)))
		}
	}
	if lanes.N == 0 {
		return nil
	}
	return []pg.Step{{Q: hiddenJobs, Args: []any{lanes, priorities, lows, int64(c.t.Now()), int64(-1 << 63)},
		Each: func(r sqlstore.Row) error {
			if r.Int(0) == 0 {
				c.s.hot.skipped.None()
			} else {
				c.out.NextDue = min(c.out.NextDue, c.s.hot.skipped.Again(len(c.out.Claims)))
			}
			return nil
		}}}
}
