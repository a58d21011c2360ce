// Package events gives the events of a store to many listeners, each with the topics that it asks
// for. One loop reads the log of events, however many listeners there are, and only while there are
// some.
package events

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
)

// The limits of a hub.
const (
	RingMax  = 50_000   // maximum number of past events in memory
	RingSize = 16 << 20 // maximum size of the past events in memory, in bytes, roughly

	// QueueMax is the maximum number of events that wait for a listener. If more events wait, the
	// listener is too slow: these events are dropped, and a reset takes their place.
	QueueMax = 256
	// ReplayMax is the maximum number of past events that are read from the store for a listener
	// that connects again.
	ReplayMax = 10_000
	// ReplayTime is the maximum time for the read of these past events.
	ReplayTime = 2 * time.Second

	// linger is how long the loop continues after the last listener has gone, so that a listener
	// that connects again finds the events that it has missed in memory.
	linger = 10 * time.Second
)

// Source is the store as a hub sees it. A *redrive.Client is one.
type Source interface {
	Events(ctx context.Context, after event.Cursor, o *redrive.EventsOptions) iter.Seq2[event.Event, error]
	EventSpan(ctx context.Context) (first, last event.Cursor, err error)
}

// Entry is an event that all its listeners share. It must not be changed.
type Entry struct {
	event.Event
	frames [2]frame
}

type frame struct {
	once sync.Once
	text []byte
}

// Frame returns the event as the function encode writes it, for listeners with the outside view or
// for the others. The function is called once for all listeners with the same view.
func (e *Entry) Frame(outside bool, encode func(*event.Event) []byte) []byte {
	f := &e.frames[0]
	if outside {
		f = &e.frames[1]
	}
	f.once.Do(func() { f.text = encode(&e.Event) })
	return f.text
}

// size is roughly how many bytes an entry takes in memory.
func (e *Entry) size() int {
	return 400 + len(e.Kind) + len(e.Queue) + len(e.Owner) + len(e.Class) + len(e.Reason) + len(e.Note) + len(e.Correlation)
}

// Hub gives events to listeners. It is safe for concurrent use.
type Hub struct {
	source Source
	log    *slog.Logger

	mu        sync.Mutex
	topics    map[Topic]map[*Listener]struct{}
	listeners int
	ring      []*Entry     // the past events, oldest first
	size      int          // the sum of their sizes
	before    event.Cursor // every event after it and up to position is in the ring
	position  event.Cursor // the newest event that the loop has seen
	loops     int          // the number of loops so far; only the last one counts
	running   bool         // the last loop reads events
	stop      context.CancelFunc
	started   chan struct{} // closed when position is known, or when the start has failed
	failed    error         // why the start has failed
	idle      *time.Timer
	closed    bool
}

// New makes a hub. Close ends it.
func New(source Source, log *slog.Logger) *Hub {
	return &Hub{source: source, log: log, topics: make(map[Topic]map[*Listener]struct{})}
}

// ErrClosed says that the hub was closed.
var ErrClosed = errors.New("the hub of events is closed")

// Close ends the loop. All listeners get ErrClosed.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.idle != nil {
		h.idle.Stop()
	}
	if h.stop != nil {
		h.stop()
	}
	for _, set := range h.topics {
		for l := range set {
			l.end(ErrClosed)
		}
	}
}

// run makes sure that the loop runs, and waits until its position is known.
func (h *Hub) run(ctx context.Context) error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return ErrClosed
	}
	if !h.running {
		loop, stop := context.WithCancel(context.Background())
		h.running, h.stop, h.started, h.failed = true, stop, make(chan struct{}), nil
		h.loops++
		go h.loop(loop, h.loops, h.started)
	}
	started := h.started
	h.mu.Unlock()
	select {
	case <-started:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed
}

// loop reads events and gives them to the listeners until its context ends.
func (h *Hub) loop(ctx context.Context, number int, started chan struct{}) {
	_, last, err := h.source.EventSpan(ctx)
	h.mu.Lock()
	if number == h.loops {
		h.ring, h.size, h.before, h.position, h.failed = nil, 0, last, last, err
		h.running = err == nil
	}
	close(started)
	h.mu.Unlock()
	if err != nil {
		return
	}
	for e, err := range h.source.Events(ctx, last, nil) {
		if err != nil {
			h.lost(number, err)
			return
		}
		h.publish(number, &Entry{Event: e})
	}
}

// lost ends all listeners after the loop has failed. They connect again, and the first of them
// starts a new loop.
func (h *Hub) lost(number int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if number != h.loops || h.closed {
		return
	}
	h.running = false
	for _, set := range h.topics {
		for l := range set {
			l.end(err)
		}
	}
	h.log.Error("the events cannot be read any more; listeners have to connect again", "error", err)
}

// publish gives an event to its listeners and keeps it.
func (h *Hub) publish(number int, e *Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if number != h.loops {
		return
	}
	h.position = e.Cursor
	h.ring = append(h.ring, e)
	h.size += e.size()
	for len(h.ring) > RingMax || h.size > RingSize {
		h.before = h.ring[0].Cursor
		h.size -= h.ring[0].size()
		h.ring[0] = nil
		h.ring = h.ring[1:]
	}
	var seen map[*Listener]bool // the listeners with several topics that have the event already
	for _, topic := range topicsOf(&e.Event) {
		for l := range h.topics[topic] {
			if seen[l] || !l.may(&e.Event) {
				continue
			}
			if len(l.topics) > 1 {
				if seen == nil {
					seen = make(map[*Listener]bool, 1)
				}
				seen[l] = true
			}
			l.push(e)
		}
	}
}

// Position returns the cursor of the newest event that the hub has seen.
func (h *Hub) Position() event.Cursor {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.position
}
