package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/store"
)

// PublishPolicy implements store.Policies.
func (s *Store) PublishPolicy(ctx context.Context, by store.By, p store.StoredPolicy) error {
	t, err := s.begin(ctx, "publish policy")
	if err != nil {
		return err
	}
	defer t.end()
	if err := cmp.Or(by.Validate(), p.Validate()); err != nil {
		return t.errorf("%w", err)
	}
	if t.inForce == p.Hash {
		return nil
	}
	t.inForce = p.Hash
	if known, ok := t.policies[p.Hash]; ok {
		p = known
	} else {
		p.At, p.By, p.Body = t.now, by.Actor, bytes.Clone(p.Body)
		t.policies[p.Hash] = p
	}
	t.note(by, "policy.publish", p.Hash, "", p.Name)
	t.emit(event.Event{Type: event.PolicyChanged, Reason: p.Hash})
	return nil
}

// Policy implements store.Policies.
func (s *Store) Policy(ctx context.Context, hash string) (store.StoredPolicy, error) {
	t, err := s.begin(ctx, "policy")
	if err != nil {
		return store.StoredPolicy{}, err
	}
	defer t.end()
	p, known := t.policies[hash]
	if !known {
		return store.StoredPolicy{}, t.errorf("%w", fmt.Errorf("policy %.80q: %w", hash, store.ErrNotFound))
	}
	p.Body = bytes.Clone(p.Body)
	return p, nil
}

// PolicyList implements store.Policies.
func (s *Store) PolicyList(ctx context.Context) ([]store.StoredPolicy, error) {
	t, err := s.begin(ctx, "policy list")
	if err != nil {
		return nil, err
	}
	defer t.end()
	list := slices.Collect(maps.Values(t.policies))
	for i := range list {
		list[i].Body = nil
	}
	slices.SortFunc(list, func(a, b store.StoredPolicy) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.Hash, b.Hash))
	})
	return firstOf(list, store.PoliciesMax), nil
}

// sortedPolicies returns the policies with their bodies, sorted by hash.
func (t *tx) sortedPolicies() []store.StoredPolicy {
	list := make([]store.StoredPolicy, 0, len(t.policies))
	for _, hash := range slices.Sorted(maps.Keys(t.policies)) {
		p := t.policies[hash]
		p.Body = bytes.Clone(p.Body)
		list = append(list, p)
	}
	return list
}
