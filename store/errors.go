package store

import (
	"errors"
	"fmt"

	"github.com/redrive/redrive/job"
)

// The errors that every store returns. Test for them with errors.Is.
var (
	// ErrLeaseLost: the run is not the current run of its job any more. Nothing was written;
	// the run must stop.
	ErrLeaseLost = errors.New("lease lost: this run must not write anything about its job any more")
	// ErrConflict: the state of the job, or of another object, does not allow the call.
	ErrConflict = errors.New("conflict")
	// ErrNotFound: the object does not exist.
	ErrNotFound = errors.New("not found")
	// ErrFull: the store has no space left for its data. Nothing was written. The
	// store works again when there is space, without a restart.
	ErrFull = errors.New("store is full")
	// ErrReadOnly: the store can be read but not written.
	ErrReadOnly = errors.New("store is read-only")
	// ErrUnavailable: the store did not answer in time, or it is closed. Nothing was
	// written; try again later.
	ErrUnavailable = errors.New("store unavailable")
	// ErrClosed: this process has closed the store. The error wraps ErrUnavailable, but trying
	// again later does not help.
	ErrClosed = fmt.Errorf("store is closed: %w", ErrUnavailable)
	// ErrGone: the events that the caller wants to read next were removed, because they were
	// older than the retention. No store returns this error: a reader of events finds the gap
	// with EventSpan.
	ErrGone = errors.New("events were removed before they were read")
	// ErrUnknown: the call may or may not have been committed. Repeat the call. Set Repeat in the
	// jobs of a repeated enqueue; repeat any other call unchanged.
	ErrUnknown = errors.New("outcome of the commit unknown")
	// ErrDraining: the queue takes no new jobs.
	ErrDraining = errors.New("queue is draining")
	// ErrTooLarge: a value is above its limit, or the store has reached a maximum number of
	// rows.
	ErrTooLarge = errors.New("too large")
	// ErrInvalid: the arguments of the call are wrong.
	ErrInvalid = errors.New("invalid")
)

// IDConflict says that another job already has the id of a new job. The new job was not
// accepted. IDConflict matches ErrConflict. Ids from ReserveIDs never cause this error, except
// after a fail-over that lost a reservation.
type IDConflict struct{ ID job.ID }

func (e *IDConflict) Error() string {
	return fmt.Sprintf("job id %d: another job already has this id; take ids from ReserveIDs", e.ID)
}

// Is reports that an IDConflict matches ErrConflict.
func (e *IDConflict) Is(target error) bool { return target == ErrConflict }

// KeyConflict says that a job with another payload holds the idempotency key. KeyConflict
// matches ErrConflict.
type KeyConflict struct {
	Index int // index of the refused job in the list of new jobs
	Kind  string
	Owner string
	Key   string
	ID    job.ID // the job that holds the idempotency key
}

func (e *KeyConflict) Error() string {
	return fmt.Sprintf("key %q of kind %q: held by job %d with another payload; use another key or the same payload",
		e.Key, e.Kind, e.ID)
}

// Is reports that a KeyConflict matches ErrConflict.
func (e *KeyConflict) Is(target error) bool { return target == ErrConflict }

// NoProcessed returns the ErrNotFound of Reader.Processed.
func NoProcessed(owner, kind, key string) error {
	return fmt.Errorf("key %.80q of the owner %.80q and the kind %.80q: no completed job holds the key: %w", key, owner, kind, ErrNotFound)
}
