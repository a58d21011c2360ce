package sqlstore

import (
	"bytes"
	"errors"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	selEndedJobs = askWalk("selEndedJobs")
	delDone      = ask("delDone")
	anyOriginal  = ask("anyOriginal")
	delAltered   = ask("delAltered")
	delAlive     = ask("delAlive")
	setKeyState  = ask("setKeyState")
	setKeyResult = ask("setKeyResult")
)

// goneJob is an ended job that is being removed.
type goneJob struct {
	id         job.ID
	lane       *Lane
	state      job.State
	owner, key string
	batch      int64  // below 0 for a member that is aside
	result     []byte // its first job.SummaryKept bytes, of a completed job
}

// ended removes completed and cancelled jobs, the earliest end first. The failure records of
// these jobs have a separate retention.
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
		if job.Micros(r.Int(4)) > until {
			return errEnough
		}
		if len(gone) == w.limit {
			w.swept.More = true
			return errEnough
		}
		seqs = append(seqs, r.Int(0))
		gone = append(gone, goneJob{job.ID(r.Int(1)), w.laneOf(r.Int(2)), job.State(r.Int(3)), r.Text(5), r.Text(6), r.Int(7), bytes.Clone(r.Blob(8))})
		return nil
	})
	if err := enough(err); err != nil {
		return err
	}
	altered := int64(0)
	if len(gone) > 0 {
		if altered, err = ReadInt(w.s, anyOriginal); err != nil {
			return err
		}
	}
	for i := range gone {
		if err := w.one(delDone, num(seqs[i])); err != nil {
			return err
		}
		if altered != 0 {
			if _, err := w.exec(delAltered, num(gone[i].id)); err != nil {
				return err
			}
		}
		if err := w.remove(&gone[i]); err != nil {
			return err
		}
	}
	w.swept.Completed = int64(len(gone))
	return w.removed(sweptCompleted, w.swept.Completed)
}

// remove removes the data of a job whose row is already deleted. A key that the job holds only
// while it is alive is removed. Any other key that the job still holds stays, and gets the
// job's state or, of a completed one, the beginning of its result. A key without a state belongs to a completed job; see heldKey.
func (t *Txn) remove(j *goneJob) error {
	t.count(j.lane, j.state, -1)
	if _, err := t.exec(delProgress, num(j.id)); err != nil {
		return err
	}
	switch {
	case job.WhileAlive(j.key):
		_, err := t.exec(delAlive, text(j.owner), text(j.lane.kind), text(j.key), num(j.id))
		return err
	case j.key == "" || j.state == job.Completed && len(j.result) == 0:
		return nil
	case j.state == job.Completed:
		_, err := t.exec(setKeyResult, text(j.owner), text(j.lane.kind), text(j.key), num(j.id), blob(j.result))
		return err
	}
	if j.batch != 0 {
		member := store.BatchMemberKey(max(j.batch, -j.batch))
		if n, err := t.exec(setKeyState, text(member), text(""), text(j.key), num(j.id), num(j.state)); n > 0 || err != nil {
			return err
		}
	}
	_, err := t.exec(setKeyState, text(j.owner), text(j.lane.kind), text(j.key), num(j.id), num(j.state))
	return err
}

var (
	walkFailures = askWalk("walkFailures")
	delFailure   = ask("delFailure")
)

// failures examines failure records. It removes a record if its retention time is over and its
// job is not live and has no dead letter.
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

// removeFailures removes failure records. It returns the number of removed records, and the
// record with which the next sweep begins.
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
