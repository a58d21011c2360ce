package policy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redrive/redrive/backoff"
)

// NoRetry is a value for MaxRetries. It makes the first failure final.
const NoRetry = -1

// The default schedule of a kind has three retries, 30 s apart.
const (
	defaultRetries = 3
	defaultWait    = 30 * time.Second
)

// Schedule is the simplest way to configure the retries of a kind: the waits between the
// attempts, as a list or as a formula, and one number of retries for all failures together.
// The zero value, and nil, mean three retries, 30 seconds apart. A Schedule that only sets
// PermanentExitCodes or RetryUnmarked leaves retries and waits to the policy. WithSchedule
// describes how a schedule and a policy are combined. Do not change a Schedule that is in
// use.
//
// Twenty-four retries after 1 s, 2 s, 4 s, … and at last every hour, each wait up to 20 %
// shorter or longer:
//
//	policy.Schedule{First: time.Second, Cap: time.Hour, Jitter: 0.2, MaxRetries: 24}
type Schedule struct {
	// Waits are the waits before the first, second, … retry. The last wait repeats.
	Waits []time.Duration
	// First is the wait before the first retry of an exponential schedule: the wait before
	// retry n is First × Factor^(n−1). Waits and First exclude each other; without both,
	// each wait is 30 s.
	First time.Duration
	// Factor is the factor by which the waits of an exponential schedule grow, from 1 to
	// backoff.FactorMax; 0 means backoff.FactorDefault.
	Factor float64
	// Cap is the longest wait of an exponential schedule; 0 means the longest that the
	// policy allows, Limits.MaxWait.
	Cap time.Duration
	// Jitter is the share of each wait, from 0 to 1, by which it is randomly shorter or
	// longer, so that jobs that failed together do not all come back together: 0.2 means
	// ±20 %. 0 means no jitter.
	Jitter float64
	// Spread is the longest time by which each wait is randomly longer; no wait is longer than Cap. 0 means not at all.
	// Jitter and Spread exclude each other.
	Spread time.Duration
	// MaxRetries is the number of retries after the first attempt. 0 means as many as there
	// are Waits, or three without Waits; NoRetry means none.
	MaxRetries int
	// PermanentExitCodes are exit codes of subprocesses for which a retry cannot help. A
	// failure with such an exit code is final.
	PermanentExitCodes []int
	// If RetryUnmarked is true, evidence alone ends no job: a failure is retried, whatever
	// its words, statuses and codes say, unless the handler or the policy says otherwise.
	// These still end the job at once: failure.Permanent, a class that is not retried and
	// that the handler named with failure.WithClass or with a code of the policy, a verdict
	// that the policy sets, and PermanentExitCodes. By default a class that is not retried
	// ends the job, such as NotFound.
	RetryUnmarked bool
}

// paces reports whether the schedule sets retries or waits.
func (s *Schedule) paces() bool {
	if s == nil {
		return false
	}
	return len(s.PermanentExitCodes) == 0 && !s.RetryUnmarked || len(s.Waits) > 0 || s.MaxRetries != 0 ||
		s.First != 0 || s.Factor != 0 || s.Cap != 0 || s.Jitter != 0 || s.Spread != 0
}

// Retries returns the number of retries that the schedule allows.
func (s *Schedule) Retries() int {
	switch {
	case s == nil:
		return defaultRetries
	case s.MaxRetries < 0:
		return 0
	case s.MaxRetries > 0:
		return s.MaxRetries
	case len(s.Waits) > 0:
		return len(s.Waits)
	}
	return defaultRetries
}

// Wait returns the wait before retry n, which starts at 1, without jitter.
func (s *Schedule) Wait(n int) time.Duration { return s.backoff().Nominal(max(n, 1)) }

// backoff returns the waits of the schedule.
func (s *Schedule) backoff() *backoff.Backoff {
	if s == nil {
		s = &Schedule{}
	}
	b := &backoff.Backoff{Waits: s.Waits, First: s.First, Factor: s.Factor, Cap: s.Cap}
	switch {
	case s.First != 0 || s.Factor != 0 || s.Cap != 0:
		b.Formula = backoff.Exponential
	case len(b.Waits) == 0:
		b.Waits = []time.Duration{defaultWait}
	}
	if s.Jitter != 0 {
		b.Jitter, b.Percent = backoff.Percent, s.Jitter
	}
	if s.Spread != 0 {
		b.Jitter, b.Spread = backoff.Additive, s.Spread
	}
	return b
}

