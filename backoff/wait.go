package backoff

import (
	"math"
	"time"
)

// Draw is one wait with the numbers that it was computed from. It can be computed again
// from the back-off, n, the previous wait and U.
type Draw struct {
	Wait    time.Duration // the resulting wait
	Nominal time.Duration // the wait before jitter, capped; First for Decorrelated
	Ceiling time.Duration // the longest wait that any random number could have given
	U       float64       // the random number, in [0, 1)
}

// Wait returns the wait before retry n, from 1, and false when the schedule has no such
// retry. The previous wait is used by Decorrelated only, and is 0 before the first
// retry. u is a uniform random number in [0, 1). For any arguments, valid or not, the
// wait is between Floor and Cap, and the cost does not grow with n.
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

// Nominal returns the wait before retry n, from 1, without jitter, between Floor and
// Cap. For Decorrelated it is First. It is 0 after the end of a schedule that stops.
func (b *Backoff) Nominal(n int) time.Duration {
	if b.ended(n) {
		return 0
	}
	floor, limit := b.borders()
	nominal, _, _ := b.interval(n, 0)
	return span(clamp(nominal, floor, limit))
}

// Bounds returns the shortest and the longest wait that can be drawn before retry n,
// from 1. For Decorrelated the longest wait assumes n−1 longest waits before it.
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

// Sum returns the sum of the first n waits without jitter, at most the largest
// duration.
func (b *Backoff) Sum(n int) time.Duration {
	var sum time.Duration
	_, limit := b.borders()
	for k := 1; k <= n && !b.ended(k); k++ {
		wait, times := b.Nominal(k), 1
		if !b.ended(k+1) && (b.Formula == Fixed && k >= len(b.Waits) || b.Formula == Exponential && b.factor() == 1 || wait == span(limit)) {
			times = n - k + 1 // from here on all waits are equal
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

// interval returns the nominal wait and the interval to draw from, in
// microseconds, before Floor and Cap cut them. Each is between 0 and 4 × Max.
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

// nominal returns the result of the formula before retry n, in microseconds.
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

// borders returns Floor and Cap in microseconds. If they contradict each other, the cap
// wins.
func (b *Backoff) borders() (floor, limit int64) {
	limit = micros(Max)
	if b.Cap > 0 {
		limit = micros(b.Cap)
	}
	return min(micros(b.Floor), limit), limit
}

// grow returns first × factor^k, at most Max. Up to there a float64 holds every
// number of microseconds, and every whole power, so the product is exact for the
// factors that people write. The power is by squaring: 63 steps whatever k. Each
// product stands alone, so that no architecture can fuse it with a sum. What is
// no factor (below 1, NaN) does not grow.
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

// scale returns d × by, whole and at least 0.
func scale(d int64, by float64) int64 { return micros64(float64(d) * by) }

// micros64 rounds to whole microseconds. It limits the value to [0, 2 × Max] before the
// conversion, because values that do not fit an int64 convert differently on different
// architectures.
func micros64(f float64) int64 {
	limit := float64(2 * micros(Max))
	switch {
	case f < limit && f > 0:
		return int64(math.Round(f))
	case f <= 0:
		return 0
	}
	return int64(limit) // and NaN
}

// micros returns d in whole microseconds, between 0 and Max.
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
