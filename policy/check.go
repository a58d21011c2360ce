package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
)

// checker collects the mistakes in a Spec.
type checker struct {
	policy *Policy
	found  []Problem
}

func (c *checker) add(path, format string, args ...any) {
	c.found = append(c.found, Problem{path, fmt.Sprintf(format, args...)})
}

func (c *checker) check() {
	s := &c.policy.spec
	if len(s.Hash) > hashMax {
		c.add("hash", "%d bytes: must be at most %d", len(s.Hash), hashMax)
	}
	c.limits(s.Limits)
	c.settings("default", &s.Default)
	c.run("default", &s.Runs)
	c.atMost("classes", len(s.Classes), ClassesMax)
	c.atMost("kinds", len(s.Kinds), KindsMax)
	c.atMost("rules", len(s.Rules), RulesMax)
	for _, class := range slices.Sorted(maps.Keys(s.Classes)) {
		c.class(class, s.Classes[class])
	}
	for _, kind := range c.policy.kindNames() {
		c.kind(kind, s.Kinds[kind])
	}
	eachClass(&s.Classify, func(list string, i int, class failure.Class) {
		if class != "" {
			c.known(fmt.Sprintf("classify.%s[%d].class", list, i), class)
		}
	})
	classes := s.Classify.TextClasses()
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		if _, ok := c.policy.chains[class]; !ok {
			c.add("classify.rules", "line %d: "+unknownClass, classes[class], class)
		}
	}
	c.rules(s.Rules)
	c.rollout(&s.Rollout)
	c.words(&s.Words)
}

// hashMax is the largest length, in bytes, of a hash that a store can keep.
const hashMax = 64

func (c *checker) atMost(path string, n, most int) {
	if n > most {
		c.add(path, "%d entries: must be at most %d", n, most)
	}
}

func (c *checker) limits(l Limits) {
	if l.MaxAttempts != 0 && (l.MaxAttempts < 1 || l.MaxAttempts > MaxAttemptsLimit) {
		c.add("limits.max_attempts", "%d: must be 1 to %d", l.MaxAttempts, MaxAttemptsLimit)
	}
	c.within("limits.max_age", l.MaxAge, MaxAgeLimit)
	c.within("limits.max_wait", l.MaxWait, backoff.Max)
	if l.MaxAge > 0 && l.MaxWait > l.MaxAge {
		c.add("limits.max_wait", "%s is above limits.max_age %s, at which the job ends: lower it, or raise limits.max_age",
			backoff.Short(l.MaxWait), backoff.Short(l.MaxAge))
	}
}

// within checks a duration that may be left out.
func (c *checker) within(path string, d, most time.Duration) {
	if d < 0 || d > most || d%time.Microsecond != 0 {
		c.add(path, "%s: must be at most %s, not negative, and whole microseconds", backoff.Short(d), backoff.Short(most))
	}
}

// run checks the settings for runs.
func (c *checker) run(path string, s *RunSpec) {
	c.within(path+".timeout", s.Timeout, TimeoutMax)
	if s.MaxCrashes < 0 || s.MaxCrashes > job.MaxCrashes {
		c.add(path+".max_crashes", "%d: must be 1 to %d", s.MaxCrashes, job.MaxCrashes)
	}
	c.name(path+".codes.time_limit", s.Codes.TimeLimit)
	c.name(path+".codes.missing_input", s.Codes.MissingInput)
	c.name(path+".codes.command", s.Codes.Command)
}

func (c *checker) settings(path string, s *Settings) {
	ceiling := c.policy.limits.MaxAttempts
	for _, n := range []struct {
		name  string
		value *int
	}{{"max_retries", s.MaxRetries}, {"max_total_retries", s.MaxTotalRetries}} {
		switch at := path + "." + n.name; {
		case n.value == nil:
		case *n.value < 0:
			c.add(at, "%d: must be 0 or more", *n.value)
		case *n.value >= ceiling:
			c.add(at, "%d retries make %d attempts, limits.max_attempts allows %d: lower it, or raise the limit", *n.value, *n.value+1, ceiling)
		case *n.value > 0 && s.Retry != nil && !*s.Retry:
			c.add(at, "%d contradicts \"retry: false\" in the same place: remove one of the two", *n.value)
		}
	}
	if s.Backoff != nil {
		c.backoff(path+".backoff", s.Backoff)
	}
	if s.HandOvers != nil && (*s.HandOvers < 0 || *s.HandOvers > HandOversMax) {
		c.add(path+".handovers", "%d: must be 0 to %d", *s.HandOvers, HandOversMax)
	}
	if s.Count != nil && *s.Count > Total {
		c.add(path+".count", "%d: must be class or total", *s.Count)
	}
	if s.Hint != nil {
		c.hint(path+".hint", s.Hint)
	}
	if s.MaxCost != nil && *s.MaxCost < 0 {
		c.add(path+".max_cost", "%d: must not be negative", *s.MaxCost)
	}
	if s.Verdict != "" && !slices.Contains(givable, s.Verdict) {
		c.add(path+".verdict", "%q: must be one of %s", s.Verdict, list(givable))
	}
	if s.Escalate != nil {
		c.escalate(path+".escalate", s.Escalate)
	}
}

