package postgres

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
)

// heads are bounds below which nothing is ready, by lane and priority: what was
// claimed there stays in the index until the server cleans it, which an old
// snapshot anywhere keeps it from doing, and would be walked again by each claim.
// A commit that makes an earlier job ready lowers its bound, wherever it was made;
// what nobody tells of, such as a job that was passed over because another claim
// had locked it and let it go, is found by a look from the beginning. That is what
// every claim does while it is cheap; where it is not, looks are made apart, now and
// then, and no claim waits for them.
//
//	claim takes jobs up to run_at 500        the bound is 500: the next one reads from there
//	a job is enqueued that is due at 700     stays 500
//	a retry makes a job ready, due at 300    told of: the bound is 300
//	another claim rolls back a job of 200    nobody tells: found by the next look
//
// A look from the beginning may take longer than a statement may. After one that
// was ended for that, claims read the last seconds only, and further looks go twice
// as far back each time, until they reach the beginning or are dear again.
type heads struct {
	wanted chan []readyPlace // a look apart that is to be made

	mu      sync.Mutex
	low     map[readyPlace]job.Micros
	floor   job.Micros // from where a place without a bound is read
	apart   bool       // looks are made apart: the last one was dear
	looking bool       // such a look is wanted or under way
	fails   int        // how many of them have taken too long, one after the other
	next    time.Time  // of the next one, by the clock of the process
	soon    time.Time  // of the next one when anything may have changed
	tail    *bulletin
}

// bulletin is what was heard, and after it what was heard next; the last one is
// empty. A claim remembers the one that was the last before it read.
type bulletin struct {
	news news
	next *bulletin
}

func newHeads() heads {
	return heads{wanted: make(chan []readyPlace, 1), low: make(map[readyPlace]job.Micros), floor: earliest, tail: &bulletin{}}
}

const (
	// A look from the beginning is dear when it takes longer than lookCheap and
	// lookRow for each job that it finds.
	lookCheap = 4 * time.Millisecond
	lookRow   = 40 * time.Microsecond
	// lookShare is how many times as long as a dear look took there is none, but at most
	// lookAgain. It may have waited for something else, and it finds what nobody tells of.
	lookShare = 50
	lookAgain = time.Minute
	// lookSoon is the same when anything may have changed.
	lookSoon = 4
	// lookRetry is how long there is none after one that has taken too long; it doubles.
	lookRetry = time.Second
	// lookBack is how far back claims read after a look that failed, at first.
	lookBack = 5 * time.Second

	earliest = job.Micros(-1 << 63)
)

// looks reports whether a claim reads from the beginning.
func (h *heads) looks() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.apart
}

// lookApart asks for a look from the beginning, when it is time for one, at the places
// that it is told of then.
func (h *heads) lookApart(now time.Time, places func() []readyPlace) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.apart || h.looking || now.Before(h.next) {
		return
	}
	if all := places(); len(all) > 0 {
		h.looking = true
		h.wanted <- all // there is room: nobody else is looking
	}
}

// latest returns the place of what is heard next.
func (h *heads) latest() *bulletin {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tail
}

// back returns how far back a look goes.
func (h *heads) back(now job.Micros) job.Micros {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.floor == earliest {
		return earliest
	}
	if at := now - 2*max(now-h.floor, job.Micros(lookBack.Microseconds())); at > 0 {
		return at
	}
	return earliest
}

// from returns where a place is read from: by a look not after back, and else not
// after what is known.
func (h *heads) from(p readyPlace, look bool, back job.Micros) job.Micros {
	h.mu.Lock()
	defer h.mu.Unlock()
	low, ok := h.low[p]
	switch {
	case look && ok:
		return min(low, back)
	case look:
		return back
	case ok:
		return low
	}
	return h.floor
}

// looked says how long a look took that went so far back and found so many jobs.
func (h *heads) looked(end time.Time, took time.Duration, rows int, back job.Micros) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.floor = min(h.floor, back)
	h.looking, h.fails = false, 0
	if h.apart = took > lookCheap+time.Duration(rows)*lookRow; h.apart {
		h.wait(end, took)
	}
}

// wait notes when the next look is due.
func (h *heads) wait(end time.Time, took time.Duration) {
	h.next = end.Add(min(lookShare*took, lookAgain))
	h.soon = end.Add(min(lookSoon*took, lookAgain))
}

