package retry

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
)

// nameMax is the greatest length of a name, in bytes.
const nameMax = 64

// checker collects the mistakes in options.
type checker struct {
	name string
	errs []error
}

func (c *checker) add(ok bool, format string, args ...any) {
	if !ok {
		c.errs = append(c.errs, fmt.Errorf("retry strategy %q: "+format, append([]any{c.name}, args...)...))
	}
}

// check returns all mistakes in options in which the defaults are already set.
func (o *Options) check(name string) []error {
	c := &checker{name: name}
	c.add(name != "", "name: must not be empty")
	for _, n := range [...]struct{ field, text string }{{"name", name}, {"Operation", o.Operation}, {"Dependency", o.Dependency}} {
		c.add(len(n.text) <= nameMax, "%s of %d bytes: at most %d", n.field, len(n.text), nameMax)
	}
	c.add(o.Retries >= None && o.Retries <= RetriesMax, "Retries %d: must be 1 to %d, or retry.None", o.Retries, RetriesMax)
	o.checkBackoff(c)
	o.checkTimes(c)
	c.verdicts(o)
	o.checkLease(c)
	return c.errs
}

func (o *Options) checkBackoff(c *checker) {
	for _, m := range o.Backoff.Mistakes() {
		c.add(false, "Backoff.%s: %s", m.Field, m.Message)
	}
	c.add(o.Backoff.Formula != backoff.Exponential || o.Backoff.Cap > 0, "Backoff.cap: a back-off that grows needs one: set Cap, such as 30 s")
	waits := func(n int) bool { _, high := o.Backoff.Bounds(n); return high > 0 }
	c.add(o.Immediate || waits(1) || waits(max(len(o.Backoff.Waits), 1)), "Backoff: never waits, so all retries would follow without a pause: set a wait, or set Immediate")
}

func (o *Options) checkTimes(c *checker) {
	for _, d := range [...]struct {
		field string
		value time.Duration
	}{
		{"AttemptTimeout", o.AttemptTimeout}, {"MaxElapsed", o.MaxElapsed}, {"MinUseful", o.MinUseful}, {"Lease", o.Lease},
		{"HintCap", o.HintCap}, {"HandOverCap", o.HandOverCap},
	} {
		c.add(d.value >= 0, "%s %s: must not be negative", d.field, backoff.Short(d.value))
		c.add(d.value <= backoff.Max, "%s %s: at most %s", d.field, backoff.Short(d.value), backoff.Short(backoff.Max))
	}
	for _, d := range [...]struct {
		field string
		value time.Duration
	}{{"HandOver", o.HandOver}, {"HandOverJitter", o.HandOverJitter}} {
		c.add(d.value >= None, "%s %s: must not be negative; use retry.None to switch it off", d.field, backoff.Short(d.value))
		c.add(d.value <= o.HandOverCap, "%s %s: is above HandOverCap %s: lower the one or raise the other",
			d.field, backoff.Short(d.value), backoff.Short(o.HandOverCap))
	}
	c.add(o.HintCap <= o.HandOverCap, "HintCap %s: is above HandOverCap %s: lower the one or raise the other",
		backoff.Short(o.HintCap), backoff.Short(o.HandOverCap))
	c.add(o.MaxElapsed == 0 || o.MinUseful < o.MaxElapsed, "MinUseful %s: leaves no time in MaxElapsed %s",
		backoff.Short(o.MinUseful), backoff.Short(o.MaxElapsed))
	c.add(o.AttemptTimeout == 0 || o.MinUseful <= o.AttemptTimeout, "MinUseful %s: is above AttemptTimeout %s",
		backoff.Short(o.MinUseful), backoff.Short(o.AttemptTimeout))
}

// checkLease adds a mistake if a call can take longer than the lease.
func (o *Options) checkLease(c *checker) {
	if o.Lease <= 0 || len(c.errs) > 0 {
		return
	}
	c.add(o.AttemptTimeout > 0, "Lease %s: needs AttemptTimeout, because otherwise an attempt can take any time: MaxElapsed only prevents further attempts",
		backoff.Short(o.Lease))
	longest := o.longest()
	c.add(longest < o.Lease, "Lease %s: a call can take %s: lower Retries, AttemptTimeout or the cap, or set MaxElapsed",
		backoff.Short(o.Lease), backoff.Short(longest))
}

// longest returns the longest time that a call can take with all attempts and all waits.
func (o *Options) longest() time.Duration {
	sum := o.AttemptTimeout
	for n := 1; n <= o.Retries; n++ {
		_, wait := o.Backoff.Bounds(n)
		hint := o.HintCap
		if !o.CutHints {
			hint += max(hintJitterMin, o.HintCap/hintJitterPart)
		}
		wait = max(wait, hint)
		if sum > math.MaxInt64-wait-o.AttemptTimeout {
			sum = math.MaxInt64
			break
		}
		sum += wait + o.AttemptTimeout
	}
	if o.MaxElapsed > 0 { // the last attempt may begin just before this limit and then take its full time
		sum = min(sum, o.MaxElapsed+o.AttemptTimeout)
	}
	return sum
}

// verdicts adds mistakes for the wrong statuses, classes and verdicts in the options.
func (c *checker) verdicts(o *Options) {
	for _, status := range slices.Sorted(maps.Keys(o.Statuses)) {
		c.add(status >= 100 && status <= 599, "Statuses[%d]: must be 100 to 599", status)
		c.verdict(fmt.Sprintf("Statuses[%d]", status), o.Statuses[status])
	}
	for _, class := range slices.Sorted(maps.Keys(o.Classes)) {
		c.add(class != "", "Classes: a class must have a name")
		c.verdict(fmt.Sprintf("Classes[%s]", class), o.Classes[class])
	}
}

func (c *checker) verdict(field string, v failure.Verdict) {
	switch v {
	case failure.VerdictRetry, failure.VerdictThrottle, failure.VerdictQuota, failure.VerdictDependencyDown,
		failure.VerdictPermanent, failure.VerdictUnknown:
	default:
		c.add(false, "%s: %q is not a verdict that a call can have: use retry, throttle, quota, dependency_down, permanent or unknown", field, v)
	}
}
