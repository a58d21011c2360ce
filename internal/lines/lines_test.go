package lines_test

import (
	"strings"
	"testing"

	"github.com/redrive/redrive/internal/lines"
)

// What each line of an output is.
func TestAt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want lines.Kind
	}{
		{"---", lines.Empty},
		{"goroutine 7 [running]:", lines.Frame},
		{"    at Object.<anonymous> (/srv/app.js:3:1)", lines.Frame},
		{`  File "/srv/app.py", line 3, in main`, lines.Frame},
		{"ffmpeg version 6.0", lines.Frame},
		{"npm ERR! code 1", lines.Footer},
		{"WARN disk is slow", lines.Aside},
		{"hint: try again", lines.Aside},
		{"the clip was rendered", lines.Plain},
		{"the clip could not be opened: connection refused", lines.Tells},
		{"error: no such clip", lines.Heads},
		{"java.io.IOException: broken", lines.Heads},
	} {
		line, got := lines.At(tt.text, 0)
		if got != tt.want || line != strings.TrimSpace(tt.text) {
			t.Errorf("%q: got the kind %d of %q, want %d", tt.text, got, line, tt.want)
		}
	}
}

// The line that tells of the failure is chosen, not the frames and footers around it.
func TestCause(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "",
		"reading\nerror: no such clip\nnpm ERR! code 1\n":                                               "error: no such clip",
		"Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    g()\nValueError: odd\n": "ValueError: odd",
		"first\nsecond\n": "first",
	} {
		if got := lines.Cause(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
