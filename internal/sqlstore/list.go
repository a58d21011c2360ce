package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// scanMax is the maximum number of rows of one table that one page of a list examines. Because
// of this limit, a filter that selects few jobs costs milliseconds instead of a walk over all
// jobs.
const scanMax = 5_000

// place describes one of the three tables that contain jobs, and how a list reads it.
type place struct {
	states []job.State
	rows   *walked
}

var places = [...]place{
	{[]job.State{job.Waiting, job.Retrying, job.Running}, &walkedLive},
	{[]job.State{job.Completed, job.Cancelled}, &walkedDone},
	{[]job.State{job.Dead}, &walkedDead},
}

var (
	selRunning = askWalk("selRunning")

	selLiveCause      = ask("selLiveCause")
	selDeadCause      = ask("selDeadCause")
	severalCauses     = ask("severalCauses")
	severalDeadCauses = ask("severalDeadCauses")
)

// List implements store.Reader.
func (s *Core) List(ctx context.Context, f store.Filter) (page store.Page, err error) {
	if err := f.Validate(); err != nil {
		return page, err
	}
	err = s.db.Read(ctx, func(c Session) error {
		page, err = s.list(c, &f)
		return err
	})
	return page, err
}

// ListTx implements store.TxReader.
func (s *Core) ListTx(ctx context.Context, tx store.Tx, f store.Filter) (page store.Page, err error) {
	if err := f.Validate(); err != nil {
		return page, err
	}
	err = s.db.Join(ctx, tx, func(t *Txn) error {
		page, err = s.list(t.s, &f)
		return err
	})
	return page, err
}

func (s *Core) list(c Session, f *store.Filter) (store.Page, error) {
	l := &lister{c: c, f: f, limit: cmp.Or(f.Limit, 50), retryIndex: s.db.RetryIndex}
	if f.Key != "" {
		return l.byKey(s.db.Clock.Now())
	}
	if l.byIndex() {
		if page, ok, err := l.owned(); ok || err != nil {
			return page, err
		}
	}
	switch f.Order {
	case store.Due:
		return l.due()
	case store.Ended:
		return l.ended()
	case store.Newest:
	}
	return l.newest()
}

// lister finds the jobs of one page of a list.
type lister struct {
	c     Session
	f     *store.Filter
	limit int

	retryIndex bool // see DB.RetryIndex
}

// fits reports whether the filter selects a job. If fits has to read the job's last failure, it
// adds the cost of this read to *rows.
func (l *lister) fits(j *job.Job, rows *int) (ok bool, err error) {
	if !l.f.Match(j) {
		return false, nil
	}
	if !l.f.ByCause() {
		return true, nil
	}
	*rows += MessageCost
	q := selLiveCause
	if j.State == job.Dead {
		q = selDeadCause
	}
	err = l.c.Rows(q, func(r Row) error {
		ok = l.f.MatchCause(r.Text(0), r.Text(1), r.Text(2))
		return nil
	}, num(j.ID))
	return ok, err
}

// scan makes a job from a row that has the columns of a list.
func (l *lister) scan(r Row) job.Job {
	j := scanJob(r)
	if l.f.Attr.Name != "" {
		j.Attrs = r.Blob(columns)
	}
	return j
}

// stretch is the part of a list that comes from one table.
type stretch struct {
	jobs      []job.Job
	unchecked []job.Job // jobs that the filter selects, except that their last failures were not read yet
	// end is the position of the last examined row; it is zero when all rows of the table were
	// read.
	end  store.Cursor
	at   job.Micros // the time of the last examined row, for store.Page.Searched
	rows int        // number of rows that were read
	cost int        // cost of the rows: one for each row, and more if the job's last failure was read
}

// page makes one page of a list from the jobs that were found in several tables. The first
// function says which of two positions comes first in the list.
func (l *lister) page(parts []stretch, compare func(a, b store.Cursor) int, position func(*job.Job) store.Cursor) (p store.Page) {
	var end store.Cursor // the first position at which the reading of a table stopped early
	for _, s := range parts {
		p.Jobs = append(p.Jobs, s.jobs...)
		if !s.end.IsZero() && (end.IsZero() || compare(s.end, end) < 0) {
			end, p.Searched = s.end, s.at
		}
	}
	slices.SortStableFunc(p.Jobs, func(a, b job.Job) int { return compare(position(&a), position(&b)) })
	if !end.IsZero() {
		p.Next = end
		p.Jobs = slices.DeleteFunc(p.Jobs, func(j job.Job) bool { return compare(position(&j), end) > 0 })
	}
	if len(p.Jobs) >= l.limit && (len(p.Jobs) > l.limit || !end.IsZero()) {
		p.Jobs = p.Jobs[:l.limit]
		p.Next, p.Searched = position(&p.Jobs[l.limit-1]), 0
	}
	return p
}

func byID(j *job.Job) store.Cursor { return store.Cursor{ID: j.ID} }

func newestFirst(a, b store.Cursor) int { return cmp.Compare(b.ID, a.ID) }

// newest lists jobs with the highest id first.
func (l *lister) newest() (store.Page, error) {
	below := cmp.Or(l.f.From.ID, math.MaxInt64)
	var parts []stretch
	for _, p := range places {
		if !slices.ContainsFunc(p.states, l.f.Wants) {
			continue
		}
		var s stretch
		var err error
		if p.rows == &walkedLive && !l.f.Wants(job.Waiting) && !l.f.Wants(job.Retrying) {
			s, err = l.walk(selRunning, scanMax, byID, num(below))
		} else {
			s, err = l.search(p.rows, byID, int64(below))
		}
		if err != nil {
			return store.Page{}, err
		}
		parts = append(parts, s)
	}
	return l.page(parts, newestFirst, byID), nil
}

// byKey lists the only job that holds the idempotency key of the filter.
func (l *lister) byKey(now job.Micros) (p store.Page, err error) {
	if !l.f.From.IsZero() { // this list has only one page, so there is no next page
		return p, nil
	}
	id, err := lookup(l.c, keyName{l.f.Owner, l.f.Kind, l.f.Key}, now)
	if errors.Is(err, store.ErrNotFound) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	found, err := l.several([]job.ID{id})
	if err != nil {
		return p, err
	}
	if j, exists := found[id]; exists {
		rows := 0
		ok, err := l.fits(&j, &rows)
		if err != nil {
			return p, err
		}
		if ok {
			j.Attrs = nil
			p.Jobs = append(p.Jobs, j)
		}
	}
	return p, nil
}
