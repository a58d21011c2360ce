package faultstore

import (
	"context"

	"github.com/redrive/redrive/store"
)

// PutEndpoint implements store.Endpoints.
func (s *Store) PutEndpoint(ctx context.Context, by store.By, e store.Endpoint) (store.Endpoint, error) {
	return do(ctx, s, "PutEndpoint", func() (store.Endpoint, error) { return s.inner.PutEndpoint(ctx, by, e) })
}

// Endpoints implements store.Endpoints.
func (s *Store) Endpoints(ctx context.Context) ([]store.Endpoint, error) {
	return do(ctx, s, "Endpoints", func() ([]store.Endpoint, error) { return s.inner.Endpoints(ctx) })
}

// RemoveEndpoint implements store.Endpoints.
func (s *Store) RemoveEndpoint(ctx context.Context, by store.By, name string) error {
	_, err := do(ctx, s, "RemoveEndpoint", func() (none, error) { return none{}, s.inner.RemoveEndpoint(ctx, by, name) })
	return err
}

// CountEndpoint implements store.Endpoints.
func (s *Store) CountEndpoint(ctx context.Context, name string, n store.EndpointCount) (store.Endpoint, error) {
	return do(ctx, s, "CountEndpoint", func() (store.Endpoint, error) { return s.inner.CountEndpoint(ctx, name, n) })
}
