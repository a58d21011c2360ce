package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// StepBatches implements store.Batches.
func (s *Core) StepBatches(ctx context.Context, limit int) (answer store.BatchStep, err error) {
	if limit < 1 || limit > store.StepMax {
		return answer, fmt.Errorf("step of batches of up to %d members: the number must be 1 to %d: %w", limit, store.StepMax, store.ErrInvalid)
	}
	var due, tasks []int64
	next := int64(0)
	now := s.db.Clock.Now()
	err = s.db.Read(ctx, func(c Session) (err error) {
		due, tasks = due[:0], tasks[:0]
		ids := func(into *[]int64) func(Row) error {
			return func(r Row) error { *into = append(*into, r.Int(0)); return nil }
		}
		if err = errors.Join(c.Rows(selDueBatches, ids(&due), num(now)), c.Rows(selTasks, ids(&tasks))); err == nil {
			next, err = ReadInt(c, selNextExpires)
		}
		return err
	})
	if err != nil {
		return answer, err
	}
	answer.Wait = store.Never
	if len(due) > 0 {
		if answer.Expired, err = s.expireBatches(ctx, due); err != nil {
			return answer, err
		}
		next = 0
		if err = s.db.Read(ctx, func(c Session) (err error) { next, err = ReadInt(c, selNextExpires); return err }); err != nil {
			return answer, err
		}
	}
	if next != 0 {
		answer.Wait = max(0, job.Micros(next).Sub(now))
	}
	return answer, s.stepTasks(ctx, tasks, limit, &answer)
}

