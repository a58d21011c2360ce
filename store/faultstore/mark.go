package faultstore

import (
	"context"

	"github.com/redrive/redrive/store"
)

// ClaimMark implements store.Marks.
func (s *Store) ClaimMark(ctx context.Context, c store.MarkClaim) (store.Mark, error) {
	return do(ctx, s, "ClaimMark", func() (store.Mark, error) { return s.inner.ClaimMark(ctx, c) })
}

// EndMark implements store.Marks.
func (s *Store) EndMark(ctx context.Context, e store.MarkEnd) error {
	_, err := do(ctx, s, "EndMark", func() (none, error) { return none{}, s.inner.EndMark(ctx, e) })
	return err
}
