package redrive

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"

	"github.com/redrive/redrive/store"
)

// batchTx returns the store as one that can change batches in a caller's transaction.
func (c *Client) batchTx() (store.BatchTransactor, error) {
	if s, ok := c.store.(store.BatchTransactor); ok {
		return s, nil
	}
	return nil, fmt.Errorf("a store of type %T cannot change batches in a caller's own transaction: do it after its commit: %w", c.store, store.ErrInvalid)
}

// NewBatchTx does the same as NewBatch, but inside the caller's own transaction; see EnqueueTx.
func (c *Client) NewBatchTx(ctx context.Context, tx store.Tx, by By, spec BatchSpec) (*BatchHandle, error) {
	s, err := c.batchTx()
	if err != nil {
		return nil, err
	}
	spec.Key = cmp.Or(spec.Key, rand.Text())
	b, err := s.CreateBatchTx(ctx, tx, by, spec)
	if err != nil {
		return nil, err
	}
	return &BatchHandle{c, b.ID, b.Existing}, nil
}

// AddTx does the same as Add, but inside the caller's own transaction.
func (h *BatchHandle) AddTx(ctx context.Context, tx store.Tx, specs ...Spec) ([]Receipt, error) {
	s, err := h.c.batchTx()
	if err != nil {
		return nil, err
	}
	members, err := h.members(ctx, specs)
	if err != nil || len(members) == 0 {
		return nil, err
	}
	first, err := h.c.takeInTx(ctx, tx, len(members))
	if err != nil {
		return nil, err
	}
	number(members, first)
	receipts, err := s.AddMembersTx(ctx, tx, h.id, members)
	h.c.ids.lost(err)
	return receipts, err
}

// PublishTx does the same as Publish, but inside the caller's own transaction: in it the first
// store.StepMax drafts become jobs. Running clients do the rest after the commit.
func (h *BatchHandle) PublishTx(ctx context.Context, tx store.Tx, by By) (Published, error) {
	s, err := h.c.batchTx()
	if err != nil {
		return Published{}, err
	}
	return s.PublishBatchTx(ctx, tx, by, h.id)
}

// GetTx returns the batch as it is inside the caller's own transaction.
func (h *BatchHandle) GetTx(ctx context.Context, tx store.Tx) (Batch, error) {
	s, err := h.c.batchTx()
	if err != nil {
		return Batch{}, err
	}
	return s.BatchTx(ctx, tx, h.id)
}

// RetryTx retries one dead job inside the caller's own transaction. If it is a member of a batch,
// the batch goes back to PROCESSING in the same transaction.
func (c *Client) RetryTx(ctx context.Context, tx store.Tx, by By, id JobID) error {
	s, err := c.batchTx()
	if err != nil {
		return err
	}
	return s.RetryTx(ctx, tx, by, id)
}
