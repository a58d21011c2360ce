package sqlstore

import (
	"errors"
	"math"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A list of retrying jobs in the order of due times reads the index of retrying jobs, if the store
// has one; l.due makes the other lists in this order. A list in the order of ends reads the tables
// of ended jobs, because their rows are written in that order.
var (
	walkRetries   = askWalk("walkRetries")
	walkRetriesAt = askWalk("walkRetriesAt")
	selSeqOf      = ask("selSeqOf")
	selSeqFrom    = ask("selSeqFrom")
	walkSeqs      = askWalk("walkSeqs")
	selLastSeq    = ask("selLastSeq")
	selDeathOf    = ask("selDeathOf")
	severalDied   = ask("severalDied")
)

// Rows of ended jobs have numbers. If transactions of several processes overlap, a job can have
// a lower number than a job that ended earlier. A list shows ended jobs in the order of their
// numbers, and expects that two jobs in the wrong order are not further apart than this.
const (
	endSlack = time.Minute
	endRows  = 2_000
)

// retries lists only retrying jobs, the earliest due time first. It is for stores with an index of
// retrying jobs.
func (l *lister) retries(from store.Cursor) (store.Page, error) {
	tie := stretch{}
	var err error
	if from.At > 0 && from.ID < math.MaxInt64 {
		if tie, err = l.walk(walkRetriesAt, scanMax, byDue, num(from.At), num(from.ID)); err != nil {
			return store.Page{}, err
		}
	}
	parts := []stretch{tie}
	if tie.end.IsZero() {
		s, err := l.walk(walkRetries, scanMax, byDue, num(from.At))
		if err != nil {
			return store.Page{}, err
		}
		parts = append(parts, s)
	}
	p := l.page(parts, dueFirst, byDue)
	if until := l.f.Due.Until; until != 0 && p.Next.At >= until {
		p.Next, p.Searched = store.Cursor{}, 0
	}
	return p, nil
}

func byEnd(j *job.Job) store.Cursor { return store.Cursor{At: j.FinishedAt, ID: j.ID} }

// ended lists completed, cancelled and dead jobs, the job that ended last first. Among jobs
// that ended at the same time, completed and cancelled jobs come before dead jobs.
func (l *lister) ended() (p store.Page, err error) {
	seq, death, err := l.endedFrom()
	if err != nil {
		return p, err
	}
	var done, dead stretch
	if l.f.Wants(job.Completed) || l.f.Wants(job.Cancelled) {
		if done, err = l.done(seq); err != nil {
			return p, err
		}
	}
	if l.f.Wants(job.Dead) {
		if dead, err = l.dead(death); err != nil {
			return p, err
		}
	}
	// Merge the two lists by end time. If the reading of a table stopped early, the page ends
	// there.
	for len(done.jobs) > 0 || len(dead.jobs) > 0 {
		from := &done
		if len(done.jobs) == 0 || len(dead.jobs) > 0 && dead.jobs[0].FinishedAt > done.jobs[0].FinishedAt {
			from = &dead
		}
		other := &dead
		if from == &dead {
			other = &done
		}
		j := from.jobs[0]
		if len(other.jobs) == 0 && !other.end.IsZero() && j.FinishedAt < other.end.At {
			break
		}
		if len(p.Jobs) == l.limit {
			p.Next = byEnd(&p.Jobs[l.limit-1])
			return p, nil
		}
		p.Jobs = append(p.Jobs, j)
		from.jobs = from.jobs[1:]
	}
	for _, s := range []stretch{done, dead} {
		if !s.end.IsZero() && s.end.At > p.Next.At {
			p.Next, p.Searched = s.end, s.at
		}
	}
	return p, nil
}

// done lists the completed and cancelled jobs with sequence numbers below the given one, the job
// that ended last first.
func (l *lister) done(seq int64) (stretch, error) {
	s, err := l.search(&walkedEnded, byEnd, seq)
	if since := l.f.Ended.Since; since != 0 && s.end.At < since.Add(-endSlack) {
		s.end, s.at = store.Cursor{}, 0 // all further jobs ended before the time span of the filter
	}
	return s, err
}

// dead lists the dead jobs with death numbers up to the given number. It uses the indexes of
// dead letters.
func (l *lister) dead(death int64) (s stretch, err error) {
	of := store.DeadFilter{Reason: l.f.Reason, Class: l.f.Class, Kind: l.f.Kind, Queue: l.f.Queue, Owner: l.f.Owner,
		Group: l.f.Group, Text: l.f.Text, Since: l.f.Ended.Since, Until: l.f.Ended.Until,
		Batch: l.f.Batch, Worker: l.f.Worker, Correlation: l.f.Correlation, Attr: l.f.Attr}
	m, err := newMatcher(l.c, &of, 0, false)
	if err != nil {
		return s, err
	}
	m.takes = func(d *job.DeadLetter) bool { return !d.Revived }
	want := l.limit + 1
	// The search also finds jobs that the filter does not select, so it must find more jobs
	// than one page contains.
	if l.f.Created != (store.Span{}) {
		want = store.StepMax
	}
	found, err := search(m, false, 1, death, want, LookMax,
		func(r Row) int64 { return r.Int(0) }, func(death *int64) int64 { return *death })
	if err != nil {
		return s, err
	}
	deaths := found.found
	if found.more && found.edge > 0 {
		deaths = append(deaths, found.edge) // where the search stopped, selected or not: its time says how far the search came
	}
	if len(deaths) == 0 {
		return s, nil
	}
	selected := len(found.found)
	err = l.c.Rows(severalDied, func(r Row) error {
		j := l.scan(r)
		s.end, s.at = byEnd(&j), j.FinishedAt
		if selected--; selected >= 0 && l.f.Match(&j) {
			j.Attrs = nil
			s.jobs = append(s.jobs, j)
		}
		return nil
	}, idList(deaths))
	if !found.more {
		s.end, s.at = store.Cursor{}, 0
	}
	return s, err
}

// endedFrom returns where a page begins: in completed jobs below the returned sequence number, and
// in dead jobs at the returned death number. If the cursor's job has moved to another table or is
// gone, the time in the cursor is used, and jobs that ended at that time may be listed again.
func (l *lister) endedFrom() (seq, death int64, err error) {
	seq, death = math.MaxInt64, math.MaxInt64
	from := l.f.From
	if from.IsZero() {
		if until := l.f.Ended.Until; until != 0 {
			seq, err = l.firstSeq(until.Add(endSlack))
		}
		return seq, death, err
	}
	inDone, inDead := int64(0), int64(0)
	find := func(q *Query, at *int64) error {
		return l.c.Rows(q, func(r Row) error {
			if job.Micros(r.Int(1)) == from.At {
				*at = r.Int(0)
			}
			return nil
		}, num(from.ID))
	}
	if err := errors.Join(find(selSeqOf, &inDone), find(selDeathOf, &inDead)); err != nil {
		return 0, 0, err
	}
	if inDone != 0 {
		earliest := from.At // the earliest end of the jobs that were listed before, up to the cursor's job
		err := l.rowsFrom(inDone, from.At, func(_ int64, at job.Micros) { earliest = min(earliest, at) })
		if err != nil {
			return 0, 0, err
		}
		death, err = firstDeath(l.c, earliest.Add(time.Microsecond))
		return inDone, death - 1, err
	}
	before := from.At
	if inDead == 0 {
		before = before.Add(time.Microsecond)
	}
	if seq, err = l.seqBefore(before); err != nil {
		return 0, 0, err
	}
	if inDead != 0 {
		return seq, inDead - 1, nil
	}
	death, err = firstDeath(l.c, before)
	return seq, death - 1, err
}

// seqBefore returns the number after the last completed or cancelled job that ended before the
// given time.
func (l *lister) seqBefore(at job.Micros) (int64, error) {
	seq, err := l.firstSeq(at)
	if err != nil {
		return 0, err
	}
	err = l.rowsFrom(seq, at, func(number int64, ended job.Micros) {
		if ended < at {
			seq = number + 1
		}
	})
	return seq, err
}

// rowsFrom calls the given function for completed and cancelled jobs with the given number or
// higher, until the jobs can no longer have ended before the given time.
func (l *lister) rowsFrom(seq int64, at job.Micros, each func(seq int64, ended job.Micros)) error {
	return enough(l.c.Rows(walkSeqs, func(r Row) error {
		if job.Micros(r.Int(1)) > at.Add(endSlack) {
			return errEnough
		}
		each(r.Int(0), job.Micros(r.Int(1)))
		return nil
	}, num(seq), num(endRows)))
}

// firstSeq returns the number of the first completed or cancelled job that ended at or after the
// given time.
func (l *lister) firstSeq(at job.Micros) (int64, error) {
	return firstNumber(l.c, selLastSeq, selSeqFrom, at)
}
