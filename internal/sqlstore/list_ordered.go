package sqlstore

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A list in the order of due times reads the index of retrying jobs, or the first jobs of each
// lane and priority. A list in the order of ends reads the tables of ended jobs, because their
// rows are written in that order.
var (
	walkRetries = declareWalk("walkRetries", listLive+` FROM redrive_jobs j INDEXED BY redrive_retry JOIN redrive_lanes l ON l.id = j.lane
		WHERE j.state = 2 AND j.run_at > ? ORDER BY j.run_at, j.id LIMIT ?`)
	walkRetriesAt = declareWalk("walkRetriesAt", listLive+` FROM redrive_jobs j INDEXED BY redrive_retry JOIN redrive_lanes l ON l.id = j.lane
		WHERE j.state = 2 AND j.run_at = ? AND j.id > ? ORDER BY j.id LIMIT ?`)
	// listHeads lists the first ?3 jobs of each lane and priority with a due time after ?1,
	// or at ?1 and with an id after ?2. ?4 and ?5 are the queue and the kind.
	listHeads = declare("listHeads", `WITH priorities(n) AS (VALUES (1), (2), (3), (4)) `+listLive+`, j.lane, j.priority
		FROM redrive_lanes l CROSS JOIN priorities p CROSS JOIN redrive_jobs j
		WHERE (?4 IS NULL OR l.queue = ?4) AND (?5 IS NULL OR l.kind = ?5) AND j.id IN (
			SELECT h.id FROM redrive_jobs h INDEXED BY redrive_ready WHERE h.lane = l.id AND h.priority = p.n AND h.state < 3
			AND (h.run_at, h.id) > (?1, ?2) ORDER BY h.run_at, h.id LIMIT ?3)`)
	countLanes = declare("countLanes", `SELECT count(*) FROM redrive_lanes WHERE (?1 IS NULL OR queue = ?1) AND (?2 IS NULL OR kind = ?2)`)

	walkEnded = declareWalk("walkEnded", listDone+fromDone+`WHERE j.seq < ? ORDER BY j.seq DESC LIMIT ?`)
	// selSeqOf returns the sequence number and the end time of an ended job.
	selSeqOf   = declare("selSeqOf", `SELECT seq, finished_at FROM redrive_done INDEXED BY redrive_done_job WHERE job = ? ORDER BY seq DESC LIMIT 1`)
	selSeqFrom = declare("selSeqFrom", `SELECT seq, finished_at FROM redrive_done WHERE seq >= ? ORDER BY seq LIMIT 1`)
	walkSeqs   = declareWalk("walkSeqs", `SELECT seq, finished_at FROM redrive_done WHERE seq >= ? ORDER BY seq LIMIT ?`)
	selLastSeq = declare("selLastSeq", `SELECT max(seq) FROM redrive_done`)
	selDeathOf = declare("selDeathOf", `SELECT death, died_at FROM redrive_dead WHERE job = ?`)
	listedDied = declare("listedDied", listDead+fromDead+`WHERE j.death = ?`)
)

// Transactions of other processes that overlap number their rows of ended jobs in any order. So a
// job can have a lower number than a job that ended earlier. A list shows ended jobs in the order
// of their numbers, and expects that two jobs in the wrong order are not further apart than this.
const (
	endSlack = time.Minute
	endRows  = 2_000
)

func byDue(j *job.Job) store.Cursor { return store.Cursor{At: j.RunAt, ID: j.ID} }

func dueFirst(a, b store.Cursor) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID))
}

// due lists waiting and retrying jobs with the earliest due time first.
func (l *lister) due() (store.Page, error) {
	from := l.f.From
	if since := l.f.Due.Since; since > from.At {
		from = store.Cursor{At: since - 1, ID: math.MaxInt64}
	}
	if !l.f.Wants(job.Waiting) {
		return l.retries(from)
	}
	queue, kind := setText(l.f.Queue), setText(l.f.Kind)
	lanes, err := ReadInt(l.c, countLanes, queue, kind)
	if err != nil {
		return store.Page{}, err
	}
	each := l.limit + 1
	if !onlyLanes(l.f) {
		each = max(each, scanMax/int(max(priorities*lanes, 1)))
	}
	var all []head
	read := make(map[lanePriority]int) // the number of rows that were read for each lane and priority
	err = l.c.Rows(listHeads, func(r Row) error {
		h := head{l.scan(r), lanePriority{r.Int(columns + 1), r.Int(columns + 2)}}
		read[h.of]++
		all = append(all, h)
		return nil
	}, num(from.At), num(from.ID), num(each), queue, kind)
	if err != nil {
		return store.Page{}, err
	}
	full := make(map[lanePriority]bool)
	for of, n := range read {
		full[of] = n >= each
	}
	slices.SortFunc(all, func(a, b head) int { return dueFirst(byDue(&a.Job), byDue(&b.Job)) })
	var s stretch
	rows := 0
	for i := range all {
		h := &all[i]
		if until := l.f.Due.Until; until != 0 && h.RunAt >= until {
			break
		}
		ok, err := l.fits(&h.Job, &rows)
		if err != nil {
			return store.Page{}, err
		}
		if ok {
			h.Attrs = nil
			s.jobs = append(s.jobs, h.Job)
		}
		rows++
		// Only the first jobs of each lane and priority were read. So after the last of these
		// jobs, unread jobs of the same lane and priority may come before jobs of the others:
		// end the page here.
		read[h.of]--
		if cut := read[h.of] == 0 && full[h.of]; cut || len(s.jobs) > l.limit || rows >= scanMax {
			s.end, s.at = byDue(&h.Job), h.RunAt
			break
		}
	}
	return l.page([]stretch{s}, dueFirst, byDue), nil
}

