package redrive_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
)

// A reader whose next events were removed gets an error that says where the kept events begin, and
// goes on from there. A reader that has read all removed events has missed nothing.
//
// part of: N6, N1
func TestEvents_AReaderThatHasMissedEventsGetsAnError(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, d database) {
		var ahead atomic.Int64
		st := d.openAt(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
		c := newClient(t, st, succeed)
		read := func(after event.Cursor) (all []event.Event, err error) {
			for e, err := range c.Events(t.Context(), after, &redrive.EventsOptions{StopAtEnd: true}) {
				if err != nil {
					return all, err
				}
				all = append(all, e)
			}
			return all, nil
		}
		add := func(n int) {
			t.Helper()
			if _, err := c.EnqueueMany(t.Context(), slices.Repeat([]redrive.Spec{render.New(renderArgs{}, nil)}, n)); err != nil {
				t.Fatal(err)
			}
		}
		add(2)
		add(3)
		ahead.Store(int64(time.Hour))
		add(1)
		var all []event.Event
		for e, err := range c.Events(t.Context(), event.Cursor{}, nil) { // this loop waits until PostgreSQL shows all events
			if err != nil {
				t.Fatal(err)
			}
			if all = append(all, e); len(all) == 6 {
				break
			}
		}
		swept, err := st.Sweep(t.Context(), store.Retention{Events: time.Minute}, 10)
		if err != nil || swept.Events != 2 {
			t.Fatalf("Sweep: got %d commits removed, error %v; want 2 commits", swept.Events, err)
		}
		first, last, err := c.EventSpan(t.Context())
		if err != nil || first != all[4].Cursor || last != all[5].Cursor {
			t.Fatalf("EventSpan: got %s and %s, error %v; want %s and %s", first, last, err, all[4].Cursor, all[5].Cursor)
		}
		for i := range all {
			after := all[i].Cursor
			got, err := read(after)
			if i >= 4 {
				if err != nil || !slices.Equal(got, all[i+1:]) {
					t.Errorf("read after event %d, which %d events follow: got %+v, error %v; want these events", i, 5-i, got, err)
				}
				continue
			}
			gone, ok := errors.AsType[*redrive.EventsGone](err)
			if !ok || !errors.Is(err, redrive.ErrGone) || gone.After != after || gone.First != first || len(got) != 0 {
				t.Errorf("read after event %d, which was removed together with later events: got %d events, error %v; want an EventsGone that names %s", i, len(got), err, first)
			}
		}
		for name, after := range map[string]event.Cursor{"the zero cursor": {}, "the cursor first of EventSpan": first} {
			if got, err := read(after); err != nil || !slices.Equal(got, all[5:]) {
				t.Errorf("read after %s: got %+v, error %v; want the kept event", name, got, err)
			}
		}
		if got, err := read(last); err != nil || len(got) != 0 {
			t.Errorf("read after the last cursor: got %+v, error %v; want no events", got, err)
		}
	})
}

// sweptAround is a store that removes old events just after each read of events. If the
// field before is true, the store also removes old events just before each read.
type sweptAround struct {
	*memory.Store
	before bool
	sweep  func()
}

func (s *sweptAround) Events(ctx context.Context, after event.Cursor, limit int) ([]event.Event, error) {
	if s.before {
		s.sweep()
	}
	defer s.sweep()
	return s.Store.Events(ctx, after, limit)
}

// A reader has not missed the events that are removed just after it has read them. It learns
// that it has missed events when one sweep comes before the read and another one after it.
func TestEvents_SweepsAroundARead(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{false, true} {
		now := time.Unix(1e9, 0)
		s := &sweptAround{Store: memory.New(memory.Options{Clock: func() time.Time { return now }}), before: before}
		s.sweep = func() {
			if _, err := s.Sweep(t.Context(), store.Retention{Events: 150 * time.Minute}, store.SweepMax); err != nil {
				t.Error(err)
			}
			now = now.Add(time.Hour) // the next sweep removes one event more
		}
		c := newClient(t, s, succeed)
		for range 5 {
			if _, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil)); err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Hour)
		}
		n, gone := 0, false
		for _, err := range c.Events(t.Context(), event.Cursor{Seq: 1, Index: 1}, &redrive.EventsOptions{StopAtEnd: true}) {
			if gone = errors.Is(err, redrive.ErrGone); err != nil && !gone {
				t.Fatal(err)
			} else if !gone {
				n++
			}
		}
		if want := map[bool]int{false: 4, true: 0}[before]; n != want || gone != before {
			t.Errorf("a sweep after each read, and also before it: %t; got %d events after the first event and ErrGone: %t; want %d events and ErrGone: %t", before, n, gone, want, before)
		}
	}
}
