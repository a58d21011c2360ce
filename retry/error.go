package retry

import (
	"errors"
	"time"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

// Reason says why a call has ended without success.
type Reason uint8

// The reasons why a call ends without success.
const (
	Exhausted  Reason = iota + 1 // the retries of the call or of the job are used up
	Permanent                    // waiting cannot repair the failure, or the error is unknown
	OutOfTime                    // the next attempt could not end before a limit or a deadline
	Cancelled                    // the caller's context has ended
	LongHint                     // the other side asks for a longer wait than a call sleeps
	Suppressed                   // an outer call does the retrying; only fallbacks see this reason
)

// The errors that errors.Is finds in an *Error, one for each Reason.
var (
	ErrExhausted = errors.New("retry: retries exhausted")
	ErrPermanent = errors.New("retry: the failure must not be retried")
	ErrDeadline  = errors.New("retry: no time left for another attempt")
	ErrCancelled = errors.New("retry: cancelled")
	ErrHint      = errors.New("retry: the other side asked for a longer wait than a call sleeps")
)

var reasons = [...]struct {
	word string
	is   error
}{
	Exhausted: {"exhausted", ErrExhausted}, Permanent: {"permanent", ErrPermanent}, OutOfTime: {"deadline", ErrDeadline},
	Cancelled: {"cancelled", ErrCancelled}, LongHint: {"hint", ErrHint}, Suppressed: {"suppressed", nil},
}

// String returns the reason's word.
func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r].word
	}
	return ""
}

// Attempt is one try of a call.
type Attempt struct {
	Err   error
	Class failure.Class
	Took  time.Duration // the duration of the attempt; 0 means unknown, because a strategy without time limits reads no clock before the first failure
	Wait  time.Duration // the wait after the attempt; 0 after the last attempt
}

// Error is the error of a call that ended without success. errors.Is finds
// ErrExhausted, ErrPermanent, ErrDeadline, ErrCancelled or ErrHint in it. errors.Is and
// errors.As also find the last error of the operation.
type Error struct {
	Reason    Reason
	Operation string
	Attempts  []Attempt // the last attempts, at most AttemptsKept
	Sends     int       // number of sends in all attempts
	Last      error     // error of the last attempt, or the reason why the call never began
	Class     classify.Classification
	Hint      time.Duration // the wait that the other side asked for
	Waited    time.Duration // sum of all waits
	// HandOver is the duration from the end of the call until the job is due again; the
	// error then carries failure.HandOver. 0 means no hand-over: outside a job, and for
	// reasons that waiting cannot repair.
	HandOver time.Duration

	cause  error // the error Last with marks for the job
	ended  error // why the caller's context ended
	inline [4]Attempt
}

// AttemptsKept is how many of the last attempts an Error keeps.
const AttemptsKept = 32

// Error returns the reason and the last error of the operation.
func (e *Error) Error() string {
	// These words must not change the class of the whole text; see
	// TestError_IsClassifiedLikeItsCause.
	text := e.Operation
	switch e.Reason {
	case Exhausted:
		text += " retries exhausted"
	case OutOfTime:
		text += " retries end before a limit"
	case Cancelled:
		text += " ended by its caller"
	case LongHint:
		text += " retries end for a long wait"
	case Permanent, Suppressed:
	}
	if e.Last == nil {
		return text
	}
	return text + ": " + e.Last.Error()
}

// Is reports whether target is the error that belongs to the Reason of e.
func (e *Error) Is(target error) bool {
	return target != nil && int(e.Reason) < len(reasons) && target == reasons[e.Reason].is
}

// Unwrap returns the cause with the marks for the job, and the reason why the caller's
// context ended.
func (e *Error) Unwrap() []error {
	all := make([]error, 0, 2)
	for _, err := range [...]error{e.cause, e.ended} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// tried adds an attempt to the error.
func (e *Error) tried(a Attempt) {
	if e.Attempts == nil {
		e.Attempts = e.inline[:0]
	}
	if len(e.Attempts) == AttemptsKept {
		copy(e.Attempts, e.Attempts[1:])
		e.Attempts = e.Attempts[:AttemptsKept-1]
	}
	e.Attempts = append(e.Attempts, a)
}

// Stop marks err as final for one call: the call whose operation returns err makes no further
// attempt. The mark has no meaning for the job and for outer calls; failure.Permanent would
// also end the job. Stop(nil) is nil.
func Stop(err error) error {
	if err == nil {
		return nil
	}
	return &stop{err}
}

type stop struct{ err error }

func (s *stop) Error() string { return s.err.Error() }
func (s *stop) Unwrap() error { return s.err }
