package postgres

import (
	"github.com/redrive/redrive/store/postgres/internal/claims"

	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"cmp"
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A claim reads the heads of all lanes and priorities that it may take from by one
// statement, which locks what it reads and passes over what others have locked,
// and writes what it has chosen by another. Every column of the index before
// run_at is fixed for each head, so that jobs that are due later are never walked.
var readyJobs = &sqlstore.Query{Name: "readyJobs"}

const (
	sizeColumn      = 32 // of readyJobs, after sqlstore.ReadyColumns and written: of a long payload
	overtakenColumn = 33
)

var (
	longPayloads = &sqlstore.Query{Name: "longPayloads"}
	laterJobs    = &sqlstore.Query{Name: "laterJobs"}
	claimJobs    = &sqlstore.Query{Name: "claimJobs"}
)

// found is a ready job as it was read.
type found struct {
	run   *sqlstore.Run
	claim job.Claim
	size  int // of a long payload, which is read when the job is claimed
}

// front is what was read of one lane and priority.
type front struct {
	claims.Place
	due   []sqlstore.Ready // not handed on yet
	most  int              // that were asked for
	got   int
	low   job.Micros // from where it was read
	cut   bool       // there may be more than the statement could return
	read  bool
	later sqlstore.Ready // the first that is due later
	index int            // in the places of the want
}

// more reports whether there may be more that is due than was read.
func (p *front) more() bool { return p.cut || p.got >= p.most }

// source reads ready jobs for a claim. It implements sqlstore.Source.
type source struct {
	s       *Store
	t       *fastTxn
	x       *store.Exchange
	out     *store.Exchanged // the claims of claimed, in their order
	places  []*front         // of the want that is served
	tried   []*front         // of all wants
	byPlace map[claims.Place]*front
	found   map[job.ID]*found
	claimed []*sqlstore.Run
	written int    // of claimed
	rows    int    // of the last statement
	last    *front // of its last row
	look    bool   // from the beginning
	since   *claims.NoticeList
	patient bool          // it waits for locks for a short time only
	slow    bool          // reading has taken too long; the bounds know of it
	took    time.Duration // of the looks for all wants
	looked  int           // jobs that they have found
}

var _ sqlstore.Source = (*source)(nil)

// Lanes implements sqlstore.Source.
func (c *source) Lanes(lanes []int64, most int) error {
	sqlstore.NoteLease(c.s.core, c.x.Lease)
	c.places, c.byPlace = nil, make(map[claims.Place]*front, 4*len(lanes))
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
			at := &front{Place: claims.Place{Lane: lane, Priority: p}, most: each, index: len(c.places), low: 1<<63 - 1}
			c.places = append(c.places, at)
			c.byPlace[at.Place] = at
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

// seek reads the heads of places, from after where that is given, and where asked for
// when their next jobs are due.
func (c *source) seek(places []*front, after *sqlstore.Ready, limit int, later bool) error {
	if c.since == nil {
		c.since = c.s.hot.cursors.Latest()
	}
	now, h := c.t.Now(), c.s.hot.cursors
	look, back := c.look && after == nil, h.ScanFrom(now)
	c.rows, c.last = 0, nil
	steps := []pg.Step{c.ready(places, limit, func(p *front) sqlstore.Ready {
		if after != nil {
			return *after
		}
		return sqlstore.Ready{At: h.From(p.Place, look, back), ID: -1 << 63}
	})}
	if later {
		steps = append(steps, c.later(places))
	}
	if !c.patient {
		// A lock on the table is not an index that takes long to read.
		steps = append([]pg.Step{limitLocks(c.s.lockWait())}, steps...)
		c.patient = true
	}
	begun := c.s.clock.local()
	err := c.t.send(steps...)
	end := c.s.clock.local()
	switch took := end.Sub(begun); {
	case err != nil && after == nil && c.s.tookTooLong(err, took):
		c.s.readTooLong(err, end, look, now, places)
		c.slow = true
	case err == nil && look:
		c.took += took
		c.looked += c.rows
		c.s.hasLooked(end, c.took, c.looked, back)
	}
	if err == nil {
		c.mark(places, limit)
	}
	return err
}

// ready is the step that reads and locks the heads of places, each from a place on.
func (c *source) ready(places []*front, limit int, from func(*front) sqlstore.Ready) pg.Step {
	n := len(places)
	lanes, priorities, lows, ids, most := pg.Ints(n), pg.Ints(n), pg.Ints(n), pg.Ints(n), pg.Ints(n)
	for _, p := range places {
		low := from(p)
		lanes.Int(p.Lane)
		priorities.Int(int64(p.Priority))
		lows.Int(int64(low.At))
		ids.Int(int64(low.ID))
		most.Int(int64(p.most))
		p.got, p.cut = 0, false
		p.low = min(p.low, low.At)
	}
	return pg.Step{Q: readyJobs, Args: []any{lanes, priorities, lows, ids, most, int64(c.t.Now()), int64(limit)},
		Each: func(r sqlstore.Row) error {
			if r.Int(overtakenColumn) != 0 {
				return pg.ErrOvertaken
			}
			run, claim := c.t.ScanReady(r)
			c.last = c.byPlace[claims.Place{Lane: run.Lane(), Priority: run.Priority()}]
			c.last.due = append(c.last.due, sqlstore.Ready{At: claim.RunAt, ID: run.ID()})
			c.last.got++
			c.rows++
			c.found[run.ID()] = &found{run, claim, int(r.Int(sizeColumn))}
			return nil
		}}
}

// later is the step that reads when the next jobs of places are due.
func (c *source) later(places []*front) pg.Step {
	lanes, priorities := pg.Ints(len(places)), pg.Ints(len(places))
	for _, p := range places {
		lanes.Int(p.Lane)
		priorities.Int(int64(p.Priority))
	}
	return pg.Step{Q: laterJobs, Args: []any{lanes, priorities, int64(c.t.Now())},
		Each: func(r sqlstore.Row) error {
			p := c.byPlace[claims.Place{Lane: r.Int(0), Priority: int8(r.Int(1))}]
			p.later = sqlstore.Ready{At: job.Micros(r.Int(2)), ID: job.ID(r.Int(3))}
			return nil
		}}
}

// mark notes which places were read. A statement that has returned as much as it
// may has come to the place of its last row and not beyond it.
func (c *source) mark(places []*front, limit int) {
	full := c.rows == limit && c.last != nil
	if full {
		c.last.cut = true
	}
	for _, p := range places {
		if !full || p.index <= c.last.index || p.got > 0 {
			p.read = true
		}
	}
}

// tookTooLong reports whether a statement was ended by its limit, or by that of the
// caller. One that somebody has cancelled, or that has waited for a lock, was not.
func (s *Store) tookTooLong(err error, took time.Duration) bool {
	if pg.SQLState(err) == pg.StateCanceled {
		return took >= s.options.StatementTimeout*9/10
	}
	late, ok := errors.AsType[net.Error](err)
	return ok && late.Timeout()
}

// Next implements sqlstore.Source.
func (c *source) Next(lane int64, priority int, last sqlstore.Ready, n int) (jobs []sqlstore.Ready, more bool, err error) {
	p := c.byPlace[claims.Place{Lane: lane, Priority: int8(priority)}]
	if p == nil {
		return nil, false, nil
	}
	if !p.read {
		if err := c.seek([]*front{p}, nil, p.most, false); err != nil {
			return nil, false, err
		}
	}
	if len(p.due) == 0 && p.more() {
		p.most = max(p.most, n) // it has more than its share
		if err := c.seek([]*front{p}, &last, p.most, false); err != nil {
			return nil, false, err
		}
	}
	more = p.more()
	if len(p.due) >= n {
		jobs, p.due = p.due[:n:n], p.due[n:]
		return jobs, true, nil
	}
	jobs, p.due = p.due, nil
	if more {
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

// readFrom is from where each place was read.
func (c *source) readFrom() claims.Notice {
	n := claims.Notice{Ready: make(map[claims.Place]job.Micros)}
	for _, p := range c.tried {
		n.Ready[p.Place] = p.low
	}
	return n
}

// left is where jobs are that the claim has held and not taken: a look may have gone
// past them meanwhile.
func (c *source) left() claims.Notice {
	n := claims.Notice{Ready: make(map[claims.Place]job.Micros)}
	for _, f := range c.found {
		p := claims.Place{Lane: f.run.Lane(), Priority: f.run.Priority()}
		if at, ok := n.Ready[p]; !ok || f.claim.RunAt < at {
			n.Ready[p] = f.claim.RunAt
		}
	}
	return n
}

// seen returns the places of all wants.
func (c *source) seen() []claims.Place { return placesOf(c.tried) }

func placesOf(fronts []*front) []claims.Place {
	all := make([]claims.Place, len(fronts))
	for i, p := range fronts {
		all[i] = p.Place
	}
	return all
}

// taken returns up to where the claims have gone, by place. They are in the order
// of each place.
func (c *source) taken(got []job.Claim) claims.Taken {
	up := make(map[claims.Place]job.Micros)
	for i, r := range c.claimed {
		up[claims.Place{Lane: r.Lane(), Priority: r.Priority()}] = got[i].RunAt
	}
	return claims.Taken{Since: c.since, Up: up}
}

// write writes the claims that are not written yet, and sends more after them.
func (c *source) write(more ...pg.Step) error {
	if c.written == len(c.claimed) {
		if len(more) == 0 {
			return nil
		}
		return c.t.send(more...)
	}
	byID := slices.SortedFunc(slices.Values(c.claimed[c.written:]), func(a, b *sqlstore.Run) int { return cmp.Compare(a.ID(), b.ID()) })
	ids, tokens, crashes, terms := pg.Ints(len(byID)), pg.Ints(len(byID)), pg.Ints(len(byID)), pg.Ints(len(byID))
	for _, r := range byID {
		ids.Int(int64(r.ID()))
		tokens.Int(int64(r.Token()))
		crashes.Int(int64(r.MaxCrashes()))
		terms.SetInt(r.Terms())
	}
	n := 0
	steps := []pg.Step{{Q: claimJobs, N: &n,
		Args: []any{int64(c.t.Now().Add(c.x.Lease)), int64(c.t.Now()), c.x.Holder, ids, tokens, crashes, terms}}}
	err := c.t.send(slices.Concat(steps, c.payloads(), more)...)
	if err == nil && n != len(byID) {
		err = errTaken(len(byID), n)
	}
	c.written = len(c.claimed)
	return err
}

// payloads reads the long payloads of the claims that are not written yet.
func (c *source) payloads() []pg.Step {
	long := make(map[job.ID]*job.Claim)
	for i, r := range c.claimed[c.written:] {
		if r.Long() {
			long[r.ID()] = &c.out.Claims[c.written+i]
		}
	}
	if len(long) == 0 {
		return nil
	}
	ids := pg.Ints(len(long))
	for _, id := range slices.Sorted(maps.Keys(long)) {
		ids.Int(int64(id))
	}
	return []pg.Step{{Q: longPayloads, Args: []any{ids}, Each: func(r sqlstore.Row) error {
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
