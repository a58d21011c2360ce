package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/redrive/redrive/store"
)

// part of: Q10
func TestQ10_WordsForErrors(t *testing.T) {
	t.Parallel()
	state := func(code string) error { return pg.Fail("statement", &pgconn.PgError{Code: code, Message: "x"}) }
	lost := pg.Fail("statement", io.ErrUnexpectedEOF)
	own := errors.New("of the caller")
	for _, c := range []struct {
		err          error
		before, then error // the words before COMMIT was sent, and after
	}{
		{state("53100"), store.ErrFull, store.ErrFull},
		{&pgconn.PgError{Code: "53100", SeverityUnlocalized: "PANIC"}, store.ErrFull, store.ErrUnknown},
		{&pgconn.PgError{Code: "25P03", SeverityUnlocalized: "FATAL"}, store.ErrUnavailable, store.ErrUnknown},
		{state("25006"), store.ErrReadOnly, store.ErrReadOnly},
		{state("42501"), store.ErrReadOnly, store.ErrReadOnly},
		{state("40001"), store.ErrUnavailable, store.ErrUnavailable},
		{state("40P01"), store.ErrUnavailable, store.ErrUnavailable},
		{state("53300"), store.ErrUnavailable, store.ErrUnavailable},
		{state("57014"), store.ErrUnavailable, store.ErrUnavailable},
		{state("57P01"), store.ErrUnavailable, store.ErrUnknown},
		{state("57P03"), store.ErrUnavailable, store.ErrUnknown},
		{state("58030"), store.ErrUnavailable, store.ErrUnknown},
		{state("08006"), store.ErrUnavailable, store.ErrUnknown},
		{state("25P03"), store.ErrUnavailable, store.ErrUnavailable},
		{lost, store.ErrUnavailable, store.ErrUnknown},
		{own, own, store.ErrUnknown},
		{pg.ErrAborted, pg.ErrAborted, pg.ErrAborted},
	} {
		if err := pg.AsStoreError(c.err); !errors.Is(err, c.before) || errors.Is(err, store.ErrUnknown) {
			t.Errorf("before the commit: %v is %v, want %v", c.err, err, c.before)
		}
		if err := pg.CommitError(c.err); !errors.Is(err, c.then) || errors.Is(err, store.ErrUnknown) != (c.then == store.ErrUnknown) {
			t.Errorf("of the commit: %v is %v, want %v", c.err, err, c.then)
		}
	}
	if pg.AsStoreError(nil) != nil || pg.CommitError(nil) != nil {
		t.Error("no error has become one")
	}
	for code, want := range map[string]bool{"40001": true, "40P01": true, "0A000": true, "26000": true, "23505": false, "57P01": false} {
		if pg.Again(fmt.Errorf("x: %w", state(code))) != want {
			t.Errorf("%s is tried again: %t, want %t", code, !want, want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := pg.WithContext(ctx, own); err != own {
		t.Errorf("%v", err)
	}
	cause := errors.New("cause")
	cancel(cause)
	if err := pg.WithContext(ctx, own); !errors.Is(err, own) || !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
}
