package retry

import (
	"errors"
	"time"

	"github.com/redrive/redrive/failure"
)

// Reason says why a call has ended without success.
type Reason uint8

// The reasons.
const (
	Exhausted  Reason = iota + 1 // the retries, or those of the job, are used up
	Permanent                    // waiting does not mend it, or nothing says so
	OutOfTime                    // the next attempt could not end before a limit or a deadline
	Cancelled                    // the caller's context has ended
	LongHint                     // the other side asks for a wait that is not slept
	Suppressed                   // a call around this one retries; only fallbacks see it
)

// What errors.Is finds in an *Error, by its Reason.
var (
	ErrExhausted = errors.New("retry: retries exhausted")
	ErrPermanent = errors.New("retry: not to be retried")
	ErrDeadline  = errors.New("retry: no time left for another attempt")
	ErrCancelled = errors.New("retry: cancelled")
	ErrHint      = errors.New("retry: asked to wait longer than a call sleeps")
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
	Took  time.Duration // 0 is unknown: the first of a strategy that needs no clock until it fails
	Wait  time.Duration // slept after it; 0 of the last
}

// Error is how a call ended without success. errors.Is finds ErrExhausted,
// ErrPermanent, ErrDeadline, ErrCancelled or ErrHint, and errors.Is and errors.As
// reach what the operation returned last.
type Error struct {
	Reason    Reason
	Operation string
	Attempts  []Attempt // the last AttemptsKept of them
	Sends     int       // of all attempts
	Last      error     // of the last attempt; of a call that never began, why
	Class     failure.Classification
	Hint      time.Duration // the wait that the other side asked for
	Waited    time.Duration // slept, all together
	// HandOver is when the job is due again: the error carries failure.HandOver.
	// 0 is none: outside a job, and for reasons that waiting does not mend.
	HandOver time.Duration

	cause  error // Last, in its marks
	ended  error // why the caller's context has ended
	inline [4]Attempt
}

// AttemptsKept is how many attempts an Error keeps, the last ones.
const AttemptsKept = 32

// Error returns the reason and what the operation returned last.
func (e *Error) Error() string {
	// The words must not change what a classifier makes of the rest, see
	// TestError_IsReadAsItsCause.
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

// Is reports whether target is the error of the reason.
func (e *Error) Is(target error) bool {
	return target != nil && int(e.Reason) < len(reasons) && target == reasons[e.Reason].is
}

// Unwrap returns the cause, with the marks for the job, and why the caller's
// context has ended.
func (e *Error) Unwrap() []error {
	all := make([]error, 0, 2)
	for _, err := range [...]error{e.cause, e.ended} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// tried notes an attempt.
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

// Stop marks err as one that ends the call whose operation returns it, without a
// word on what the job, or a call around it, makes of it. failure.Permanent ends
// the job, too. Stop(nil) is nil.
func Stop(err error) error {
	if err == nil {
		return nil
	}
	return &stop{err}
}

type stop struct{ err error }

func (s *stop) Error() string { return s.err.Error() }
func (s *stop) Unwrap() error { return s.err }
