package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// What sweeps remember: the first five are audited by these words, the others
// only have a cursor.
const (
	sweptCompleted = "completed"
	sweptFailures  = "failures" // the cursor is the job of the next record to look at
	sweptDead      = "dead_letters"
	sweptEvents    = "events"
	sweptKeys      = "keys"

	sweptToken  = "failures.token" // of the next record to look at
	sweptTrends = "trends"         // the cursor is a group
	sweptMarks  = "marks"          // the cursor is a mark of a group, see withGroup
)

var (
	selSwept = declare("selSwept", `SELECT what, n, since, cursor FROM redrive_swept`) // a few rows
	putSwept = declare("putSwept", `INSERT INTO redrive_swept (what, n, since, cursor) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (what) DO UPDATE SET n = ?2, since = ?3, cursor = ?4`)
)

// Sweep implements store.Keeper.
func (s *Core) Sweep(ctx context.Context, keep store.Retention, limit int) (swept store.Swept, err error) {
	if err := CheckSweep(keep, limit); err != nil {
		return store.Swept{}, err
	}
	err = s.db.Write(ctx, func(t *Txn) error {
		swept, err = t.Sweep(keep, limit, SweepEnds, SweepEvents, SweepGraves)
		return err
	})
	if err != nil {
		return store.Swept{}, err
	}
	return swept, nil
}

// CheckSweep refuses what no sweep can do.
func CheckSweep(keep store.Retention, limit int) error {
	if err := keep.Validate(); err != nil {
		return err
	}
	if limit < 1 || limit > store.SweepMax {
		return fmt.Errorf("sweep of %d rows: must be 1 to %d: %w", limit, store.SweepMax, store.ErrInvalid)
	}
	return nil
}

// SweepPart is a part of a sweep that can have a transaction of its own.
type SweepPart uint8

// The parts of a sweep, in their order. Two transactions of sweeps must not run at
// one time.
const (
	SweepEnds   SweepPart = iota // jobs that have ended, failure records, keys
	SweepEvents                  // events, and the figures of hours
	SweepGraves                  // all that is about dead letters; and the audit of all parts
)

// Sweep does some parts of a sweep.
func (t *Txn) Sweep(keep store.Retention, limit int, parts ...SweepPart) (store.Swept, error) {
	w := sweep{Txn: t, keep: keep, limit: limit}
	err := w.run(parts)
	return w.swept, err
}

// sweep is one sweep. Each of its steps reads a bounded number of rows, and all
// of them before it removes the first. The statements have no LIMIT: a bound one
// would have them compiled anew each time, and so would bound values without the
// pluses where somebody has run ANALYZE.
type sweep struct {
	*Txn
	keep  store.Retention
	limit int
	swept store.Swept
	notes map[string]*sweepNote
}

// sweepNote is what sweeps remember of one kind of thing.
type sweepNote struct {
	n      int64      // removed since that was last audited
	since  job.Micros // when the first of these was
	cursor int64      // where the walk goes on; 0 is at the start
}

