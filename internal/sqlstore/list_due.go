package sqlstore

import (
	"cmp"
	"container/heap"
	"encoding/json"
	"math"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A list in the order of due times merges the jobs of all lanes, priorities and states, because
// the index of due times has a separate part for each of these combinations. First, the list
// reads only the due time of the first job in each part. Then it reads the jobs of the parts
// that are due first, a few jobs at a time.
const (
	dueStreams = 64  // maximum number of parts whose first jobs are read by one statement
	dueChunk   = 8   // maximum number of jobs in the first read of a part; each further read of the part reads twice as many
	dueMax     = 800 // maximum number of rows that a page reads if its filter does not select whole lanes
)

var (
	firstDue = ask("firstDue")
	listDue  = ask("listDue")
)

// streamNumber returns the number of a lane, priority and state. The statement listDue computes
// the three values from this number.
func streamNumber(lane, priority, state int64) int64 { return 16*lane + 8*(state-1) + priority }

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
	if l.retryIndex && !l.f.Wants(job.Waiting) {
		return l.retries(from)
	}
	m := dueMerge{lister: l, from: from}
	if err := m.start(); err != nil {
		return store.Page{}, err
	}
	var s stretch
	whole, more := onlyLanes(l.f), true
	for more && len(s.jobs) <= l.limit && (whole || s.cost < dueMax) {
		want := job.PageMax
		if whole {
			want = min(want, l.limit+1-len(s.jobs))
		}
		var next []store.Cursor
		var err error
		if next, more, err = m.take(want); err != nil {
			return store.Page{}, err
		}
		if err := l.examine(&s, next); err != nil {
			return store.Page{}, err
		}
	}
	if !more {
		s.end, s.at = store.Cursor{}, 0
	}
	return l.page([]stretch{s}, dueFirst, byDue), nil
}

// examine reads the live jobs at the given positions, in the order of due times, and adds those
// that the filter selects to the stretch.
func (l *lister) examine(s *stretch, next []store.Cursor) error {
	if len(next) == 0 {
		return nil
	}
	ids := make([]job.ID, len(next))
	for i, at := range next {
		ids[i] = at.ID
	}
	found := make(map[job.ID]job.Job, len(ids))
	if err := l.c.Rows(severalLive, func(r Row) error { j := l.scan(r); found[j.ID] = j; return nil }, idList(ids)); err != nil {
		return err
	}
	for _, at := range next {
		s.cost++
		s.end, s.at = at, at.At
		if j, ok := found[at.ID]; ok {
			l.match(s, &j)
		}
	}
	return l.check(s)
}

// onlyLanes reports whether a filter for a list in the order of due times selects whole lanes,
// that is, all jobs of each selected lane.
func onlyLanes(f *store.Filter) bool {
	return f.Wants(job.Waiting) && f.Wants(job.Retrying) && f.Owner == "" && f.Batch == 0 && f.Worker == "" && f.Correlation == "" &&
		f.Attr == store.Attr{} && f.Created == store.Span{} && !f.ByCause()
}

// dueStream contains the positions of the jobs of one lane, priority and state, in the order of
// their due times.
type dueStream struct {
	number int64          // see streamNumber
	at     store.Cursor   // position of the first job that was not returned yet; before the first read only its time is known
	jobs   []store.Cursor // positions of jobs that were read and not returned yet
	last   store.Cursor   // position of the last job that was read
	chunk  int            // number of jobs of the last read; 0 before the first read
	more   bool           // whether there may be jobs after those that were read
}

// dueMerge is a heap of streams. The stream whose next job is due first is at the top.
type dueMerge struct {
	*lister
	from    store.Cursor
	streams []*dueStream
	unread  []*dueStream // the streams that were not read yet, in the order of their first jobs
	first   int          // number of jobs in the first read of a stream
}

// Len implements heap.Interface.
func (m *dueMerge) Len() int { return len(m.streams) }

// Less implements heap.Interface.
func (m *dueMerge) Less(i, k int) bool { return dueFirst(m.streams[i].at, m.streams[k].at) < 0 }

// Swap implements heap.Interface.
func (m *dueMerge) Swap(i, k int) { m.streams[i], m.streams[k] = m.streams[k], m.streams[i] }

