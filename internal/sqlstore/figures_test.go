package sqlstore

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/store"
)

func someFigures() []store.Figures {
	return []store.Figures{
		{},
		{Enqueued: 1},
		{WaitTime: math.MaxInt64, RunTime: 1 << 40, RetryCost: 300, Retries: 200, Cancelled: 5, Crashed: 4, Exhausted: 3, Dead: 3, Failed: 9,
			Recovered: 2, Completed: 7, Started: 20, Enqueued: 1 << 33},
		{Failed: 3, Dead: 1, Classes: []store.ClassFigures{{Class: "", Dead: 1}, {Class: "A", Failed: 2}, {Class: strings.Repeat("x", 300), Failed: 1, Dead: 1 << 50}}},
		{Classes: []store.ClassFigures{{Class: strings.Repeat("y", 120)}}},
	}
}

// part of: M6
func TestM6_PackedFiguresAreReadBack(t *testing.T) {
	t.Parallel()
	for _, f := range someFigures() {
		packed := PackFigures([]byte("before"), &f)
		var got store.Figures
		if err := UnpackFigures(packed[len("before"):], &got); err != nil {
			t.Fatalf("unpack the packed figures %+v: got error %v, want none", f, err)
		}
		if diff := cmp.Diff(f, got); diff != "" {
			t.Errorf("figures that were packed and unpacked (-want +got):\n%s", diff)
		}
	}
	one, two := someFigures()[3], someFigures()[2]
	sum := one
	sum.Classes = nil
	sum.Add(&store.Figures{Classes: one.Classes})
	sum.Add(&two)
	got := two
	if err := UnpackFigures(PackFigures(nil, &one), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sum, got); diff != "" {
		t.Errorf("sum of unpacked figures (-want +got):\n%s", diff)
	}
}

// part of: M6
func TestM6_DamagedFiguresAreAnError(t *testing.T) {
	t.Parallel()
	for _, f := range someFigures()[1:] {
		packed := PackFigures(nil, &f)
		for n := range packed {
			var got store.Figures
			// Packed figures that were cut off can be read only if they end before a section
			// begins.
			if err := UnpackFigures(packed[:n], &got); err == nil && n != 1 && (n == 0 || packed[n] != sectionClasses) {
				t.Errorf("the first %d of %d bytes of %+v: unpack returned no error, want an error", n, len(packed), f)
			}
		}
	}
	for what, b := range map[string][]byte{
		"another version": {2, sectionCounts, 1, 0}, "another section": {figuresVersion, 9, 0}, "too many counts": {figuresVersion, sectionCounts, 1, 99},
		"a longer section than there are bytes": {figuresVersion, sectionCounts, 9, 0}, "bytes behind the counts": {figuresVersion, sectionCounts, 2, 0, 0},
	} {
		if err := UnpackFigures(b, new(store.Figures)); err == nil {
			t.Errorf("figures with %s: unpack returned no error, want an error", what)
		}
	}
}

func FuzzUnpackFigures(f *testing.F) {
	for _, s := range someFigures() {
		f.Add(PackFigures(nil, &s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var got store.Figures
		if UnpackFigures(b, &got) != nil {
			return
		}
		var again store.Figures
		if err := UnpackFigures(PackFigures(nil, &got), &again); err != nil {
			t.Fatalf("figures %+v: unpack of the packed figures: got error %v, want none", got, err)
		}
		if diff := cmp.Diff(got, again); diff != "" {
			t.Errorf("figures that were packed and unpacked (-want +got):\n%s", diff)
		}
	})
}

func FuzzEachFigures(f *testing.F) {
	f.Add([]byte{1, 5, figuresVersion, sectionCounts, 2, 1, 7})
	f.Fuzz(func(t *testing.T, b []byte) {
		_ = EachFigures(b, func(int64, *store.Figures) error { return nil }) // EachFigures must not panic, whatever the bytes are
	})
}
