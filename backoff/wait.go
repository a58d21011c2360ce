package backoff

import (
	"math"
	"time"
)

// Draw is a computed wait with the numbers that explain it. The wait can be computed again
// from the back-off, the number of the retry, the previous wait and U.
type Draw struct {
	Wait    time.Duration // the resulting wait
	Nominal time.Duration // the wait before jitter and after the cap; First for Decorrelated
	Ceiling time.Duration // the longest wait that any random number could have given
	U       float64       // the random number that was used, in [0, 1)
}

// Wait returns the wait before retry n, which starts at 1, and false if there is no such
// retry. Only Decorrelated uses the previous wait, which is 0 before the first retry. u is
// a uniform random number in [0, 1). The wait is between Floor and Cap even if the
// arguments are invalid, and the time to compute it does not grow with n.
func (b *Backoff) Wait(n int, previous time.Duration, u float64) (Draw, bool) {
	if b.ended(n) {
		return Draw{}, false
	}
	u = unit(u)
	nominal, low, high := b.interval(n, previous)
	floor, limit := b.borders()
	if b.Jitter != Additive {
		low, high = clamp(low, floor, limit), clamp(high, floor, limit)
	}
	wait := low + int64(float64(high-low)*u)
	return Draw{
		Wait:    span(clamp(wait, floor, limit)),
		Nominal: span(clamp(nominal, 0, limit)),
		Ceiling: span(clamp(high, floor, limit)),
		U:       u,
	}, true
}

// Nominal returns the wait before retry n without jitter, between Floor and Cap. n starts
// at 1. The result is First for Decorrelated, and 0 if there is no such retry.
func (b *Backoff) Nominal(n int) time.Duration {
	if b.ended(n) {
		return 0
	}
	floor, limit := b.borders()
	nominal, _, _ := b.interval(n, 0)
	return span(clamp(nominal, floor, limit))
}

// Bounds returns the shortest and the longest possible wait before retry n, which starts at
// 1. For Decorrelated, the longest wait assumes that all earlier waits were the longest
// possible.
func (b *Backoff) Bounds(n int) (low, high time.Duration) {
	if b.ended(n) {
		return 0, 0
	}
	var longest int64
	if b.Jitter == Decorrelated {
		longest = grow(micros(b.First), 3, n-1)
	}
	_, lo, hi := b.interval(n, span(longest))
	floor, limit := b.borders()
	return span(clamp(lo, floor, limit)), span(clamp(hi, floor, limit))
}

// Sum returns the sum of the first n waits without jitter, limited to the largest
// time.Duration.
func (b *Backoff) Sum(n int) time.Duration {
	var sum time.Duration
	_, limit := b.borders()
	for k := 1; k <= n && !b.ended(k); k++ {
		wait, times := b.Nominal(k), 1
		if !b.ended(k+1) && (b.Formula == Fixed && k >= len(b.Waits) || b.Formula == Exponential && b.factor() == 1 || wait == span(limit)) {
			times = n - k + 1 // all waits after this one are equal
		}
		if wait > 0 && time.Duration(times) > (math.MaxInt64-sum)/wait {
			return math.MaxInt64
		}
		sum += wait * time.Duration(times)
		k += times - 1
	}
	return sum
}

func (b *Backoff) ended(n int) bool {
	return b.Formula == Fixed && b.Past == Stop && n > len(b.Waits)
}

// interval returns the nominal wait and the two ends of the interval for the random wait,
// in microseconds, before they are cut to Floor and Cap. Each is between 0 and 4 × Max.
func (b *Backoff) interval(n int, previous time.Duration) (nominal, low, high int64) {
	_, limit := b.borders()
	nominal = b.nominal(n)
	t := min(nominal, limit)
	switch b.Jitter {
	case Percent:
		return t, scale(t, 1-b.percent()), scale(t, 1+b.percent())
	case Full:
		return t, 0, t
	case Equal:
		return t, t / 2, t
	case Additive:
		return nominal, nominal, nominal + micros(b.Spread)
	case Decorrelated:
		first := micros(b.First)
		return first, first, 3 * max(first, micros(previous))
	case None:
	}
	return t, t, t
}

// nominal returns the wait that the formula gives before retry n, in microseconds.
func (b *Backoff) nominal(n int) int64 {
	n = max(n, 1)
	if b.Formula == Exponential {
		return grow(micros(b.First), b.factor(), n-1)
	}
	if len(b.Waits) == 0 {
		return 0
	}
	return micros(b.Waits[min(n, len(b.Waits))-1])
}

func (b *Backoff) factor() float64 {
	if b.Factor == 0 {
		return FactorDefault
	}
	return b.Factor
}

func (b *Backoff) percent() float64 {
	if !(b.Percent > 0) {
		return 0
	}
	return min(b.Percent, 1)
}

// borders returns Floor and Cap in microseconds. If Floor is above Cap, it returns Cap for
// both.
func (b *Backoff) borders() (floor, limit int64) {
	limit = micros(Max)
	if b.Cap > 0 {
		limit = micros(b.Cap)
	}
	return min(micros(b.Floor), limit), limit
}

// grow returns first × factor^k, at most Max. A float64 holds every whole number of
// microseconds up to Max, so the product is exact for common factors. The power is computed
// by squaring, in at most 63 steps. Each product is a separate statement, so that no
// architecture can fuse it with an addition. An invalid factor (below 1, or NaN) counts as
// 1.
func grow(first int64, factor float64, k int) int64 {
	if first <= 0 || !(factor > 1) {
		return max(first, 0)
	}
	limit := float64(micros(Max))
	power := 1.0
	for base := factor; k > 0; k >>= 1 {
		if k&1 == 1 {
			power *= base
		}
		if power > limit {
			return micros(Max)
		}
		base *= base
	}
	return micros64(float64(first) * power)
}

// scale returns the product d × factor, rounded to a whole number and at least 0.
func scale(d int64, factor float64) int64 { return micros64(float64(d) * factor) }

// micros64 rounds a value to whole microseconds. It first limits the value to [0, 2 × Max],
// because converting larger values to int64 gives different results on different
// architectures.
func micros64(f float64) int64 {
	limit := float64(2 * micros(Max))
	switch {
	case f < limit && f > 0:
		return int64(math.Round(f))
	case f <= 0:
		return 0
	}
	return int64(limit) // the value is too large, or NaN
}

// micros returns a duration in whole microseconds, limited to the range from 0 to Max.
func micros(d time.Duration) int64 { return int64(min(max(d, 0), Max) / time.Microsecond) }

// span converts whole microseconds to a duration.
func span(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

func clamp(v, low, high int64) int64 { return min(max(v, low), high) }

// unit limits a random number to [0, 1).
func unit(u float64) float64 {
	if !(u > 0) {
		return 0
	}
	return min(u, 1-1.0/(1<<53))
}
