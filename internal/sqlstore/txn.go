package sqlstore

import (
	"errors"
	"fmt"
	"slices"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
)

// Txn is one transaction of the store. Its statements run in a session. It collects the
// changes of counters and the events of all its jobs, and the method Flush writes them once.
type Txn struct {
	s                 Session
	hooks             Hooks
	deadLettersLocked bool // whether this transaction has called LockDeadLetters

	lanesLocked     bool // whether this transaction has called LockLanes
	noDeadLetters   bool // whether the transaction must not lock dead letters from now on
	reliesOnEarlier bool // the result of the method ReliesOnEarlier
	cancelled       bool // the result of the method Cancelled

	now       job.Micros
	lastDeath job.Micros // the time of the last death, once dead letters are locked; see diedAt
	cat       *Catalog
	args      []Value
	packed    []byte // a buffer that holds the next failure record

	events event.Packer
	deltas []delta
	batch  tally[int64, batchDelta] // changes of the counts of batches
	seen   seen                     // what a call of many jobs has read at its beginning
	open   map[int64]*store.Batch   // batches whose rows this transaction has taken; see takeBatch
	groups tally[int64, groupDelta] // the map key is the id of the group
	dead   tally[deadKey, int64]    // changes of the counts of dead letters
	// figures holds the numbers that this transaction adds to the stored figures of lanes.
	figures tally[int64, store.Figures]

	redrives tally[int64, redriveDelta]
	readied  []Readied

	heard []notify.Death   // deaths of which people may have to hear; see tell
	ends  []notify.Outcome // ends of batches, likewise

	laneErr error // the error to return from Flush when a lane was not found; see laneOf

	ownRuns map[job.ID]*Run // claimed runs that this process remembers; nil in a caller's transaction
	preview bool            // whether the transaction only reads
	wrote   bool            // whether this transaction has changed anything, so that a commit is needed
	wake    bool            // whether other jobs than those in readied may have become ready, or signals for workers have changed
}

type delta struct {
	lane  *Lane
	state job.State
	n     int64
}

type batchDelta struct {
	total int64
	endings
}

// endings counts the jobs that have ended, separately for each final state.
type endings struct{ completed, dead, cancelled int64 }

// endingIn returns a count of one for the state to which a job moves. The result is zero if
// the job does not end with that state.
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

// Hooks are functions that a store sets if its database has other writers. The zero value is
// for a store that is the only writer.
type Hooks struct {
	// LockDeadLetters waits until no other transaction writes dead letters, groups or
	// redrives. Then other transactions cannot write them until this transaction ends. A
	// transaction that also needs live jobs locks the live jobs first, in the order of their
	// ids.
	LockDeadLetters func() error
	// TryLockDeadLetters is like LockDeadLetters, but does not wait. ok is false when another
	// transaction has the lock. Use it in a transaction that holds locks for which other
	// transactions may wait.
	TryLockDeadLetters func() (ok bool, err error)
	// LockLanes waits until no other transaction makes lanes or queues, or changes settings of
	// queues. Then other transactions cannot do this until this transaction ends. A transaction
	// that needs both locks takes the lock on dead letters first.
	LockLanes func() error
	// LockName waits until no other transaction has locked the name. Then other transactions
	// cannot lock it until this transaction ends. Call it before LockLanes. A transaction that
	// has locked a name must not lock dead letters afterwards.
	LockName func(name string) error
	// LockJobs waits until no other transaction writes the given live jobs, which are sorted by
	// id. Then other transactions cannot write them until this transaction ends. If a redrive
	// has released one of the jobs, LockJobs calls lockDeadLetters, because the end of that job
	// is counted in the redrive. LockJobs returns ErrAgain if one of the jobs became live
	// before LockJobs had the lock on dead letters.
	LockJobs func(ids []job.ID, lockDeadLetters func() error) error
	// TermsID returns the number of stored terms, or 0 when it does not know the terms. If the
	// field is nil, the catalogue caches the numbers.
	TermsID func(terms string) int64
	// KeepTermsID remembers the number of stored terms when other transactions can see the
	// terms. The field may be nil.
	KeepTermsID func(terms string, id int64)
	// StoredTerms is called when the transaction has stored new terms, or rules of notifications, which
	// other processes must read. The field may be nil.
	StoredTerms func() error
	// FollowsEnds returns an error that makes the transaction begin anew if a transaction with a
	// later number has ended members of the batches. The field is nil if there are no other writers,
	// and in a caller's transaction, which cannot begin anew.
	FollowsEnds func(batches Value) error
	// Record writes the events of a transaction, and its changes to the counters of jobs and
	// batches and to the figures. The field is set if and only if the database has other
	// writers.
	Record func(*Txn) error
	// CallbackID returns an id for the job of a batch's callback, without waiting for a caller's
	// transaction. If the field is nil, the id is reserved in the transaction.
	CallbackID func() (job.ID, error)
	// Columns returns arguments for a statement for many rows; see bulk.go. If the field is nil, each
	// row is written by a statement of its own.
	Columns func() Columns
	// Remover removes rows for sweeps. If the field is nil, sweeps remove one row at a time.
	Remover Remover
}

