package storetest

import (
	"context"
	"fmt"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/store"
)

// shownLooks is how often a store is asked at most for its newest event.
const shownLooks = 20_000

// Events reads events. It first waits until the newest event is visible. A store with other
// writers shows an event only when all transactions that began earlier have ended. These include
// transactions of other tests on the same server.
func (r *rig) Events(ctx context.Context, after event.Cursor, limit int) ([]event.Event, error) {
	if err := shown(r.Store); err != nil {
		r.fail("%v", err)
	}
	return r.Store.Events(ctx, after, limit)
}

// shown waits until the newest event is visible. For a closed store it returns at once.
func shown(s store.Store) error {
	d, err := s.Dump(ctx())
	if err != nil {
		return nil
	}
	return shownAll(s, d.Events)
}

// shownAll waits until the last of the given events is visible.
func shownAll(s store.Store, all []event.Event) error {
	if len(all) == 0 {
		return nil
	}
	before := all[len(all)-1].Cursor
	before.Index--
	for range shownLooks {
		events, err := s.Events(ctx(), before, 1)
		if err != nil || len(events) > 0 {
			return nil // the test will get the same error
		}
	}
	return fmt.Errorf("the newest event was not visible after %s", before)
}
