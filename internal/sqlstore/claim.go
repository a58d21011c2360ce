package sqlstore

import (
	"cmp"
	"errors"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// These statements search for the ready jobs of a claim. Each index column before run_at is
// compared with one value, so SQLite stops at the first row that is due later, and the caller
// stops reading when it has enough rows. LIMIT is not a bound value, because SQLite would then
// compile the statement again for each search. After ANALYZE, SQLite would also compile it
// again for other bound values; the plus signs before them prevent this.
var seekReady = askWalk("seekReady")

// claimer claims the jobs that one exchange asks for.
type claimer struct {
	t       *Txn
	holder  string
	until   job.Micros // time at which the leases of the new claims end
	out     *store.Exchanged
	cursors []laneCursor
	left    []left
	source  Source // reads the ready jobs; if nil, seekReady and the statements of take.go read them
	bytes   int    // bytes of the payloads that were claimed so far
	passed  int    // number of jobs past their deadline that could not be ended, because another transaction has locked dead letters

	// These fields belong to the job that c.take reads. They are kept between jobs to save
	// allocations.
	run            *Run
	next           job.Claim
	size           int // size of the payload in bytes; used when the payload is read later
	scan, scanBody func(Row) error
}

// laneCursor is the reading position in the ready jobs of one lane and priority. Without a Source,
// a cursor reads only waiting or only retrying jobs.
type laneCursor struct {
	lane  *Lane
	state job.State // the state of the jobs; job.None with a Source
	room  *kindRoom
	due   []Ready // jobs that were read but not taken yet, in the order of their due times
	last  Ready   // the last row that was read; the next read continues after this row
	more  bool    // whether the lane may have more due rows after last
}

// Ready is the position of a job among the ready jobs of its lane and priority.
type Ready struct {
	At job.Micros
	ID job.ID
}

func (a Ready) compare(b Ready) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID))
}

// Source reads ready jobs for a claim. Stores that read and write many jobs with one statement
// implement it.
type Source interface {
	// Lanes sets the lanes from which the next want may take jobs, and the maximum
	// number of jobs.
	Lanes(lanes []int64, most int) error
	// Next returns at most n due jobs of a lane and priority, beginning after the given position.
	// If there are fewer than n due jobs, it adds the first job that is due later. The second
	// result says whether there may be further due jobs.
	Next(lane int64, priority int, after Ready, n int) (jobs []Ready, more bool, err error)
	// Take returns a job that Next has returned. If the claim has yet to read the payload, the
	// third result is the payload's size in bytes. Take returns nil if another process has taken
	// the job.
	Take(id job.ID) (r *Run, c *job.Claim, size int, err error)
	// The claim calls Claimed for each job that it claims; r contains the token, the holder and
	// the crash limit of the claim.
	Claimed(r *Run)
}

// claim claims jobs for one want.
func (c *claimer) claim(w *store.Want, kinds map[string]*kindRoom) error {
	t := c.t
	q := t.cat.queues[w.Queue]
	if q == nil || q.Mode == store.Paused || w.Max <= 0 {
		return nil
	}
	limit, rate := w.Limit, w.Rate
	if q.Limit != 0 {
		limit = q.Limit
	}
	if !q.Rate.Unlimited() {
		rate = q.Rate
	}
	all := t.room(store.KindWant{Max: w.Max}, "queue:"+w.Queue, limit, rate, q.running())
	c.left = c.left[:0]
	if c.source != nil {
		if err := c.source.Lanes(c.lanes(q, kinds), all.max); err != nil {
			return err
		}
	}
	for p := job.PriorityMin; p <= job.PriorityMax && !c.enough(); p++ {
		if err := c.open(q, p, kinds, all); err != nil {
			return err
		}
		if err := c.merge(p, all); err != nil {
			return err
		}
		if err := c.rest(p, all); err != nil {
			return err
		}
	}
	if err := c.charge(all); err != nil {
		return err
	}
	if all.max <= 0 || c.full() {
		c.out.Full = true
		return nil
	}
	if c.passed > 0 {
		c.out.NextDue = min(c.out.NextDue, passedAgain)
	}
	for _, l := range c.left {
		if at, ok := l.due(t.now, all); ok {
			c.out.NextDue = min(c.out.NextDue, max(0, at.Sub(t.now)))
		}
	}
	return nil
}

// takes returns the room for further jobs of the lane's kind, or nil if the claim may take no job
// from the lane.
func (c *claimer) takes(l *Lane, kinds map[string]*kindRoom) *kindRoom {
	room := kinds[l.kind]
	if room == nil || l.parked || room.want.Max <= 0 || c.source == nil && l.ready() == 0 {
		return nil
	}
	return room
}

func (c *claimer) lanes(q *queueRow, kinds map[string]*kindRoom) (ids []int64) {
	for _, l := range q.lanes {
		if c.takes(l, kinds) != nil {
			ids = append(ids, l.id)
		}
	}
	return ids
}

