package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/redrive/redrive/store"
)

// Dump implements store.Reader. Groups are in the order of their fingerprints.
func (s *Store) Dump(ctx context.Context) (*store.Dump, error) {
	t, err := s.begin(ctx, "dump")
	if err != nil {
		return nil, err
	}
	defer t.end()
	d := &store.Dump{
		Now:    t.now,
		Counts: t.counts(),
		Queues: t.sortedQueues(),
		Events: slices.Clone(t.events),
		Audit:  slices.Clone(t.audit),

		Policies: t.sortedPolicies(),
	}
	for _, id := range t.ids {
		d.Jobs = append(d.Jobs, t.whole(t.jobs[id]))
		d.Failures = append(d.Failures, t.failuresOf(id)...)
		if letter := t.dead[id]; letter != nil {
			d.Dead = append(d.Dead, *letter)
		}
	}
	for _, k := range t.keys {
		d.Keys = append(d.Keys, k.Key)
	}
	slices.SortFunc(d.Keys, func(a, b store.Key) int { return cmp.Compare(a.Job, b.Job) })
	for _, g := range t.groups {
		d.Groups = append(d.Groups, *g)
	}
	slices.SortFunc(d.Groups, func(a, b store.Group) int { return cmp.Compare(a.Fingerprint, b.Fingerprint) })
	return d, nil
}
