package events

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redrive/redrive/event"
)

// The pace of the notices of a watch.
const (
	// NarrowEvery is the least time between two notices about topics of which each is one thing: a
	// job, a batch, a group or a redrive.
	NarrowEvery = 250 * time.Millisecond
	// WideEvery is the least time between two notices about other topics.
	WideEvery = time.Second
	// SettledAfter is how long after the last notice one more is given, for numbers that are read
	// once a second.
	SettledAfter = 1200 * time.Millisecond
	// lookEvery is how often the newest event is looked up for those that watch all topics. They
	// need no event itself, so at a high rate none is read for them.
	lookEvery = 100 * time.Millisecond
)

// Notice says that something has changed.
type Notice struct {
	// Cursor is that of the newest event of the topics, or of the newest event of all when the watch
	// began.
	Cursor event.Cursor
	// Settled is true if nothing has changed since the notice before: numbers that are read once a
	// second are up to date now.
	Settled bool
}

// Watches gives notices of changes. All that watch the same topics share one listener and get the
// same notices at the same moments, so that what is read for one of them serves all. It is safe for
// concurrent use.
type Watches struct {
	hub *Hub
	mu  sync.Mutex
	by  map[string]*watch // by topics
}

// NewWatches makes the watches of a hub.
func NewWatches(h *Hub) *Watches { return &Watches{hub: h, by: make(map[string]*watch)} }

// watch is shared by all that watch the same topics.
type watch struct {
	users int
	stop  context.CancelFunc

	mu     sync.Mutex
	notice Notice
	next   chan struct{} // closed at the next notice, or when the watch has ended
	err    error
}

// Watch is one watcher of topics.
type Watch struct {
	watches *Watches
	key     string
	shared  *watch
}

// Watch begins to watch topics. Close ends it.
func (w *Watches) Watch(ctx context.Context, topics []Topic) (*Watch, error) {
	names := make([]string, len(topics))
	every := NarrowEvery
	for i, t := range topics {
		names[i] = t.String()
		if !slices.Contains([]string{Job, Batch, Group, Redrive}, t.Name) {
			every = WideEvery
		}
	}
	key := strings.Join(names, " ")
	w.mu.Lock()
	defer w.mu.Unlock()
	shared := w.by[key]
	if shared == nil || shared.ended() {
		running, stop := context.WithCancel(context.Background())
		shared = &watch{stop: stop, next: make(chan struct{})}
		if slices.Contains(topics, Topic{Name: All}) {
			_, last, err := w.hub.source.EventSpan(ctx)
			if err != nil {
				stop()
				return nil, err
			}
			shared.notice.Cursor = last
			tick := newTicker(lookEvery)
			go func() {
				defer tick.Stop()
				run(running, shared, every, tick.C, func(event.Cursor) (event.Cursor, error) {
					_, last, err := w.hub.source.EventSpan(running)
					return last, err
				})
			}()
		} else {
			l, err := w.hub.Listen(ctx, Options{Topics: topics})
			if err != nil {
				stop()
				return nil, err
			}
			shared.notice.Cursor = l.From()
			go func() {
				defer l.Close()
				run(running, shared, every, l.Wake(), l.newest)
			}()
		}
		w.by[key] = shared
	}
	shared.users++
	return &Watch{w, key, shared}, nil
}

// Close ends the watch of this watcher.
func (w *Watch) Close() {
	w.watches.mu.Lock()
	defer w.watches.mu.Unlock()
	if w.shared.users--; w.shared.users == 0 {
		w.shared.stop()
		if w.watches.by[w.key] == w.shared {
			delete(w.watches.by, w.key)
		}
	}
}

// Last returns the newest notice, and a channel that is closed at the next one. The error says that
// there are no more: the watcher has to begin again.
func (w *Watch) Last() (Notice, <-chan struct{}, error) {
	w.shared.mu.Lock()
	defer w.shared.mu.Unlock()
	return w.shared.notice, w.shared.next, w.shared.err
}

func (s *watch) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}

// run gives notices until its context ends or the events cannot be read. After a value of wake, newest
// returns the cursor of the newest event of the topics.
func run[T any](ctx context.Context, s *watch, every time.Duration, wake <-chan T, newest func(event.Cursor) (event.Cursor, error)) {
	at := s.notice.Cursor // of the newest event that is known
	timer := newTimer()
	defer timer.Stop()
	resting, settling := false, false // a notice was given just now; the settled one is still to come
	for {
		heard := wake
		if resting {
			heard = nil // what happens meanwhile is read once, after the rest
		} else {
			var err error
			if at, err = newest(at); err != nil {
				if ctx.Err() == nil {
					s.tell(Notice{}, err)
				}
				return
			}
			if at != s.notice.Cursor { // only this goroutine writes the notice
				s.tell(Notice{Cursor: at}, nil)
				resting, settling = true, true
				timer.Reset(every)
				continue
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-heard:
		case <-timer.C:
			switch {
			case resting:
				resting = false
				timer.Reset(SettledAfter - every)
			case settling:
				settling = false
				s.tell(Notice{Cursor: at, Settled: true}, nil)
			}
		}
	}
}

// newest takes all that waits for the listener, and returns the cursor of the newest event, or the
// given one if nothing waits.
func (l *Listener) newest(at event.Cursor) (event.Cursor, error) {
	var items []Item
	for {
		var err error
		if items, err = l.Take(items[:0], TakeMax); err != nil || len(items) == 0 {
			return at, err
		}
		if last := items[len(items)-1]; last.Entry != nil {
			at = last.Entry.Cursor
		} else {
			at = last.Reset
		}
	}
}

func (s *watch) tell(n Notice, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err = err; err == nil {
		s.notice = n
	}
	close(s.next)
	s.next = make(chan struct{})
}
