package event_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

func drawEvent(t *rapid.T) event.Event {
	word := rapid.OneOf(rapid.Just(""), rapid.SampledFrom([]string{"render", "chat", "a"}), rapid.String())
	return event.Event{
		Type: event.Type(rapid.OneOf(rapid.Just(uint8(event.JobEnqueued)), rapid.Uint8()).Draw(t, "type")), Job: job.ID(rapid.Int64().Draw(t, "job")),
		Kind: word.Draw(t, "kind"), Queue: word.Draw(t, "queue"), Owner: word.Draw(t, "owner"),
		Batch: rapid.Int64().Draw(t, "batch"), From: job.State(rapid.IntRange(0, 6).Draw(t, "from")),
		To: job.State(rapid.IntRange(0, 6).Draw(t, "to")), Life: rapid.Int32().Draw(t, "life"),
		Token: job.Token(rapid.Int64().Draw(t, "token")), Attempt: rapid.Int32().Draw(t, "attempt"),
		DueAt: job.Micros(rapid.Int64().Draw(t, "due")), Class: word.Draw(t, "class"), Reason: word.Draw(t, "reason"),
		Done: rapid.Int64().Draw(t, "done"), Total: rapid.Int64().Draw(t, "total"), Note: word.Draw(t, "note"),
		Correlation: word.Draw(t, "correlation"),
	}
}

// part of: N6
func TestN6_PackedEventsComeBack(t *testing.T) {
	t.Parallel()
	var p event.Packer // the Packer is reused for several rows, as stores do
	rapid.Check(t, func(rt *rapid.T) {
		p.Reset()
		n := rapid.IntRange(0, 60).Draw(rt, "n")
		want := make([]event.Event, 0, n)
		for i := range n {
			e := drawEvent(rt)
			p.Add(&e)
			e.Cursor, e.At = event.Cursor{Seq: 7, Index: i + 1}, 99
			want = append(want, e)
		}
		got, err := event.Unpack(7, 1, 99, bytes.Clone(p.Bytes()))
		if err != nil {
			rt.Fatal(err)
		}
		if p.Len() != n {
			rt.Fatalf("Len: got %d events, want %d", p.Len(), n)
		}
		if diff := cmp.Diff(want, append([]event.Event{}, got...)); diff != "" {
			rt.Fatal(diff)
		}
		if err := sameEnqueued(p.Bytes(), got); err != nil {
			rt.Fatal(err)
		}
	})
}

// sameEnqueued returns an error when Enqueued does not report the new jobs of the unpacked events.
func sameEnqueued(body []byte, events []event.Event) error {
	type named struct {
		ID                 job.ID
		Owner, Correlation string
	}
	var got, want []named
	n, err := event.Enqueued(7, body, func(id job.ID, owner, correlation []byte) {
		got = append(got, named{id, string(owner), string(correlation)})
	})
	if err != nil {
		return err
	}
	if n != len(events) {
		return fmt.Errorf("Enqueued returned the number of events %d, want %d", n, len(events))
	}
	for i := range events {
		if e := &events[i]; e.Type == event.JobEnqueued && e.Owner+e.Correlation != "" {
			want = append(want, named{e.Job, e.Owner, e.Correlation})
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("Enqueued reported wrong jobs with an owner or a correlation id (-want +got):\n%s", diff)
	}
	return nil
}

func TestCursorsAreOrderedAndReadBack(t *testing.T) {
	t.Parallel()
	at := func(seq int64, index int) event.Cursor { return event.Cursor{Seq: seq, Index: index} }
	in := []event.Cursor{{}, at(1, 1), at(1, 2), at(1, 10), at(2, 1), at(10, 0)}
	for i, c := range in {
		back, err := event.ParseCursor(c.String())
		if err != nil || back != c {
			t.Errorf("ParseCursor(%q): got %v, error %v; want the same cursor", c, back, err)
		}
		for k, other := range in {
			if c.Before(other) != (i < k) {
				t.Errorf("%v.Before(%v): got %v, want the opposite", c, other, c.Before(other))
			}
		}
	}
	if c, err := event.ParseCursor(""); err != nil || c != (event.Cursor{}) {
		t.Errorf("ParseCursor of the empty text: got %v, error %v; want the zero cursor", c, err)
	}
	for _, bad := range []string{"1", ".", "1.", ".1", "-1.2", "1.-2", "a.b", "1.2.3", strings.Repeat("9", 40) + ".1"} {
		if _, err := event.ParseCursor(bad); err == nil {
			t.Errorf("ParseCursor(%q): got no error, want an error", bad)
		}
	}
}

// Unpack returns an error for a damaged row. It does not panic, and it never leaves out an event
// without an error.
func FuzzUnpack(f *testing.F) {
	var p event.Packer
	p.Add(&event.Event{Type: event.JobFailed, Job: 5, Kind: "render", Queue: "render", To: job.Dead, Reason: "stalled"})
	f.Add(p.Bytes())
	f.Add([]byte{})
	f.Add([]byte{2, 1, 0, 0})
	f.Add([]byte{1, 1, 1, 0, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, body []byte) {
		events, err := event.Unpack(1, 1, 1, body)
		if err != nil {
			if _, also := event.Enqueued(1, body, func(job.ID, []byte, []byte) {}); also == nil {
				t.Fatalf("Enqueued of a damaged row returned no error, want an error, because Unpack returned %v", err)
			}
			return
		}
		if err := sameEnqueued(body, events); err != nil {
			t.Fatal(err)
		}
		var again event.Packer
		for i := range events {
			again.Add(&events[i])
		}
		back, err := event.Unpack(1, 1, 1, again.Bytes())
		if err != nil {
			t.Fatalf("unpacking events that were packed again: got error %v, want none", err)
		}
		if diff := cmp.Diff(events, back); diff != "" {
			t.Fatal(diff)
		}
	})
}
