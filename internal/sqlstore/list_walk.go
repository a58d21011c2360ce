package sqlstore

import (
	"cmp"
	"errors"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// walkFirst is the number of rows that a list reads before it makes the database compare the
// fields of the filter. Most lists end before that.
const walkFirst = 500

// walkMatch is the part of a filter that the database compares in the statements whose names
// begin with picked. It only saves time: the list compares all fields of each row again. ?11 is
// a text that the attributes must contain; it is compared only if ?12 is 0. If a backslash is
// in the attributes, they always match, because it can hide any text.
const walkMatch = ` AND (?3 IS NULL OR l.queue = ?3) AND (?4 IS NULL OR l.kind = ?4) AND (?5 IS NULL OR j.owner = ?5)
	AND (?6 IS NULL OR j.holder = ?6) AND abs(coalesce(j.batch, 0)) BETWEEN ?7 AND ?8 AND j.created_at BETWEEN ?9 AND ?10
	AND (?12 > 0 OR instr(j.attrs, ?11) > 0 OR instr(j.attrs, X'5C') > 0)`

// These conditions compare the class ?13 and the group ?14 of a job's last failure. The rows of dead
// jobs contain both.
const (
	walkLiveCause = ` AND (?13 IS NULL OR ?13 = (SELECT f.class FROM redrive_failures f WHERE f.job = j.id ORDER BY f.token DESC LIMIT 1))
	AND (?14 IS NULL OR ?14 = (SELECT f.fingerprint FROM redrive_failures f WHERE f.job = j.id ORDER BY f.token DESC LIMIT 1))`
	walkDeadCause = ` AND (?13 IS NULL OR j.class = ?13)
	AND (?14 IS NULL OR j.grp = (SELECT g.id FROM redrive_groups g WHERE g.fingerprint = ?14))`
)

// walked is a table, and how a list reads the table from a given position.
type walked struct {
	first *Query // reads rows after the position
	// edge reads the key, the id and the time of the row that comes ?2 rows after the first
	// row after the position ?1.
	edge *Query
	// picked reads the rows after the position ?1, up to the key ?2, that match the filter.
	picked *Query
}

var (
	walkedLive = walked{
		declareWalk("walkLive", listLive+fromLive+`WHERE j.id < ? ORDER BY j.id DESC LIMIT ?`),
		declare("edgeLive", `SELECT e.id, e.id, (SELECT created_at FROM redrive_jobs WHERE id = e.id)
			FROM (SELECT id FROM redrive_jobs WHERE id < ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2) e`),
		declareWalk("pickedLive", listLive+fromLive+`WHERE j.id < ?1 AND j.id >= ?2`+walkMatch+walkLiveCause+` ORDER BY j.id DESC`),
	}
	walkedDone = walked{
		declareWalk("walkDone", listDone+fromDone+`WHERE j.job < ? ORDER BY j.job DESC LIMIT ?`),
		declare("edgeDone", `SELECT e.job, e.job, (SELECT created_at FROM redrive_done WHERE job = e.job LIMIT 1)
			FROM (SELECT job FROM redrive_done WHERE job < ?1 ORDER BY job DESC LIMIT 1 OFFSET ?2) e`),
		declareWalk("pickedDone", listDone+fromDone+`WHERE j.job < ?1 AND j.job >= ?2`+walkMatch+` ORDER BY j.job DESC`),
	}
	walkedDead = walked{
		declareWalk("walkDead", listDead+fromDead+`WHERE j.job < ? AND j.revived = 0 ORDER BY j.job DESC LIMIT ?`),
		declare("edgeDead", `SELECT e.job, e.job, (SELECT created_at FROM redrive_dead WHERE job = e.job)
			FROM (SELECT job FROM redrive_dead WHERE job < ?1 ORDER BY job DESC LIMIT 1 OFFSET ?2) e`),
		declareWalk("pickedDead", listDead+fromDead+`WHERE j.job < ?1 AND j.job >= ?2 AND j.revived = 0`+walkMatch+walkDeadCause+` ORDER BY j.job DESC`),
	}
	walkedEnded = walked{
		declareWalk("walkEnded", listDone+fromDone+`WHERE j.seq < ? ORDER BY j.seq DESC LIMIT ?`),
		declare("edgeEnded", `SELECT d.seq, d.job, d.finished_at FROM (SELECT seq FROM redrive_done WHERE seq < ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2) e
			JOIN redrive_done d ON d.seq = e.seq`),
		declareWalk("pickedEnded", listDone+fromDone+`WHERE j.seq < ?1 AND j.seq >= ?2`+walkMatch+` ORDER BY j.seq DESC`),
	}
)

// args returns the arguments of the picked statement, beginning with ?3.
func (l *lister) args(w *walked) []Value {
	f := l.f
	batch, batches := int64(0), int64(math.MaxInt64)
	if f.Batch != 0 {
		batch, batches = f.Batch, f.Batch
	}
	until := int64(math.MaxInt64)
	if f.Created.Until != 0 {
		until = int64(f.Created.Until) - 1
	}
	needle := f.Attr.Value
	any := f.Attr.Name == "" || needle == "" || !utf8.ValidString(needle) || strings.ContainsAny(needle, "\\\uFFFD")
	if any {
		needle = "{"
	}
	args := []Value{setText(f.Queue), setText(f.Kind), setText(f.Owner), setText(f.Worker), num(batch), num(batches),
		num(f.Created.Since), num(until), blob([]byte(needle)), bit(any)}
	if w == &walkedLive || w == &walkedDead {
		args = append(args, setText(f.Class), setText(f.Group))
	}
	return args
}

// search reads the rows of a table after the given key, until it has found one job more than the
// page contains, or has examined scanMax rows. The given function returns the position of a job in
// the list.
func (l *lister) search(w *walked, position func(*job.Job) store.Cursor, from int64) (stretch, error) {
	s, err := l.walk(w.first, walkFirst, position, num(from))
	if err != nil || s.end.IsZero() || len(s.jobs) > l.limit {
		return s, err
	}
	begin := int64(s.end.ID)
	if w == &walkedEnded {
		if begin, _, _, err = l.edge(w, from, s.rows-1); err != nil {
			return s, err
		}
	}
	low, end, found, err := l.edge(w, from, scanMax-1)
	if err != nil {
		return s, err
	}
	err = l.c.Rows(w.picked, func(r Row) error { return l.take(&s, r, scanMax, position) },
		append([]Value{num(begin), num(low)}, l.args(w)...)...)
	if err == nil {
		err = l.check(&s)
	}
	switch {
	case errors.Is(err, errEnough):
		return s, nil
	case err != nil:
		return s, err
	case found:
		s.end, s.at = position(&end), end.CreatedAt
	default:
		s.end, s.at = store.Cursor{}, 0
	}
	return s, err
}

// edge returns the row whose distance from the first row after the given key is the given number of
// rows. It returns the row's key, and a job with only the row's id and time. If there is no such
// row, the returned key is 0 and the third result is false.
func (l *lister) edge(w *walked, from int64, rows int) (key int64, end job.Job, found bool, err error) {
	err = l.c.Rows(w.edge, func(r Row) error {
		key, found = r.Int(0), true
		end = job.Job{ID: job.ID(r.Int(1)), CreatedAt: job.Micros(r.Int(2)), FinishedAt: job.Micros(r.Int(2))}
		return nil
	}, num(from), num(rows))
	return key, end, found, err
}

// walk reads rows until it has found one job more than the page contains, or has examined the given
// number of rows.
func (l *lister) walk(q *Query, most int, position func(*job.Job) store.Cursor, args ...Value) (s stretch, err error) {
	err = l.c.Rows(q, func(r Row) error { return l.take(&s, r, most, position) }, append(args, num(most))...)
	if errors.Is(err, errEnough) {
		return s, nil
	}
	if err == nil {
		err = l.check(&s)
	}
	s.end, s.at = store.Cursor{}, 0 // all rows were read
	return s, err
}

// take examines a row. It returns errEnough when the page is full, or when the cost of the stretch
// has reached the given number.
func (l *lister) take(s *stretch, r Row, most int, position func(*job.Job) store.Cursor) error {
	j := l.scan(r)
	s.rows++
	s.cost++
	s.end = position(&j)
	s.at = cmp.Or(s.end.At, j.CreatedAt)
	l.match(s, &j)
	if s.cost >= most || len(s.unchecked) == causeBatch {
		if err := l.check(s); err != nil {
			return err
		}
	}
	if s.cost >= most || len(s.jobs) > l.limit {
		return errEnough
	}
	return nil
}

// match adds a job to the stretch if the filter selects it. If this depends on its last failure, it
// becomes one of the unchecked jobs.
func (l *lister) match(s *stretch, j *job.Job) {
	if !l.f.Match(j) {
		return
	}
	j.Attrs = nil
	if l.f.ByCause() {
		s.unchecked = append(s.unchecked, *j)
		s.cost += MessageCost
		return
	}
	s.jobs = append(s.jobs, *j)
}

// causeBatch is the number of jobs whose last failures a list reads with one statement.
const causeBatch = 100

// check reads the last failures of the jobs of a stretch that were not checked yet, and keeps the
// jobs whose cause the filter selects.
func (l *lister) check(s *stretch) error {
	if len(s.unchecked) == 0 {
		return nil
	}
	var live, dead []job.ID
	for i := range s.unchecked {
		if j := &s.unchecked[i]; j.State == job.Dead {
			dead = append(dead, j.ID)
		} else {
			live = append(live, j.ID)
		}
	}
	fit := make(map[job.ID]bool, len(s.unchecked))
	read := func(q *Query, ids []job.ID) error {
		if len(ids) == 0 {
			return nil
		}
		return l.c.Rows(q, func(r Row) error {
			fit[job.ID(r.Int(0))] = l.f.MatchCause(r.Text(1), r.Text(2), r.Text(3))
			return nil
		}, idList(ids))
	}
	if err := errors.Join(read(severalCauses, live), read(severalDeadCauses, dead)); err != nil {
		return err
	}
	for _, j := range s.unchecked {
		if fit[j.ID] {
			s.jobs = append(s.jobs, j)
		}
	}
	s.unchecked = s.unchecked[:0]
	return nil
}
