package check

import (
	"maps"
	"slices"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// Request is one request with an idempotency key, sent once or several times, to one server or to
// several.
type Request struct {
	Name string // the name of the request; it is unique
	N    int    // how many objects it asks for
	// Answers has the ids that each answer named, in the order of the request. Answers that were
	// lost are not in it.
	Answers [][]job.ID
}

// Listener is one client that follows the events of some topics, over any number of connections.
type Listener struct {
	Name  string
	Wants func(*event.Event) bool // whether the event has a topic of the listener
	After event.Cursor            // the first cursor that the listener got; what happened before is not for it
	Until event.Cursor            // the end of the test: the newest event that the listener must have
	Heard []Heard                 // in the order in which they came
}

// Heard is one event that a listener got.
type Heard struct {
	Cursor event.Cursor
	// Type is "" for a frame that only moves the cursor.
	Type string
	Job  job.ID
	// Reset says that the listener may have missed what happened before the cursor.
	Reset bool
}

// oneAnswer compares the answers to the requests with a key.
func oneAnswer(x *index, broken func(job.ID, string, ...any)) {
	owners := make(map[job.ID]string)
	for i := range x.Requests {
		r := &x.Requests[i]
		for n, ids := range r.Answers {
			switch {
			case len(ids) != r.N:
				broken(0, "request %q asks for %d objects, and its answer %d names %d", r.Name, r.N, n+1, len(ids))
			case !slices.Equal(ids, r.Answers[0]):
				broken(ids[0], "request %q was answered with %v, and then with %v", r.Name, r.Answers[0], ids)
			}
		}
		if len(r.Answers) == 0 {
			continue
		}
		for _, id := range r.Answers[0] {
			if other, twice := owners[id]; twice {
				broken(id, "is named by the answers to %q and to %q", other, r.Name)
			}
			owners[id] = r.Name
		}
	}
}

// everyEventHeard compares what the listeners got with the log of events.
func everyEventHeard(x *index, broken func(job.ID, string, ...any)) {
	log := make(map[event.Cursor]*event.Event, len(x.Dump.Events))
	for i := range x.Dump.Events {
		log[x.Dump.Events[i].Cursor] = &x.Dump.Events[i]
	}
	for i := range x.Listeners {
		x.Listeners[i].compare(log, broken)
	}
}

func (l *Listener) compare(log map[event.Cursor]*event.Event, broken func(job.ID, string, ...any)) {
	missing := make(map[event.Cursor]*event.Event)
	for at, e := range log {
		if l.After.Before(at) && !l.Until.Before(at) && l.Wants(e) {
			missing[at] = e
		}
	}
	last := l.After
	for _, h := range l.Heard {
		e := log[h.Cursor]
		switch {
		case h.Reset:
			maps.DeleteFunc(missing, func(at event.Cursor, _ *event.Event) bool { return !h.Cursor.Before(at) })
		case h.Type == "": // the cursor need not be that of an event
			if h.Cursor.Before(last) {
				broken(0, "listener %q was moved back from %s to %s", l.Name, last, h.Cursor)
			}
		case e == nil || e.Type.String() != h.Type || e.Job != h.Job || !l.Wants(e):
			broken(h.Job, "listener %q heard %s at %s, which the log has not for it", l.Name, h.Type, h.Cursor)
		case !last.Before(h.Cursor):
			broken(h.Job, "listener %q heard the event %s after %s", l.Name, h.Cursor, last)
		default:
			delete(missing, h.Cursor)
		}
		last = h.Cursor
	}
	if len(missing) > 0 {
		first := l.Until
		for at := range missing {
			if at.Before(first) {
				first = at
			}
		}
		e := missing[first]
		broken(e.Job, "listener %q has missed %d events without a reset, the first is %s at %s", l.Name, len(missing), e.Type, first)
	}
}
