package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// numbers translates the cursors of a store into the cursors of the reference store, because the two
// stores may number the same commit differently. After the translation, the events of both stores can
// be compared.
type numbers struct {
	toTheirs map[event.Cursor]event.Cursor // for each event of the store, its cursor in the reference store
	toOwn    map[event.Cursor]event.Cursor
	own      []event.Event // the events of the last dump, with the cursors of the store
}

func newNumbers() *numbers {
	return &numbers{toTheirs: make(map[event.Cursor]event.Cursor), toOwn: make(map[event.Cursor]event.Cursor)}
}

// follow translates the cursors of the events since the last call. In the dump d, it replaces the
// cursors of the events by those of the reference store. It returns an error when the commits of the
// two stores do not match. If the last argument is true, the last operation was an exchange, and its
// outcomes and its claims may have been committed in either order. A batch may end in a later commit
// than its last member.
func (n *numbers) follow(reference []event.Event, d *store.Dump, exchange bool) error {
	for i := range d.Events {
		if i > 0 && !d.Events[i-1].Cursor.Before(d.Events[i].Cursor) {
			return fmt.Errorf("event %s comes after event %s, want ascending cursors", d.Events[i].Cursor, d.Events[i-1].Cursor)
		}
	}
	n.own = d.Events
	own, ownEnds := commitsOf(d.Events, n.toTheirs)
	theirs, theirEnds := commitsOf(reference, n.toOwn)
	if len(own) != len(theirs) {
		return fmt.Errorf("the store has made %d new commits, want %d commits as in the reference store", len(own), len(theirs))
	}
	if exchange && len(own) == 2 && !sameEvents(own[0], theirs[0]) && sameEvents(own[0], theirs[1]) {
		slices.Reverse(own)
	}
	own, theirs = append(own, ownEnds), append(theirs, theirEnds)
	for i := range own {
		if !sameEvents(own[i], theirs[i]) {
			return errors.New("the events of a new commit, or the new ends of batches, differ from those of the reference store (-reference +store):\n" +
				cmp.Diff(theirs[i], own[i], equal))
		}
		for k := range own[i] {
			a, b := own[i][k].Cursor, theirs[i][k].Cursor
			n.toTheirs[a], n.toOwn[b] = b, a
		}
	}
	d.Events = slices.Clone(d.Events)
	for i := range d.Events {
		d.Events[i].Cursor = n.toTheirs[d.Events[i].Cursor]
	}
	slices.SortStableFunc(d.Events, func(a, b event.Event) int {
		if a.Cursor.Before(b.Cursor) {
			return -1
		}
		return 1
	})
	return nil
}

// commitsOf divides new events into one list for each commit. The ends of batches have a list of
// their own, sorted by batch. The events in the map are not new.
func commitsOf(events []event.Event, known map[event.Cursor]event.Cursor) (commits [][]event.Event, ends []event.Event) {
	last := int64(0) // the number of the last commit in the list
	for i := range events {
		e := events[i]
		switch _, old := known[e.Cursor]; {
		case old:
		case endsBatch(&e):
			ends = append(ends, e)
		case len(commits) > 0 && e.Cursor.Seq == last:
			commits[len(commits)-1] = append(commits[len(commits)-1], e)
		default:
			commits, last = append(commits, []event.Event{e}), e.Cursor.Seq
		}
	}
	slices.SortStableFunc(ends, func(a, b event.Event) int { return int(a.Batch - b.Batch) })
	return commits, ends
}

// endsBatch reports whether an event says that all members of a batch have ended.
func endsBatch(e *event.Event) bool {
	if e.Type != event.BatchChanged {
		return false
	}
	state, _ := job.ParseBatchState(strings.ToUpper(e.Reason))
	return state == job.BatchReady || state == job.BatchPartial || state == job.BatchFailed
}

// sameEvents reports whether two lists have equal events. It ignores their cursors.
func sameEvents(a, b []event.Event) bool {
	return slices.EqualFunc(a, b, func(x, y event.Event) bool {
		x.Cursor = y.Cursor
		return x == y
	})
}

// events reads the store's events after a cursor of the reference store. It returns an error unless
// the events are equal to the events in the store's dump. The returned events have the commit
// numbers of the reference store.
func (n *numbers) events(s store.Store, reference []event.Event, after event.Cursor, limit int) ([]event.Event, error) {
	cut := func(events []event.Event, after event.Cursor) []event.Event {
		from := slices.IndexFunc(events, func(e event.Event) bool { return after.Before(e.Cursor) })
		if from < 0 {
			return nil
		}
		return events[from:min(from+limit, len(events))]
	}
	own := n.toOwn[after]
	got, err := s.Events(ctx(), own, limit)
	if err != nil {
		return nil, err
	}
	if want := cut(n.own, own); !slices.Equal(got, want) {
		return nil, fmt.Errorf("the events that were read after cursor %s differ from the events in the dump (-dump +events):\n%s", own, cmp.Diff(want, got, equal))
	}
	return cut(reference, after), nil
}

// last checks that EventSpan of the store agrees with the store's dump. It returns the last cursor
// of EventSpan, translated into the commit numbers of the reference store. An exchange can have two
// commits, in a different order in each store, so the newest commits of the two stores may be
// different halves of one exchange. Both then count as the newest.
func (n *numbers) last(s store.Store, first event.Cursor, reference []event.Event) (event.Cursor, error) {
	if len(n.own) == 0 {
		return event.Cursor{}, nil
	}
	if err := shownAll(s, n.own); err != nil {
		return event.Cursor{}, err
	}
	_, last, err := s.EventSpan(ctx())
	if err != nil {
		return last, err
	}
	if want := n.own[len(n.own)-1].Cursor; last != want || !first.Before(n.own[0].Cursor) {
		return last, fmt.Errorf("EventSpan returned first %s and last %s; want last %s, and a first before event %s",
			first, last, want, n.own[0].Cursor)
	}
	return reference[len(reference)-1].Cursor, nil
}
