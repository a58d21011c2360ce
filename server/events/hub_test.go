package events_test

import (
	"context"
	"log/slog"
	"runtime"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/server/events"
	"github.com/redrive/redrive/store/memory"
)

func newHub(t *testing.T) (*events.Hub, *redrive.Client) {
	t.Helper()
	c, err := redrive.New(memory.New(memory.Options{}), &redrive.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	h := events.New(c, slog.New(slog.DiscardHandler))
	t.Cleanup(h.Close)
	return h, c
}

func listen(t *testing.T, h *events.Hub, after *event.Cursor, topics ...string) *events.Listener {
	t.Helper()
	o := events.Options{After: after}
	for _, text := range topics {
		topic, err := events.ParseTopic(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Topics = append(o.Topics, topic)
	}
	l, err := h.Listen(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// next waits for the next item of a listener.
func next(t *testing.T, l *events.Listener) events.Item {
	t.Helper()
	for {
		items, err := l.Take(nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(items) > 0 {
			return items[0]
		}
		select {
		case <-l.Wake():
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

func enqueue(t *testing.T, c *redrive.Client, n int) {
	t.Helper()
	specs := make([]redrive.Spec, n)
	for i := range specs {
		specs[i] = redrive.NewRaw("render", []byte(`{}`), &redrive.Options{Owner: "ann"})
	}
	if _, err := c.EnqueueMany(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
}

// Of 1,000 listeners, 100 stop reading. The others get every event, and those that have stopped
// hold no more memory than their queues; each finds one reset when it reads again.
//
// part of: N1
func TestTrap18_ListenersThatStopReadingHoldUpNobody(t *testing.T) {
	t.Parallel()
	h, c := newHub(t)
	const all, stopped, rounds, batch = 1000, 100, 1 + events.QueueMax/100, 100
	var listeners []*events.Listener
	for range all {
		listeners = append(listeners, listen(t, h, nil, "kind:render", "owner:ann", "dead"))
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for round := range rounds {
		enqueue(t, c, batch)
		for i, l := range listeners[stopped:] {
			for n := range batch {
				if item := next(t, l); item.Entry == nil {
					t.Fatalf("listener %d, event %d of round %d: got a reset, want the event", i, n, round)
				}
			}
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 32<<20 {
		t.Errorf("the heap has grown by %d MiB, want at most 32: the past events and the queues of %d listeners", grown>>20, stopped)
	}
	for i, l := range listeners[:stopped] {
		if item := next(t, l); item.Entry != nil || item.Reset != h.Position() {
			t.Fatalf("listener %d that has stopped: got %+v, want a reset to %s", i, item, h.Position())
		}
		if items, err := l.Take(nil, 1); len(items) > 0 || err != nil {
			t.Fatalf("listener %d: there is more after the reset, error %v; want nothing", i, err)
		}
	}
	enqueue(t, c, 1)
	if item := next(t, listeners[0]); item.Entry == nil {
		t.Error("after its reset a listener got another one, want the event")
	}
}

func TestHub_ClosedListenersAndHubs(t *testing.T) {
	t.Parallel()
	h, c := newHub(t)
	l := listen(t, h, nil, "all")
	l.Close()
	enqueue(t, c, 1)
	l = listen(t, h, new(event.Cursor), "all")
	if item := next(t, l); item.Entry == nil || item.Entry.Type != event.JobEnqueued {
		t.Errorf("got %+v, want the event that happened while nobody listened", item)
	}
	h.Close()
	<-l.Wake()
	if _, err := l.Take(nil, 1); err == nil {
		t.Error("Take on a closed hub: no error, want one")
	}
	if _, err := h.Listen(context.Background(), events.Options{}); err == nil {
		t.Error("Listen on a closed hub: no error, want one")
	}
}

func TestParseTopic(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"all", "job:17", "owner:a:b", "kind:render", "queue:mail", "batch:3", "group:0aaa571e", "redrive:1", "dead", "queues"} {
		topic, err := events.ParseTopic(text)
		if err != nil || topic.String() != text {
			t.Errorf("ParseTopic(%q): got %q, error %v; want the same text", text, topic, err)
		}
	}
	for _, text := range []string{"", "job", "job:", "job:0", "dead:1", "kind:a b", "redrive:0", "nobody:1"} {
		if topic, err := events.ParseTopic(text); err == nil {
			t.Errorf("ParseTopic(%q): got %+v, want an error", text, topic)
		}
	}
}