// NewTxn returns a Txn for all transactions of a session, one after the other. If remembers is
// true, the Txn remembers the runs that it claims; see recall. A process may have only one Txn
// that remembers runs.
func NewTxn(s Session, remembers bool, hooks Hooks) *Txn {
	t := &Txn{s: s, hooks: hooks}
	if remembers {
		t.ownRuns = make(map[job.ID]*Run)
	}
	return t
}

// shared reports whether the database has other writers at the same time.
func (t *Txn) shared() bool { return t.hooks.Record != nil }

// Session returns the session of the transaction.
func (t *Txn) Session() Session { return t.s }

// ReliesOnEarlier reports whether this transaction has answered that an earlier transaction has
// already done what was requested. This answer is only true if the earlier transaction was
// committed. An error is not such an answer.
func (t *Txn) ReliesOnEarlier() bool { return t.reliesOnEarlier }

// Now returns the time of the transaction by the store's clock.
func (t *Txn) Now() job.Micros { return t.now }

// Wrote reports whether the transaction has changed anything since the last call of BeginPart.
func (t *Txn) Wrote() bool { return t.wrote }

// BeginPart begins the part of one caller in a transaction that several callers share.
func (t *Txn) BeginPart() { t.wrote = false }

// Wakes reports whether the transaction may have made jobs ready or changed the signals for
// workers.
func (t *Txn) Wakes() bool { return t.wake || len(t.readied) > 0 }

// WakesMore reports whether jobs that are not in Readied may have become ready, or whether the
// signals for workers may have changed.
func (t *Txn) WakesMore() bool { return t.wake }

// ready records that a job of a lane became ready, and when the job is due.
func (t *Txn) ready(lane *Lane, priority int8, at job.Micros) {
	if !t.shared() { // only a store with other writers uses the lane
		t.wake = true
		return
	}
	t.readied = append(t.readied, Readied{lane.id, priority, at})
}

// RolledBack says that the transaction was rolled back. The Txn then forgets the runs that it
// has claimed in it.
func (t *Txn) RolledBack() { clear(t.ownRuns) }

// Reset prepares the Txn for the next transaction. It reuses the memory of the last
// transaction.
func (t *Txn) Reset(now job.Micros, cat *Catalog) {
	t.now, t.cat, t.reliesOnEarlier, t.laneErr = now, cat, false, nil
	t.events.Reset()
	t.deltas = t.deltas[:0]
	t.batch.reset()
	t.open, t.seen = nil, seen{}
	t.figures.reset()
	t.groups.reset()
	t.dead.reset()
	t.redrives.reset()
	t.readied = t.readied[:0]
	t.heard, t.ends = nil, nil
	t.wrote, t.wake, t.deadLettersLocked, t.lanesLocked, t.noDeadLetters, t.lastDeath = false, false, false, false, false, 0
}

// lockDeadLetters locks dead letters, groups and redrives. Call it before changing any of
// them.
func (t *Txn) lockDeadLetters() error {
	if t.hooks.LockDeadLetters == nil || t.deadLettersLocked {
		return nil
	}
	// The transaction already has a lock that must be taken after the lock on dead letters, so
	// it cannot lock dead letters now.
	if t.noDeadLetters {
		return ErrAgain
	}
	t.deadLettersLocked = true
	if err := t.hooks.LockDeadLetters(); err != nil {
		return err
	}
	return t.readLastDeath()
}

// tryLockDeadLetters is like lockDeadLetters, but does not wait. ok is false when another
// transaction has the lock.
func (t *Txn) tryLockDeadLetters() (ok bool, err error) {
	if t.hooks.TryLockDeadLetters == nil || t.deadLettersLocked {
		return true, t.lockDeadLetters()
	}
	if t.deadLettersLocked, err = t.hooks.TryLockDeadLetters(); err != nil || !t.deadLettersLocked {
		return false, err
	}
	return true, t.readLastDeath()
}

