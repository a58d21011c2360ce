package policy

import (
	"errors"
	"fmt"
	"time"
)

// NoRetry as MaxRetries makes the first failure final.
const NoRetry = -1

// The schedule of a kind that has none: three retries, 30 s apart.
const (
	defaultRetries = 3
	defaultWait    = 30 * time.Second
)

// Schedule is the simplest policy: fixed waits between the attempts, whatever
// the failure. The zero value, and nil, retry three times, 30 seconds apart. A
// Schedule must not be changed once it is in use.
type Schedule struct {
	// Waits are the waits before the first, second … retry; the last repeats.
	Waits []time.Duration
	// MaxRetries is the number of retries after the first attempt. 0 means one
	// for each wait, NoRetry none.
	MaxRetries int
	// PermanentExitCodes are the exit codes of subprocesses that no later
	// attempt can mend.
	PermanentExitCodes []int
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

// Validate returns every mistake of the schedule.
func (s *Schedule) Validate() error {
	if s == nil {
		return nil
	}
	var errs []error
	for i, w := range s.Waits {
		if w < 0 {
			errs = append(errs, fmt.Errorf("wait %d of the schedule is %s: must not be negative", i+1, w))
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
