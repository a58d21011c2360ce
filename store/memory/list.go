package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// pageDefault is the number of jobs on a page if the filter has no limit.
const pageDefault = 50

// List implements store.Reader.
func (s *Store) List(ctx context.Context, f store.Filter) (page store.Page, err error) {
	t, err := s.begin(ctx, "list")
	if err != nil {
		return page, err
	}
	defer t.end()
	if err := f.Validate(); err != nil {
		return page, t.errorf("%w", err)
	}
	var all []*record
	for _, r := range t.jobs {
		if t.selects(&f, r) && after(f.Order, r, f.From) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *record) int { return compare(f.Order, a, b) })
	limit := cmp.Or(f.Limit, pageDefault)
	if len(all) > limit {
		page.Next = position(f.Order, all[limit-1])
		all = all[:limit]
	}
	for _, r := range all {
		page.Jobs = append(page.Jobs, narrow(r))
	}
	return page, nil
}

// selects reports whether a filter selects a job. It compares all fields of the filter, including
// those about the job's last failure.
func (t *tx) selects(f *store.Filter, r *record) bool {
	if !f.Match(&r.Job) {
		return false
	}
	if f.Key != "" && !t.holdsKey(r.ID, keyName{f.Owner, f.Kind, f.Key}) {
		return false
	}
	if !f.ByCause() {
		return true
	}
	if r.State == job.Dead {
		d := t.dead[r.ID]
		return f.MatchCause(d.Class, d.Fingerprint, d.Message)
	}
	failures := t.failures[r.ID]
	if len(failures) == 0 {
		return false
	}
	last := &failures[len(failures)-1]
	return f.MatchCause(last.Class, last.Fingerprint, last.Message)
}

// position returns the position of a job in a list with the given order.
func position(o store.Order, r *record) store.Cursor {
	switch o {
	case store.Due:
		return store.Cursor{At: r.RunAt, ID: r.ID}
	case store.Ended:
		return store.Cursor{At: r.FinishedAt, ID: r.ID}
	case store.Newest:
	}
	return store.Cursor{ID: r.ID}
}

func compare(o store.Order, a, b *record) int {
	x, y := position(o, a), position(o, b)
	if o == store.Due {
		return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.ID, y.ID))
	}
	return cmp.Or(cmp.Compare(y.At, x.At), cmp.Compare(y.ID, x.ID))
}

// after reports whether a job comes after a given position in a list.
func after(o store.Order, r *record, from store.Cursor) bool {
	if from.IsZero() {
		return true
	}
	p := position(o, r)
	if o == store.Due {
		return cmp.Or(cmp.Compare(p.At, from.At), cmp.Compare(p.ID, from.ID)) > 0
	}
	return cmp.Or(cmp.Compare(p.At, from.At), cmp.Compare(p.ID, from.ID)) < 0
}
