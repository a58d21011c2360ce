package storetest

import (
	"context"
	"slices"

	"github.com/redrive/redrive/store"
)

// groupLists makes a broken store. It changes each group that callers read, in lists and in dumps.
func groupLists(change func(*store.Group)) func(store.Store, *Clock) store.Store {
	return func(s store.Store, _ *Clock) store.Store { return &bentGroups{s, change} }
}

type bentGroups struct {
	store.Store
	change func(*store.Group)
}

func (s *bentGroups) Groups(ctx context.Context, f store.GroupFilter) (store.GroupPage, error) {
	page, err := s.Store.Groups(ctx, f)
	for i := range page.Groups {
		s.change(&page.Groups[i])
	}
	return page, err
}

func (s *bentGroups) Dump(ctx context.Context) (*store.Dump, error) {
	d, err := s.Store.Dump(ctx)
	if err == nil {
		for i := range d.Groups {
			s.change(&d.Groups[i])
		}
	}
	return d, err
}

// keepsNotes is a broken store whose sweeps remove no notes.
type keepsNotes struct {
	store.Store
	kept []store.Note
}

func (s *keepsNotes) AddNote(ctx context.Context, by store.By, n store.Note) (store.Note, error) {
	n, err := s.Store.AddNote(ctx, by, n)
	if err == nil {
		s.kept = append(s.kept, n)
	}
	return n, err
}

func (s *keepsNotes) Dump(ctx context.Context) (*store.Dump, error) {
	d, err := s.Store.Dump(ctx)
	if err == nil {
		d.Notes = slices.Clone(s.kept)
	}
	return d, err
}

// sleepyFollow is a broken store: Follow sends only when Notify would send, not after each commit.
type sleepyFollow struct{ store.Store }

func (s *sleepyFollow) Follow(ch chan<- struct{}) (stop func()) { return s.Notify(ch) }
