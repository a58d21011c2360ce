package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/redrive/redrive/store"
)

// PutEndpoint implements store.Endpoints.
func (s *Store) PutEndpoint(ctx context.Context, by store.By, e store.Endpoint) (store.Endpoint, error) {
	t, err := s.begin(ctx, "put webhook")
	if err != nil {
		return store.Endpoint{}, err
	}
	defer t.end()
	if err := cmp.Or(by.Validate(), e.Validate()); err != nil {
		return store.Endpoint{}, t.errorf("%w", err)
	}
	e = e.Clone()
	before, known := t.endpoints[e.Name]
	switch {
	case !known && e.Version > 0:
		return store.Endpoint{}, t.errorf("%w", store.ErrNoEndpoint(e.Name))
	case !known && len(t.endpoints) >= store.EndpointsMax:
		return store.Endpoint{}, t.errorf("%w", store.ErrEndpointsFull(e.Name))
	case !known:
		e = e.Create(by, t.now)
		t.endpointChanged(by, nil, &e)
		return e.Clone(), nil
	}
	stored, changed, err := before.Change(e, t.now)
	switch {
	case err != nil:
		return store.Endpoint{}, t.errorf("%w", err)
	case changed:
		t.endpointChanged(by, &before, &stored)
	}
	return stored.Clone(), nil
}

// endpointChanged stores or removes an endpoint, with the event and the audit row.
func (t *tx) endpointChanged(by store.By, before, after *store.Endpoint) {
	if after == nil {
		delete(t.endpoints, before.Name)
	} else {
		t.endpoints[after.Name] = *after
	}
	e, row := store.EndpointChanged(by, before, after)
	t.emit(e)
	t.note(by, row.Action, row.Target, row.Before, row.After)
}

// Endpoints implements store.Endpoints.
func (s *Store) Endpoints(ctx context.Context) ([]store.Endpoint, error) {
	t, err := s.begin(ctx, "webhooks")
	if err != nil {
		return nil, err
	}
	defer t.end()
	return t.sortedEndpoints(), nil
}

// sortedEndpoints returns copies of the endpoints, sorted by name.
func (t *tx) sortedEndpoints() []store.Endpoint {
	list := make([]store.Endpoint, 0, len(t.endpoints))
	for _, name := range slices.Sorted(maps.Keys(t.endpoints)) {
		list = append(list, t.endpoints[name].Clone())
	}
	return list
}

// RemoveEndpoint implements store.Endpoints.
func (s *Store) RemoveEndpoint(ctx context.Context, by store.By, name string) error {
	t, err := s.begin(ctx, "remove webhook")
	if err != nil {
		return err
	}
	defer t.end()
	if err := by.Validate(); err != nil {
		return t.errorf("%w", err)
	}
	before, known := t.endpoints[name]
	if !known {
		return t.errorf("%w", store.ErrNoEndpoint(name))
	}
	t.endpointChanged(by, &before, nil)
	return nil
}

// CountEndpoint implements store.Endpoints.
func (s *Store) CountEndpoint(ctx context.Context, name string, n store.EndpointCount) (store.Endpoint, error) {
	t, err := s.begin(ctx, "count webhook")
	if err != nil {
		return store.Endpoint{}, err
	}
	defer t.end()
	before, known := t.endpoints[name]
	if !known {
		return store.Endpoint{}, t.errorf("%w", store.ErrNoEndpoint(name))
	}
	next, off := before.Count(n, t.now)
	t.endpoints[name] = next
	if off {
		t.endpointChanged(store.By{Actor: store.SweepActor}, &before, &next)
		err = t.insertNotices(t.notices.set.Off(name, store.OffReason(next.Off), int64(next.OffAt), t.now))
	}
	if err != nil {
		return store.Endpoint{}, t.errorf("%w", err)
	}
	return next.Clone(), nil
}
