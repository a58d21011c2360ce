package memory

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/redrive/redrive/store"
)

// PutKey implements store.Access.
func (s *Store) PutKey(ctx context.Context, by store.By, k store.AccessKey) (store.AccessKey, error) {
	t, err := s.begin(ctx, "put key")
	if err != nil {
		return store.AccessKey{}, err
	}
	defer t.end()
	if err := cmp.Or(by.Validate(), k.Validate()); err != nil {
		return store.AccessKey{}, t.errorf("%w", err)
	}
	k = cloneKey(k)
	before, known := t.access[k.ID]
	if !known {
		return t.createKey(by, k)
	}
	stored, changed, err := before.Change(k, t.now)
	switch {
	case err != nil:
		return store.AccessKey{}, t.errorf("%w", err)
	case changed:
		t.keyChanged(by, &before, &stored)
	}
	return cloneKey(stored), nil
}

func (t *tx) createKey(by store.By, k store.AccessKey) (store.AccessKey, error) {
	if k.Version > 0 {
		return store.AccessKey{}, t.errorf("%w", k.ErrNoKey())
	}
	if len(t.access) >= store.KeysMax {
		maps.DeleteFunc(t.access, func(_ string, old store.AccessKey) bool { return old.Forgotten(t.now) })
	}
	if len(t.access) >= store.KeysMax {
		return store.AccessKey{}, t.errorf("%w", k.ErrKeysFull())
	}
	k = k.Create(by, t.now)
	t.keyChanged(by, nil, &k)
	return cloneKey(k), nil
}

// keyChanged stores a key, with the event and the audit row.
func (t *tx) keyChanged(by store.By, before, after *store.AccessKey) {
	t.access[after.ID] = *after
	e, row := store.KeyChanged(by, before, after)
	t.emit(e)
	t.note(by, row.Action, row.Target, row.Before, row.After)
}

// AccessKeys implements store.Access.
func (s *Store) AccessKeys(ctx context.Context) ([]store.AccessKey, error) {
	t, err := s.begin(ctx, "access keys")
	if err != nil {
		return nil, err
	}
	defer t.end()
	return t.sortedAccess(), nil
}

// sortedAccess returns copies of the keys, sorted by id.
func (t *tx) sortedAccess() []store.AccessKey {
	list := make([]store.AccessKey, 0, len(t.access))
	for _, id := range slices.Sorted(maps.Keys(t.access)) {
		list = append(list, cloneKey(t.access[id]))
	}
	return list
}

func cloneKey(k store.AccessKey) store.AccessKey {
	k.Hash, k.OldHash = bytes.Clone(k.Hash), bytes.Clone(k.OldHash)
	k.Roles, k.Kinds, k.Queues = slices.Clone(k.Roles), slices.Clone(k.Kinds), slices.Clone(k.Queues)
	return k
}

// UsedKeys implements store.Access.
func (s *Store) UsedKeys(ctx context.Context, ids []string) error {
	t, err := s.begin(ctx, "used keys")
	if err != nil {
		return err
	}
	defer t.end()
	if err := store.ValidUsedKeys(ids); err != nil {
		return t.errorf("%w", err)
	}
	for _, id := range ids {
		if k, ok := t.access[id]; ok && (k.UsedAt == 0 || k.UsedAt <= t.now.Add(-store.KeyUsedEvery)) {
			k.UsedAt = t.now
			t.access[id] = k
		}
	}
	return nil
}

// Secret implements store.Access.
func (s *Store) Secret(ctx context.Context, name string, fresh []byte) ([]byte, error) {
	t, err := s.begin(ctx, "secret")
	if err != nil {
		return nil, err
	}
	defer t.end()
	if err := store.ValidSecret(name, fresh); err != nil {
		return nil, t.errorf("%w", err)
	}
	if t.secrets[name] == nil {
		t.secrets[name] = bytes.Clone(fresh)
	}
	return bytes.Clone(t.secrets[name]), nil
}
