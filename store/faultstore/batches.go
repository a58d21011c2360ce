package faultstore

import (
	"context"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// CreateBatch implements store.Batches.
func (s *Store) CreateBatch(ctx context.Context, by store.By, n store.NewBatch) (store.Batch, error) {
	return do(ctx, s, "CreateBatch", func() (store.Batch, error) { return s.inner.CreateBatch(ctx, by, n) })
}

// StartBatch implements store.Batches.
func (s *Store) StartBatch(ctx context.Context, by store.By, n store.NewBatch, members []job.New) (store.Batch, []job.Receipt, error) {
	var receipts []job.Receipt
	b, err := do(ctx, s, "StartBatch", func() (b store.Batch, err error) {
		b, receipts, err = s.inner.StartBatch(ctx, by, n, members)
		return b, err
	})
	if err != nil {
		receipts = nil
	}
	return b, receipts, err
}

// AddMembers implements store.Batches.
func (s *Store) AddMembers(ctx context.Context, batch int64, members []job.New) ([]job.Receipt, error) {
	return do(ctx, s, "AddMembers", func() ([]job.Receipt, error) { return s.inner.AddMembers(ctx, batch, members) })
}

// PublishBatch implements store.Batches.
func (s *Store) PublishBatch(ctx context.Context, by store.By, id int64) (store.Published, error) {
	return do(ctx, s, "PublishBatch", func() (store.Published, error) { return s.inner.PublishBatch(ctx, by, id) })
}

// StepBatches implements store.Batches.
func (s *Store) StepBatches(ctx context.Context, limit int) (store.BatchStep, error) {
	return do(ctx, s, "StepBatches", func() (store.BatchStep, error) { return s.inner.StepBatches(ctx, limit) })
}

// Batch implements store.Batches.
func (s *Store) Batch(ctx context.Context, id int64) (store.Batch, error) {
	return do(ctx, s, "Batch", func() (store.Batch, error) { return s.inner.Batch(ctx, id) })
}

// BatchList implements store.Batches.
func (s *Store) BatchList(ctx context.Context, f store.BatchFilter) (store.BatchPage, error) {
	return do(ctx, s, "BatchList", func() (store.BatchPage, error) { return s.inner.BatchList(ctx, f) })
}

// Members implements store.Batches.
func (s *Store) Members(ctx context.Context, id int64, f store.MemberFilter, after job.ID) (store.MemberPage, error) {
	return do(ctx, s, "Members", func() (store.MemberPage, error) { return s.inner.Members(ctx, id, f, after) })
}

// Member implements store.Batches.
func (s *Store) Member(ctx context.Context, id int64, key string) (store.Member, error) {
	return do(ctx, s, "Member", func() (store.Member, error) { return s.inner.Member(ctx, id, key) })
}

// Outcomes implements store.Batches.
func (s *Store) Outcomes(ctx context.Context, id, after int64) ([]store.BatchOutcome, error) {
	return do(ctx, s, "Outcomes", func() ([]store.BatchOutcome, error) { return s.inner.Outcomes(ctx, id, after) })
}

// CancelBatch implements store.Batches.
func (s *Store) CancelBatch(ctx context.Context, by store.By, id int64) (store.Batch, error) {
	return do(ctx, s, "CancelBatch", func() (store.Batch, error) { return s.inner.CancelBatch(ctx, by, id) })
}

// DiscardBatch implements store.Batches.
func (s *Store) DiscardBatch(ctx context.Context, by store.By, id int64, ids []job.ID) (store.Batch, error) {
	return do(ctx, s, "DiscardBatch", func() (store.Batch, error) { return s.inner.DiscardBatch(ctx, by, id, ids) })
}

// SetBatch implements store.Batches.
func (s *Store) SetBatch(ctx context.Context, by store.By, id int64, expiresAt job.Micros) (store.Batch, error) {
	return do(ctx, s, "SetBatch", func() (store.Batch, error) { return s.inner.SetBatch(ctx, by, id, expiresAt) })
}
