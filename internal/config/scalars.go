package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/yamlfile"
)

// size returns a function that reads a number of bytes with a unit, between the two bounds.
func (r *reader) size(into *int, lowest, highest int) func(value) {
	want := fmt.Sprintf("a size from %s to %s such as 256KiB", shortSize(lowest), shortSize(highest))
	return func(v value) {
		digits := strings.TrimRight(v.Text, "BKMi")
		factor, unitOK := map[string]uint64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[v.Text[len(digits):]]
		n, err := strconv.ParseUint(digits, 10, 32)
		switch {
		case v.Shape == yamlfile.Number && err == nil && digits == v.Text:
			r.Mismatch(v, want, fmt.Sprintf(" without a unit; write %[1]sB, %[1]sKiB or %[1]sMiB", yamlfile.Clip(v.Text)))
		case v.Shape == yamlfile.Text && (!unitOK || errors.Is(err, strconv.ErrSyntax)):
			r.Mismatch(v, want, "; write a whole number with the unit B, KiB or MiB")
		case v.Shape != yamlfile.Text || err != nil || n*factor < uint64(lowest) || n*factor > uint64(highest):
			r.Mismatch(v, want, "")
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

// rate returns a function that reads a number of starts per second, minute or hour.
func (r *reader) rate(into *Rate) func(value) {
	want := fmt.Sprintf("a rate from %d to %d per s, m or h, such as 10/s", rateMin, rateMax)
	return func(v value) {
		number, unit, _ := strings.Cut(v.Text, "/")
		n, err := strconv.Atoi(number)
		per, unitOK := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[unit]
		switch {
		case v.Shape == yamlfile.Number:
			r.Mismatch(v, want, fmt.Sprintf(" without a span; write %[1]s/s, %[1]s/m or %[1]s/h", yamlfile.Clip(v.Text)))
		case v.Shape != yamlfile.Text || !unitOK || err != nil || strconv.Itoa(n) != number || n < rateMin || n > rateMax:
			r.Mismatch(v, want, "")
		default:
			*into = Rate{N: n, Per: per}
		}
	}
}
