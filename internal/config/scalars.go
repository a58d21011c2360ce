package config

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

// words reads text that may be empty.
func (r *reader) words(into *string) func(value) {
	return func(v value) {
		switch {
		case v.shape == shapeNumber || v.shape == shapeBool:
			r.mismatch(v, "text", fmt.Sprintf("; put it in quotes: %q", clip(v.text)))
		case !r.is(v, shapeText, "text"):
		case strings.ContainsRune(v.text, 0):
			r.addf(v.pos, "%s must not hold a NUL character; remove the \\x00 or \\0", v.path)
		default:
			*into = v.text
		}
	}
}

// nonEmpty reads text that is not empty.
func (r *reader) nonEmpty(into *string) func(value) {
	return func(v value) {
		if v.shape == shapeText && v.text == "" {
			r.addf(v.pos, "%s is empty; write a text or remove it", v.path)
			return
		}
		r.words(into)(v)
	}
}

func (r *reader) boolean(into *bool) func(value) {
	return func(v value) {
		if v.shape != shapeBool || v.text != "true" && v.text != "false" {
			r.mismatch(v, "true or false", "")
			return
		}
		*into = v.text == "true"
	}
}

// choice reads one of a few words and stores what it stands for.
func choice[T any](r *reader, into *T, words []string, meanings []T) func(value) {
	return func(v value) {
		i := slices.Index(words, v.text)
		if v.shape != shapeText || i < 0 {
			r.mismatch(v, "one of "+suggest.List(words), suggest.DidYouMean(v.text, words))
			return
		}
		*into = meanings[i]
	}
}

// integer reads a whole number from lowest to highest. note may explain the bound.
func (r *reader) integer(into *int, lowest, highest int, note string) func(value) {
	want := fmt.Sprintf("a whole number from %d to %d%s", lowest, highest, note)
	return func(v value) {
		n, err := strconv.Atoi(v.text)
		switch {
		case v.shape == shapeText && err == nil:
			r.mismatch(v, want, "; remove the quotes")
		case v.shape == shapeNumber && err == nil && strconv.Itoa(n) != v.text, // 010 is 8 to some readers
			v.shape == shapeNumber && errors.Is(err, strconv.ErrSyntax):
			r.mismatch(v, want, "; write plain decimal digits")
		case v.shape != shapeNumber || err != nil || n < lowest || n > highest:
			r.mismatch(v, want, "")
		default:
			*into = n
		}
	}
}

// duration reads a time span with units from lowest to highest.
func (r *reader) duration(into *time.Duration, lowest, highest time.Duration) func(value) {
	want := fmt.Sprintf("a duration from %s to %s", human.Duration(lowest), human.Duration(highest))
	return func(v value) {
		if v.shape != shapeText && v.shape != shapeNumber {
			r.mismatch(v, want, "")
			return
		}
		if _, err := strconv.ParseFloat(v.text, 64); err == nil {
			r.mismatch(v, want, fmt.Sprintf(" without a unit; write %[1]ss, %[1]sm or %[1]sh", clip(v.text)))
			return
		}
		d, err := time.ParseDuration(v.text)
		switch {
		case err != nil:
			r.mismatch(v, want, "; write numbers with the units ms, s, m and h, such as 90s or 1h30m")
		case d < lowest || d > highest:
			r.mismatch(v, want, "")
		default:
			*into = d
		}
	}
}

// size reads a number of bytes with its unit, from lowest to highest bytes.
func (r *reader) size(into *int, lowest, highest int) func(value) {
	want := fmt.Sprintf("a size from %s to %s such as 256KiB", shortSize(lowest), shortSize(highest))
	return func(v value) {
		digits := strings.TrimRight(v.text, "BKMi")
		factor, unitOK := map[string]uint64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[v.text[len(digits):]]
		n, err := strconv.ParseUint(digits, 10, 32)
		switch {
		case v.shape == shapeNumber && err == nil && digits == v.text:
			r.mismatch(v, want, fmt.Sprintf(" without a unit; write %[1]sB, %[1]sKiB or %[1]sMiB", clip(v.text)))
		case v.shape == shapeText && (!unitOK || errors.Is(err, strconv.ErrSyntax)):
			r.mismatch(v, want, "; write a whole number with the unit B, KiB or MiB")
		case v.shape != shapeText || err != nil || n*factor < uint64(lowest) || n*factor > uint64(highest):
			r.mismatch(v, want, "")
		default:
			*into = int(n * factor)
		}
	}
}

func shortSize(bytes int) string {
	switch {
	case bytes >= 1<<20 && bytes%(1<<20) == 0:
		return fmt.Sprintf("%dMiB", bytes>>20)
	case bytes >= 1<<10 && bytes%(1<<10) == 0:
		return fmt.Sprintf("%dKiB", bytes>>10)
	}
	return fmt.Sprintf("%dB", bytes)
}

// rate reads a number of starts per second, minute or hour.
func (r *reader) rate(into *Rate) func(value) {
	want := fmt.Sprintf("a rate from %d to %d per s, m or h, such as 10/s", rateMin, rateMax)
	return func(v value) {
		number, unit, _ := strings.Cut(v.text, "/")
		n, err := strconv.Atoi(number)
		per, unitOK := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[unit]
		switch {
		case v.shape == shapeNumber:
			r.mismatch(v, want, fmt.Sprintf(" without a span; write %[1]s/s, %[1]s/m or %[1]s/h", clip(v.text)))
		case v.shape != shapeText || !unitOK || err != nil || strconv.Itoa(n) != number || n < rateMin || n > rateMax:
			r.mismatch(v, want, "")
		default:
			*into = Rate{N: n, Per: per}
		}
	}
}
