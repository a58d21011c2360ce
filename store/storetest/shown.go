package storetest

import (
	"context"
	"fmt"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/store"
)

// shownLooks is the maximum number of times that Events asks a store for its newest event.
const shownLooks = 20_000

// Events reads events. Before that, it waits until the newest event is visible. A store on a
// database server shows an event only when all transactions that began earlier have ended, and
// other tests that use the same server also have transactions.
func (r *rig) Events(ctx context.Context, after event.Cursor, limit int) ([]event.Event, error) {
	if err := shown(r.Store); err != nil {
		r.fail("%v", err)
	}
	return r.Store.Events(ctx, after, limit)
}

// shown waits until the newest event is visible. If the store is closed, it returns at once.
func shown(s store.Store) error {
	d, err := s.Dump(ctx())
	if err != nil {
		return nil
	}
	return shownAll(s, d.Events)
}

// shownAll waits until the last of the given events is visible to readers.
func shownAll(s store.Store, all []event.Event) error {
	if len(all) == 0 {
		return nil
	}
	before := all[len(all)-1].Cursor
	before.Index--
	for range shownLooks {
		events, err := s.Events(ctx(), before, 1)
		if err != nil || len(events) > 0 {
			return nil // on an error, the check gets the same error when it reads the events itself
		}
	}
	return fmt.Errorf("the newest event was not visible after %s, want it visible", before)
}
