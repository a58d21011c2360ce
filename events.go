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

// EventsGone is the error of a reader of events that has missed some: retention has removed
// events after its cursor. It is an ErrGone.
type EventsGone struct {
	After event.Cursor // the cursor of the reader
	// First is the cursor before the oldest kept event: a reader with this cursor gets the
	// oldest event that is kept.
	First event.Cursor
}

func (e *EventsGone) Error() string {
	return fmt.Sprintf("events after %s are removed, because they are older than Retention.Events: the kept events begin after %s; "+
		"read the present state of what you follow, and go on from there", e.After, e.First)
}

// Is makes an EventsGone an ErrGone.
func (e *EventsGone) Is(target error) bool { return target == ErrGone }

// EventSpan returns the cursors at both ends of the events that the store keeps. A reader with the
// first cursor gets the oldest kept event, and a reader with the second cursor gets only events
// that happen from now on.
func (c *Client) EventSpan(ctx context.Context) (first, last event.Cursor, err error) {
	return c.store.EventSpan(ctx)
}

// Events returns the events of the store after a cursor, in the order of their commits. They
// come from all processes: every enqueue, claim and end of a run, every crash and expiry, and
// every action of a person. Options may be nil.
//
//	for e, err := range client.Events(ctx, after, nil) {
//		if err != nil {
//			return err
//		}
//		handle(e)
//		after = e.Cursor // keep it where it survives a restart
//	}
//
// Events waits for further events until ctx ends. The loop then ends without an error. A reader can
// keep the cursor of the last event that it has handled, and continue from there later, also in
// another process. It then misses no event and sees no event twice. The zero cursor is before the
// oldest event in the store. To begin at the newest event, use the second cursor of EventSpan. If
// events after the cursor were removed, because they are older than Retention.Events, the loop ends
// with an *EventsGone.
//
// A waiting reader gets an event within 50 ms after its commit, whichever process made it; on
// PostgreSQL an older transaction that is still under way delays it. While the store does not answer
// (ErrUnavailable), Events tries again every Config.Poll; with StopAtEnd it returns the error
// instead. Any other error ends the loop, also the error ErrClosed of a store that was closed.
func (c *Client) Events(ctx context.Context, after event.Cursor, o *EventsOptions) iter.Seq2[event.Event, error] {
	if o == nil {
		o = &EventsOptions{}
	}
	return func(yield func(event.Event, error) bool) {
		after := after // each loop over the sequence begins at the cursor that the caller gave
		err := c.follow(ctx, !o.StopAtEnd, func() (full, more bool, err error) {
			events, full, err := c.eventsAfter(ctx, after)
			if err != nil {
				return false, false, err
			}
			for i := range events {
				if !yield(events[i], nil) {
					return false, false, nil
				}
				after = events[i].Cursor
			}
			return full, true, nil
		})
		if err != nil {
			yield(event.Event{}, err)
		}
	}
}

// eventsAfter returns the next events after a cursor. The second result is true if there may be
// more. The error is an *EventsGone when events after the cursor were removed.
//
// It also reads the event at the cursor. The store removes the oldest events first. So if
// that event is still there, no event after it is missing from this read.
func (c *Client) eventsAfter(ctx context.Context, after event.Cursor) (events []event.Event, full bool, err error) {
	from := after
	from.Index = max(from.Index-1, 0)
	if events, err = c.store.Events(ctx, from, eventsRead); err != nil {
		return nil, false, fmt.Errorf("read events after %s: %w", after, err)
	}
	full = len(events) == eventsRead
	switch {
	case len(events) == 0 || after == (event.Cursor{}): // a store always keeps its newest event, so a store without events has removed none
		return events, full, nil
	case events[0].Cursor == after:
		return events[1:], full, nil
	}
	first, _, err := c.store.EventSpan(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("read the cursor of the oldest kept event: %w", err)
	}
	if after.Before(first) {
		return nil, false, &EventsGone{After: after, First: first}
	}
	return events, full, nil
}

// follow calls the given function again and again to read a log page by page. After a page that is
// not full, it waits for changes if wait is true, and otherwise returns. It returns nil when the
// function wants no more pages, or when ctx has ended. If wait is true, it tries again every
// Config.Poll while the store does not answer.
func (c *Client) follow(ctx context.Context, wait bool, next func() (full, more bool, err error)) error {
	changed := make(chan struct{}, 1)
	if wait {
		defer c.store.Follow(changed)()
	}
	for ctx.Err() == nil {
		full, more, err := next()
		switch {
		case ctx.Err() != nil || err == nil && !more:
			return nil
		case err != nil && wait && errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrClosed):
			_ = c.await(ctx, nil) // await returns an error only when ctx has ended; the loop checks ctx
		case err != nil:
			return err
		case full: // there may be more entries
		case !wait:
			return nil
		default:
			_ = c.await(ctx, changed)
		}
	}
	return nil
}
