package store

import (
	"errors"
	"fmt"

	"github.com/redrive/redrive/job"
)

// The errors of every store. Test for them with errors.Is.
var (
	// ErrLeaseLost: the run is not the current one of its job any more.
	// Nothing was written; the run must stop.
	ErrLeaseLost = errors.New("lease lost: another run of the job has the right to write")
	// ErrConflict: the thing is in a state that does not allow the call.
	ErrConflict = errors.New("conflict")
	// ErrNotFound: there is no such thing.
	ErrNotFound = errors.New("not found")
	// ErrFull: no space is left where the store keeps its data. Nothing was
	// written. The store works again when there is space, without a restart.
	ErrFull = errors.New("store is full")
	// ErrReadOnly: the store may be read, not written.
	ErrReadOnly = errors.New("store is read-only")
	// ErrUnavailable: the store did not answer in time or is closed. Nothing
	// was written; trying again later is right.
	ErrUnavailable = errors.New("store unavailable")
	// ErrUnknown: the outcome of the commit is not known. Ask again: an enqueue
	// with Repeat set, anything else as it was.
	ErrUnknown = errors.New("outcome of the commit unknown")
	// ErrDraining: the queue takes no new jobs.
	ErrDraining = errors.New("queue is draining")
	// ErrTooLarge: something is above its limit.
	ErrTooLarge = errors.New("too large")
	// ErrInvalid: the call itself is wrong.
	ErrInvalid = errors.New("invalid")
)

// TooManyLanes returns the ErrTooLarge of a job for whose queue, kind and
// dependencies there is no room.
func TooManyLanes(queue, kind, deps string) error {
	return fmt.Errorf("queue %q, kind %q, dependencies %q: the store has %d such combinations already, the most it keeps; "+
		"use fewer names: %w", queue, kind, deps, job.LanesMax, ErrTooLarge)
}

// IDConflict says that the id of a new job is that of another one, which it should
// never be: ids come from ReserveIDs. After a fail-over that has lost a reservation
// it may. The new job was not taken in. It is an ErrConflict.
type IDConflict struct{ ID job.ID }

func (e *IDConflict) Error() string {
	return fmt.Sprintf("job id %d: taken already, by another job; take ids from ReserveIDs", e.ID)
}

// Is makes an IDConflict an ErrConflict.
func (e *IDConflict) Is(target error) bool { return target == ErrConflict }

// KeyConflict says that an idempotency key is held by a job with another
// payload. It is an ErrConflict.
type KeyConflict struct {
	Index int // of the refused job in the call
	Kind  string
	Owner string
	Key   string
	ID    job.ID // the job that holds the key
}

func (e *KeyConflict) Error() string {
	return fmt.Sprintf("key %q of kind %q: held by job %d with another payload; use another key or the same payload",
		e.Key, e.Kind, e.ID)
}

// Is makes a KeyConflict an ErrConflict.
func (e *KeyConflict) Is(target error) bool { return target == ErrConflict }
