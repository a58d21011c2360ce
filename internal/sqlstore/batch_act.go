package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// changeBatch changes a batch for a person, if its state allows the event.
func (s *Core) changeBatch(ctx context.Context, by store.By, id int64, e job.BatchEvent, change func(*Txn, *store.Batch) error) (shown store.Batch, err error) {
	if err := by.Validate(); err != nil {
		return shown, err
	}
	err = s.db.AdminWrite(ctx, func(t *Txn) error {
		b, err := t.takeBatch(by, id)
		if err == nil {
			err = b.Check(e, t.now)
		}
		if err == nil {
			err = change(t, b)
		}
		if err != nil {
			return err
		}
		if shown = *b; b.ID != 0 {
			shown.Running, err = t.runningOf(id)
		}
		return err
	})
	if err != nil {
		return store.Batch{}, err
	}
	return shown, nil
}

// CancelBatch implements store.Batches.
func (s *Core) CancelBatch(ctx context.Context, by store.By, id int64) (store.Batch, error) {
	return s.changeBatch(ctx, by, id, job.BatchCancel, func(t *Txn, b *store.Batch) error {
		if b.State != job.BatchProcessing || b.Task == store.Cancelling {
			return nil
		}
		// TaskThrough says whether the drafts were being published.
		b.Task, b.TaskAt, b.TaskThrough, t.wake = store.Cancelling, 0, int64(b.Task), true
		return errors.Join(t.keepBatch(b), t.audit(by, "batch.cancel", store.BatchTarget(id), store.StateWord(b.State), b.Task.String()))
	})
}

// DiscardBatch implements store.Batches.
func (s *Core) DiscardBatch(ctx context.Context, by store.By, id int64, ids []job.ID) (store.Batch, error) {
	if err := store.ValidDiscard(ids); err != nil {
		return store.Batch{}, err
	}
	return s.changeBatch(ctx, by, id, job.BatchDiscard, func(t *Txn, b *store.Batch) error { return t.discard(by, b, ids) })
}

func (t *Txn) discard(by store.By, b *store.Batch, ids []job.ID) error {
	drafts := b.Drafts + b.AsideDrafts
	if ids == nil && (b.Task == store.Discarding || drafts == 0 && b.State != job.BatchDraft) {
		return nil
	}
	before, discarded := store.StateWord(b.State), store.AuditDiscard(b, ids)
	seen := make(map[job.ID]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		found, err := t.drafts(selDraftOf, num(id), num(b.ID))
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("job %d is not a draft of batch %d: %w", id, b.ID, store.ErrNotFound)
		}
		if err == nil {
			err = t.discardDraft(b, &found[0])
		}
		if err != nil {
			return err
		}
	}
	if err := t.audit(by, "batch.discard", store.BatchTarget(b.ID), before, discarded); err != nil {
		return err
	}
	if ids == nil && drafts == 0 {
		err := t.removeBatch(b.ID)
		*b = store.Batch{}
		return err
	}
	if ids == nil {
		b.Task, b.TaskAt, b.TaskThrough, t.wake = store.Discarding, 0, 0, true
	}
	return t.keepBatch(b)
}

// SetBatch implements store.Batches.
func (s *Core) SetBatch(ctx context.Context, by store.By, id int64, expiresAt job.Micros) (store.Batch, error) {
	return s.changeBatch(ctx, by, id, job.BatchSet, func(t *Txn, b *store.Batch) error {
		if err := (&store.NewBatch{ExpiresAt: expiresAt}).ValidateTime(t.now); err != nil || b.ExpiresAt == expiresAt {
			return err
		}
		before := fmt.Sprint(int64(b.ExpiresAt))
		b.ExpiresAt = expiresAt
		return errors.Join(t.keepBatch(b), t.audit(by, "batch.set", store.BatchTarget(id), before, fmt.Sprint(int64(expiresAt))))
	})
}

// RetryTx implements store.BatchTransactor.
func (s *Core) RetryTx(ctx context.Context, tx store.Tx, by store.By, id job.ID) error {
	a := store.Action{Do: store.ActRetry, IDs: []job.ID{id}}
	if err := cmp.Or(a.ValidateBy(by), a.Validate(false)); err != nil {
		return err
	}
	return s.db.Join(ctx, tx, func(t *Txn) error {
		answer, err := t.actIDs(by, &a)
		if err == nil {
			err = answer.Errors[0]
		}
		return err
	})
}
