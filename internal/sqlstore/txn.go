package sqlstore

import (
	"errors"
	"fmt"
	"slices"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Txn is one transaction's view of the store: the statements run in a session,
// what they change in counters and events is gathered and written once, by
// flush, however many jobs it was.
type Txn struct {
	s     Session
	hooks Hooks
	held  bool // LockDeadLetters was called

	settled   bool // LockLanes was called
	graveless bool // LockDeadLetters will not be called
	rests     bool // see Rests

	now    job.Micros
	cat    *Catalog
	args   []Value
	packed []byte // for the next failure record

	events event.Packer
	deltas []delta
	batch  []batchDelta
	groups tally[int64, groupDelta] // by number of the group
	dead   tally[deadKey, int64]    // dead letters
	hour   store.Hour               // what this transaction adds to the present one

	redrives tally[int64, redriveDelta]
	readied  []Readied

	laneless error // a lane was not found, see laneOf

	mine  map[job.ID]*Run // claimed by this process; nil in a caller's own transaction
	wrote bool            // something was changed, so there is something to commit
	wake  bool            // jobs may have become ready beside readied, or signals have changed
}

type delta struct {
	lane  *Lane
	state job.State
	n     int64
}

type batchDelta struct {
	id, total int64
	endings
}

// endings are jobs that have ended, by how.
type endings struct{ completed, dead, cancelled int64 }

// endingIn returns one job that goes to a state, nothing unless it ends there.
func endingIn(to job.State) (e endings) {
	switch to {
	case job.Completed:
		e.completed = 1
	case job.Dead:
		e.dead = 1
	case job.Cancelled:
		e.cancelled = 1
	case job.None, job.Waiting, job.Retrying, job.Running:
	}
	return e
}

func (e *endings) add(more endings) {
	e.completed += more.completed
	e.dead += more.dead
	e.cancelled += more.cancelled
}

// Hooks are what a store does that shares its database with other writers. The
// zero value is for one that is alone while it writes.
type Hooks struct {
	// LockDeadLetters waits until no other transaction writes dead letters, groups or
	// redrives, and keeps the others out until the end of this one. Whoever needs live
	// jobs takes these first, in the order of their ids.
	LockDeadLetters func() error
	// TryGraves is LockDeadLetters that waits for nobody: ok is false where others have
	// them. Whoever holds what others need uses it.
	TryGraves func() (ok bool, err error)
	// LockLanes does the same for new lanes, queues and the settings of queues. The
	// graves come before it, where a transaction needs both.
	LockLanes func() error
	// LockName does the same for what has a name of its own. It comes before the lanes,
	// and nobody who has one needs the graves.
	LockName func(name string) error
	// LockJobs waits until no other transaction writes live jobs, which are sorted by
	// their ids, keeps the others out until the end of this one, and calls graves when
	// one of the jobs was brought back: its end is noted there. Jobs that have come to
	// life before that returned are an ErrAgain.
	LockJobs func(ids []job.ID, graves func() error) error
	// Record writes the events of a transaction with what it has changed in the
	// counters of jobs, in batches and in the figures of the hour. It is there where
	// other writers are.
	Record func(*Txn) error
	// Remover is for sweeps; without it they remove row by row.
	Remover Remover
}

// NewTxn returns what transactions over a session are made with, one after the
// other. Remembers says that it keeps the runs that it claims, see recall: then
// it must be the only one of its process.
func NewTxn(s Session, remembers bool, hooks Hooks) *Txn {
	t := &Txn{s: s, hooks: hooks}
	if remembers {
		t.mine = make(map[job.ID]*Run)
	}
	return t
}

// shared reports whether others write to the database at the same time.
func (t *Txn) shared() bool { return t.hooks.Record != nil }

// Session returns the session of the transaction.
func (t *Txn) Session() Session { return t.s }

// Rests reports whether an answer rests on what an earlier transaction has written:
// it says that what was asked for is done. What an error rests on does not count.
func (t *Txn) Rests() bool { return t.rests }

// Now returns the time of the transaction.
func (t *Txn) Now() job.Micros { return t.now }

// Wrote reports whether a part of the transaction has changed something since it
// was begun by Part.
func (t *Txn) Wrote() bool { return t.wrote }

// Part begins the part of one caller in a transaction that several share.
func (t *Txn) Part() { t.wrote = false }

// Wakes reports whether jobs may have become ready, or signals have changed.
func (t *Txn) Wakes() bool { return t.wake || len(t.readied) > 0 }

// WakesMore reports whether more of that may be so than Readied tells.
func (t *Txn) WakesMore() bool { return t.wake }

// ready notes that a job is ready in a lane, due at a time.
func (t *Txn) ready(lane *Lane, priority int8, at job.Micros) {
	if !t.shared() { // nobody asks where
		t.wake = true
		return
	}
	t.readied = append(t.readied, Readied{lane.id, priority, at})
}

// Undone tells that the transaction was taken back: what it claimed is not
// claimed.
func (t *Txn) Undone() { clear(t.mine) }

// Reset makes the txn ready for the next transaction and keeps its memory.
func (t *Txn) Reset(now job.Micros, cat *Catalog) {
	t.now, t.cat, t.rests, t.laneless = now, cat, false, nil
	t.events.Reset()
	t.deltas, t.batch, t.hour = t.deltas[:0], t.batch[:0], store.Hour{}
	t.groups.reset()
	t.dead.reset()
	t.redrives.reset()
	t.readied = t.readied[:0]
	t.wrote, t.wake, t.held, t.settled, t.graveless = false, false, false, false, false
}

// graves begins what changes dead letters and all that goes with them.
func (t *Txn) graves() error {
	if t.hooks.LockDeadLetters == nil || t.held {
		return nil
	}
	if t.graveless { // it did not look as if they were needed
		return ErrAgain
	}
	t.held = true
	if err := t.hooks.LockDeadLetters(); err != nil {
		return err
	}
	return t.readGraves()
}

// tryGraves is graves that waits for nobody: ok is false where others have them.
func (t *Txn) tryGraves() (ok bool, err error) {
	if t.hooks.TryGraves == nil || t.held {
		return true, t.graves()
	}
	if t.held, err = t.hooks.TryGraves(); err != nil || !t.held {
		return false, err
	}
	return true, t.readGraves()
}

// readGraves reads what others have changed before the graves were theirs no more.
func (t *Txn) readGraves() error {
	clear(t.cat.groups)
	return t.s.Rows(selGraves, func(r Row) error {
		t.cat.deaths = r.Int(0)
		// Deaths are in the order of time, also those of a transaction that began
		// before another one and had to wait for it.
		t.now = max(t.now, job.Micros(r.Int(1)))
		return nil
	})
}

// selGraves returns the number of the last death and when it was, where there are
// other writers. They say it in their words.
var selGraves = &Query{Name: "selGraves"}

// alive begins what changes live jobs and, it may be, the graves.
func (t *Txn) alive(ids []job.ID) error {
	if t.hooks.LockJobs == nil {
		return nil
	}
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	err := t.hooks.LockJobs(slices.Compact(sorted), t.graves)
	t.graveless = !t.held
	return err
}

// only begins what one transaction at a time does, and which does not concern the
// graves.
func (t *Txn) only(name string) error {
	t.graveless = true
	if t.hooks.LockName == nil {
		return nil
	}
	return t.hooks.LockName(name)
}

// LockGravesBy has the transaction lock the graves in another way.
func (t *Txn) LockGravesBy(lock func() error) { t.hooks.LockDeadLetters = lock }

// ErrGraves says that others have had the graves for longer than was waited for
// them.
var ErrGraves = errors.New("the graves are taken")

// Deltas calls each for every change of the number of jobs of a lane in a state.
func (t *Txn) Deltas(each func(lane int64, state job.State, n int64)) {
	for _, d := range t.deltas {
		if d.n != 0 {
			each(d.lane.id, d.state, d.n)
		}
	}
}

// Batches calls each for every batch whose figures have changed, with its changes.
func (t *Txn) Batches(each func(id, total, completed, dead, cancelled int64)) {
	for _, b := range t.batch {
		each(b.id, b.total, b.completed, b.dead, b.cancelled)
	}
}

// Hour returns what the transaction adds to the figures of the present hour.
func (t *Txn) Hour() store.Hour { return t.hour }

// Events returns the events of the transaction.
func (t *Txn) Events() *event.Packer { return &t.events }

// exec runs a statement. The arguments are copied, so that the caller's do not
// move to the heap.
func (t *Txn) exec(q *Query, args ...Value) (int, error) {
	t.args = append(t.args[:0], args...)
	n, err := t.s.Exec(q, t.args...)
	if n > 0 {
		t.wrote = true
	}
	return n, err
}

// one is exec of a statement that changes one row, which was read in the same
// transaction.
func (t *Txn) one(q *Query, args ...Value) error {
	n, err := t.exec(q, args...)
	if err == nil && n != 1 {
		err = fmt.Errorf("a statement has changed %d rows and not 1: %.60s", n, q.Text)
	}
	return err
}

func (t *Txn) rows(q *Query, each func(Row) error, args ...Value) error {
	t.args = append(t.args[:0], args...) // bound before the first row, so each may use it again
	return t.s.Rows(q, each, t.args...)
}

// count notes that n jobs more (or fewer) of a lane are in a state. It takes
// effect in the catalogue at once, because limits read it, unless that has none.
func (t *Txn) count(l *Lane, state job.State, n int64) {
	if !t.cat.uncounted {
		l.counts[state] += n
	}
	for i := range t.deltas {
		if d := &t.deltas[i]; d.lane == l && d.state == state {
			d.n += n
			return
		}
	}
	t.deltas = append(t.deltas, delta{l, state, n})
}

// move notes one job's change of state, between lanes if need be.
func (t *Txn) move(from *Lane, a job.State, to *Lane, b job.State) {
	t.count(from, a, -1)
	t.count(to, b, 1)
}

// batchCount notes what has changed in a batch.
func (t *Txn) batchCount(d batchDelta) {
	if d.id == 0 {
		return
	}
	for i := range t.batch {
		if b := &t.batch[i]; b.id == d.id {
			b.total += d.total
			b.add(d.endings)
			return
		}
	}
	t.batch = append(t.batch, d)
}

var (
	addBatch = declare("addBatch", `INSERT INTO redrive_batches (id, total, completed, dead, cancelled) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (id) DO UPDATE SET total = total + ?2, completed = completed + ?3, dead = dead + ?4, cancelled = cancelled + ?5`)
	insEvents = declare("insEvents", `INSERT INTO redrive_events (at, n, body) VALUES (?, ?, ?)`)
)

// Flush writes what was gathered: groups and figures, batches, counters, events. It
// refuses what was written of jobs whose lane is not known.
func (t *Txn) Flush() error {
	if t.laneless != nil {
		return t.laneless
	}
	if err := t.flushTallies(); err != nil {
		return err
	}
	if t.hooks.Record != nil {
		return t.hooks.Record(t)
	}
	for _, b := range t.batch {
		if _, err := t.exec(addBatch, num(b.id), num(b.total), num(b.completed), num(b.dead), num(b.cancelled)); err != nil {
			return err
		}
	}
	for _, d := range t.deltas {
		if d.n == 0 {
			continue
		}
		if _, err := t.exec(addCounter, num(d.lane.id), num(d.state), num(d.n)); err != nil {
			return err
		}
	}
	if t.events.Len() == 0 {
		return nil
	}
	_, err := t.exec(insEvents, num(t.now), num(t.events.Len()), blob(t.events.Bytes()))
	return err
}
