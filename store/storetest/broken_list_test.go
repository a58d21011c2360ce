package storetest

import (
	"context"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// listMutants are broken stores whose method List breaks a promise.
func listMutants() []mutant {
	filters := func(change func(*store.Filter)) func(store.Store, *Clock) store.Store {
		return func(s store.Store, _ *Clock) store.Store {
			return &listing{Store: s, list: func(ctx context.Context, f store.Filter) (store.Page, error) {
				change(&f)
				return s.List(ctx, f)
			}}
		}
	}
	pages := func(change func(*store.Page)) func(store.Store, *Clock) store.Store {
		return func(s store.Store, _ *Clock) store.Store {
			return &listing{Store: s, list: func(ctx context.Context, f store.Filter) (store.Page, error) {
				page, err := s.List(ctx, f)
				change(&page)
				return page, err
			}}
		}
	}
	return []mutant{
		{"lists the jobs of all correlation ids", "Q9_ListFilters", filters(func(f *store.Filter) { f.Correlation = "" })},
		{"lists the jobs of all classes", "Q9_ListFilters", filters(func(f *store.Filter) { f.Class = "" })},
		{"lists jobs by id when they are asked for by due time", "Q9_ListFilters", filters(func(f *store.Filter) {
			if f.Order == store.Due {
				f.Order, f.States, f.From = store.Newest, f.Order.States(), store.Cursor{ID: f.From.ID}
			}
		})},
		{"takes the end of a span into it", "Q9_ListFilters", filters(func(f *store.Filter) {
			if f.Created.Until != 0 {
				f.Created.Until++
			}
		})},
		{"skips a job between two pages", "Q9_ListIsPagedFromTheNewest", pages(func(p *store.Page) {
			if p.Next.At == 0 && p.Next.ID > 1 {
				p.Next.ID--
			}
		})},
		{"loses the list's place when its job is gone", "Q9_ListGoesOnWithoutItsRow", func(s store.Store, _ *Clock) store.Store {
			return &listing{Store: s, list: func(ctx context.Context, f store.Filter) (store.Page, error) {
				if !f.From.IsZero() {
					if j, err := s.Get(ctx, f.From.ID); err != nil || f.Order.States() != nil && !slices.Contains(f.Order.States(), j.State) {
						return store.Page{}, nil
					}
				}
				return s.List(ctx, f)
			}}
		}},
		{"does not find completed jobs by the attributes that they keep", "Q9_ListFilters", func(s store.Store, _ *Clock) store.Store {
			return &listing{Store: s, list: func(ctx context.Context, f store.Filter) (store.Page, error) {
				page, err := s.List(ctx, f)
				if f.Attr.Name != "" {
					page.Jobs = slices.DeleteFunc(page.Jobs, func(j job.Job) bool { return j.State == job.Completed })
				}
				return page, err
			}}
		}},
		{"forgets the owners of jobs whose events were removed", "Q9_OwnerListsOutliveRetention",
			func(s store.Store, _ *Clock) store.Store {
				return &forgettingOwners{Store: s, of: func(f *store.Filter) string { return f.Owner }}
			}},
		{"forgets the correlation ids of jobs whose events were removed", "Q9_OwnerListsOutliveRetention",
			func(s store.Store, _ *Clock) store.Store {
				return &forgettingOwners{Store: s, of: func(f *store.Filter) string { return f.Correlation }}
			}},
		{"takes a cursor of another list", "X3_BadListsAreRefused", filters(func(f *store.Filter) {
			if f.Order == store.Newest {
				f.From.At = 0
			}
		})},
	}
}

type listing struct {
	store.Store
	list func(context.Context, store.Filter) (store.Page, error)
}

func (s *listing) List(ctx context.Context, f store.Filter) (store.Page, error) {
	return s.list(ctx, f)
}

// forgettingOwners is a broken store: its lists by one field of the filter, the owner or the
// correlation id, leave out jobs whose events were removed.
type forgettingOwners struct {
	store.Store
	of      func(*store.Filter) string // the field
	through job.ID                     // the highest id of the jobs whose events were removed
}

func (s *forgettingOwners) Sweep(ctx context.Context, keep store.Retention, limit int) (store.Swept, error) {
	before, err := s.Dump(ctx)
	if err != nil {
		return store.Swept{}, err
	}
	swept, err := s.Store.Sweep(ctx, keep, limit)
	for i := range before.Events[:min(int(swept.Events), len(before.Events))] {
		s.through = max(s.through, before.Events[i].Job)
	}
	return swept, err
}

func (s *forgettingOwners) List(ctx context.Context, f store.Filter) (store.Page, error) {
	page, err := s.Store.List(ctx, f)
	if s.of(&f) != "" {
		page.Jobs = slices.DeleteFunc(page.Jobs, func(j job.Job) bool { return j.ID <= s.through })
	}
	return page, err
}

// forgetsSick is a broken store: it does not store which kinds of jobs a process cannot start, nor
// why.
type forgetsSick struct{ store.Store }

func (s forgetsSick) Present(ctx context.Context, p store.Process) (store.Orders, error) {
	p.Sick = nil
	return s.Store.Present(ctx, p)
}
