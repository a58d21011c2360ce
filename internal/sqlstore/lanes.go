package sqlstore

import (
	"cmp"
	"fmt"
	"time"

	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
)

// Lane is a combination of queue, kind and dependencies. It has counters of its jobs. Claims
// may take all jobs of an open lane and no job of a closed lane.
type Lane struct {
	id          int64
	queue, kind string
	deps        string
	parked      bool
	counts      [job.Cancelled + 1]int64
}

func (l *Lane) ready() int64 { return l.counts[job.Waiting] + l.counts[job.Retrying] }

// Catalog is the cache of lanes and queues that transactions use. The writer keeps the
// catalogue after a commit of its own. It reads the catalogue again after a rollback and after
// a commit of another process.
type Catalog struct {
	lanes  map[laneKey]*Lane
	byID   map[int64]*Lane
	queues map[string]*queueRow
	rates  map[string]job.Micros
	groups map[string]*groupRow // a cache; the map key is the fingerprint
	// noOlderGroups is a version of fingerprints, such as "2:". A search has found no groups of another
	// version.
	noOlderGroups string
	terms         map[string]int64 // a cache; the map key is the encoded form of the terms, the value is their number
	ended         job.ID           // an upper bound for the ids of ended jobs
	deaths        int64            // the number of the newest death
	rules         *notify.Set      // the rules of notifications in force; nil without rules

	termsByID map[int64]job.Terms // a cache; the map key is the number of the terms

	figures map[FigureKey]*store.Figures // a cache: the stored figures of the current minute and hour
	minute  job.Micros                   // the minute to which figures belongs

	borrowed  bool // whether other catalogues share the lanes and queues, so that they must not be changed
	uncounted bool // whether this catalogue has no counters of lanes
	late      bool // whether the value of the field "ended" was not read yet
}

// Borrow returns a catalogue for one transaction. The new catalogue shares the lanes and
// queues with c.
func (c *Catalog) Borrow() *Catalog {
	return &Catalog{lanes: c.lanes, byID: c.byID, queues: c.queues, rules: c.rules, borrowed: true, uncounted: true, late: true}
}

type laneKey struct{ queue, kind, deps string }

type queueRow struct {
	store.Queue
	lanes []*Lane
}

var (
	selLanes    = ask("selLanes")
	selCounters = ask("selCounters")
	selQueues   = ask("selQueues")
	selRates    = ask("selRates")
	selEnded    = ask("selEnded")
	selDeaths   = ask("selDeaths")
	insLane     = ask("insLane")
	insQueue    = ask("insQueue")
	addCounter  = ask("addCounter")
	setRate     = ask("setRate")
)

