package postgres

import (
	"cmp"
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A claim reads the heads of all lanes and priorities that it may take from by one
// statement, which locks what it reads and passes over what others have locked,
// and writes what it has chosen by another. Every column of the index before
// run_at is fixed for each head, so that jobs that are due later are never walked.
var readyJobs = `SELECT j.*, CASE WHEN j.long = 1 THEN (SELECT octet_length(b.payload) FROM redrive_bodies b WHERE b.job = j.id) END, ` + overtaken + `
	FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS h(lane, priority, low, after, most)
	CROSS JOIN LATERAL (SELECT ` + sqlstore.ReadyColumns + `, ` + writtenBy + ` FROM redrive_jobs
		WHERE lane = h.lane AND priority = h.priority AND state < 3 AND run_at <= $6::bigint AND (run_at, id) > (h.low, h.after)
		ORDER BY run_at, id LIMIT h.most FOR UPDATE SKIP LOCKED) j
	LIMIT $7::bigint`

const (
	sizeColumn      = 30 // of readyJobs, after sqlstore.ReadyColumns and written: of a long payload
	overtakenColumn = 31

	longPayloads = `SELECT job, payload FROM redrive_bodies WHERE job = ANY($1::bigint[])`

	laterJobs = `SELECT h.lane, h.priority, j.run_at, j.id FROM unnest($1::bigint[], $2::bigint[]) AS h(lane, priority)
		CROSS JOIN LATERAL (SELECT run_at, id FROM redrive_jobs
			WHERE lane = h.lane AND priority = h.priority AND state < 3 AND run_at > $3::bigint ORDER BY run_at, id LIMIT 1) j`
	// The rows are locked. Their state is not asked for, because that is what
	// redrive_ready is of: the server has been seen to look for the ids in all of it.
	//
	// Here and in the other statements with arrays of ids, BETWEEN is an equality that
	// no join can sort by. With one, the server walks over all of redrive_jobs_pkey if
	// the table is empty when it plans, and the plan is kept while the table grows.
	claimJobs = `UPDATE redrive_jobs j SET state = 3, token = t.token, lease_until = $1::bigint, claimed_at = $2::bigint,
			holder = $3::text, crash_max = t.crash_max
		FROM unnest($4::bigint[], $5::bigint[], $6::bigint[]) AS t(id, token, crash_max)
		WHERE j.id BETWEEN t.id AND t.id AND j.token = t.token - 1`
)

// heads are bounds below which nothing is ready, by lane and priority: what was
// claimed there stays in the index until the server cleans it, which an old
// snapshot anywhere keeps it from doing, and would be walked again by each claim.
// A commit that makes an earlier job ready lowers its bound, wherever it was made;
// what nobody tells of, such as a job that was passed over because another claim
// had locked it and let it go, is found by a look from the beginning. That is what
// every claim does while it is cheap; where it is not, the next one waits.
//
// A look from the beginning may take longer than a statement may. After one that
// was ended for that, claims read the last seconds only, and further looks go twice
// as far back each time, until they reach the beginning or are dear again.
type heads struct {
	mu    sync.Mutex
	low   map[readyPlace]job.Micros
	floor job.Micros // from where a place without a bound is read
	next  time.Time  // of the next look from the beginning, by the clock of the process
	tail  *bulletin
}

// bulletin is what was heard, and after it what was heard next; the last one is
// empty. A claim remembers the one that was the last before it read.
type bulletin struct {
	news news
	next *bulletin
}

func newHeads() heads {
	return heads{low: make(map[readyPlace]job.Micros), floor: earliest, tail: &bulletin{}}
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
	// lookBack is how far back claims read after a look that failed, at first.
	lookBack = 5 * time.Second

	earliest = job.Micros(-1 << 63)
)

// looks reports whether a claim reads from the beginning.
func (h *heads) looks(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !now.Before(h.next)
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
	if took > lookCheap+time.Duration(rows)*lookRow {
		h.next = end.Add(min(lookShare*took, lookAgain))
	}
}

// failed says that reading places took too long.
func (h *heads) failed(end time.Time, took time.Duration, look bool, now job.Micros, places []*front) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if look && h.floor != earliest { // back was too far; the floor was not
		h.next = end.Add(min(lookShare*took, lookAgain))
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

// heard lowers the bounds by what was told.
func (h *heads) heard(n news) {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.tail
	h.tail = &bulletin{}
	last.news, last.next = n, h.tail
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

// found is a ready job as it was read.
type found struct {
	run   *sqlstore.Run
	claim job.Claim
	size  int // of a long payload, which is read when the job is claimed
}

// front is what was read of one lane and priority.
type front struct {
	readyPlace
	due   []sqlstore.Ready // not handed on yet
	most  int              // that were asked for
	got   int
	read  bool
	later sqlstore.Ready // the first that is due later
}

// source reads ready jobs for a claim. It implements sqlstore.Source.
type source struct {
	s       *Store
	t       *fastTxn
	x       *store.Exchange
	out     *store.Exchanged // the claims of claimed, in their order
	places  []*front         // of the want that is served
	tried   []*front         // of all wants
	byPlace map[readyPlace]*front
	found   map[job.ID]*found
	claimed []*sqlstore.Run
	written int  // of claimed
	rows    int  // of the last statement
	look    bool // from the beginning
	since   *bulletin
}

var _ sqlstore.Source = (*source)(nil)

// Lanes implements sqlstore.Source.
func (c *source) Lanes(lanes []int64, most int) error {
	sqlstore.Leased(c.s.core, c.x.Lease)
	c.places, c.byPlace = nil, make(map[readyPlace]*front, 4*len(lanes))
	if len(lanes) == 0 || most <= 0 {
		return nil
	}
	each := most
	if n := len(lanes); n > 1 {
		each = min(most, 2*most/n+1)
	}
	slices.Sort(lanes)
	// An earlier want may have taken from these lanes, too: what is not written yet
	// would be read again.
	if slices.ContainsFunc(c.claimed[c.written:], func(r *sqlstore.Run) bool { return slices.Contains(lanes, r.Lane()) }) {
		if err := c.write(); err != nil {
			return err
		}
	}
	for p := int8(job.PriorityMin); p <= job.PriorityMax; p++ {
		for _, lane := range lanes {
			at := &front{readyPlace: readyPlace{lane, p}, most: each}
			c.places = append(c.places, at)
			c.byPlace[at.readyPlace] = at
		}
	}
	c.tried = append(c.tried, c.places...)
	// With one lane the order of the places is the order of claims, and the
	// statement can end with the number that is wanted. With more of them all of a
	// priority are needed; what is beyond comes when it is asked for.
	limit := most
	if len(lanes) > 1 {
		limit = each * len(lanes)
	}
	return c.seek(c.places, nil, limit, true)
}

// seek reads the heads of places, and where asked for when their next jobs are
// due.
func (c *source) seek(places []*front, after *sqlstore.Ready, limit int, later bool) error {
	n := len(places)
	lanes, priorities, lows, ids, most := ints(n), ints(n), ints(n), ints(n), ints(n)
	now, h := c.t.Now(), &c.s.hot.heads
	if c.since == nil {
		c.since = h.latest()
	}
	look, back := c.look && after == nil, h.back(now)
	for _, p := range places {
		lanes.int(p.lane)
		priorities.int(int64(p.priority))
		most.int(int64(p.most))
		switch {
		case after != nil:
			lows.int(int64(after.At))
			ids.int(int64(after.ID))
		default:
			lows.int(int64(h.from(p.readyPlace, look, back)))
			ids.int(-1 << 63)
		}
		p.got = 0
	}
	c.rows = 0
	var last *front
	steps := []step{{name: "readyJobs", text: readyJobs, args: []any{lanes, priorities, lows, ids, most, int64(now), int64(limit)},
		each: func(r sqlstore.Row) error {
			if r.Int(overtakenColumn) != 0 {
				return errOvertaken
			}
			run, claim := c.t.ScanReady(r)
			last = c.byPlace[readyPlace{run.Lane(), run.Priority()}]
			last.due = append(last.due, sqlstore.Ready{At: claim.RunAt, ID: run.ID()})
			last.got++
			c.rows++
			c.found[run.ID()] = &found{run, claim, int(r.Int(sizeColumn))}
			return nil
		}}}
	if later {
		steps = append(steps, step{name: "laterJobs", text: laterJobs, args: []any{lanes, priorities, int64(now)},
			each: func(r sqlstore.Row) error {
				p := c.byPlace[readyPlace{r.Int(0), int8(r.Int(1))}]
				p.later = sqlstore.Ready{At: job.Micros(r.Int(2)), ID: job.ID(r.Int(3))}
				return nil
			}})
	}
	begun := c.s.clock.local()
	err := c.t.send(steps...)
	end := c.s.clock.local()
	switch took := end.Sub(begun); {
	case err != nil && after == nil && tookTooLong(err):
		h.failed(end, took, look, now, places)
	case err == nil && look:
		h.looked(end, took, c.rows, back)
	}
	if err != nil {
		return err
	}
	for _, p := range places {
		if c.rows == limit && last != nil && last != p && !p.read && p.got == 0 && behind(places, last, p) {
			continue // the statement ended before it
		}
		p.read = true
	}
	if c.rows == limit && last != nil {
		last.got = max(last.got, last.most) // it may have been cut
	}
	return nil
}

func behind(places []*front, a, b *front) bool {
	return slices.Index(places, b) > slices.Index(places, a)
}

// tookTooLong reports whether a statement was ended by its limit, or by that of the
// caller.
func tookTooLong(err error) bool {
	if sqlstate(err) == stateCanceled {
		return true
	}
	late, ok := errors.AsType[net.Error](err)
	return ok && late.Timeout()
}

// Next implements sqlstore.Source.
func (c *source) Next(lane int64, priority int, last sqlstore.Ready, n int) (jobs []sqlstore.Ready, more bool, err error) {
	p := c.byPlace[readyPlace{lane, int8(priority)}]
	if p == nil {
		return nil, false, nil
	}
	if !p.read {
		if err := c.seek([]*front{p}, nil, p.most, false); err != nil {
			return nil, false, err
		}
	}
	if len(p.due) == 0 && p.got >= p.most {
		p.most = max(p.most, n) // it has more than its share
		if err := c.seek([]*front{p}, &last, p.most, false); err != nil {
			return nil, false, err
		}
	}
	full := p.got >= p.most
	if len(p.due) >= n {
		jobs, p.due = p.due[:n:n], p.due[n:]
		return jobs, true, nil
	}
	jobs, p.due = p.due, nil
	if full {
		return jobs, true, nil
	}
	if p.later.ID != 0 {
		jobs = append(jobs, p.later)
	}
	return jobs, false, nil
}

// Take implements sqlstore.Source.
func (c *source) Take(id job.ID) (*sqlstore.Run, *job.Claim, int, error) {
	f := c.found[id]
	if f == nil {
		return nil, nil, 0, nil
	}
	delete(c.found, id)
	return f.run, &f.claim, f.size, nil
}

// Claimed implements sqlstore.Source.
func (c *source) Claimed(r *sqlstore.Run) { c.claimed = append(c.claimed, r) }

// taken returns up to where the claims have gone, by place. They are in the order
// of each place.
func (c *source) taken(claims []job.Claim) taken {
	up := make(map[readyPlace]job.Micros)
	for i, r := range c.claimed {
		up[readyPlace{r.Lane(), r.Priority()}] = claims[i].RunAt
	}
	return taken{c.since, up}
}

// write writes the claims that are not written yet, and sends more after them.
func (c *source) write(more ...step) error {
	if c.written == len(c.claimed) {
		if len(more) == 0 {
			return nil
		}
		return c.t.send(more...)
	}
	byID := slices.SortedFunc(slices.Values(c.claimed[c.written:]), func(a, b *sqlstore.Run) int { return cmp.Compare(a.ID(), b.ID()) })
	ids, tokens, crashes := ints(len(byID)), ints(len(byID)), ints(len(byID))
	for _, r := range byID {
		ids.int(int64(r.ID()))
		tokens.int(int64(r.Token()))
		crashes.int(int64(r.CrashMax()))
	}
	n := 0
	steps := []step{{name: "claimJobs", text: claimJobs, n: &n,
		args: []any{int64(c.t.Now().Add(c.x.Lease)), int64(c.t.Now()), c.x.Holder, ids, tokens, crashes}}}
	err := c.t.send(slices.Concat(steps, c.payloads(), more)...)
	if err == nil && n != len(byID) {
		err = errTaken(len(byID), n)
	}
	c.written = len(c.claimed)
	return err
}

// payloads reads the long payloads of the claims that are not written yet.
func (c *source) payloads() []step {
	long := make(map[job.ID]*job.Claim)
	for i, r := range c.claimed[c.written:] {
		if r.Long() {
			long[r.ID()] = &c.out.Claims[c.written+i]
		}
	}
	if len(long) == 0 {
		return nil
	}
	ids := ints(len(long))
	for _, id := range slices.Sorted(maps.Keys(long)) {
		ids.int(int64(id))
	}
	return []step{{name: "longPayloads", text: longPayloads, args: []any{ids}, each: func(r sqlstore.Row) error {
		long[job.ID(r.Int(0))].Payload = r.Blob(1)
		return nil
	}}}
}

type takenError string

func (e takenError) Error() string { return string(e) }

// errTaken tells of claims whose rows were locked and have changed all the same.
func errTaken(want, got int) error {
	return takenError(strconv.Itoa(want) + " jobs were locked for a claim, and " + strconv.Itoa(got) + " written")
}