// open reads the first ready jobs of each lane from which the want may take jobs.
func (c *claimer) open(q *queueRow, priority int, kinds map[string]*kindRoom, all *kindRoom) error {
	c.cursors = c.cursors[:0]
	for _, l := range q.lanes {
		room := c.takes(l, kinds)
		switch {
		case room == nil:
		case c.source != nil:
			c.cursors = append(c.cursors, laneCursor{lane: l, room: room, more: true})
		default:
			for _, s := range [...]job.State{job.Waiting, job.Retrying} {
				if l.counts[s] > 0 {
					c.cursors = append(c.cursors, laneCursor{lane: l, state: s, room: room, more: true})
				}
			}
		}
	}
	found := 0
	for i := range c.cursors {
		chunk := min(all.max, c.cursors[i].room.max)
		if n := len(c.cursors); n > 1 {
			chunk = min(chunk, 2*chunk/n+4)
		}
		if err := c.read(&c.cursors[i], priority, chunk); err != nil {
			return err
		}
		found += len(c.cursors[i].due)
	}
	c.out.Claims = slices.Grow(c.out.Claims, max(0, min(found, all.max)))
	return nil
}

// errEnough ends the reading of rows early. It is not returned to callers of the store.
var errEnough = errors.New("enough")

// read reads at most n further due rows of a cursor. If there are fewer, it also reads the
// first row that is due later, because the caller needs the due time of that row.
func (c *claimer) read(h *laneCursor, priority, n int) error {
	h.due, h.more = h.due[:0], false
	n = max(n, 1)
	if c.source != nil {
		jobs, more, err := c.source.Next(h.lane.id, priority, h.last, n)
		if h.due, h.more = jobs, more; len(jobs) > 0 {
			h.last = jobs[len(jobs)-1]
		}
		return err
	}
	err := c.t.rows(seekReady, func(r Row) error {
		h.last = Ready{job.Micros(r.Int(0)), job.ID(r.Int(1))}
		h.due = append(h.due, h.last)
		h.more = len(h.due) == n && h.last.At <= c.t.now
		if h.more || h.last.At > c.t.now {
			return errEnough
		}
		return nil
	}, num(h.lane.id), num(priority), num(h.last.At), num(h.last.ID), num(h.state))
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// enough reports whether the exchange must stop claiming jobs, for whatever reason.
func (c *claimer) enough() bool { return c.full() || c.passed >= passedMax }

// full reports whether the exchange must stop claiming because it has reached a limit.
func (c *claimer) full() bool {
	return len(c.out.Expired) >= store.ExpiredMax || c.bytes >= store.ClaimBytes
}

// merge takes due jobs from all cursors, in the order of their due times.
func (c *claimer) merge(priority int, all *kindRoom) error {
	for all.open() && !c.enough() {
		best := -1
		for i := range c.cursors {
			h := &c.cursors[i]
			if len(h.due) == 0 && h.more {
				if err := c.read(h, priority, max(min(all.max, h.room.max), c.passed)); err != nil {
					return err
				}
			}
			if len(h.due) == 0 || h.due[0].At > c.t.now || !h.room.open() {
				continue
			}
			if best < 0 || h.due[0].compare(c.cursors[best].due[0]) < 0 {
				best = i
			}
		}
		if best < 0 {
			return nil
		}
		h := &c.cursors[best]
		id := h.due[0].ID
		h.due = h.due[1:]
		taken, err := c.take(id, h.room)
		if err != nil {
			return err
		}
		if taken {
			h.room.take()
			all.take()
		}
	}
	return nil
}

// rest records the first unclaimed row of each lane. NextDue is computed from these rows. A lane may
// have two cursors, one after the other; only the earlier of their rows counts.
func (c *claimer) rest(priority int, all *kindRoom) error {
	if all.max <= 0 {
		return nil
	}
	var last *Lane // the lane of the last row
	for i := range c.cursors {
		h := &c.cursors[i]
		if len(h.due) == 0 && h.more {
			if err := c.read(h, priority, 1); err != nil {
				return err
			}
		}
		if len(h.due) == 0 {
			continue
		}
		if h.lane != last {
			c.left = append(c.left, left{h.due[0].At, h.room})
			last = h.lane
		} else if l := &c.left[len(c.left)-1]; h.due[0].At < l.at {
			l.at = h.due[0].At
		}
	}
	return nil
}

// exchange first writes the outcomes of an exchange and then claims new jobs.
func (t *Txn) exchange(x *store.Exchange) (store.Exchanged, error) {
	out := store.Exchanged{Settled: make([]error, len(x.Settle)), NextDue: store.Never}
	for i := range x.Settle {
		own, err := t.settle(&x.Settle[i])
		if err != nil {
			return store.Exchanged{}, err
		}
		out.Settled[i] = own
		if t.cancelled {
			out.Cancelled = append(out.Cancelled, i)
		}
	}
	return out, t.claimAll(x, &out, nil)
}

// claimAll claims jobs for all wants.
func (t *Txn) claimAll(x *store.Exchange, out *store.Exchanged, source Source) error {
	c := claimer{t: t, holder: x.Holder, until: t.now.Add(x.Lease), out: out, source: source}
	c.scan, c.scanBody = c.scanRow, c.scanLong
	for i := range x.Want {
		if err := c.serve(&x.Want[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *claimer) serve(w *store.Want) error {
	kinds := make(map[string]*kindRoom, len(w.Kinds))
	for _, k := range w.Kinds {
		running := int64(0)
		if k.Limit > 0 {
			running = c.t.cat.runningKind(k.Kind)
		}
		kinds[k.Kind] = c.t.room(k, "kind:"+k.Kind, k.Limit, k.Rate, running)
	}
	if err := c.claim(w, kinds); err != nil {
		return err
	}
	for _, k := range kinds {
		if err := c.charge(k); err != nil {
			return err
		}
	}
	return nil
}
