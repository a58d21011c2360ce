// Package backoff computes the waits between attempts. Every formula is a pure function of
// the number of the next retry, the previous wait and one random number, so the same inputs
// always give the same wait.
//
// The nominal wait is the wait before jitter. It is exact to the microsecond: 30 s × 1.5 is
// 45 s on every architecture. A wait with jitter lies within Bounds and is a whole number
// of microseconds.
package backoff

import "time"

// Max is the largest possible wait, even for a back-off without a cap. Sums of such waits
// cannot overflow.
const Max = 365 * 24 * time.Hour

// FactorDefault is the factor of an exponential back-off that sets no factor.
const FactorDefault = 2

// Formula says how the nominal wait grows from retry to retry.
type Formula uint8

// The formulas. In the comments, n is the number of the next retry, starting at 1.
const (
	Fixed       Formula = iota // the wait before retry n is the n-th entry of the list Waits
	Exponential                // the wait is First × Factor^(n−1)
)

// Jitter says how waits are spread randomly around t = min(Cap, nominal wait). U(a, b) is a
// uniform random number between a and b. The interval is cut to Floor and Cap before the
// random number is drawn, so that waits do not pile up at the limits. Only Additive cuts
// the result to Cap afterwards.
type Jitter uint8

// The kinds of jitter, with the formula of the wait.
const (
	None         Jitter = iota // the wait is t, without jitter
	Percent                    // the wait is t × U(1−Percent, 1+Percent)
	Full                       // the wait is U(0, t)
	Equal                      // the wait is t/2 + U(0, t/2)
	Additive                   // the wait is min(nominal + U(0, Spread), Cap)
	Decorrelated               // the wait is U(First, min(Cap, 3 × previous wait))
)

// Past says what happens after the last wait of the list Waits.
type Past uint8

// The values of Past.
const (
	Repeat Past = iota // the last wait repeats
	Stop               // there is no further retry
)

// Backoff is a formula for waits. The zero value gives waits of 0; Validate returns the
// mistakes of a value. Do not change a Backoff that is in use.
type Backoff struct {
	Formula Formula
	Waits   []time.Duration // the waits of the formula Fixed
	Past    Past            // what happens after the last wait of the formula Fixed
	First   time.Duration   // the first wait of Exponential and Decorrelated
	Factor  float64         // the factor of the formula Exponential; at least 1; 0 means FactorDefault
	Cap     time.Duration   // the longest wait; 0 means Max
	Floor   time.Duration   // the shortest wait
	Jitter  Jitter
	Percent float64       // the share of the jitter Percent: 0.2 means ±20 %
	Spread  time.Duration // the largest addition of the jitter Additive
}
