package backoff

import (
	"errors"
	"fmt"
	"time"
)

// WaitsMax is the largest allowed number of waits in a list.
const WaitsMax = 1000

// FactorMax is the largest allowed factor.
const FactorMax = 1000

// Mistake is one mistake in the fields of a back-off.
type Mistake struct {
	Field   string // the name of the field in a policy file, such as "first" or "waits[2]"
	Message string // the mistake in words: the value, what is allowed, and how to correct it
}

// Validate returns all mistakes of the back-off as one error.
func (b *Backoff) Validate() error {
	var errs []error
	for _, m := range b.Mistakes() {
		errs = append(errs, fmt.Errorf("%s: %s", m.Field, m.Message))
	}
	return errors.Join(errs...)
}

// Mistakes returns all mistakes of the back-off, or nil. Waits that are all 0 are a mistake,
// unless the list Waits contains the wait 0.
func (b *Backoff) Mistakes() []Mistake {
	var c checker
	switch b.Formula {
	case Fixed:
		c.fixed(b)
	case Exponential:
		c.exponential(b)
	default:
		c.add("formula", "%d: must be fixed or exponential", b.Formula)
	}
	c.wait("cap", b.Cap)
	c.wait("floor", b.Floor)
	if b.Cap > 0 && b.Floor > b.Cap {
		c.add("floor", "%s is above the cap %s: lower the floor, or raise the cap", Short(b.Floor), Short(b.Cap))
	}
	c.jitter(b)
	return c.found
}

type checker struct{ found []Mistake }

func (c *checker) add(field, format string, args ...any) {
	c.found = append(c.found, Mistake{field, fmt.Sprintf(format, args...)})
}

// wait checks the limits that apply to every duration.
func (c *checker) wait(field string, d time.Duration) {
	switch {
	case d < 0:
		c.add(field, "%s: must not be negative", Short(d))
	case d > Max:
		c.add(field, "%s: must be at most %s", Short(d), Short(Max))
	case d%time.Microsecond != 0:
		c.add(field, "%s: must be a whole number of microseconds", d)
	}
}

func (c *checker) fixed(b *Backoff) {
	if len(b.Waits) == 0 {
		c.add("waits", "the list is empty: name at least one wait; 0s retries at once")
	}
	if len(b.Waits) > WaitsMax {
		c.add("waits", "%d waits: must be at most %d; the last one repeats", len(b.Waits), WaitsMax)
	}
	for i, w := range b.Waits[:min(len(b.Waits), WaitsMax)] {
		c.wait(fmt.Sprintf("waits[%d]", i), w)
		if b.Cap > 0 && w > b.Cap {
			c.add(fmt.Sprintf("waits[%d]", i), "%s is above the cap %s: shorten the wait, or raise the cap", Short(w), Short(b.Cap))
		}
	}
	if b.Past > Stop {
		c.add("past", "%d: must be repeat or stop", b.Past)
	}
	if b.First != 0 {
		c.add("first", "%s: belongs to the formula \"exponential\"; a fixed schedule lists its waits", Short(b.First))
	}
	if b.Factor != 0 {
		c.add("factor", "%v: belongs to the formula \"exponential\"; a fixed schedule lists its waits", b.Factor)
	}
}

func (c *checker) exponential(b *Backoff) {
	c.wait("first", b.First)
	if b.First == 0 {
		c.add("first", "0s: would never wait; name a first wait, or write \"waits: [0s]\" to retry at once")
	}
	if b.Cap > 0 && b.First > b.Cap {
		c.add("first", "%s is above the cap %s: shorten the first wait, or raise the cap", Short(b.First), Short(b.Cap))
	}
	if b.Factor != 0 && !(b.Factor >= 1 && b.Factor <= FactorMax) {
		c.add("factor", "%v: must be 1 to %d", b.Factor, FactorMax)
	}
	if len(b.Waits) > 0 {
		c.add("waits", "belong to a fixed schedule: remove them, or \"first\" and \"factor\"")
	}
	if b.Past != Repeat {
		c.add("past", "belongs to a fixed schedule: bound the retries by max_retries")
	}
}

func (c *checker) jitter(b *Backoff) {
	switch b.Jitter {
	case None, Full, Equal, Percent, Additive:
	case Decorrelated:
		if b.Formula != Exponential {
			c.add("jitter", "\"decorrelated\" needs a first wait: use the formula \"exponential\" with \"first\"")
		}
		if b.Factor != 0 && b.Factor != 3 {
			c.add("factor", "%v: decorrelated jitter grows by 3; remove the factor", b.Factor)
		}
	default:
		c.add("jitter", "%d: must be one of none, percent, full, equal, additive or decorrelated", b.Jitter)
	}
	switch {
	case b.Jitter == Percent && !(b.Percent > 0 && b.Percent <= 1):
		c.add("percent", "%v: must be above 0 and at most 1; 0.2 is ±20 %%", b.Percent)
	case b.Jitter != Percent && b.Percent != 0:
		c.add("percent", "%v: belongs to the jitter \"percent\"", b.Percent)
	}
	switch {
	case b.Jitter == Additive && b.Spread == 0:
		c.add("spread", "0s: the jitter \"additive\" needs the longest time that it may add")
	case b.Jitter != Additive && b.Spread != 0:
		c.add("spread", "%s: belongs to the jitter \"additive\"", Short(b.Spread))
	}
	c.wait("spread", b.Spread)
}
