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
		askWalk("walkLive"),
		ask("edgeLive"),
		askWalk("pickedLive"),
	}
	walkedDone = walked{
		askWalk("walkDone"),
		ask("edgeDone"),
		askWalk("pickedDone"),
	}
	walkedDead = walked{
		askWalk("walkDead"),
		ask("edgeDead"),
		askWalk("pickedDead"),
	}
	walkedEnded = walked{
		askWalk("walkEnded"),
		ask("edgeEnded"),
		askWalk("pickedEnded"),
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