// priorities is the number of different priorities.
const priorities = job.PriorityMax - job.PriorityMin + 1

// lanePriority is a lane with one priority. listHeads reads the first jobs of each such pair.
type lanePriority struct{ lane, priority int64 }

// head is a job that listHeads has read, with its lane and priority.
type head struct {
	job.Job
	of lanePriority
}

// retries lists only retrying jobs, the earliest due time first.
func (l *lister) retries(from store.Cursor) (store.Page, error) {
	tie := stretch{}
	var err error
	if from.At > 0 && from.ID < math.MaxInt64 {
		if tie, err = l.walk(walkRetriesAt, byDue, num(from.At), num(from.ID)); err != nil {
			return store.Page{}, err
		}
	}
	parts := []stretch{tie}
	if tie.end.IsZero() {
		s, err := l.walk(walkRetries, byDue, num(from.At))
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

// onlyLanes reports whether a filter for a list in the order of due times selects whole lanes,
// that is, all jobs of each selected lane.
func onlyLanes(f *store.Filter) bool {
	return f.Wants(job.Waiting) && f.Wants(job.Retrying) && f.Owner == "" && f.Batch == 0 && f.Worker == "" && f.Correlation == "" &&
		f.Attr == store.Attr{} && f.Created == store.Span{} && !f.ByCause()
}

func byEnd(j *job.Job) store.Cursor { return store.Cursor{At: j.FinishedAt, ID: j.ID} }

// ended lists completed, cancelled and dead jobs, the latest end first. For jobs that ended at
// the same time, completed and cancelled jobs come before dead jobs.
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

// done lists the completed and cancelled jobs with sequence numbers below the given number,
// the latest end first.
func (l *lister) done(seq int64) (stretch, error) {
	s, err := l.walk(walkEnded, byEnd, num(seq))
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
	// the search also finds jobs that the filter does not select, so it must find more jobs
	// than a page holds
	if l.f.Created != (store.Span{}) {
		want = store.StepMax
	}
	found, err := search(m, false, 1, death, want, LookMax,
		func(r Row) int64 { return r.Int(0) }, func(death *int64) int64 { return *death })
	if err != nil {
		return s, err
	}
	for _, death := range found.found {
		err := l.c.Rows(listedDied, func(r Row) error {
			j := l.scan(r)
			s.end, s.at = byEnd(&j), j.FinishedAt
			if l.f.Match(&j) {
				j.Attrs = nil
				s.jobs = append(s.jobs, j)
			}
			return nil
		}, num(death))
		if err != nil {
			return s, err
		}
	}
	switch {
	case !found.more:
		s.end, s.at = store.Cursor{}, 0
	case found.edge > 0:
		err = l.c.Rows(listedDied, func(r Row) error {
			j := scanJob(r)
			s.end, s.at = byEnd(&j), j.FinishedAt
			return nil
		}, num(found.edge))
	}
	return s, err
}

// endedFrom returns where a page begins: in completed jobs below the sequence number seq, and
// in dead jobs at the death number death. If the cursor's job has moved to another table or is
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

// seqBefore returns the number after the last completed or cancelled job that ended before
// a time.
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

// rowsFrom calls each for the completed and cancelled jobs with the numbers from seq on that
// can have ended before a time.
func (l *lister) rowsFrom(seq int64, at job.Micros, each func(seq int64, ended job.Micros)) error {
	return enough(l.c.Rows(walkSeqs, func(r Row) error {
		if job.Micros(r.Int(1)) > at.Add(endSlack) {
			return errEnough
		}
		each(r.Int(0), job.Micros(r.Int(1)))
		return nil
	}, num(seq), num(endRows)))
}

// firstSeq returns the number of the first completed or cancelled job that ended at or
// after a time.
func (l *lister) firstSeq(at job.Micros) (int64, error) {
	return firstNumber(l.c, selLastSeq, selSeqFrom, at)
}
