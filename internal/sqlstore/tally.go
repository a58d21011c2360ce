package sqlstore

import (
	"encoding/json"
	"slices"

	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The lengths of the time units for which deaths and ends of jobs are counted: minutes and
// hours.
const (
	minute = job.Micros(60_000_000)
	hour   = 60 * minute
)

// start returns the beginning of the time unit that contains the given time.
func start(at, unit job.Micros) job.Micros { return at - at%unit }

// tally is a map with one value for each key. It keeps the order in which the keys were added.
type tally[K comparable, V any] struct {
	keys   []K
	values []V
	index  map[K]int // the position of each key; used only when there are more than tallyFew keys
}

// tallyFew is the number of keys up to which a linear search is faster than a map.
const tallyFew = 16

// at returns a pointer to the value of a key. If the key is new, at adds it with a zero value.
func (t *tally[K, V]) at(key K) *V {
	if t.index == nil {
		if i := slices.Index(t.keys, key); i >= 0 {
			return &t.values[i]
		}
		if len(t.keys) == tallyFew {
			t.index = make(map[K]int)
			for i, k := range t.keys {
				t.index[k] = i
			}
		}
	} else if i, ok := t.index[key]; ok {
		return &t.values[i]
	}
	if t.index != nil {
		t.index[key] = len(t.keys)
	}
	var zero V
	t.keys, t.values = append(t.keys, key), append(t.values, zero)
	return &t.values[len(t.values)-1]
}

func (t *tally[K, V]) reset() {
	clear(t.values) // clear the values, so that the memory they refer to can be freed
	t.keys, t.values, t.index = t.keys[:0], t.values[:0], nil
}

// groupDelta holds the changes of a group's row in one transaction.
type groupDelta struct {
	n, pending, entries   int64
	retried, helped       int64
	firstBuild, lastBuild string    // the builds of the first and the last death whose build is known
	regressed             bool      // whether a job died of a cause that was resolved
	mute                  *groupRow // the new state of the mute; nil when it has not changed
}

// deadKey holds the fields of a dead letter by which the counters count it.
type deadKey struct {
	lane   int64
	reason job.Reason
	class  string
	status job.Status
}

// redriveDelta contains the numbers by which outcomes of jobs increase the counts of a redrive.
type redriveDelta struct {
	answered, again, other int64
	endings
	causes []store.RedriveCause
}

// redriveAnswer contains what the end of one run, or of one job without a run, adds to a redrive.
type redriveAnswer struct {
	answered, again, other int64
	endings
	cause store.RedriveCause
}

// selCauseOf finds the fingerprint of the failure that made the dead letter of a job.
var selCauseOf = ask("selCauseOf")

// answer returns the numbers that the end of a run, or the end of a job without a run, adds to
// the redrive that released the job. The arguments contain the new state of the job, and its
// failure or nil. Call answer after the run was counted and before the dead letter is changed.
func (t *Txn) answer(r *Run, attempt bool, to job.State, f *job.Failure) (d redriveAnswer, err error) {
	if r.redrive == 0 {
		return d, nil
	}
	if err := t.lockDeadLetters(); err != nil {
		return d, err
	}
	if attempt && r.counters.Attempts == 1 || to.Terminal() && r.counters.Attempts == 0 {
		d.answered = 1
		if f != nil && f.Fingerprint != "" {
			err = t.rows(selCauseOf, func(row Row) error {
				if row.Text(0) == f.Fingerprint {
					d.again = 1
				}
				return nil
			}, num(r.id))
		}
		if f != nil {
			d.other = 1 - d.again
		}
	}
	d.endings = endingIn(to)
	if d.again+d.other+d.dead > 0 {
		d.cause = storekit.CauseOf(f)
		d.cause.Again, d.cause.Other, d.cause.Dead = d.again, d.other, d.dead
	}
	return d, err
}

// answered adds to the redrive the numbers that answer has returned.
func (t *Txn) answered(r *Run, d redriveAnswer) {
	if d == (redriveAnswer{}) {
		return
	}
	sum := t.redrives.at(r.redrive)
	sum.answered += d.answered
	sum.again += d.again
	sum.other += d.other
	sum.add(d.endings)
	if d.again+d.other+d.dead > 0 {
		sum.causes = storekit.AddCauses(sum.causes, d.cause)
	}
	t.wake = true // wake the process that steps redrives, because the redrive may now be able to release more jobs
}

var (
	addGroup   = ask("addGroup")
	setMute    = ask("setMute")
	addTrend   = ask("addTrend")
	addDead    = ask("addDead")
	addRedrive = ask("addRedrive")
	setCauses  = ask("setCauses")
)

// flushTallies writes the changes that the transaction has collected for groups, counts of dead
// letters, redrives, and figures.
func (t *Txn) flushTallies() error {
	for i, id := range t.groups.keys {
		if err := t.flushGroup(id, &t.groups.values[i]); err != nil {
			return err
		}
	}
	for i, k := range t.dead.keys {
		n := t.dead.values[i]
		if n == 0 {
			continue
		}
		if _, err := t.exec(addDead, num(k.lane), text(k.reason), text(k.class), num(k.status), num(n)); err != nil {
			return err
		}
	}
	for i, id := range t.redrives.keys {
		if err := t.flushRedrive(id, &t.redrives.values[i]); err != nil {
			return err
		}
	}
	if n := t.deaths(); n > 0 {
		if _, err := t.exec(addTrend, num(0), num(start(t.now, minute)), num(n)); err != nil {
			return err
		}
	}
	return t.flushFigures()
}

func (t *Txn) flushRedrive(id int64, d *redriveDelta) error {
	if _, err := t.exec(addRedrive, num(id), num(d.answered), num(d.again), num(d.other), num(d.completed), num(d.dead), num(d.cancelled)); err != nil {
		return err
	}
	if len(d.causes) == 0 {
		return nil
	}
	r, err := oneRedrive(t.s, id) // the dead letters are locked, so no other transaction changes the row
	if err != nil {
		return err
	}
	packed, err := json.Marshal(storekit.AddCauses(r.Causes, d.causes...))
	if err != nil {
		return err
	}
	_, err = t.exec(setCauses, num(id), blob(packed))
	return err
}

func (t *Txn) flushGroup(id int64, d *groupDelta) error {
	if d.n != 0 || d.pending != 0 || d.entries != 0 || d.retried != 0 || d.helped != 0 {
		_, err := t.exec(addGroup, num(id), num(d.n), num(d.pending), num(d.entries), num(t.diedAt()), num(d.retried), num(d.helped),
			setText(d.firstBuild), setText(d.lastBuild), bit(d.regressed))
		if err != nil {
			return err
		}
	}
	if d.n > 0 {
		if _, err := t.exec(addTrend, num(id), num(start(t.now, hour)), num(d.n)); err != nil {
			return err
		}
	}
	if g := d.mute; g != nil {
		_, err := t.exec(setMute, num(id), bit(g.muted), setNum(g.until), setNum(g.left), setText(g.by), setText(g.note))
		return err
	}
	return nil
}

// Deltas calls the given function for every lane and state in which the number of jobs has
// changed.
func (t *Txn) Deltas(each func(lane int64, state job.State, n int64)) {
	for _, d := range t.deltas {
		if d.n != 0 {
			each(d.lane.id, d.state, d.n)
		}
	}
}

// Batches calls the given function for every batch whose counts have changed in the
// transaction.
func (t *Txn) Batches(each func(id, total, completed, dead, cancelled int64)) {
	for i, id := range t.batch.keys {
		if b := &t.batch.values[i]; *b != (batchDelta{}) {
			each(id, b.total, b.completed, b.dead, b.cancelled)
		}
	}
}
