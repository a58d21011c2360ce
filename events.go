package redrive

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/store"
)

// eventsRead is how many events the method Events reads from the store at a time.
const eventsRead = 500

// EventsOptions configure Client.Events. The zero value of every field is its default.
type EventsOptions struct {
	// StopAtEnd ends the loop when there is no later event. By default Events waits for
	// one.
	StopAtEnd bool
}

// Events returns what happened on the store after a cursor, in the order in which it
// was committed, by whatever process: every enqueue, claim and end of a run, crashes
// and expiries, and what people did. Options may be nil.
//
//	for e, err := range client.Events(ctx, after, nil) {
//		if err != nil {
//			return err
//		}
//		handle(e)
//		after = e.Cursor // keep it where it survives a restart
//	}
//
// It waits for further events until ctx ends, which ends the loop without an error.
// A reader that keeps the cursor of the last event that it has handled goes on there,
// also in another process: no event is missed or repeated. The zero cursor is before
// the oldest event that is kept, see Retention.Events.
//
// Enqueues and acts of people are seen at once; a run that ends or begins, at the next
// notification or after Config.Poll. While the store does not answer (ErrUnavailable), a
// reader that waits asks again every Config.Poll, and one with StopAtEnd gets the error.
// Any other error ends the loop.
func (c *Client) Events(ctx context.Context, after event.Cursor, o *EventsOptions) iter.Seq2[event.Event, error] {
	if o == nil {
		o = &EventsOptions{}
	}
	follow := !o.StopAtEnd
	return func(yield func(event.Event, error) bool) {
		changed := make(chan struct{}, 1)
		if follow {
			defer c.store.Notify(changed)()
		}
		for ctx.Err() == nil {
			events, err := c.store.Events(ctx, after, eventsRead)
			switch {
			case follow && errors.Is(err, store.ErrUnavailable):
				_ = c.await(ctx, nil) // an error means that ctx has ended, which the loop checks
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
			case len(events) == eventsRead: // a full page, so there may be more
			case !follow:
				return
			default:
				_ = c.await(ctx, changed) // an error means that ctx has ended, which the loop checks
			}
		}
	}
}
