package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The names under which sweeps store their progress. The first six names are also used in
// audit rows. The other names are only used to store a cursor.
const (
	sweptCompleted = "completed"
	sweptFailures  = "failures" // the stored cursor is the id of the job whose failure record the next sweep examines first
	sweptDead      = "dead_letters"
	sweptEvents    = "events"
	sweptKeys      = "keys"
	sweptBatches   = "batches"

	// The stored cursor is the number of the last removed commit, and n is the number of
	// events in that commit.
	sweptThrough = "events.through"

	sweptBatch      = "batch"       // the stored cursor is the number of the last batch that was examined
	sweptMemberKeys = "member_keys" // the stored cursor is the number of a batch that is gone and may still have keys

	sweptToken  = "failures.token" // the stored cursor is the token of the failure record that the next sweep examines first
	sweptTrends = "trends"         // the stored cursor is the id of a group
	sweptMarks  = "marks"          // the stored cursor is a value of reopen_at that names a group; see withGroup
	sweptNotes  = "notes"          // the stored cursor is the number of the last note that was examined
)

var (
	selSwept = ask("selSwept")
	putSwept = ask("putSwept")
)

// Sweep implements store.Keeper.
func (s *Core) Sweep(ctx context.Context, keep store.Retention, limit int) (swept store.Swept, err error) {
	if err := CheckSweep(keep, limit); err != nil {
		return store.Swept{}, err
	}
	// If the disk is full, the index cannot grow. The sweep continues nevertheless, because its
	// removals make room.
	indexed := KeepOwners(ctx, s, keep)
	err = s.db.Write(ctx, func(t *Txn) error {
		swept, err = t.Sweep(keep, limit, SweepEnds, SweepEvents, SweepDeadLetters)
		return err
	})
	if err != nil {
		return store.Swept{}, err
	}
	return swept, indexed
}

// CheckSweep returns an error when the arguments of a sweep are not allowed.
func CheckSweep(keep store.Retention, limit int) error {
	if err := keep.Validate(); err != nil {
		return err
	}
	if limit < 1 || limit > store.SweepMax {
		return fmt.Errorf("sweep of up to %d rows: the number must be 1 to %d: %w", limit, store.SweepMax, store.ErrInvalid)
	}
	return nil
}

// SweepPart is a part of a sweep that can run in a separate transaction.
type SweepPart uint8

// The parts of a sweep, in the order in which they run. Two sweeps must not run at the same
// time.
const (
	SweepEnds        SweepPart = iota // ended jobs, failure records, and keys
	SweepEvents                       // events, figures and batches: the counts of batches are folded then
	SweepDeadLetters                  // everything about dead letters, and the audit rows of all parts
)

// Sweep runs the given parts of a sweep.
func (t *Txn) Sweep(keep store.Retention, limit int, parts ...SweepPart) (store.Swept, error) {
	w := sweep{Txn: t, keep: keep, limit: limit}
	err := w.run(parts)
	return w.swept, err
}

// sweep is the state of one sweep. Each step reads a limited number of rows, and reads all of
// them before it removes the first. The statements have no bound LIMIT, because SQLite would
// compile them again each time. The plus signs before bound values prevent the same in a
// database on which ANALYZE was run.
type sweep struct {
	*Txn
	keep  store.Retention
	limit int
	swept store.Swept
	notes map[string]*sweepNote
}

// sweepNote is the stored progress of sweeps for one kind of data, for example events.
type sweepNote struct {
	n      int64      // number of rows removed since the last audit row
	since  job.Micros // when the first of these rows was removed
	cursor int64      // the position at which the next step continues; 0 means the start
}

func (w *sweep) run(parts []SweepPart) error {
	if slices.Contains(parts, SweepDeadLetters) {
		if err := w.lockDeadLetters(); err != nil {
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
		return []func() error{w.ended, w.failures, w.keys, w.requests}
	case SweepEvents:
		return []func() error{w.oldEvents, w.oldFigures, w.batches}
	case SweepDeadLetters:
		return []func() error{w.flushGroups, w.letters, w.emptyGroups, w.strayNotes, w.unmute, w.reopen, w.figures, w.audits}
	}
	return nil
}

// note returns the stored progress of sweeps for one kind of data.
func (w *sweep) note(what string) sweepNote {
	if n := w.notes[what]; n != nil {
		return *n
	}
	return sweepNote{}
}

// remember stores the progress of sweeps for one kind of data, after the progress has changed.
func (w *sweep) remember(what string, n sweepNote) error {
	if n == w.note(what) {
		return nil
	}
	w.notes[what] = &n
	_, err := w.exec(putSwept, text(what), num(n.n), num(n.since), num(n.cursor))
	return err
}

// removed adds n to the number of removed rows of one kind of data. At the end, w.audits writes
// the audit rows.
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

// moveTo stores the position at which the next step continues.
func (w *sweep) moveTo(what string, cursor int64) error {
	n := w.note(what)
	n.cursor = cursor
	return w.remember(what, n)
}

// enough returns nil for the error errEnough, and any other error unchanged.
func enough(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

var (
	selOldEvents = askWalk("selOldEvents")
	delEvents    = ask("delEvents")
)

// oldEvents removes old events. It removes all events of a commit together, and never
// removes the events of the newest commit, or events that are not in the index of owners
// yet.
func (w *sweep) oldEvents() error {
	if w.keep.Events == 0 {
		return nil
	}
	until := w.now.Add(-w.keep.Events)
	last := w.note(sweptThrough)
	if r := w.hooks.Remover; r != nil {
		n, more, err := r.Events(until, w.limit, func(seq, n int64) { last.cursor, last.n = seq, n })
		if err != nil {
			return err
		}
		w.swept.Events, w.swept.More = n, w.swept.More || more
		return w.removedEvents(last)
	}
	indexed, err := ReadInt(w.s, selOwnedMark)
	if err != nil {
		return err
	}
	err = w.rows(selOldEvents, func(r Row) error {
		if job.Micros(r.Int(1)) > until || r.Int(0) > indexed {
			return errEnough
		}
		if w.swept.Events == int64(w.limit) {
			w.swept.More = true
			return errEnough
		}
		w.swept.Events++
		last.cursor, last.n = r.Int(0), r.Int(2)
		return nil
	})
	if err := enough(err); err != nil || w.swept.Events == 0 {
		return err
	}
	if _, err := w.exec(delEvents, num(last.cursor)); err != nil {
		return err
	}
	return w.removedEvents(last)
}

// removedEvents counts the removed commits and stores the number of the last removed commit,
// for EventSpan.
func (w *sweep) removedEvents(last sweepNote) error {
	if err := w.removed(sweptEvents, w.swept.Events); err != nil {
		return err
	}
	return w.remember(sweptThrough, last)
}

var (
	selOldKeys = askWalk("selOldKeys")
	delKey     = ask("delKey")
)

// keys removes idempotency keys whose period is over.
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

// audits writes audit rows about removed rows, if new audit rows are due. Pending dead letters
// are not included, because their audit rows were written with their removal.
func (w *sweep) audits() error {
	for _, what := range [...]string{sweptCompleted, sweptFailures, sweptDead, sweptEvents, sweptKeys, sweptBatches} {
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
