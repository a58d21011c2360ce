package sqlstore

import (
	"cmp"
	"errors"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	walkBatches  = askWalk("walkBatches")
	lockOldBatch = ask("lockOldBatch")
	hasMembers   = ask("hasMembers")
	// delMemberKeys removes the first keys of a batch.
	delMemberKeys = ask("delMemberKeys")
)

// batches removes batches that ended long ago and have no members left, with their outcomes and the
// keys of their members. A batch with very many keys is removed first, and its keys by this sweep and
// the next ones: a key of a batch that is gone finds nothing.
func (w *sweep) batches() error {
	left := w.limit
	if id := w.note(sweptMemberKeys).cursor; id != 0 {
		if err := w.memberKeys(id, &left); err != nil || left == 0 {
			return err
		}
	}
	if w.keep.Batches == 0 {
		return nil
	}
	old, next, err := w.oldBatches(w.now.Add(-w.keep.Batches))
	if err != nil {
		return err
	}
	for _, id := range old {
		if left == 0 {
			next, w.swept.More = id-1, true
			break
		}
		if err := w.removeOld(id, &left); err != nil {
			return err
		}
	}
	return errors.Join(w.removed(sweptBatches, w.swept.Batches), w.moveTo(sweptBatch, next))
}

// oldBatches examines the next batches. It returns those that are old enough to be removed, and the
// number after which the next sweep continues.
func (w *sweep) oldBatches(until job.Micros) (old []int64, next int64, err error) {
	looked, last := 0, int64(0)
	err = w.rows(walkBatches, func(r Row) error {
		if job.Micros(r.Int(7)) > until {
			return errEnough // this batch and those after it are too young to have ended before
		}
		if looked == w.limit {
			next, w.swept.More = last, true
			return errEnough
		}
		looked++
		last = r.Int(0)
		b := store.Batch{State: job.BatchState(r.Int(1)), Task: store.BatchTask(r.Int(2)), Drafts: r.Int(3), AsideDrafts: r.Int(4), EndedAt: job.Micros(r.Int(5)),
			NewBatch: store.NewBatch{ExpiresAt: job.Micros(r.Int(6))}}
		if b.Over(until) {
			old = append(old, last)
		}
		return nil
	}, num(w.note(sweptBatch).cursor))
	return old, next, enough(err)
}

// removeOld removes a batch, unless it has changed meanwhile, or somebody else is changing it, or one
// of its members is still there.
func (w *sweep) removeOld(id int64, left *int) error {
	locked, members := false, int64(0)
	err := w.rows(lockOldBatch, func(Row) error { locked = true; return nil }, num(id))
	if err == nil && locked {
		err = w.rows(hasMembers, func(r Row) error { members = r.Int(0); return nil }, num(id))
	}
	if err != nil || !locked || members != 0 {
		return err
	}
	w.swept.Batches++
	return cmp.Or(w.removeBatch(id), w.memberKeys(id, left))
}

// memberKeys removes keys of a batch that is gone, and remembers the batch if it may have more.
func (w *sweep) memberKeys(id int64, left *int) error {
	n, err := w.exec(delMemberKeys, text(store.BatchMemberKey(id)), num(*left))
	if err != nil {
		return err
	}
	if *left -= n; *left > 0 {
		id = 0
	}
	w.swept.Keys += int64(n)
	w.swept.More = w.swept.More || id != 0
	return errors.Join(w.removed(sweptKeys, int64(n)), w.moveTo(sweptMemberKeys, id))
}