// Validate returns all mistakes of the schedule as one error.
func (s *Schedule) Validate() error {
	if s == nil {
		return nil
	}
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for i, w := range s.Waits {
		check(w >= 0, "wait %d of the schedule is %s: must not be negative", i+1, w)
		check(w <= backoff.Max, "wait %d of the schedule is %s: must be at most %s", i+1, w, backoff.Short(backoff.Max))
	}
	switch b := s.backoff(); {
	case b.Formula != backoff.Exponential:
	case len(s.Waits) > 0:
		check(false, "the schedule has Waits and also First, Factor or Cap: set a list of waits or a formula, not both")
	case s.First == 0:
		check(false, "the schedule has Factor or Cap but no First: set the wait before the first retry, such as First: time.Second")
	default:
		b.Jitter, b.Percent, b.Spread = backoff.None, 0, 0 // checked below, for lists of waits, too
		if err := b.Validate(); err != nil {
			check(false, "schedule: %w", err)
		}
	}
	check(s.Jitter >= 0 && s.Jitter <= 1, "jitter %v of the schedule: must be 0 to 1; 0.2 is ±20 %%", s.Jitter)
	check(s.Spread >= 0 && s.Spread <= backoff.Max, "spread %s of the schedule: must be 0 to %s", s.Spread, backoff.Short(backoff.Max))
	check(s.Spread == 0 || s.Jitter == 0, "the schedule has Jitter and also Spread: set one of them")
	check(s.MaxRetries >= NoRetry, "%d retries: must be a number of retries, 0 for one per wait, or policy.NoRetry", s.MaxRetries)
	for _, code := range s.PermanentExitCodes {
		check(code >= 1 && code <= 255, "permanent exit code %d: must be 1 to 255", code)
	}
	return errors.Join(errs...)
}

// within returns an error if a wait of the schedule is longer than the policy allows.
func (s *Schedule) within(p *Policy) error {
	over := func(name string, w time.Duration) error {
		if w <= p.limits.MaxWait {
			return nil
		}
		return fmt.Errorf("%s of the schedule is %s: policy %q allows at most %s: shorten it, or raise limits.max_wait",
			name, backoff.Short(w), p.Name(), backoff.Short(p.limits.MaxWait))
	}
	for i, w := range s.Waits {
		if err := over(fmt.Sprintf("wait %d", i+1), w); err != nil {
			return err
		}
	}
	return cmp.Or(over("First", s.First), over("Cap", s.Cap))
}

// settings converts the schedule to settings of a policy.
func (s *Schedule) settings() *Settings {
	n, count := s.Retries(), Total
	return &Settings{MaxRetries: &n, Count: &count, Backoff: s.backoff()}
}

// WithSchedule returns the policy with a schedule for a kind. The kind "" means all kinds
// that have no schedule. A nil schedule changes nothing.
//
// A schedule sets the waits and the number of retries; the failures of all classes count towards
// it (Count: Total). It has the same precedence as the settings of a kind, so it replaces the
// policy's settings for classes and its default settings. The schedule of a single kind also replaces the policy's
// settings for this kind; the schedule for all kinds does not.
//
// These settings take precedence over a schedule: those of a class within the kind, of
// rules, of messages and of jobs. Verdicts also take precedence: a failure ends the job at
// once if it is marked as permanent, has one of the PermanentExitCodes, or has a class that
// is not retried (but see RetryUnmarked). If the schedule has more retries than the limits of the policy allow, the
// limits end the job.
func (p *Policy) WithSchedule(kind string, s *Schedule) (*Policy, error) {
	if s == nil {
		return p, nil
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if err := s.within(p); err != nil {
		return nil, err
	}
	q := *p
	q.schedules = maps.Clone(p.schedules)
	if q.schedules == nil {
		q.schedules = map[string]*Schedule{}
	}
	own := *s
	own.Waits, own.PermanentExitCodes = slices.Clone(s.Waits), slices.Clone(s.PermanentExitCodes)
	q.schedules[kind] = &own
	q.curves = maps.Clone(p.curves)
	if kind == "" {
		q.compile()
		return &q, nil
	}
	q.kinds = maps.Clone(p.kinds)
	q.kinds[kind] = q.compileKind(kind)
	return &q, nil
}
