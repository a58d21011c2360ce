package fingerprint

import (
	"testing"

	"github.com/redrive/redrive/internal/lines"
	"github.com/redrive/redrive/internal/phrase"
	"github.com/redrive/redrive/internal/scan"
)

// Failures of one cause have one shape, whatever their ids, paths, sizes and times are.
func TestShape(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ a, b string }{
		{"open /srv/a/clip-1.mp4: no such file", "open /srv/b/clip-2.mp4: no such file"},
		{"request req_1f2e3d4c5b6a failed after 3s", "request req_9a8b7c6d5e4f failed after 41s"},
		{"upload of 12 MB failed", "upload of 17,345,112 bytes failed"},
		{"dial 10.0.0.7:443: connection refused", "dial 10.0.0.8:443: connection refused"},
	} {
		if a, b := Shape(tt.a), Shape(tt.b); a != b {
			t.Errorf("%q has the shape %q, %q has %q, want one shape", tt.a, a, tt.b, b)
		}
	}
	if a, b := Shape("no such file"), Shape("no such host"); a == b {
		t.Errorf("two causes have the shape %q, want two shapes", a)
	}
	if a, b := Key(2, "a", "bc"), Key(2, "ab", "c"); a == b || len(a) != 18 || a[:2] != "2:" {
		t.Errorf("the keys %q and %q, want two keys of version 2", a, b)
	}
}

// What is a frame of a stack for the lines of an output does not belong to the shape.
func TestShape_LeavesFramesOut(t *testing.T) {
	t.Parallel()
	const message = "ValueError: odd"
	for _, frame := range []string{
		"    at Object.run (/srv/app.js:3:1)", `  File "/srv/app.py", line 3, in main`, "Traceback (most recent call last):", "goroutine 7 [running]:",
		"    from /srv/app.rb:3:in `run'",
	} {
		text := message + "\n" + frame + "\n"
		if _, kind := lines.At(text, len(message)+1); kind != lines.Frame {
			t.Errorf("%q is of the kind %d for package lines, want a frame", frame, kind)
		}
		if got, want := Shape(text), Shape(message); got != want {
			t.Errorf("%q behind a message makes the shape %q, want %q", frame, got, want)
		}
	}
}

// A unit of sizes is one for phrases too.
func TestSizeUnits_AreThoseOfPhrases(t *testing.T) {
	t.Parallel()
	b, err := phrase.NewBuilder()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Add("upload <size>", 0, false); err != nil {
		t.Fatal(err)
	}
	m := b.Freeze()
	for _, unit := range []string{"b", "byte", "bytes", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib", "kilobytes", "megabytes", "gigabytes"} {
		text := "upload 7 " + unit
		var found phrase.Matcher
		found.Run(m, text, scan.Tokens(nil, text))
		if !isSizeUnit(unit) || len(found.Found) != 1 {
			t.Errorf("%s: a unit for fingerprints is %t, phrases find it %d times, want true and once", unit, isSizeUnit(unit), len(found.Found))
		}
	}
}