// Push implements heap.Interface. It is never called, because all streams are there at the
// start.
func (*dueMerge) Push(any) {}

// Pop implements heap.Interface.
func (m *dueMerge) Pop() any {
	last := len(m.streams) - 1
	s := m.streams[last]
	m.streams = m.streams[:last]
	return s
}

// start finds the streams that have jobs after the beginning of the page.
func (m *dueMerge) start() error {
	err := m.c.Rows(firstDue, func(r Row) error {
		if at := job.Micros(r.Int(3)); !r.Null(3) {
			m.streams = append(m.streams, &dueStream{number: streamNumber(r.Int(0), r.Int(1), r.Int(2)), at: store.Cursor{At: at}, last: m.from, more: true})
		}
		return nil
	}, num(m.from.At), setText(m.f.Queue), setText(m.f.Kind), m.state())
	slices.SortFunc(m.streams, func(a, b *dueStream) int { return dueFirst(a.at, b.at) }) // a sorted list is a heap
	m.unread, m.first = slices.Clone(m.streams), dueChunk
	if onlyLanes(m.f) && len(m.streams) > 0 { // beside many streams, few jobs of each are in the page
		m.first = min(max(4*m.limit/len(m.streams), 2), dueChunk)
	}
	return err
}

// state returns the only state that the filter selects, or NULL.
func (m *dueMerge) state() Value {
	switch waiting, retrying := m.f.Wants(job.Waiting), m.f.Wants(job.Retrying); {
	case waiting && !retrying:
		return num(job.Waiting)
	case retrying && !waiting:
		return num(job.Retrying)
	}
	return Value{}
}

// take returns the positions of the next jobs, at most the given number. more is false after the last
// position that the filter can select.
func (m *dueMerge) take(want int) (list []store.Cursor, more bool, err error) {
	for len(list) < want {
		at, ok, err := m.next()
		if err != nil || !ok || m.f.Due.Until != 0 && at.At >= m.f.Due.Until {
			return list, false, err
		}
		list = append(list, at)
	}
	return list, true, nil
}

// next returns the position of the next job. ok is false if there are no more jobs.
func (m *dueMerge) next() (at store.Cursor, ok bool, err error) {
	for len(m.streams) > 0 {
		s := m.streams[0]
		if len(s.jobs) == 0 {
			if !s.more {
				heap.Pop(m)
				continue
			}
			if err := m.read(s); err != nil {
				return at, false, err
			}
			heap.Init(m)
			continue
		}
		at = s.jobs[0]
		s.jobs = s.jobs[1:]
		if len(s.jobs) > 0 {
			s.at = s.jobs[0]
		} else {
			s.at = s.last // the next job of the stream comes after the last job that was read
		}
		heap.Fix(m, 0)
		return at, true, nil
	}
	return at, false, nil
}

// read reads the next jobs of a stream. If this is the first read of the stream, read also
// makes the first reads of other streams that come soon.
func (m *dueMerge) read(s *dueStream) error {
	streams := []*dueStream{s}
	if s.chunk == 0 {
		for len(m.unread) > 0 && len(streams) < dueStreams {
			if other := m.unread[0]; other.chunk == 0 && other != s {
				streams = append(streams, other)
			}
			m.unread = m.unread[1:]
		}
	}
	after, chunk := s.last, min(max(m.first, 2*s.chunk), m.limit+1)
	numbers := make([]int64, len(streams))
	read := make(map[int64]*dueStream, len(streams))
	for i, s := range streams {
		numbers[i], read[s.number] = s.number, s
		s.chunk = chunk
	}
	list, err := json.Marshal(numbers)
	if err != nil {
		return err
	}
	err = m.c.Rows(listDue, func(r Row) error {
		s := read[r.Int(0)]
		s.jobs = append(s.jobs, store.Cursor{At: job.Micros(r.Int(2)), ID: job.ID(r.Int(1))})
		return nil
	}, num(after.At), num(after.ID), num(chunk), text(string(list)))
	if err != nil {
		return err
	}
	for _, s := range streams {
		slices.SortFunc(s.jobs, dueFirst)
		if s.more = len(s.jobs) >= chunk; len(s.jobs) > 0 {
			s.at, s.last = s.jobs[0], s.jobs[len(s.jobs)-1]
		}
	}
	return nil
}
