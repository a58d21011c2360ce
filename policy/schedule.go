package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redrive/redrive/backoff"
)

// NoRetry as MaxRetries makes the first failure final.
const NoRetry = -1

// The default schedule of a kind: three retries, 30 s apart.
const (
	defaultRetries = 3
	defaultWait    = 30 * time.Second
)

// Schedule is the simplest way to say how a kind is retried: fixed waits between the
// attempts, and one count for all failures. The zero value, and nil, mean three
// retries, 30 seconds apart. A Schedule with only PermanentExitCodes leaves retries and
// waits to the policy. WithSchedule describes how a schedule and a policy combine. A
// Schedule must not be changed once it is in use.
type Schedule struct {
	// Waits are the waits before the first, second … retry; the last one repeats.
	Waits []time.Duration
	// MaxRetries is the number of retries after the first attempt. 0 means one for each
	// wait; NoRetry means none.
	MaxRetries int
	// PermanentExitCodes are the exit codes of subprocesses that a retry cannot help
	// against.
	PermanentExitCodes []int
}

// paces reports whether the schedule sets retries or waits.
func (s *Schedule) paces() bool {
	return s != nil && (len(s.PermanentExitCodes) == 0 || len(s.Waits) > 0 || s.MaxRetries != 0)
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

// Wait returns the wait before retry n, from 1.
func (s *Schedule) Wait(n int) time.Duration {
	if s == nil || len(s.Waits) == 0 {
		return defaultWait
	}
	return s.Waits[min(max(n, 1), len(s.Waits))-1]
}

// Validate returns all mistakes of the schedule, joined.
func (s *Schedule) Validate() error {
	if s == nil {
		return nil
	}
	var errs []error
	for i, w := range s.Waits {
		switch {
		case w < 0:
			errs = append(errs, fmt.Errorf("wait %d of the schedule is %s: must not be negative", i+1, w))
		case w > backoff.Max:
			errs = append(errs, fmt.Errorf("wait %d of the schedule is %s: must be at most %s", i+1, w, backoff.Short(backoff.Max)))
		}
	}
	if s.MaxRetries < NoRetry {
		errs = append(errs, fmt.Errorf("%d retries: must be a number of retries, 0 for one per wait, or policy.NoRetry", s.MaxRetries))
	}
	for _, code := range s.PermanentExitCodes {
		if code < 1 || code > 255 {
			errs = append(errs, fmt.Errorf("permanent exit code %d: must be 1 to 255", code))
		}
	}
	return errors.Join(errs...)
}

// settings returns the schedule as settings of a policy.
func (s *Schedule) settings() *Settings {
	n, count := s.Retries(), Total
	waits := []time.Duration{defaultWait}
	if s != nil && len(s.Waits) > 0 {
		waits = s.Waits
	}
	return &Settings{MaxRetries: &n, Count: &count, Backoff: &backoff.Backoff{Waits: waits}}
}

// WithSchedule returns the policy with a schedule for a kind. The kind "" means all
// kinds without a schedule of their own. A nil schedule changes nothing.
//
// A schedule sets retries, waits and how they are counted. It has the precedence of the
// settings of a kind: it replaces what the policy sets for classes and by default. The
// schedule of a single kind also replaces what the policy sets for that kind; the
// schedule for all kinds does not. Settings of a class within the kind, of rules,
// messages and jobs take precedence over it. So do verdicts: a failure that is marked
// as permanent, has one of PermanentExitCodes, or has a class that is not retried ends
// the job at once. If the schedule has more retries than the limits of the policy
// allow, the limits end the job.
func (p *Policy) WithSchedule(kind string, s *Schedule) (*Policy, error) {
	if s == nil {
		return p, nil
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	for i, w := range s.Waits {
		if w > p.limits.MaxWait {
			return nil, fmt.Errorf("wait %d of the schedule is %s: policy %q allows at most %s: shorten it, or raise limits.max_wait",
				i+1, backoff.Short(w), p.Name(), backoff.Short(p.limits.MaxWait))
		}
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
