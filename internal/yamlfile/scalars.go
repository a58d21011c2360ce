package yamlfile

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/suggest"
)

// Words returns a function that reads a text, which may be empty.
func (r *Reader) Words(into *string) func(Value) {
	return func(v Value) {
		switch {
		case v.Shape == Number || v.Shape == Bool:
			r.Mismatch(v, "text", fmt.Sprintf("; put it in quotes: %q", Clip(v.Text)))
		case !r.Is(v, Text, "text"):
		case strings.ContainsRune(v.Text, 0):
			r.Addf(v.Pos, "%s must not hold a NUL character; remove the \\x00 or \\0", v.Path)
		default:
			*into = v.Text
		}
	}
}

// NonEmpty returns a function that reads a text. An empty text is a problem.
func (r *Reader) NonEmpty(into *string) func(Value) {
	return func(v Value) {
		if v.Shape == Text && v.Text == "" {
			r.Addf(v.Pos, "%s is empty; write a text or remove it", v.Path)
			return
		}
		r.Words(into)(v)
	}
}

// Boolean returns a function that reads true or false.
func (r *Reader) Boolean(into *bool) func(Value) {
	return func(v Value) {
		if v.Shape != Bool || v.Text != "true" && v.Text != "false" {
			r.Mismatch(v, "true or false", "")
			return
		}
		*into = v.Text == "true"
	}
}

// Choice returns a function that reads one of the given words. It stores the element of
// meanings that has the same index as the word.
func Choice[T any](r *Reader, into *T, words []string, meanings []T) func(Value) {
	return func(v Value) {
		i := slices.Index(words, v.Text)
		if v.Shape != Text || i < 0 {
			r.Mismatch(v, "one of "+suggest.List(words), suggest.DidYouMean(v.Text, words))
			return
		}
		*into = meanings[i]
	}
}

// Integer returns a function that reads a whole number between the two bounds. In messages, the
// note follows the bounds; it may be empty.
func (r *Reader) Integer(into *int, lowest, highest int, note string) func(Value) {
	want := fmt.Sprintf("a whole number from %d to %d%s", lowest, highest, note)
	return func(v Value) {
		n, err := strconv.Atoi(v.Text)
		switch {
		case v.Shape == Text && err == nil:
			r.Mismatch(v, want, "; remove the quotes")
		case v.Shape == Number && err == nil && strconv.Itoa(n) != v.Text, // a leading zero is refused, because some YAML readers read 010 as 8
			v.Shape == Number && errors.Is(err, strconv.ErrSyntax):
			r.Mismatch(v, want, "; write plain decimal digits")
		case v.Shape != Number || err != nil || n < lowest || n > highest:
			r.Mismatch(v, want, "")
		default:
			*into = n
		}
	}
}

// Duration returns a function that reads a duration with units, between the two bounds.
func (r *Reader) Duration(into *time.Duration, lowest, highest time.Duration) func(Value) {
	show, spelt := human.Duration, "write %[1]ss, %[1]sm or %[1]sh"
	if r.about.Days {
		show, spelt = Span, "write %[1]ss, %[1]sm, %[1]sh or %[1]sd"
	}
	want := fmt.Sprintf("a duration from %s to %s", show(lowest), show(highest))
	return func(v Value) {
		if v.Shape != Text && v.Shape != Number {
			r.Mismatch(v, want, "")
			return
		}
		if _, err := strconv.ParseFloat(v.Text, 64); err == nil {
			r.Mismatch(v, want, fmt.Sprintf(" without a unit; "+spelt, Clip(v.Text)))
			return
		}
		d, err := parseDuration(v.Text)
		switch {
		case err != nil:
			r.Mismatch(v, want, "; write numbers with the units w, d, h, m, s and ms, such as 90s, 1h30m or 7d")
		case d < lowest || d > highest:
			r.Mismatch(v, want, "")
		default:
			*into = d
		}
	}
}

// parseDuration reads a duration. It accepts negative durations, so that the problem of such a
// duration names the range.
func parseDuration(s string) (time.Duration, error) {
	if rest, negative := strings.CutPrefix(s, "-"); negative {
		d, err := human.ParseDuration(rest)
		return -d, err
	}
	return human.ParseDuration(s)
}

// Day is the length of the unit d.
const Day = 24 * time.Hour

// Span formats a duration in the form that human.ParseDuration reads, such as 7d, 36h or 1h30m.
func Span(d time.Duration) string {
	if d > Day && d%Day == 0 {
		return strconv.FormatInt(int64(d/Day), 10) + "d"
	}
	return human.Duration(d)
}
