package postgres

import (
	"github.com/redrive/redrive/store/postgres/internal/claims"

	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"github.com/redrive/redrive/internal/sqlstore"
)

// A claim skips rows that other claims have locked. These may leave some of the rows, because
// they lock more rows of many lanes than they need, and no notification says when such a row is
// free again. So a claim that did not get as many jobs as it wanted looks for more due jobs than it
// found. If there are any, it asks to be repeated soon.

// skippedJobs says whether a lane and priority has due jobs. Jobs that this transaction has
// claimed do not count, because they are running.
var skippedJobs = &sqlstore.Query{Name: "skippedJobs"}

// behindOthers returns the steps that look for skipped jobs in lanes where this claim has taken all
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
	return []pg.Step{{Q: skippedJobs, Args: []any{lanes, priorities, lows, int64(c.t.Now()), int64(-1 << 63)},
		Each: func(r sqlstore.Row) error {
			if r.Int(0) == 0 {
				c.s.hot.skipped.None()
			} else {
				c.out.NextDue = min(c.out.NextDue, c.s.hot.skipped.Again(len(c.out.Claims)))
			}
			return nil
		}}}
}
