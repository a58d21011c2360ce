package wire_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/store"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err    error
		name   string
		exit   int
		status int
	}{
		{nil, "none", 0, 200},
		{errors.New("broken"), "internal", 1, 500},
		{fmt.Errorf("job 7: %w", store.ErrNotFound), "not-found", 4, 404},
		{fmt.Errorf("job 8: %w", store.ErrConflict), "state-moved", 5, 409},
		{&store.KeyConflict{}, "key-reused", 5, 422},
		{store.ErrDraining, "queue-draining", 5, 409},
		{store.ErrLeaseLost, "lease-lost", 5, 409},
		{store.ErrInvalid, "invalid-field", 2, 400},
		{store.ErrTooLarge, "too-large", 2, 413},
		{store.ErrUnavailable, "store-unavailable", 1, 503},
		{store.ErrReadOnly, "store-read-only", 1, 503},
		{store.ErrFull, "store-full", 1, 507},
		{store.ErrUnknown, "outcome-unknown", 1, 504},
		{store.ErrGone, "gone", 5, 410},
		{store.ErrClosed, "store-unavailable", 1, 503},
		{fmt.Errorf("open: %w", fs.ErrNotExist), "not-found", 4, 404},
		{&wire.LineError{Err: errors.New("not JSON")}, "invalid-field", 2, 400},
		{&wire.LineError{Err: store.ErrNotFound}, "not-found", 4, 404},
		{ownKind{store.ErrNotFound}, "stopping", 3, 503}, // the kind of a Kinded error has precedence over the kind of the error that it wraps
	} {
		k := wire.KindOf(tt.err)
		if k.String() != tt.name || k.ExitCode() != tt.exit || k.Status() != tt.status {
			t.Errorf("error %v: got kind %s, exit code %d, status %d, want kind %s, exit code %d, status %d", tt.err, k, k.ExitCode(), k.Status(), tt.name, tt.exit, tt.status)
		}
	}
}

type ownKind struct{ error }

func (e ownKind) Unwrap() error { return e.error }
func (ownKind) Kind() wire.Kind { return wire.Stopping }

func TestKindOfAll(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		errs []error
		want wire.Kind
	}{
		{nil, wire.None},
		{[]error{store.ErrConflict, &store.KeyConflict{}}, wire.StateMoved},
		{[]error{store.ErrConflict, store.ErrNotFound}, wire.Internal},
	} {
		if got := wire.KindOfAll(tt.errs); got != tt.want {
			t.Errorf("errors %v: got kind %s, want kind %s", tt.errs, got, tt.want)
		}
	}
}