// HandOversMax is the largest allowed value of Settings.HandOvers.
const HandOversMax = 1000

// givable contains the verdicts that a policy may give to a class. The other verdicts
// follow only from how a run ended.
var givable = []failure.Verdict{failure.VerdictRetry, failure.VerdictThrottle, failure.VerdictQuota, failure.VerdictDependencyDown, failure.VerdictPermanent, failure.VerdictUnknown}

// list joins words to a text such as "a, b or c".
func list[T ~string](words []T) string {
	var b strings.Builder
	for i, w := range words {
		switch {
		case i > 0 && i == len(words)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(string(w))
	}
	return b.String()
}

func (c *checker) backoff(path string, b *backoff.Backoff) {
	longest := c.policy.limits.MaxWait
	for _, m := range b.Mistakes() {
		c.add(path+"."+m.Field, "%s", m.Message)
	}
	over := func(field string, d time.Duration) {
		if d > longest && d <= backoff.Max {
			c.add(path+"."+field, "%s is above limits.max_wait %s: shorten it, or raise the limit", backoff.Short(d), backoff.Short(longest))
		}
	}
	over("first", b.First)
	over("cap", b.Cap)
	over("floor", b.Floor)
	for i, w := range b.Waits[:min(len(b.Waits), backoff.WaitsMax)] {
		over(fmt.Sprintf("waits[%d]", i), w)
	}
}

func (c *checker) hint(path string, h *Hint) {
	if h.Mode > HintOff {
		c.add(path+".mode", "%d: must be floor, cap or off", h.Mode)
	}
	if h.OverMax > OverMaxWait {
		c.add(path+".beyond", "%d: must be dead or wait", h.OverMax)
	}
	if h.Jitter != NoJitter && !(h.Jitter >= 0 && h.Jitter <= 1) {
		c.add(path+".jitter", "%v: must be 0 to 1; 0.1 adds up to 10 %%", h.Jitter)
	}
	c.within(path+".jitter_min", h.JitterMin, backoff.Max)
	c.within(path+".max", h.Max, backoff.Max)
	if age := c.policy.limits.MaxAge; h.Max > age {
		c.add(path+".max", "%s is above limits.max_age %s, at which the job ends: lower it, or raise limits.max_age",
			backoff.Short(h.Max), backoff.Short(age))
	}
}

func (c *checker) escalate(path string, e *Escalation) {
	if e.Queue == "" && e.Priority == 0 {
		c.add(path, "has no effect: set a queue or a priority")
	}
	c.name(path+".queue", e.Queue)
	c.priority(path+".priority", e.Priority)
	if e.After < 0 || e.After >= c.policy.limits.MaxAttempts {
		c.add(path+".after", "%d failures: must be 1 to %d, below limits.max_attempts", e.After, c.policy.limits.MaxAttempts-1)
	}
}

func (c *checker) priority(path string, n int) {
	if n < 0 || n > job.PriorityMax {
		c.add(path, "%d: must be 1 (runs first) to %d", n, job.PriorityMax)
	}
}

// name checks the name of a queue or kind, which may be empty.
func (c *checker) name(path, s string) {
	if len(s) > failure.CodeMax || !utf8.ValidString(s) {
		c.add(path, "a name of %d bytes: must be at most %d, in UTF-8", len(s), failure.CodeMax)
	}
}

func (c *checker) text(path, s string) {
	if len(s) > TextMax || !utf8.ValidString(s) {
		c.add(path, "a text of %d bytes: must be at most %d, in UTF-8", len(s), TextMax)
	}
}

// known checks that the policy knows a class: it must be built in or defined by the policy.
func (c *checker) known(path string, class failure.Class) {
	if _, ok := c.policy.chains[class]; !ok {
		c.add(path, unknownClass, class)
	}
}

const unknownClass = "unknown class %q: correct the name, or declare the class under \"classes\""
