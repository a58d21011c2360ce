package backoff

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// String returns the back-off as a formula, such as "30s × 2^(n−1), ±20 %, cap 1h".
func (b *Backoff) String() string {
	parts := []string{b.Growth(), b.Spreading(), b.Borders()}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// Growth returns the text of the formula without jitter and limits, such as "30s ×
// 2^(n−1)", "1m, 5m, 15m, …" or "1m, 5m, 15m, then none".
func (b *Backoff) Growth() string {
	if b.Jitter == Decorrelated {
		return Short(b.First) + ", then up to 3 × the wait before"
	}
	if b.Formula == Exponential {
		return Short(b.First) + " × " + strconv.FormatFloat(b.factor(), 'g', -1, 64) + "^(n−1)"
	}
	if len(b.Waits) == 0 {
		return "no wait"
	}
	const shown = 8
	var s strings.Builder
	for i, w := range b.Waits {
		if i == shown && len(b.Waits) > shown+1 {
			s.WriteString("… (" + strconv.Itoa(len(b.Waits)) + " waits), ")
			break
		}
		s.WriteString(Short(w) + ", ")
	}
	if b.Past == Stop {
		return s.String() + "then none"
	}
	return s.String() + "…"
}

// Spreading returns the text of the jitter, such as "±20 %", or "" if there is no jitter.
func (b *Backoff) Spreading() string {
	switch b.Jitter {
	case Percent:
		return "±" + strconv.FormatFloat(b.Percent*100, 'g', 4, 64) + " %"
	case Full:
		return "full jitter"
	case Equal:
		return "equal jitter"
	case Additive:
		return "+ up to " + Short(b.Spread)
	case Decorrelated:
		return "decorrelated jitter"
	case None:
	}
	return ""
}

// Borders returns the text of the cap and the floor, such as "cap 1h, floor 1s", or "" if
// there is neither.
func (b *Backoff) Borders() string {
	var parts []string
	if b.Cap > 0 {
		parts = append(parts, "cap "+Short(b.Cap))
	}
	if b.Floor > 0 {
		parts = append(parts, "floor "+Short(b.Floor))
	}
	return strings.Join(parts, ", ")
}

// Short formats a duration without zero units at its end: 5m, not 5m0s. Two or more whole days
// are written in days: 30d.
func Short(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= 2*day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Rounded formats a duration with the precision that people need: 55.4s, not 55.438291s.
func Rounded(d time.Duration) string {
	switch size := max(d, -d); {
	case size >= 10*time.Minute:
		d = d.Round(time.Second)
	case size >= time.Second:
		d = d.Round(100 * time.Millisecond)
	case size >= time.Millisecond:
		d = d.Round(100 * time.Microsecond)
	}
	return Short(d)
}