func (w *sweep) run(parts []SweepPart) error {
	if slices.Contains(parts, SweepGraves) {
		if err := w.graves(); err != nil {
			return err
		}
	}
	w.notes = make(map[string]*sweepNote)
	err := w.rows(selSwept, func(r Row) error {
		w.notes[r.Text(0)] = &sweepNote{n: r.Int(1), since: job.Micros(r.Int(2)), cursor: r.Int(3)}
		return nil
	})
	if err != nil {
		return err
	}
	for _, part := range parts {
		for _, step := range w.steps(part) {
			if err := step(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *sweep) steps(part SweepPart) []func() error {
	switch part {
	case SweepEnds:
		return []func() error{w.ended, w.failures, w.keys}
	case SweepEvents:
		return []func() error{w.oldEvents, w.oldHours}
	case SweepGraves:
		return []func() error{w.flushGroups, w.letters, w.emptyGroups, w.unmute, w.reopen, w.figures, w.audits}
	}
	return nil
}

// note returns what sweeps remember of a kind of thing.
func (w *sweep) note(what string) sweepNote {
	if n := w.notes[what]; n != nil {
		return *n
	}
	return sweepNote{}
}

// remember writes a note that has changed.
func (w *sweep) remember(what string, n sweepNote) error {
	if n == w.note(what) {
		return nil
	}
	w.notes[what] = &n
	_, err := w.exec(putSwept, text(what), num(n.n), num(n.since), num(n.cursor))
	return err
}

// removed adds up what was removed of a kind of thing; audits tells of it.
func (w *sweep) removed(what string, n int64) error {
	if n == 0 {
		return nil
	}
	sum := w.note(what)
	if sum.n == 0 {
		sum.since = w.now
	}
	sum.n += n
	return w.remember(what, sum)
}

// moveTo notes where a walk goes on.
func (w *sweep) moveTo(what string, cursor int64) error {
	n := w.note(what)
	n.cursor = cursor
	return w.remember(what, n)
}

// enough ends a walk over rows without an error.
func enough(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

var (
	// The newest, which the last column tells, stays: so its number is not given
	// again. It is read from the beginning, and not to the end.
	selEndedJobs = declareWalk("selEndedJobs", `SELECT d.seq, d.job, d.lane, d.state, d.finished_at, d.owner, d.key,
		d.seq = (SELECT max(seq) FROM redrive_done) FROM redrive_done d ORDER BY d.seq`)
	delDone     = declare("delDone", `DELETE FROM redrive_done WHERE seq = ?`)
	setKeyState = declare("setKeyState", `UPDATE redrive_keys SET state = ?5 WHERE owner = ?1 AND kind = ?2 AND key = ?3 AND job = ?4`)
)

// goneJob is a job that is removed.
type goneJob struct {
	id         job.ID
	lane       *Lane
	state      job.State
	owner, key string
}

// ended removes completed and cancelled jobs by the order of their ends. Their
// failure records have a time of their own.
func (w *sweep) ended() error {
	if w.keep.Completed == 0 {
		return nil
	}
	until := w.now.Add(-w.keep.Completed)
	if r := w.hooks.Remover; r != nil {
		n, more, err := r.Ended(until, w.limit, func(lane int64, state job.State, n int64) { w.count(w.laneOf(lane), state, -n) })
		if err != nil {
			return err
		}
		w.swept.Completed, w.swept.More = n, w.swept.More || more
		return w.removed(sweptCompleted, n)
	}
	var seqs []int64
	var gone []goneJob
	err := w.rows(selEndedJobs, func(r Row) error {
		if job.Micros(r.Int(4)) > until || r.Int(7) != 0 {
			return errEnough
		}
		if len(gone) == w.limit {
			w.swept.More = true
			return errEnough
		}
		seqs = append(seqs, r.Int(0))
		gone = append(gone, goneJob{job.ID(r.Int(1)), w.laneOf(r.Int(2)), job.State(r.Int(3)), r.Text(5), r.Text(6)})
		return nil
	})
	if err := enough(err); err != nil {
		return err
	}
	for i := range gone {
		if err := w.one(delDone, num(seqs[i])); err != nil {
			return err
		}
		if err := w.remove(&gone[i]); err != nil {
			return err
		}
	}
	w.swept.Completed = int64(len(gone))
	return w.removed(sweptCompleted, w.swept.Completed)
}

// remove takes a job, whose row is removed, out of what knows it. Its key, if
// it still holds one, keeps its state; none is completed, see known.
func (t *Txn) remove(j *goneJob) error {
	t.count(j.lane, j.state, -1)
	if _, err := t.exec(delProgress, num(j.id)); err != nil {
		return err
	}
	if j.key == "" || j.state == job.Completed {
		return nil
	}
	_, err := t.exec(setKeyState, text(j.owner), text(j.lane.kind), text(j.key), num(j.id), num(j.state))
	return err
}

var (
	walkFailures = declareWalk("walkFailures", `SELECT f.job, f.token, f.ended_at > +?3 OR EXISTS (SELECT 1 FROM redrive_jobs WHERE id = f.job)
		OR EXISTS (SELECT 1 FROM redrive_dead WHERE job = f.job)
		FROM redrive_failures f WHERE (f.job, f.token) >= (+?1, +?2) ORDER BY f.job, f.token`)
	delFailure = declare("delFailure", `DELETE FROM redrive_failures WHERE job = ? AND token = ?`)
)

// failures walks over the failure records and removes those that are past their
// time, of jobs that are neither live nor have a dead letter.
func (w *sweep) failures() error {
	if w.keep.Failures == 0 {
		return nil
	}
	until, from := w.now.Add(-w.keep.Failures), store.Run{ID: job.ID(w.note(sweptFailures).cursor), Token: job.Token(w.note(sweptToken).cursor)}
	n, next, err := w.removeFailures(until, from)
	if err != nil {
		return err
	}
	w.swept.Failures = n
	w.swept.More = w.swept.More || next.ID != 0
	return errors.Join(w.removed(sweptFailures, n), w.moveTo(sweptFailures, int64(next.ID)), w.moveTo(sweptToken, int64(next.Token)))
}

// removeFailures returns how many it has removed, and the record that the next
// sweep looks at first.
func (w *sweep) removeFailures(until job.Micros, from store.Run) (n int64, next store.Run, err error) {
	if r := w.hooks.Remover; r != nil {
		return r.Failures(until, from, w.limit)
	}
	var old []store.Run
	looked := 0
	err = w.rows(walkFailures, func(r Row) error {
		run := store.Run{ID: job.ID(r.Int(0)), Token: job.Token(r.Int(1))}
		if looked++; looked > w.limit {
			next = run
			return errEnough
		}
		if r.Int(2) == 0 {
			old = append(old, run)
		}
		return nil
	}, num(from.ID), num(from.Token), num(until))
	if err := enough(err); err != nil {
		return 0, next, err
	}
	for _, run := range old {
		if _, err := w.exec(delFailure, num(run.ID), num(run.Token)); err != nil {
			return 0, next, err
		}
	}
	return int64(len(old)), next, nil
}

var (
	selOldEvents = declareWalk("selOldEvents", `SELECT seq, at FROM redrive_events WHERE seq < (SELECT max(seq) FROM redrive_events) ORDER BY seq`)
	delEvents    = declare("delEvents", `DELETE FROM redrive_events WHERE seq <= +?`)
)

// oldEvents removes the events of whole commits, but never those of the newest.
func (w *sweep) oldEvents() error {
	if w.keep.Events == 0 {
		return nil
	}
	until, last := w.now.Add(-w.keep.Events), int64(0)
	if r := w.hooks.Remover; r != nil {
		n, more, err := r.Events(until, w.limit)
		if err != nil {
			return err
		}
		w.swept.Events, w.swept.More = n, w.swept.More || more
		return w.removed(sweptEvents, n)
	}
	err := w.rows(selOldEvents, func(r Row) error {
		if job.Micros(r.Int(1)) > until {
			return errEnough
		}
		if w.swept.Events == int64(w.limit) {
			w.swept.More = true
			return errEnough
		}
		w.swept.Events++
		last = r.Int(0)
		return nil
	})
	if err := enough(err); err != nil || last == 0 {
		return err
	}
	if _, err := w.exec(delEvents, num(last)); err != nil {
		return err
	}
	return w.removed(sweptEvents, w.swept.Events)
}

var (
	selOldKeys = declareWalk("selOldKeys", `SELECT owner, kind, key FROM redrive_keys INDEXED BY redrive_keys_until
		WHERE until <= +? ORDER BY until, owner, kind, key`)
	delKey = declare("delKey", `DELETE FROM redrive_keys WHERE owner = ? AND kind = ? AND key = ? AND until <= +?`)
)

// keys forgets the keys whose time is over.
func (w *sweep) keys() error {
	if r := w.hooks.Remover; r != nil {
		n, more, err := r.Keys(w.now, w.limit)
		if err != nil {
			return err
		}
		w.swept.Keys, w.swept.More = n, w.swept.More || more
		return w.removed(sweptKeys, n)
	}
	var over []keyName
	err := w.rows(selOldKeys, func(r Row) error {
		if len(over) == w.limit {
			w.swept.More = true
			return errEnough
		}
		over = append(over, keyName{r.Text(0), r.Text(1), r.Text(2)})
		return nil
	}, num(w.now))
	if err := enough(err); err != nil {
		return err
	}
	for _, k := range over {
		if _, err := w.exec(delKey, text(k.owner), text(k.kind), text(k.key), num(w.now)); err != nil {
			return err
		}
	}
	w.swept.Keys = int64(len(over))
	return w.removed(sweptKeys, w.swept.Keys)
}

// audits tells from time to time what was removed. Dead letters that were pending
// have been told of.
func (w *sweep) audits() error {
	for _, what := range [...]string{sweptCompleted, sweptFailures, sweptDead, sweptEvents, sweptKeys} {
		sum := w.note(what)
		if sum.n == 0 || w.now < sum.since.Add(store.SweepAuditEvery) {
			continue
		}
		if err := w.auditRemoval(what, sum.n); err != nil {
			return err
		}
		sum.n, sum.since = 0, 0
		if err := w.remember(what, sum); err != nil {
			return err
		}
	}
	return nil
}

func (w *sweep) auditRemoval(what string, n int64) error {
	return w.audit(store.By{Actor: store.SweepActor}, "retention.remove", what, "", fmt.Sprintf(`{"n":%d}`, n))
}
