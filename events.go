package redrive

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/store"
)

// eventsRead is the maximum number of events that Events reads from the store at a
// time.
const eventsRead = 500

// EventsOptions configure Client.Events. The zero value of every field is its default.
type EventsOptions struct {
	// If StopAtEnd is true, the loop ends after the last event. By default Events waits
	// for further events.
	StopAtEnd bool
}

// Events returns the events of the store after a cursor, in the order of their commits.
// They come from all processes: every enqueue, claim and end of a run, every crash and
// expiry, and every action of a person. Options may be nil.
//
//	for e, err := range client.Events(ctx, after, nil) {
//		if err != nil {
//			return err
//		}
//		handle(e)
//		after = e.Cursor // keep it where it survives a restart
//	}
//
// Events waits for further events until ctx ends. The loop then ends without an error. A
// reader can keep the cursor of the last event that it has handled, and continue from
// there later, also in another process. It then misses no event and sees no event twice.
// The zero cursor is before the oldest event in the store; see Retention.Events.
//
// A waiting reader gets enqueues and actions of people at once. It gets the begin and
// the end of a run at the next notification, or after Config.Poll. While the store does
// not answer (ErrUnavailable), Events tries again every Config.Poll; with StopAtEnd it
// returns the error instead. Any other error ends the loop.
func (c *Client) Events(ctx context.Context, after event.Cursor, o *EventsOptions) iter.Seq2[event.Event, error] {
	if o == nil {
		o = &EventsOptions{}
	}
	follow := !o.StopAtEnd
	return func(yield func(event.Event, error) bool) {
		after := after // each loop over the sequence begins at the cursor that the caller gave
		changed := make(chan struct{}, 1)
		if follow {
			defer c.store.Notify(changed)()
		}
		for ctx.Err() == nil {
			events, err := c.store.Events(ctx, after, eventsRead)
			switch {
			case follow && errors.Is(err, store.ErrUnavailable):
				_ = c.await(ctx, nil) // await returns an error only when ctx has ended; the loop checks ctx
				continue
			case ctx.Err() != nil:
				return
			case err != nil:
				yield(event.Event{}, fmt.Errorf("read events after %s: %w", after, err))
				return
			}
			for i := range events {
				if !yield(events[i], nil) {
					return
				}
				after = events[i].Cursor
			}
			switch {
			case len(events) == eventsRead: // the page is full, so there may be more events
			case !follow:
				return
			default:
				_ = c.await(ctx, changed) // await returns an error only when ctx has ended; the loop checks ctx
			}
		}
	}
}