// ReadCatalog reads the whole catalogue. This takes longer if there are many other writers;
// see NewCatalog.
func ReadCatalog(s Session) (*Catalog, error) {
	c := &Catalog{
		lanes:  make(map[laneKey]*Lane),
		byID:   make(map[int64]*Lane),
		queues: make(map[string]*queueRow),
	}
	if err := c.readLanes(s); err != nil {
		return nil, err
	}
	err := s.Rows(selCounters, func(r Row) error {
		if l, state := c.byID[r.Int(0)], r.Int(1); l != nil && state >= 0 && state < int64(len(l.counts)) {
			l.counts[state] = r.Int(2)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if c.rates, err = readRates(s); err != nil {
		return nil, err
	}
	ended, err := ReadInt(s, selEnded)
	if err != nil {
		return nil, err
	}
	c.ended = job.ID(ended)
	hash := ""
	err = s.Rows(selDeaths, func(r Row) error { c.deaths, hash = r.Int(0), r.Text(1); return nil })
	if err == nil {
		c.rules, err = readSet(s, hash)
	}
	return c, err
}

// readLanes reads all queues, and those lanes that are not yet in the catalogue.
func (c *Catalog) readLanes(s Session) error {
	if c.borrowed {
		c.lanes, c.byID, c.queues = make(map[laneKey]*Lane), make(map[int64]*Lane), make(map[string]*queueRow)
		c.borrowed = false
	}
	err := s.Rows(selQueues, func(r Row) error {
		q := scanQueue(r)
		if known := c.queues[q.Name]; known != nil {
			known.Queue = q
			return nil
		}
		c.queues[q.Name] = &queueRow{Queue: q}
		return nil
	})
	if err != nil {
		return err
	}
	return s.Rows(selLanes, func(r Row) error {
		l := &Lane{id: r.Int(0), queue: r.Text(1), kind: r.Text(2), deps: r.Text(3), parked: r.Int(4) != 0}
		if known := c.byID[l.id]; known != nil {
			known.parked = l.parked
			return nil
		}
		c.addLane(l)
		return nil
	})
}

func scanQueue(r Row) store.Queue {
	q := store.Queue{Name: r.Text(0), Mode: store.Mode(r.Int(1)), Workers: int(r.Int(2)), Limit: int(r.Int(3))}
	q.Rate.N, q.Rate.Per = int(r.Int(4)), time.Duration(r.Int(5))
	return q
}

func (c *Catalog) addLane(l *Lane) {
	c.lanes[laneKey{l.queue, l.kind, l.deps}] = l
	c.byID[l.id] = l
	if q := c.queues[l.queue]; q != nil {
		q.lanes = append(q.lanes, l)
	}
}

// runningKind returns the number of running jobs of a kind over all queues.
func (c *Catalog) runningKind(kind string) (n int64) {
	for _, l := range c.byID {
		if l.kind == kind {
			n += l.counts[job.Running]
		}
	}
	return n
}

func (q *queueRow) running() (n int64) {
	for _, l := range q.lanes {
		n += l.counts[job.Running]
	}
	return n
}

// laneOf returns the lane with the given id. If the catalogue lacks the lane because another
// writer has made it, laneOf reads the lanes again. If the lane does not exist, laneOf returns
// an empty lane, and the next call of Flush returns the error.
func (t *Txn) laneOf(id int64) *Lane {
	if l := t.cat.byID[id]; l != nil {
		return l
	}
	err := t.cat.readLanes(t.s)
	if l := t.cat.byID[id]; err == nil && l != nil {
		return l
	}
	if err == nil {
		err = fmt.Errorf("lane %d of a job is missing in redrive_lanes: restore the database from a backup: %w",
			id, store.ErrUnavailable)
	}
	t.laneErr = cmp.Or(t.laneErr, err)
	return &Lane{id: id}
}

// lockLanes locks the tables of lanes and queues, so that other transactions cannot make new
// lanes or queues. Then it reads the lanes and queues that other transactions have made. It
// reports whether the database has other writers.
func (t *Txn) lockLanes() (others bool, err error) {
	if t.hooks.LockLanes == nil {
		return false, nil
	}
	if t.lanesLocked {
		return true, nil
	}
	// Dead letters must be locked before lanes. So lock dead letters now, in case they are
	// needed later.
	if !t.noDeadLetters {
		if err := t.lockDeadLetters(); err != nil {
			return true, err
		}
	}
	if err := t.hooks.LockLanes(); err != nil {
		return true, err
	}
	t.lanesLocked = true
	return true, t.cat.readLanes(t.s)
}

// endedUpTo returns an upper bound for the ids of the jobs that have ended.
func (t *Txn) endedUpTo() (job.ID, error) {
	if t.cat.late {
		ended, err := ReadInt(t.s, selEnded)
		if err != nil {
			return 0, err
		}
		t.cat.ended, t.cat.late = job.ID(ended), false
	}
	return t.cat.ended, nil
}

// deadByLane returns how many jobs of each lane are dead.
func (t *Txn) deadByLane() (map[int64]int64, error) {
	dead := make(map[int64]int64)
	if !t.cat.uncounted {
		for id, l := range t.cat.byID {
			dead[id] = l.counts[job.Dead]
		}
		return dead, nil
	}
	err := t.rows(selCounters, func(r Row) error {
		if job.State(r.Int(1)) == job.Dead {
			dead[r.Int(0)] += r.Int(2)
		}
		return nil
	})
	for _, d := range t.deltas {
		if d.state == job.Dead {
			dead[d.lane.id] += d.n
		}
	}
	return dead, err
}

// makeQueue inserts a queue's row if the row does not exist.
func (t *Txn) makeQueue(name string) error {
	if t.cat.queues[name] != nil {
		return nil
	}
	if known, err := t.lockLanes(); err != nil || known && t.cat.queues[name] != nil {
		return err
	}
	if _, err := t.exec(insQueue, text(name)); err != nil {
		return err
	}
	t.cat.queues[name] = &queueRow{Queue: store.Queue{Name: name}}
	return nil
}

// lane returns the lane of a job. If the lane does not exist, it makes the lane.
func (t *Txn) lane(queue, kind, deps string) (*Lane, error) {
	if l := t.cat.lanes[laneKey{queue, kind, deps}]; l != nil {
		return l, nil
	}
	if known, err := t.lockLanes(); err != nil {
		return nil, err
	} else if l := t.cat.lanes[laneKey{queue, kind, deps}]; known && l != nil {
		return l, nil
	}
	if len(t.cat.byID) >= job.LanesMax {
		return nil, tooManyLanes(laneKey{queue, kind, deps})
	}
	if err := t.makeQueue(queue); err != nil {
		return nil, err
	}
	l := &Lane{id: int64(len(t.cat.byID) + 1), queue: queue, kind: kind, deps: deps}
	if _, err := t.exec(insLane, num(l.id), text(queue), text(kind), text(deps)); err != nil {
		return nil, err
	}
	t.cat.addLane(l)
	return l, nil
}

// MakeLane makes the lane of a job if the lane does not exist. Call it in a transaction that
// does nothing else.
func (t *Txn) MakeLane(n *job.New) error {
	t.noDeadLetters = true
	_, err := t.lane(n.Queue, n.Kind, n.Deps)
	return err
}

// selLaneOfRun returns the lane of a run without locking anything. Only a store with other
// writers has an SQL text for this statement.
var selLaneOfRun = ask("selLaneOfRun")

// MakeLaneAfter makes the lane that a job needs after an outcome has moved the job into
// another queue.
func (t *Txn) MakeLaneAfter(o *job.Outcome) error {
	id, err := ReadInt(t.s, selLaneOfRun, num(o.ID), num(o.Token))
	if err != nil || id == 0 {
		return err // if there is no row and no error, the run does not exist, and settle will refuse the outcome
	}
	from := t.laneOf(id)
	return t.MakeLane(&job.New{Queue: o.Queue, Kind: from.kind, Deps: from.deps})
}

func tooManyLanes(k laneKey) error { return storekit.TooManyLanes(k.queue, k.kind, k.deps) }

// readRates returns the states of the rates, by scope: "queue:NAME" or "kind:NAME".
func readRates(s Session) (map[string]job.Micros, error) {
	rates := make(map[string]job.Micros)
	err := s.Rows(selRates, func(r Row) error {
		rates[r.Text(0)] = job.Micros(r.Int(1))
		return nil
	})
	return rates, err
}
