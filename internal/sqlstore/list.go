package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// scanMax is the maximum number of rows of one table that one page of a list examines.
// With this limit, a filter that selects few jobs costs milliseconds and not a walk
// over all jobs.
const scanMax = 20_000

// place is one of the three tables that jobs are listed from.
type place struct {
	states []job.State
	walk   *Query // the columns of jobs below an id, the newest id first
}

// A list reads all jobs below an id, the newest first, and applies the filter in Go. One
// query plan, limited by scanMax, replaces an index for each filter.
var places = [...]place{
	{[]job.State{job.Waiting, job.Retrying, job.Running}, declareWalk("walkLive", `SELECT `+liveColumns+fromLive+
		`WHERE j.id < ? ORDER BY j.id DESC LIMIT ?`)},
	{[]job.State{job.Completed, job.Cancelled}, declareWalk("walkDone", `SELECT `+doneColumns+fromDone+
		`WHERE j.job < ? ORDER BY j.job DESC LIMIT ?`)},
	{[]job.State{job.Dead}, declareWalk("walkDead", `SELECT `+deadColumns+fromDead+
		`WHERE j.job < ? AND j.revived = 0 ORDER BY j.job DESC LIMIT ?`)},
}

// selRunning lists running jobs with the index of leases, which is small.
var selRunning = declareWalk("selRunning", `SELECT `+liveColumns+` FROM redrive_jobs j INDEXED BY redrive_lease
	JOIN redrive_lanes l ON l.id = j.lane WHERE j.state = 3 AND j.id < ? ORDER BY j.id DESC LIMIT ?`)

// List implements store.Reader.
func (s *Core) List(ctx context.Context, f store.Filter) (page store.Page, err error) {
	if err := complete(&f); err != nil {
		return page, err
	}
	err = s.db.Read(ctx, func(c Session) error {
		page, err = list(c, &f)
		return err
	})
	return page, err
}

// ListTx implements store.TxReader.
func (s *Core) ListTx(ctx context.Context, tx store.Tx, f store.Filter) (page store.Page, err error) {
	if err := complete(&f); err != nil {
		return page, err
	}
	err = s.db.Join(ctx, tx, func(t *Txn) error {
		page, err = list(t.s, &f)
		return err
	})
	return page, err
}

// complete sets the defaults of a filter, or returns an error when its limit is wrong.
func complete(f *store.Filter) error {
	if f.Limit < 0 || f.Limit > job.PageMax {
		return fmt.Errorf("page of %d jobs: a page has 1 to %d: %w", f.Limit, job.PageMax, store.ErrInvalid)
	}
	f.Limit = cmp.Or(f.Limit, 50)
	f.Before = cmp.Or(f.Before, 1<<63-1)
	return nil
}

func list(c Session, f *store.Filter) (page store.Page, err error) {
	var all []job.Job
	var floor job.ID // at least one table was not examined below this id
	for _, p := range places {
		if !anyState(f.States, p.states) {
			continue
		}
		walk := p.walk
		if len(f.States) == 1 && f.States[0] == job.Running {
			walk = selRunning
		}
		found, searched, err := collect(c, walk, f)
		if err != nil {
			return page, err
		}
		all = append(all, found...)
		floor = max(floor, searched)
	}
	slices.SortFunc(all, func(a, b job.Job) int { return cmp.Compare(b.ID, a.ID) })
	if floor > 0 {
		all = slices.DeleteFunc(all, func(j job.Job) bool { return j.ID < floor })
	}
	page.Next = floor
	if len(all) > f.Limit {
		all = all[:f.Limit]
		page.Next = all[f.Limit-1].ID
	}
	page.Jobs = all
	return page, nil
}

func anyState(wanted, have []job.State) bool {
	return len(wanted) == 0 || slices.ContainsFunc(have, func(s job.State) bool { return slices.Contains(wanted, s) })
}

// collect returns up to f.Limit+1 jobs of one table, and the id below which it did not
// examine any row. That id is 0 when it examined the whole table.
func collect(c Session, walk *Query, f *store.Filter) (found []job.Job, searched job.ID, err error) {
	rows := 0
	err = c.Rows(walk, func(r Row) error {
		rows++
		j := scanJob(r)
		searched = j.ID
		if matches(f, &j) {
			found = append(found, j)
			if len(found) > f.Limit {
				return errEnough
			}
		}
		return nil
	}, num(f.Before), num(scanMax))
	if errors.Is(err, errEnough) {
		err = nil
	} else if rows < scanMax {
		searched = 0
	}
	return found, searched, err
}

func matches(f *store.Filter, j *job.Job) bool {
	return (len(f.States) == 0 || slices.Contains(f.States, j.State)) &&
		(f.Kind == "" || f.Kind == j.Kind) &&
		(f.Queue == "" || f.Queue == j.Queue) &&
		(f.Owner == "" || f.Owner == j.Owner)
}
