package storetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/store"
)

// numbers knows how a store numbers the commits that a reference numbers in its
// way. So its events can be compared to the last, in their order.
type numbers struct {
	toTheirs map[int64]int64 // the reference's number by the store's
	toOwn    map[int64]int64
	own      []event.Event // of the last dump, as the store numbers them
}

func newNumbers() *numbers {
	return &numbers{toTheirs: make(map[int64]int64), toOwn: make(map[int64]int64)}
}

// follow takes in the commits that have come since the last call, and numbers the
// events of a dump as the reference does. It fails when commits do not match. After
// an exchange the halves of that may have changed places.
func (n *numbers) follow(reference []event.Event, d *store.Dump, exchange bool) error {
	for i := range d.Events {
		if i > 0 && !d.Events[i-1].Cursor.Before(d.Events[i].Cursor) {
			return fmt.Errorf("%s is not after %s", d.Events[i].Cursor, d.Events[i-1].Cursor)
		}
	}
	n.own = d.Events
	own, theirs := commitsOf(d.Events, n.toTheirs), commitsOf(reference, n.toOwn)
	if len(own) != len(theirs) {
		return fmt.Errorf("%d new commits, want %d", len(own), len(theirs))
	}
	if exchange && len(own) == 2 && !sameCommit(own[0], theirs[0]) && sameCommit(own[0], theirs[1]) {
		slices.Reverse(own)
	}
	for i := range own {
		if !sameCommit(own[i], theirs[i]) {
			return errors.New("a new commit differs (-reference +store):\n" + cmp.Diff(theirs[i], own[i], equal))
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

// commitsOf returns the events of the commits that are not known, in parts.
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

// sameCommit compares events but for the numbers of their commits.
func sameCommit(a, b []event.Event) bool {
	return slices.EqualFunc(a, b, func(x, y event.Event) bool {
		x.Cursor.Seq = y.Cursor.Seq
		return x == y
	})
}

// events reads events of the store after one of the reference's, and demands that
// they are those of its dump. The answer is what the reference's must be.
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
		return nil, fmt.Errorf("events after %s (-dump +events):\n%s", own, cmp.Diff(want, got, equal))
	}
	return cut(reference, after), nil
}
