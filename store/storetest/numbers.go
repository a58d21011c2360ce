package storetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/store"
)

// numbers translates the commit numbers of a store into the commit numbers of the reference store,
// because the two stores may number the same commit differently. After the translation, the events
// of both stores can be compared.
type numbers struct {
	toTheirs map[int64]int64 // for each commit number of the store, the number in the reference store
	toOwn    map[int64]int64
	own      []event.Event // the events of the last dump, with the commit numbers of the store
}

func newNumbers() *numbers {
	return &numbers{toTheirs: make(map[int64]int64), toOwn: make(map[int64]int64)}
}

// follow translates the commit numbers of the commits since the last call. In the dump d, it
// replaces the commit numbers of the events by those of the reference store. It returns an error
// when the commits of the two stores do not match. If the last argument is true, the last operation
// was an exchange, and its outcomes and its claims may have been committed in either order.
func (n *numbers) follow(reference []event.Event, d *store.Dump, exchange bool) error {
	for i := range d.Events {
		if i > 0 && !d.Events[i-1].Cursor.Before(d.Events[i].Cursor) {
			return fmt.Errorf("event %s comes after event %s, want ascending cursors", d.Events[i].Cursor, d.Events[i-1].Cursor)
		}
	}
	n.own = d.Events
	own, theirs := commitsOf(d.Events, n.toTheirs), commitsOf(reference, n.toOwn)
	if len(own) != len(theirs) {
		return fmt.Errorf("the store has made %d new commits, want %d commits as in the reference store", len(own), len(theirs))
	}
	if exchange && len(own) == 2 && !sameCommit(own[0], theirs[0]) && sameCommit(own[0], theirs[1]) {
		slices.Reverse(own)
	}
	for i := range own {
		if !sameCommit(own[i], theirs[i]) {
			return errors.New("the events of a new commit differ from those of the reference store (-reference +store):\n" + cmp.Diff(theirs[i], own[i], equal))
		}
		a, b := own[i][0].Cursor.Seq, theirs[i][0].Cursor.Seq
		n.toTheirs[a], n.toOwn[b] = b, a
	}
	d.Events = slices.Clone(d.Events)
	for i := range d.Events {
		d.Events[i].Cursor.Seq = n.toTheirs[d.Events[i].Cursor.Seq]
	}
	slices.SortStableFunc(d.Events, func(a, b event.Event) int {
		if a.Cursor.Before(b.Cursor) {
			return -1
		}
		return 1
	})
	return nil
}

// commitsOf divides the events of new commits into one list for each commit. The commits in the map
// are not new.
func commitsOf(events []event.Event, known map[int64]int64) (commits [][]event.Event) {
	for from := 0; from < len(events); {
		seq, to := events[from].Cursor.Seq, from
		for to < len(events) && events[to].Cursor.Seq == seq {
			to++
		}
		if _, ok := known[seq]; !ok {
			commits = append(commits, events[from:to])
		}
		from = to
	}
	return commits
}

// sameCommit reports whether two commits have equal events. It ignores the numbers of the
// commits.
func sameCommit(a, b []event.Event) bool {
	return slices.EqualFunc(a, b, func(x, y event.Event) bool {
		x.Cursor.Seq = y.Cursor.Seq
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
	own := event.Cursor{Seq: n.toOwn[after.Seq], Index: after.Index}
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
