package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/redrive/redrive/store"
)

// ClaimMark implements store.Marks.
func (s *Store) ClaimMark(ctx context.Context, c store.MarkClaim) (store.Mark, error) {
	t, err := s.begin(ctx, "claim mark")
	if err != nil {
		return store.Mark{}, err
	}
	defer t.end()
	if err := c.Validate(); err != nil {
		return store.Mark{}, t.errorf("%w", err)
	}
	known := t.marks[c.Key]
	claimed, err := known.Claim(&c, t.now)
	if err != nil {
		return store.Mark{}, t.errorf("%w", err)
	}
	t.marks[c.Key] = claimed
	return claimed, nil
}

// EndMark implements store.Marks.
func (s *Store) EndMark(ctx context.Context, e store.MarkEnd) error {
	t, err := s.begin(ctx, "end mark")
	if err != nil {
		return err
	}
	defer t.end()
	if err := e.Validate(); err != nil {
		return t.errorf("%w", err)
	}
	known := t.marks[e.Key]
	ended, err := known.End(&e, t.now)
	if err != nil {
		return t.errorf("%w", err)
	}
	if ended == known {
		return nil
	}
	if t.marks[e.Key] = ended; ended.Holder == "" {
		delete(t.marks, e.Key)
	}
	for _, key := range t.forgotten() {
		delete(t.marks, key)
	}
	return nil
}

// forgotten returns the keys of the marks that are removed first.
func (t *tx) forgotten() (keys []string) {
	var old []store.Mark
	for _, m := range t.marks {
		if m.ForgetAt != 0 && m.ForgetAt <= t.now {
			old = append(old, m)
		}
	}
	slices.SortFunc(old, func(a, b store.Mark) int {
		return cmp.Or(cmp.Compare(a.ForgetAt, b.ForgetAt), cmp.Compare(a.Key, b.Key))
	})
	for i := range min(len(old), store.MarksRemoved) {
		keys = append(keys, old[i].Key)
	}
	return keys
}

func (t *tx) sortedMarks() []store.Mark {
	list := make([]store.Mark, 0, len(t.marks))
	for _, m := range t.marks {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b store.Mark) int { return cmp.Compare(a.Key, b.Key) })
	return list
}