func (s *Core) expireBatches(ctx context.Context, ids []int64) (n int64, err error) {
	err = s.db.BackgroundWrite(ctx, func(t *Txn) error {
		n = 0
		for _, id := range ids {
			b, err := t.takeBatch(store.By{}, id)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if !b.Due(t.now) {
				continue
			}
			n++
			b.State = job.BatchExpired
			t.batchEvent(b, store.StateWord(b.State))
			if b.BatchCounts, err = t.countsOf(id); err != nil {
				return err
			}
			t.hearOutcome(b)
			if err := t.keepBatch(b); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// stepTasks does one step of each task, each in a transaction.
func (s *Core) stepTasks(ctx context.Context, tasks []int64, limit int, answer *store.BatchStep) error {
	for _, id := range tasks {
		left := limit - int(answer.Done)
		if left <= 0 {
			answer.Active++
			continue
		}
		done, active := 0, false
		err := s.db.BackgroundWrite(ctx, func(t *Txn) error {
			done, active = 0, false
			b, err := oneBatch(t.s, readBatchRow, id, "")
			if errors.Is(err, store.ErrNotFound) { // another process has discarded it
				return nil
			}
			if err != nil {
				return err
			}
			if done, err = t.stepBatch(&b, left); err == nil {
				crashpoint.Hit(crashpoint.InBatchStep)
			}
			active = b.Task != store.NoTask
			return err
		})
		if errors.Is(err, ErrDeadLettersLocked) {
			active, err = true, nil
		}
		if err != nil {
			return err
		}
		answer.Done += int64(done)
		if active {
			answer.Active++
		}
	}
	if answer.Active > 0 {
		answer.Wait = 0
	}
	return nil
}

// stepBatch does one step of the task that a batch has, and returns how many members it has changed.
// It locks live jobs and dead letters before the batch. If the batch is not as it was read, another
// process has done the step.
func (t *Txn) stepBatch(seen *store.Batch, limit int) (done int, err error) {
	var cancels []waiting
	var found picked
	p := &picker{}
	switch seen.Task {
	case store.Publishing:
		if err := t.lockDeadLetters(); err != nil {
			return 0, err
		}
	case store.Cancelling:
		p = newPicker(t, &store.LiveAction{Do: store.LiveCancel, Filter: store.Filter{Batch: seen.ID}, Through: math.MaxInt64})
		if found, err = p.members(seen.ID, job.ID(seen.TaskAt), limit); err != nil {
			return 0, err
		}
		if cancels, err = p.lock(found.jobs); err != nil {
			return 0, err
		}
	case store.Discarding, store.NoTask:
	}
	b, err := t.takeBatch(store.By{}, seen.ID)
	if err != nil {
		return 0, err
	}
	if b.Task != seen.Task || b.TaskAt != seen.TaskAt {
		*seen = *b
		return 0, nil
	}
	switch b.Task {
	case store.Publishing:
		done, err = t.stepPublish(b, limit)
	case store.Cancelling:
		done, err = t.stepCancel(b, limit, cancels, &found)
	case store.Discarding:
		done, err = t.stepDiscard(b, limit)
	case store.NoTask:
	}
	*seen = *b
	return done, err
}

// endTask ends the task of a batch, writes its row and evaluates it.
func (t *Txn) endTask(b *store.Batch) error {
	b.Task, b.TaskAt, b.TaskThrough = store.NoTask, 0, 0
	if err := t.keepBatch(b); err != nil {
		return err
	}
	return t.touchBatch(b)
}

func (t *Txn) stepPublish(b *store.Batch, limit int) (int, error) {
	all, err := t.publishDrafts(b, limit)
	done := len(all)
	if err != nil || done == limit {
		return done, errors.Join(err, t.keepBatch(b))
	}
	m, err := t.deadMembers(b.ID, job.Pending)
	if err != nil {
		return done, err
	}
	p, err := t.search(m, b.TaskAt, b.TaskThrough, limit-done)
	if err != nil {
		return done, err
	}
	free, err := t.retakeKeys(p.found)
	if err == nil {
		err = t.reviveAll(store.By{Actor: store.BatchActor(b.ID)}, free, &store.Change{}, 0)
	}
	if err != nil {
		return done, err
	}
	done += len(free)
	if !p.more {
		return done, t.endTask(b)
	}
	b.TaskAt = p.edge
	return done, t.keepBatch(b)
}

func (t *Txn) stepCancel(b *store.Batch, limit int, jobs []waiting, found *picked) (done int, err error) {
	if b.TaskThrough == int64(store.Publishing) && b.Drafts+b.AsideDrafts > 0 {
		all, err := t.publishDrafts(b, limit)
		if err != nil {
			return 0, err
		}
		for i := range all {
			r, err := t.live(all[i].id)
			if err == nil {
				err = t.cancelReady(r, job.Waiting)
			}
			if err != nil {
				return 0, err
			}
		}
		return len(all), t.keepBatch(b)
	}
	if err := t.cancelAll(jobs); err != nil {
		return 0, err
	}
	if !found.more {
		return len(jobs), t.endTask(b)
	}
	b.TaskAt = int64(found.edge)
	return len(jobs), t.keepBatch(b)
}

// members finds the live members of a batch above an id that can be cancelled.
func (p *picker) members(batch int64, after job.ID, want int) (found picked, err error) {
	look := 0
	err = p.rows(walkMembers, func(r Row) error { return p.examine(r, &found, &look, want) }, num(batch), num(after))
	if errors.Is(err, errEnough) {
		err = nil
	}
	found.limit(want)
	return found, err
}

func (t *Txn) stepDiscard(b *store.Batch, limit int) (int, error) {
	all, err := t.drafts(firstDrafts, num(b.ID), num(limit))
	for i := range all {
		if err == nil {
			err = t.discardDraft(b, &all[i])
		}
	}
	switch {
	case err != nil:
		return 0, err
	case b.Drafts+b.AsideDrafts > 0:
		return len(all), t.keepBatch(b)
	case b.State != job.BatchDraft:
		return len(all), t.endTask(b)
	}
	b.Task = store.NoTask
	return len(all), t.removeBatch(b.ID)
}

func (t *Txn) removeBatch(id int64) error {
	for _, q := range []*Query{delBatch, delSpans, delCounts, delOutcomes} {
		if _, err := t.exec(q, num(id)); err != nil {
			return err
		}
	}
	return nil
}

// discardDraft removes a draft. The key of a draft that was to replace a cancelled job goes back to
// that job.
func (t *Txn) discardDraft(b *store.Batch, d *draftRow) error {
	if err := t.one(delDraft, num(d.id), num(b.ID)); err != nil {
		return err
	}
	countDraft(b, d.aside, -1)
	if d.long {
		if _, err := t.exec(delBody, num(d.id)); err != nil {
			return err
		}
	}
	if d.key == "" {
		return nil
	}
	owner := text(strconv.FormatInt(b.ID, 10))
	if d.replaces == 0 {
		_, err := t.exec(delKeyOf, owner, text(d.key), num(d.id))
		return err
	}
	_, err := t.exec(giveKeyBack, owner, text(d.key), num(d.replaces), num(d.id))
	return err
}
