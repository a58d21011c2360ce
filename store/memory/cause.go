package memory

import (
	"cmp"
	"context"
	"strings"

	"github.com/redrive/redrive/store"
)

// SetGroup implements store.Causes.
func (s *Store) SetGroup(ctx context.Context, by store.By, c store.GroupChange) (store.Group, error) {
	t, err := s.begin(ctx, "set group")
	if err != nil {
		return store.Group{}, err
	}
	defer t.end()
	if err := cmp.Or(by.ValidateOn(1), c.Validate()); err != nil {
		return store.Group{}, t.errorf("%w", err)
	}
	g := t.groups[c.Group]
	if g == nil {
		return store.Group{}, t.errorf("group %.80q: %w", c.Group, store.ErrNotFound)
	}
	before := g.Group
	after, changed := c.Apply(before, by.Actor, t.now)
	if changed == nil {
		return after, nil
	}
	if err := by.CheckGroup(&before); err != nil {
		return store.Group{}, t.errorf("%w", err)
	}
	g.Group = after
	t.note(by, "group.set", g.Fingerprint, store.AuditGroup(&before), store.AuditGroup(&after))
	t.emit(store.GroupEvent(&after, strings.Join(changed, ",")))
	return after, nil
}

// MergeGroups implements store.Causes.
func (s *Store) MergeGroups(ctx context.Context, by store.By, set string, groups []string) (int, error) {
	t, err := s.begin(ctx, "merge groups")
	if err != nil {
		return 0, err
	}
	defer t.end()
	if err := cmp.Or(by.Validate(), store.ValidateMerge(set, groups)); err != nil {
		return 0, t.errorf("%w", err)
	}
	var changes []*group
	for _, name := range groups {
		g := t.groups[name]
		if g == nil {
			return 0, t.errorf("group %.80q: %w", name, store.ErrNotFound)
		}
		changed, err := store.Merge(&g.Group, set)
		if err != nil {
			return 0, t.errorf("%w", err)
		}
		if changed {
			changes = append(changes, g)
		}
	}
	if set != "" && t.inSet(set)+len(changes) > store.GroupsMax {
		return 0, t.errorf("%w", store.FullSet(set))
	}
	action, word := store.MergeAction(set)
	for _, g := range changes {
		before := g.Set
		g.Set = set
		t.note(by, action, g.Fingerprint, before, set)
		t.emit(store.GroupEvent(&g.Group, word))
	}
	return len(changes), nil
}

// inSet returns the number of groups in a set.
func (t *tx) inSet(set string) (n int) {
	for _, g := range t.groups {
		if g.Set == set {
			n++
		}
	}
	return n
}
