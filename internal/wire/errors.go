// Package wire holds what other programs read and write: the JSON shapes of jobs,
// failures, dead letters, groups and redrives, the rows of an export as JSON and
// CSV, the strict reading of jobs, and the one table from errors to their kinds,
// exit codes and HTTP statuses.
package wire

import (
	"errors"
	"net/http"

	"github.com/redrive/redrive/store"
)

// Kind is the kind of an error, as other programs see it.
type Kind uint8

// The kinds of errors. None is the kind of no error.
const (
	None Kind = iota
	Internal
	InvalidField
	Stopping
	NotFound
	StateMoved
	QueueDraining
	KeyReused
	LeaseLost
	TooLarge
	StoreUnavailable
	StoreReadOnly
	StoreFull
	OutcomeUnknown
)

// kindRow is what a kind means for a program.
type kindRow struct {
	name   string
	exit   int
	status int
}

// row returns the table's row of a kind. This is the only table of exit codes and
// statuses.
func (k Kind) row() kindRow {
	return [...]kindRow{
		None:             {"none", 0, http.StatusOK},
		Internal:         {"internal", 1, http.StatusInternalServerError},
		InvalidField:     {"invalid-field", 2, http.StatusBadRequest},
		Stopping:         {"stopping", 3, http.StatusServiceUnavailable},
		NotFound:         {"not-found", 4, http.StatusNotFound},
		StateMoved:       {"state-moved", 5, http.StatusConflict},
		QueueDraining:    {"queue-draining", 5, http.StatusConflict},
		KeyReused:        {"key-reused", 5, http.StatusUnprocessableEntity},
		LeaseLost:        {"lease-lost", 5, http.StatusConflict},
		TooLarge:         {"too-large", 2, http.StatusRequestEntityTooLarge},
		StoreUnavailable: {"store-unavailable", 1, http.StatusServiceUnavailable},
		StoreReadOnly:    {"store-read-only", 1, http.StatusServiceUnavailable},
		StoreFull:        {"store-full", 1, http.StatusInsufficientStorage},
		OutcomeUnknown:   {"outcome-unknown", 1, http.StatusGatewayTimeout},
	}[k]
}

// String returns the name of the kind in JSON, such as "not-found".
func (k Kind) String() string { return k.row().name }

// ExitCode returns the exit code of a command that ends with such an error. 0 is
// success, 1 any error, 2 a call that is wrong in itself, 3 a stop while work was
// left, 4 a thing that does not exist, 5 a state that does not allow the call.
func (k Kind) ExitCode() int { return k.row().exit }

// Status returns the HTTP status of an answer that reports such an error.
func (k Kind) Status() int { return k.row().status }

// Kinded is an error that knows its own kind.
type Kinded interface {
	error
	Kind() Kind
}

// KindOf returns the kind of an error: the one that it names itself, else the one
// that its store error has. Any other error is Internal.
func KindOf(err error) Kind {
	if err == nil {
		return None
	}
	if own, ok := errors.AsType[Kinded](err); ok {
		return own.Kind()
	}
	if _, ok := errors.AsType[*store.KeyConflict](err); ok {
		return KeyReused
	}
	for _, row := range [...]struct {
		is   error
		kind Kind
	}{
		{store.ErrNotFound, NotFound}, {store.ErrConflict, StateMoved}, {store.ErrDraining, QueueDraining},
		{store.ErrLeaseLost, LeaseLost}, {store.ErrInvalid, InvalidField}, {store.ErrTooLarge, TooLarge},
		{store.ErrUnknown, OutcomeUnknown}, {store.ErrFull, StoreFull}, {store.ErrReadOnly, StoreReadOnly},
		{store.ErrUnavailable, StoreUnavailable},
	} {
		if errors.Is(err, row.is) {
			return row.kind
		}
	}
	return Internal
}

// KindOfAll returns the kind of the first of several errors, and Internal when their
// exit codes differ.
func KindOfAll(errs []error) Kind {
	kind := None
	for i, err := range errs {
		switch k := KindOf(err); {
		case i == 0:
			kind = k
		case k.ExitCode() != kind.ExitCode():
			return Internal
		}
	}
	return kind
}

// Error is an error in JSON.
type Error struct {
	Code    string `json:"code"` // name of its kind
	Exit    int    `json:"exit"`
	Message string `json:"message"`
}

// ErrorOf returns the JSON shape of an error.
func ErrorOf(err error) Error {
	k := KindOf(err)
	return Error{Code: k.String(), Exit: k.ExitCode(), Message: err.Error()}
}
