package store_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// proves: X3
//
// ParseCursor reads back the text of a cursor. Any other text is an ErrInvalid.
func TestX3_CursorsOfListsAreReadBack(t *testing.T) {
	t.Parallel()
	for _, c := range []store.Cursor{
		{}, {ID: 1}, {ID: math.MaxInt64}, {At: 1, ID: 1}, {At: math.MaxInt64, ID: math.MaxInt64}, {At: store.UntilMax, ID: 7},
	} {
		var back store.Cursor
		text, err := c.MarshalText()
		if err == nil {
			err = back.UnmarshalText(text)
		}
		if err != nil || back != c {
			t.Errorf("cursor %+v: got %+v from its text %q, error %v; want the same cursor", c, back, text, err)
		}
	}
	for _, text := range []string{
		".", "1.", ".1", "-1", "-1.2", "1.-2", "+1.2", "01.2", "1.02", "0.5", "1.2.3", " 1.2", "1.2 ", "1.2\n", "a.b", "1e3.2", "0x1.2",
		"9223372036854775808", "1.9223372036854775808", "9223372036854775808.1", strings.Repeat("9", 10_000), "1\x00", "٣.٤",
		"120.3", // a cursor of events has the same form, but it is not a position in a list of jobs
	} {
		c, err := store.ParseCursor(text)
		if text == "120.3" {
			if err != nil {
				t.Errorf("ParseCursor(%q): got error %v, want none", text, err)
			}
			continue
		}
		if !errors.Is(err, store.ErrInvalid) || c != (store.Cursor{}) {
			t.Errorf("ParseCursor(%.40q): got cursor %+v and error %v, want the zero cursor and an ErrInvalid", text, c, err)
		}
		if err != nil && len(err.Error()) > 500 {
			t.Errorf("ParseCursor of %d bytes: got an error of %d bytes, want at most 500", len(text), len(err.Error()))
		}
	}
}

// ParseCursor accepts exactly the texts that String returns.
func FuzzParseCursor(f *testing.F) {
	for _, text := range []string{"", "7", "1790000000000000.7", "9223372036854775807.9223372036854775807", "-1.2", "1.2.3", "\xff"} {
		f.Add(text)
		for bit := range len(text) * 8 { // change one bit of the text
			flipped := []byte(text)
			flipped[bit/8] ^= 1 << (bit % 8)
			f.Add(string(flipped))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := store.ParseCursor(text)
		switch {
		case err == nil && c.String() != text:
			t.Fatalf("ParseCursor(%q): got a cursor with the text %q, want the same text", text, c.String())
		case err == nil && (c.At < 0 || c.ID < 1):
			t.Fatalf("ParseCursor(%q): got %+v, want no negative time and an id above 0", text, c)
		case err != nil && !errors.Is(err, store.ErrInvalid):
			t.Fatalf("ParseCursor(%q): got error %v, want an ErrInvalid", text, err)
		}
		for _, order := range []store.Order{store.Newest, store.Due, store.Ended} {
			filter := store.Filter{Order: order, From: c}
			if err := filter.Validate(); err != nil && !errors.Is(err, store.ErrInvalid) {
				t.Fatalf("filter with the cursor %+v: got error %v, want none or an ErrInvalid", c, err)
			}
		}
	})
}

// proves: X3
//
// A cursor of a list in another order is refused. Otherwise it would lead to a page without jobs.
func TestX3_CursorsOfAnotherOrder(t *testing.T) {
	t.Parallel()
	for order, c := range map[store.Order]store.Cursor{store.Newest: {At: 5, ID: 12}, store.Due: {ID: 12}, store.Ended: {ID: 12}} {
		f := store.Filter{Order: order, From: c}
		if err := f.Validate(); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("filter in the order %s from the cursor %q: got error %v, want an ErrInvalid", order, c, err)
		}
	}
}

// proves: X3
//
// A filter with 10,000 values is refused. Otherwise the comparison with each row would be slow.
func TestX3_FiltersOfManyValues(t *testing.T) {
	t.Parallel()
	f := store.Filter{States: slices.Repeat([]job.State{job.Dead}, 10_000)}
	if err := f.Validate(); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("filter with %d states: got error %v, want an ErrTooLarge", len(f.States), err)
	}
	f.States = job.States[:]
	if err := f.Validate(); err != nil {
		t.Errorf("filter with all states: got error %v, want none", err)
	}
	d := store.DeadFilter{Statuses: slices.Repeat([]job.Status{job.Pending}, 10_000)}
	if err := d.Validate(); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("filter with %d statuses: got error %v, want an ErrTooLarge", len(d.Statuses), err)
	}
	a := store.AuditFilter{Actions: slices.Repeat([]string{"job.retry"}, 10_000)}
	if err := a.Validate(); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("audit filter with %d actions: got error %v, want an ErrInvalid", len(a.Actions), err)
	}
}
