// Package backoff computes the waits between attempts. Every formula is a pure
// function of the number of the coming retry, the wait before it and one draw,
// so that a wait can be explained and computed again.
//
// Two kinds of number are promised. A nominal wait is exact to the microsecond:
// 30 s × 1.5 is 45 s on every architecture. A drawn wait lies between Bounds,
// is a whole number of microseconds, and the same draw gives the same wait.
package backoff

import "time"

// Max is the longest wait, with or without a cap. Sums of such waits cannot overflow.
const Max = 365 * 24 * time.Hour

// FactorDefault is the factor of an exponential back-off without a factor.
const FactorDefault = 2

// Formula is how the nominal wait grows.
type Formula uint8

// The formulas; n is the number of the next retry, from 1.
const (
	Fixed       Formula = iota // the n-th of Waits
	Exponential                // First × Factor^(n−1)
)

// Jitter is how the wait is spread around the nominal one, t, which is capped
// before: t = min(Cap, nominal). U(a, b) is a uniform draw. Its interval is cut to
// Floor and Cap before the draw, so that waits do not pile up at a border; only
// Additive is cut after it.
type Jitter uint8

// The jitters.
const (
	None         Jitter = iota // t
	Percent                    // t × U(1−Percent, 1+Percent)
	Full                       // U(0, t)
	Equal                      // t/2 + U(0, t/2)
	Additive                   // min(nominal + U(0, Spread), Cap)
	Decorrelated               // U(First, min(Cap, 3 × previous wait))
)

// Past says what happens after the last of Waits.
type Past uint8

// What happens after the last wait.
const (
	Repeat Past = iota // the last wait repeats
	Stop               // no further retry
)

// Backoff is a formula for waits. The zero value never waits; Validate reports the
// mistakes of a value. It must not be changed once it is in use.
type Backoff struct {
	Formula Formula
	Waits   []time.Duration // for the formula Fixed
	Past    Past            // for the formula Fixed
	First   time.Duration   // for Exponential and Decorrelated
	Factor  float64         // for Exponential, at least 1; 0 means FactorDefault
	Cap     time.Duration   // the longest wait; 0 means Max
	Floor   time.Duration   // the shortest wait
	Jitter  Jitter
	Percent float64       // for the jitter Percent: 0.2 means ±20 %
	Spread  time.Duration // for the jitter Additive
}
