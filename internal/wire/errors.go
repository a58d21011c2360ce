// Package wire defines the data that other programs read and write. It holds the JSON
// shapes of jobs, failures, dead letters, groups and redrives, the rows of an export as
// JSON and CSV, and the strict reader of jobs. It also holds the only table that maps
// errors to their kinds, exit codes and HTTP statuses.
package wire

import (
	"errors"
	"io/fs"
	"net/http"

	"github.com/redrive/redrive/store"
)

// Kind is the kind of an error, for other programs.
type Kind uint8

// The kinds of errors. None means that no error occurred.
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
	Gone
	Warned
	BatchPartial
	BatchFailed
	BatchExpired
)

// kindRow holds the name, the exit code and the HTTP status of a kind of error.
type kindRow struct {
	name   string
	exit   int
	status int
}

// row returns the name, the exit code and the HTTP status for a kind of error. This is the
// only table of these values.
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
		Gone:             {"gone", 5, http.StatusGone},
		Warned:           {"warned", 9, http.StatusOK},
		BatchPartial:     {"batch-partial", 6, http.StatusOK},
		BatchFailed:      {"batch-failed", 7, http.StatusOK},
		BatchExpired:     {"batch-expired", 8, http.StatusOK},
	}[k]
}

// String returns the name of the kind as it is written in JSON, such as "not-found".
func (k Kind) String() string { return k.row().name }

// ExitCode returns the exit code of a command that ends with an error of this kind: 0 for
// success, 1 for an error without another code, 2 for a wrong call, 3 for a stop before all
// work was done, 4 if something does not exist, 5 if the current state does not allow the call,
// 6, 7 and 8 if a batch for which the command has waited is PARTIAL, FAILED or EXPIRED,
// and 9 if everything works but a person should look at something.
func (k Kind) ExitCode() int { return k.row().exit }

// Status returns the HTTP status of a response that reports an error of this kind.
func (k Kind) Status() int { return k.row().status }

// Kinded is an error with a method that returns its kind.
type Kinded interface {
	error
	Kind() Kind
}

// KindOf returns the kind of an error. If the error is a Kinded, its method decides, even if it
// wraps a store error of another kind. An error that KindOf does not know has the kind
// Internal.
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
		{store.ErrUnavailable, StoreUnavailable}, {store.ErrGone, Gone}, {fs.ErrNotExist, NotFound},
	} {
		if errors.Is(err, row.is) {
			return row.kind
		}
	}
	return Internal
}

// KindOfAll returns the kind of the first error, or Internal if the errors have different
// exit codes.
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

// Error is the JSON shape of an error.
type Error struct {
	Code    string `json:"code"` // name of the kind of the error
	Exit    int    `json:"exit"`
	Message string `json:"message"`
}

// ErrorOf returns the JSON shape of an error.
func ErrorOf(err error) Error {
	k := KindOf(err)
	return Error{Code: k.String(), Exit: k.ExitCode(), Message: err.Error()}
}