// ended says that a look has found out nothing: the server was away, or the like.
func (h *heads) ended(end time.Time, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.looking = false
	h.wait(end, took)
}

// failed says that reading places took too long.
func (h *heads) failed(end time.Time, look bool, now job.Micros, places []*front) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if look {
		h.looking = false
	}
	if look && h.floor != earliest { // back was too far; the floor was not
		h.apart = true
		h.fails++
		h.next = end.Add(min(lookRetry<<min(h.fails-1, 6), lookAgain))
		h.soon = h.next
		return
	}
	h.floor = now.Add(-lookBack)
	if !look {
		for _, p := range places {
			delete(h.low, p.readyPlace)
		}
	}
}

// taken is up to where a claim has taken jobs.
type taken struct {
	since *bulletin // what was heard from there on came after it had read
	up    map[readyPlace]job.Micros
}

// raise notes up to where jobs were taken. What was heard since they were read may
// be before that.
func (h *heads) raise(t taken) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for b := t.since; b != h.tail; b = b.next {
		if b.news.all {
			return
		}
		for place, at := range b.news.ready {
			if up, ok := t.up[place]; ok && at < up {
				t.up[place] = at
			}
		}
	}
	maps.Copy(h.low, t.up)
}

// heard lowers the bounds by what was told. Where anything may have changed, and a
// look is dear, the bounds stay until there was one.
func (h *heads) heard(n news) {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.tail
	h.tail = &bulletin{}
	last.news, last.next = n, h.tail
	if n.all && h.apart {
		if h.soon.Before(h.next) {
			h.next = h.soon
		}
		return
	}
	if n.all {
		clear(h.low)
		return
	}
	for place, at := range n.ready {
		low, ok := h.low[place]
		if !ok {
			low = h.floor
		}
		if at < low {
			h.low[place] = at
		}
	}
}

// freeHeads reads the first job of each place that is due and that no transaction
// under way holds. Such a one stays behind the bound and is found by a later look. No
// job is locked to find out: a claim would pass over it. Of the number of who holds
// it the row has the lower half; under way are those that the snapshot names, and
// those that came after it.
var freeHeads = &sqlstore.Query{Name: "freeHeads"}

// lookAll makes the looks that are wanted, until the store is closed.
func (s *Store) lookAll() {
	ctx, cancel := s.untilClosed()
	defer cancel()
	for {
		select {
		case <-s.closed:
			return
		case places := <-s.hot.heads.wanted:
			s.look(ctx, places)
		}
	}
}

// look sets the bounds of places to their first jobs, as far back as it can.
func (s *Store) look(ctx context.Context, places []readyPlace) {
	h, begun := &s.hot.heads, s.clock.local()
	since := h.latest()
	var now, back job.Micros
	up := make(map[readyPlace]job.Micros, len(places))
	err := s.fast(ctx, func(t *fastTxn) error {
		now, back = t.Now(), h.back(t.Now())
		lanes, priorities, lows := ints(len(places)), ints(len(places)), ints(len(places))
		for _, p := range places {
			lanes.int(p.lane)
			priorities.int(int64(p.priority))
			lows.int(int64(h.from(p, true, back)))
			up[p] = now
		}
		return t.send(step{q: freeHeads, args: []any{lanes, priorities, lows, int64(now), int64(-1 << 63)},
			each: func(r sqlstore.Row) error {
				up[readyPlace{r.Int(0), int8(r.Int(1))}] = job.Micros(r.Int(2))
				return nil
			}})
	})
	end := s.clock.local()
	switch {
	case err == nil:
	case s.tookTooLong(err, end.Sub(begun)):
		s.readTooLong(err, end, true, now, nil)
		return
	default:
		h.ended(end, end.Sub(begun))
		return
	}
	h.raise(taken{since, up})
	s.hasLooked(end, end.Sub(begun), len(places), back)
}

// hasLooked notes a look that went so far back, and tells when all is seen again.
func (s *Store) hasLooked(end time.Time, took time.Duration, rows int, back job.Micros) {
	s.hot.heads.looked(end, took, rows, back)
	if back == earliest {
		s.hot.looking.see(nil)
	}
}

// readTooLong notes that reading places took too long, and tells of it.
func (s *Store) readTooLong(err error, end time.Time, look bool, now job.Micros, places []*front) {
	s.hot.heads.failed(end, look, now, places)
	s.hot.looking.see(err)
}
