package storetest

import (
	"context"
	"fmt"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/store"
)

// shownLooks bounds how often a store is asked for its newest event.
const shownLooks = 20_000

// Events reads events that have all come to be seen. A store that has other
// writers shows an event when every transaction that began before has ended,
// those of other tests on the same server, too.
func (r *rig) Events(ctx context.Context, after event.Cursor, limit int) ([]event.Event, error) {
	if err := shown(r.Store); err != nil {
		r.fail("%v", err)
	}
	return r.Store.Events(ctx, after, limit)
}

// shown waits until the newest event is seen. A store that is closed has none.
func shown(s store.Store) error {
	d, err := s.Dump(ctx())
	if err != nil {
		return nil
	}
	return shownAll(s, d.Events)
}

// shownAll waits until the last of the events of a store is seen.
func shownAll(s store.Store, all []event.Event) error {
	if len(all) == 0 {
		return nil
	}
	before := all[len(all)-1].Cursor
	before.Index--
	for range shownLooks {
		events, err := s.Events(ctx(), before, 1)
		if err != nil || len(events) > 0 {
			return nil // what is wrong is for the test to find
		}
	}
	return fmt.Errorf("the event after %s is not seen", before)
}