// readLastDeath reads the number of the last death again, because other transactions
// may have changed it before this transaction got the lock.
func (t *Txn) readLastDeath() error {
	clear(t.cat.groups)
	return t.s.Rows(selLastDeath, func(r Row) error {
		t.cat.deaths, t.lastDeath = r.Int(0), job.Micros(r.Int(1))
		return nil
	})
}

// diedAt returns the time of the deaths of this transaction. Deaths must be numbered in the
// order of their times, even if this transaction began before the transaction of the last
// death, or has a clock that is behind. All other times, also the times of events, are t.now:
// they must agree with due times that were computed from t.now.
func (t *Txn) diedAt() job.Micros { return max(t.now, t.lastDeath) }

// selLastDeath returns the number and the time of the last death. Only a store with other
// writers has an SQL text for this statement.
var selLastDeath = ask("selLastDeath")

// lockJobs locks live jobs. Call it before changing live jobs if the changes may also concern
// dead letters.
func (t *Txn) lockJobs(ids []job.ID) error {
	if t.hooks.LockJobs == nil {
		return nil
	}
	sorted := slices.Clone(ids)
	slices.Sort(sorted)
	err := t.hooks.LockJobs(slices.Compact(sorted), t.lockDeadLetters)
	t.noDeadLetters = !t.deadLettersLocked
	return err
}

// lockName makes other transactions that lock the same name wait until this transaction ends.
// After lockName, the transaction must not lock dead letters.
func (t *Txn) lockName(name string) error {
	t.noDeadLetters = true
	if t.hooks.LockName == nil {
		return nil
	}
	return t.hooks.LockName(name)
}

// LockDeadLettersBy sets the function with which the transaction locks dead letters.
func (t *Txn) LockDeadLettersBy(lock func() error) { t.hooks.LockDeadLetters = lock }

// ErrDeadLettersLocked says that another transaction held the lock on dead letters for longer
// than the caller was allowed to wait.
var ErrDeadLettersLocked = errors.New("another transaction holds the lock on dead letters")

// Events returns the events of the transaction.
func (t *Txn) Events() *event.Packer { return &t.events }

// exec runs a statement. It copies the arguments into a buffer, so that Go need not allocate
// the caller's arguments on the heap.
func (t *Txn) exec(q *Query, args ...Value) (int, error) {
	t.args = append(t.args[:0], args...)
	n, err := t.s.Exec(q, t.args...)
	if n > 0 {
		t.wrote = true
	}
	return n, err
}

// one runs a statement that must change exactly one row, because the row was read earlier in
// the same transaction.
func (t *Txn) one(q *Query, args ...Value) error {
	n, err := t.exec(q, args...)
	if err == nil && n != 1 {
		err = fmt.Errorf("the statement %s changed %d rows, want 1 row", q.Name, n)
	}
	return err
}

func (t *Txn) rows(q *Query, each func(Row) error, args ...Value) error {
	// The database copies the arguments before it calls the function, so this function may
	// reuse args.
	t.args = append(t.args[:0], args...)
	return t.s.Rows(q, each, t.args...)
}

// count adds n to the number of jobs in a lane and state; n may be negative. The new number is
// in the catalogue at once, because limits are checked with it. If the catalogue has no
// counters, count does not change it.
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

// move changes the counters for one job that gets a new state, and perhaps a new lane.
func (t *Txn) move(from *Lane, a job.State, to *Lane, b job.State) {
	t.count(from, a, -1)
	t.count(to, b, 1)
}

// batchCount collects a change of a batch's counts, to write it in Flush. A job with batch 0
// has no batch. A number below 0 is of a member that is aside, which counts nowhere.
func (t *Txn) batchCount(batch int64, d batchDelta) {
	if batch <= 0 {
		return
	}
	b := t.batch.at(batch)
	b.total += d.total
	b.add(d.endings)
}

var insEvents = ask("insEvents")

// Flush writes the collected changes of groups, statistics, batches and counters, the notices that
// follow from them, and the events. It fails when the lane of a job was not found.
func (t *Txn) Flush() error {
	if t.laneErr != nil {
		return t.laneErr
	}
	if len(t.batch.keys) > 0 && t.hooks.Record == nil {
		if err := t.flushBatches(); err != nil {
			return err
		}
	}
	if err := t.tell(); err != nil {
		return err
	}
	if err := t.flushTallies(); err != nil {
		return err
	}
	if t.hooks.Record != nil {
		return t.hooks.Record(t)
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
