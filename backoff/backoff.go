// Package backoff computes the waits between attempts. Every formula is a pure
// function of the number of the coming retry, the wait before it and one draw,
// so that a wait can be explained and computed again.
//
// Two kinds of number are promised. A nominal wait is exact to the microsecond:
// 30 s × 1.5 is 45 s on every architecture. A drawn wait lies between Bounds,
// is a whole number of microseconds, and the same draw gives the same wait.
package backoff

import "time"

// Max is the longest wait that there is, with a cap or without: far below where
// sums of times overflow.
const Max = 365 * 24 * time.Hour

// FactorDefault is the factor of an exponential back-off that names none.
const FactorDefault = 2

// Formula is how the nominal wait grows.
type Formula uint8

// The formulas; n is the number of the coming retry, from 1.
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

// Past is what happens after the last of Waits.
type Past uint8

// What comes past the last wait.
const (
	Repeat Past = iota // the last wait again
	Stop               // no further retry
)

// Backoff is one way to wait. The zero value waits nothing; Validate says what is
// wrong with a value. It must not be changed once it is in use.
type Backoff struct {
	Formula Formula
	Waits   []time.Duration // of Fixed
	Past    Past            // of Fixed
	First   time.Duration   // of Exponential and Decorrelated
	Factor  float64         // of Exponential, at least 1; 0 is FactorDefault
	Cap     time.Duration   // no wait is longer; 0 is Max
	Floor   time.Duration   // no wait is shorter
	Jitter  Jitter
	Percent float64       // of the jitter Percent: 0.2 is ±20 %
	Spread  time.Duration // of the jitter Additive
}
