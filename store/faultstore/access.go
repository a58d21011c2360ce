package faultstore

import (
	"context"

	"github.com/redrive/redrive/store"
)

// PutKey implements store.Access.
func (s *Store) PutKey(ctx context.Context, by store.By, k store.AccessKey) (store.AccessKey, error) {
	return do(ctx, s, "PutKey", func() (store.AccessKey, error) { return s.inner.PutKey(ctx, by, k) })
}

// AccessKeys implements store.Access.
func (s *Store) AccessKeys(ctx context.Context) ([]store.AccessKey, error) {
	return do(ctx, s, "AccessKeys", func() ([]store.AccessKey, error) { return s.inner.AccessKeys(ctx) })
}

// UsedKeys implements store.Access.
func (s *Store) UsedKeys(ctx context.Context, ids []string) error {
	_, err := do(ctx, s, "UsedKeys", func() (none, error) { return none{}, s.inner.UsedKeys(ctx, ids) })
	return err
}

// Secret implements store.Access.
func (s *Store) Secret(ctx context.Context, name string, fresh []byte) ([]byte, error) {
	return do(ctx, s, "Secret", func() ([]byte, error) { return s.inner.Secret(ctx, name, fresh) })
}
