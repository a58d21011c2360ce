package events

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
)

// Options say what a listener gets.
type Options struct {
	Topics []Topic
	// Owner restricts the listener to events of the jobs of an owner; "" means no restriction.
	Owner string
	// After is the cursor of the last event that the listener has seen: it gets what it has missed
	// first. Nil means that it gets only events that happen from now on.
	After *event.Cursor
}

// Listener gets the events of its topics, in their order. One goroutine may call Take.
type Listener struct {
	hub    *Hub
	topics []Topic
	owner  string
	from   event.Cursor

	// These fields are guarded by the mutex of the hub.
	queue []*Entry
	most  int          // the maximum length of the queue
	skip  event.Cursor // events up to this cursor are not for the listener, because it has seen them
	reset bool
	err   error

	wake chan struct{}
}

// Item is one thing that Take returns.
type Item struct {
	// Entry is the event, or nil for a reset.
	Entry *Entry
	// Reset is the cursor from which the listener goes on after it has missed events: because it
	// was too slow, or because too much has happened since it listened the last time, or because
	// the store has removed what it has missed. It has to read the present state of what it
	// follows.
	Reset event.Cursor
}

// Listen adds a listener. Close removes it.
func (h *Hub) Listen(ctx context.Context, o Options) (*Listener, error) {
	if err := h.run(ctx); err != nil {
		return nil, err
	}
	l := &Listener{hub: h, topics: o.Topics, owner: o.Owner, most: QueueMax, wake: make(chan struct{}, 1)}
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, ErrClosed
	}
	for _, t := range l.topics {
		if h.topics[t] == nil {
			h.topics[t] = make(map[*Listener]struct{})
		}
		h.topics[t][l] = struct{}{}
	}
	h.listeners++
	if h.idle != nil {
		h.idle.Stop()
		h.idle = nil
	}
	var missed []*Entry
	position := h.position
	l.from = position
	if o.After == nil || !o.After.Before(h.before) {
		for _, e := range h.ring {
			if o.After != nil && o.After.Before(e.Cursor) && l.wants(&e.Event) {
				missed = append(missed, e)
			}
		}
		if o.After != nil {
			l.skip = *o.After
		}
		l.queue, l.most = missed, l.most+len(missed)
		h.mu.Unlock()
		if o.After == nil || !position.Before(*o.After) {
			return l, nil
		}
		return l, h.checkAhead(ctx, l)
	}
	h.mu.Unlock()
	missed, err := h.replay(ctx, l, *o.After, position)
	if ctx.Err() != nil {
		l.Close()
		return nil, context.Cause(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		l.queue, l.reset = nil, true
	} else {
		l.queue, l.most = append(missed, l.queue...), l.most+len(missed)
	}
	l.wakeUp()
	return l, nil
}

// checkAhead makes a listener begin anew if its cursor is after all events of the store: it is from
// another database, or from before a backup was restored. The cursor may also be from another
// server that reads events a little earlier than this one.
func (h *Hub) checkAhead(ctx context.Context, l *Listener) error {
	_, last, err := h.source.EventSpan(ctx)
	if err != nil {
		l.Close()
		return fmt.Errorf("read the cursor of the newest event: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if last.Before(l.skip) {
		l.skip, l.queue, l.reset = event.Cursor{}, nil, true
		l.wakeUp()
	}
	return nil
}

var errTooMuch = errors.New("more events were missed than are replayed")

// replay reads from the store what a listener has missed, up to a position.
func (h *Hub) replay(ctx context.Context, l *Listener, after, position event.Cursor) (missed []*Entry, err error) {
	ctx, cancel := context.WithTimeout(ctx, ReplayTime)
	defer cancel()
	n := 0
	for e, err := range h.source.Events(ctx, after, &redrive.EventsOptions{StopAtEnd: true}) {
		switch {
		case err != nil:
			return nil, fmt.Errorf("read the events after %s: %w", after, err)
		case position.Before(e.Cursor):
			return missed, nil
		}
		if n++; n > ReplayMax {
			return nil, errTooMuch
		}
		if l.wants(&e) {
			missed = append(missed, &Entry{Event: e})
		}
	}
	return missed, ctx.Err()
}

// Close removes the listener.
func (l *Listener) Close() {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range l.topics {
		delete(h.topics[t], l)
		if len(h.topics[t]) == 0 {
			delete(h.topics, t)
		}
	}
	l.topics, l.queue = nil, nil
	if h.listeners--; h.listeners == 0 && h.running && !h.closed {
		h.idle = afterIdle(h.stopIdle)
	}
}

// stopIdle ends the loop if still nobody listens.
func (h *Hub) stopIdle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners == 0 && h.running && h.idle != nil {
		h.idle, h.running = nil, false
		h.loops++ // the loop may still be in the middle of an event
		h.stop()
	}
}

// Wake returns a channel that gets a value when there is something to take.
func (l *Listener) Wake() <-chan struct{} { return l.wake }

// TakeMax is a number of events to take at once.
const TakeMax = 256

// Take appends what waits for the listener to into: up to most events, or a reset. If nothing waits, it returns the reason why the hub has no more events, if any: the listener then has to
// connect again.
func (l *Listener) Take(into []Item, most int) ([]Item, error) {
	h := l.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.reset {
		l.reset, l.most = false, QueueMax
		return append(into, Item{Reset: h.position}), nil
	}
	if len(l.queue) == 0 {
		return into, l.err
	}
	n := min(len(l.queue), most)
	for i, e := range l.queue[:n] {
		into, l.queue[i] = append(into, Item{Entry: e}), nil
	}
	if l.queue = l.queue[n:]; len(l.queue) == 0 {
		l.queue, l.most = nil, QueueMax
	}
	return into, nil
}

// From returns the cursor of the newest event when the listener was added.
func (l *Listener) From() event.Cursor { return l.from }

// Seen returns the cursor up to which the listener has got all its events, and false while some
// wait for it. A listener that connects again with this cursor misses nothing.
func (l *Listener) Seen() (event.Cursor, bool) {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	at := l.hub.position
	if at.Before(l.skip) { // another server reads events a little earlier than this one
		at = l.skip
	}
	return at, len(l.queue) == 0 && !l.reset && l.err == nil
}

// may reports whether the listener may get the event.
func (l *Listener) may(e *event.Event) bool { return l.owner == "" || l.owner == e.Owner }

// wants reports whether the event has one of the listener's topics.
func (l *Listener) wants(e *event.Event) bool {
	o := Options{Topics: l.topics, Owner: l.owner}
	return o.Wants(e)
}

// Wants reports whether a listener with these options gets an event.
func (o *Options) Wants(e *event.Event) bool {
	return (o.Owner == "" || o.Owner == e.Owner) &&
		slices.ContainsFunc(topicsOf(e), func(t Topic) bool { return slices.Contains(o.Topics, t) })
}

// push adds an event. The caller holds the mutex of the hub.
func (l *Listener) push(e *Entry) {
	switch {
	case l.reset, !l.skip.Before(e.Cursor):
		return // the reset takes the place of this event, too; or the listener has seen the event
	case len(l.queue) >= l.most:
		l.queue, l.reset = nil, true
	default:
		l.queue = append(l.queue, e)
	}
	l.wakeUp()
}

// end makes the listener return an error after the events that wait for it. The caller holds the mutex of the hub.
func (l *Listener) end(err error) {
	l.err = err
	l.wakeUp()
}

func (l *Listener) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}
