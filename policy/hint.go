package policy

import (
	"math"
	"time"

	"github.com/redrive/redrive/failure"
)

// hintOf returns the longest of the waits that the other side asked for, rounded up to
// whole microseconds so that it is never shortened. It returns 0 if there is no hint, or if
// the hint is a time in the past.
func hintOf(in *Input, e *failure.Evidence) time.Duration {
	hint := max(e.RetryAfter, in.Class.Hint, 0)
	if !e.NotBefore.IsZero() && !in.Now.IsZero() {
		hint = max(hint, e.NotBefore.Sub(in.Now))
	}
	return wholeMicros(hint)
}

// wholeMicros rounds a duration up to whole microseconds, the unit of stored times.
func wholeMicros(d time.Duration) time.Duration {
	if cut := d.Truncate(time.Microsecond); cut < d && d < 1<<62 {
		return cut + time.Microsecond
	}
	return d
}

// wait combines the wait of the back-off (drawn) with a hint. It returns false if the hint
// is longer than its maximum. Only with HintCap can the result be shorter than the hint. A
// random time is added to a hint, so that callers with the same hint do not all return at
// the same time.
func (h *Hint) wait(drawn, hint, limit time.Duration, u float64) (time.Duration, bool) {
	switch {
	case hint <= 0 || h.Mode == HintOff:
		return drawn, true
	case h.Mode == HintCap:
		return min(hint, limit), true
	case hint > h.Max && h.OverMax == OverMaxDead:
		return 0, false
	case hint < drawn:
		return drawn, true
	}
	spread := max(float64(h.JitterMin), h.Jitter*float64(hint))
	if limit := float64(math.MaxInt64 - hint); !(spread < limit) {
		return math.MaxInt64, true
	}
	return (hint + time.Duration(spread*u)).Truncate(time.Microsecond), true
}
