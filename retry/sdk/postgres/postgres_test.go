package pgretry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
)

func pg(severity, code, message string) error {
	return fmt.Errorf("transfer: %w", &pgconn.PgError{Severity: severity, SeverityUnlocalized: severity, Code: code, Message: message})
}

// refused returns the error of a connection that was refused.
func refused(t *testing.T) error {
	t.Helper()
	config, err := pgconn.ParseConfig("host=127.0.0.1 port=5432 user=u database=d sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	config.DialFunc = func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	_, err = pgconn.ConnectConfig(t.Context(), config)
	if _, ok := errors.AsType[*pgconn.ConnectError](err); !ok {
		t.Fatalf("got the error %T %v, want a *pgconn.ConnectError", err, err)
	}
	return err
}

// unsent returns the error of a statement on a connection that was closed before the statement.
func unsent(t *testing.T) error {
	t.Helper()
	here, there := net.Pipe()
	go io.Copy(io.Discard, there) //nolint:errcheck // ends when the pipe is closed
	config, err := pgconn.ParseConfig("host=127.0.0.1 user=u database=d sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgconn.Construct(&pgconn.HijackedConn{Conn: here, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	there.Close()           //nolint:errcheck // closing a pipe cannot fail
	conn.Close(t.Context()) //nolint:errcheck // the other end is closed already
	_, err = conn.Exec(t.Context(), "select 1").ReadAll()
	if !pgconn.SafeToRetry(err) {
		t.Fatalf("got the error %T %v, want an error after which a retry is safe", err, err)
	}
	return err
}

// part of: L1
func TestL1_ErrorsOfPostgresAreRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err     error
		class   failure.Class
		sent    failure.Sent
		verdict failure.Verdict
		again   int // expected number of attempts when three are allowed
		once    int // expected number of attempts with NotIdempotent
	}{
		"serialization_failure": {pg("ERROR", "40001", "could not serialize access due to concurrent update"), failure.TemporaryServiceError, "", failure.VerdictRetry, 3, 1},
		"too_many_connections":  {pg("FATAL", "53300", "sorry, too many clients already"), failure.ResourceConstraint, "", failure.VerdictRetry, 3, 1},
		"unique_violation":      {pg("ERROR", "23505", `duplicate key value violates unique constraint "k"`), failure.BusinessLogicError, "", failure.VerdictPermanent, 1, 1},
		"admin_shutdown":        {pg("FATAL", "57P01", "terminating connection due to administrator command"), failure.TemporaryServiceError, "", failure.VerdictRetry, 3, 1},
		"refused":               {refused(t), failure.TemporaryServiceError, failure.NotSent, failure.VerdictRetry, 3, 3},
		"unsent":                {unsent(t), failure.NetworkTimeout, failure.NotSent, failure.VerdictRetry, 3, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ev := failure.Of(c.err)
			got := classify.Builtin().Classify(&ev, "")
			again, once := attempts(t, c.err, false), attempts(t, c.err, true)
			if got.Class != c.class || got.Verdict != c.verdict || ev.Sent != c.sent || again != c.again || once != c.once {
				t.Errorf("got class %s, verdict %s, sent %q, %d attempts and %d attempts with NotIdempotent; want class %s, verdict %s, sent %q, %d attempts and %d attempts with NotIdempotent; the error was %v",
					got.Class, got.Verdict, ev.Sent, again, once, c.class, c.verdict, c.sent, c.again, c.once, c.err)
			}
			if e, ok := errors.AsType[*pgconn.PgError](c.err); ok && ev.SQLState != e.Code {
				t.Errorf("got the SQLSTATE %q, want %q", ev.SQLState, e.Code)
			}
		})
	}
}

// attempts returns the number of attempts of a call that always fails with this error.
func attempts(t *testing.T, fails error, once bool) (n int) {
	t.Helper()
	p, err := retry.New("database", retry.Options{Retries: 2, Immediate: true, NotIdempotent: once, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	err = retry.DoErr(t.Context(), p, func(context.Context) error {
		n++
		return fails
	})
	if _, ok := errors.AsType[*retry.Error](err); !ok {
		t.Errorf("got the error %v, want a *retry.Error", err)
	}
	return n
}
