package sqlstore

import (
	"context"

	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// StartBatch implements store.Batches.
func (s *Core) StartBatch(ctx context.Context, by store.By, n store.NewBatch, members []job.New) (made store.Batch, receipts []job.Receipt, err error) {
	if err := storekit.CheckStart(&n, members); err != nil {
		return store.Batch{}, nil, err
	}
	err = s.db.AdminWrite(ctx, func(t *Txn) error {
		t.noDeadLetters = true
		b, existing, err := t.createBatch(by, &n)
		if err != nil {
			return err
		}
		var fresh []member
		if receipts, fresh, err = t.addMembers(b, members); err != nil {
			return err
		}
		if !existing {
			if err := t.startBatch(b, fresh, receipts); err != nil {
				return err
			}
		}
		made = *b
		made.Running, err = t.runningOf(b.ID)
		return err
	})
	if err != nil {
		return store.Batch{}, nil, err
	}
	return made, receipts, nil
}

// startBatch publishes a batch that the transaction has created, with all its drafts.
func (t *Txn) startBatch(b *store.Batch, fresh []member, receipts []job.Receipt) error {
	if err := t.openBatch(b); err != nil {
		return err
	}
	if _, err := t.publishDrafts(b, len(fresh)); err != nil {
		return err
	}
	for i := range fresh {
		receipts[fresh[i].index].State = job.Waiting
	}
	for i := range receipts {
		if receipts[i].State == job.None {
			receipts[i].State = job.Waiting
		}
	}
	var err error
	if b.BatchCounts, err = t.countsOf(b.ID); err != nil {
		return err
	}
	return t.keepBatch(b)
}
