package policy

import (
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

// Schedule is the simplest way to configure the retries of a kind: a list of waits between
// the attempts, and one number of retries for all failures together. The zero value, and
// nil, mean three retries, 30 seconds apart. A Schedule that only sets PermanentExitCodes
// leaves retries and waits to the policy. WithSchedule describes how a schedule and a policy
// are combined. Do not change a Schedule that is in use.
type Schedule struct {
	// Waits are the waits before the first, second, … retry. The last wait repeats.
	Waits []time.Duration
	// MaxRetries is the number of retries after the first attempt. 0 means as many as there
	// are Waits; NoRetry means none.
	MaxRetries int
	// PermanentExitCodes are exit codes of subprocesses for which a retry cannot help. A
	// failure with such an exit code is final.
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

// Wait returns the wait before retry n, which starts at 1.
func (s *Schedule) Wait(n int) time.Duration {
	if s == nil || len(s.Waits) == 0 {
		return defaultWait
	}
	return s.Waits[min(max(n, 1), len(s.Waits))-1]
}

// Validate returns all mistakes of the schedule as one error.
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

// settings converts the schedule to settings of a policy.
func (s *Schedule) settings() *Settings {
	n, count := s.Retries(), Total
	waits := []time.Duration{defaultWait}
	if s != nil && len(s.Waits) > 0 {
		waits = s.Waits
	}
	return &Settings{MaxRetries: &n, Count: &count, Backoff: &backoff.Backoff{Waits: waits}}
}

// WithSchedule returns the policy with a schedule for a kind. The kind "" means all kinds
// that have no schedule. A nil schedule changes nothing.
//
// A schedule sets the number of retries, the waits, and what is counted. It has the same
// precedence as the settings of a kind, so it replaces the policy's settings for classes
// and its default settings. The schedule of a single kind also replaces the policy's
// settings for this kind; the schedule for all kinds does not.
//
// These settings take precedence over a schedule: those of a class within the kind, of
// rules, of messages and of jobs. Verdicts also take precedence: a failure ends the job at
// once if it is marked as permanent, has one of the PermanentExitCodes, or has a class that
// is not retried. If the schedule has more retries than the limits of the policy allow, the
// limits end the job.
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
