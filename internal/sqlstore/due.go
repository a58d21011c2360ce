package sqlstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	countDue   = ask("countDue")
	retryLanes = ask("retryLanes")
	walkDue    = askWalk("walkDue")
)

// Due implements store.Reader.
func (s *Core) Due(ctx context.Context, minutes int) (due store.DueRetries, err error) {
	if err := store.ValidMinutes(minutes); err != nil {
		return due, err
	}
	err = s.db.Read(ctx, func(c Session) error {
		n := dueCounter{c: c, now: s.db.Clock.Now(), counts: make([]int64, 1+minutes)}
		err := n.count(s.db.RetryIndex)
		due = store.DueRetries{At: n.now, Overdue: n.counts[0], Minutes: n.counts[1:], Capped: slices.Contains(n.counts, store.DueCountMax)}
		return err
	})
	return due, err
}

// dueCounter counts retries by the minute in which they are due.
type dueCounter struct {
	c      Session
	now    job.Micros
	counts []int64 // first the retries that are due already, then those of each minute
	full   int     // how many of the counts have reached the limit
}

func (d *dueCounter) count(index bool) error {
	if index {
		return d.c.Rows(countDue, func(r Row) error { d.counts[r.Int(0)] = r.Int(1); return nil }, num(d.now), num(int64(len(d.counts)-1)))
	}
	type laneOf struct{ lane, priority int64 }
	var lanes []laneOf
	err := d.c.Rows(retryLanes, func(r Row) error { lanes = append(lanes, laneOf{r.Int(0), r.Int(1)}); return nil })
	for i := 0; i < len(lanes) && err == nil && d.full < len(d.counts); i++ {
		err = d.lane(lanes[i].lane, lanes[i].priority)
	}
	return err
}

// dueSkip is the number of rows of full minutes that are read before the walk jumps over them.
const dueSkip = 64

// lane counts the retries of one lane and priority. It walks over the index in the order of due
// times, and jumps over minutes that are counted up to the limit.
func (d *dueCounter) lane(lane, priority int64) error {
	end := d.end(len(d.counts) - 1)
	for after := int64(-1 << 63); after < int64(end); {
		skipped := 0
		err := d.c.Rows(walkDue, func(r Row) error {
			at := job.Micros(r.Int(0))
			m := d.minute(at)
			if d.counts[m] < store.DueCountMax {
				skipped = 0
				if d.counts[m]++; d.counts[m] == store.DueCountMax {
					d.full++
				}
				return nil
			}
			if skipped++; skipped < dueSkip {
				return nil
			}
			for m < len(d.counts) && d.counts[m] >= store.DueCountMax {
				m++
			}
			after = int64(d.end(m - 1))
			return errEnough
		}, num(lane), num(priority), num(after), num(end))
		if !errors.Is(err, errEnough) {
			return err
		}
	}
	return nil
}

// minute returns the index of the count for a due time.
func (d *dueCounter) minute(at job.Micros) int {
	if at <= d.now {
		return 0
	}
	return 1 + int((at-d.now-1)/job.Micros(time.Minute/time.Microsecond))
}

// end returns the last time of a count.
func (d *dueCounter) end(minute int) job.Micros {
	return d.now.Add(time.Duration(minute) * time.Minute)
}
