package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// dropWait is how long the cleanup of a test waits for locks on the test's schema.
const dropWait = "1min"

// Schema returns the DSN of the shared server and the name of a schema for this test only, which
// does not exist yet. The schema is dropped at the end of the test. The test fails if an open
// transaction prevents that.
func Schema(t testing.TB) (dsn, schema string) {
	t.Helper()
	dsn = DSN(t)
	schema = name(t)
	t.Cleanup(func() {
		err := again(func() error {
			return exec(dsn, "SET client_min_messages = warning", "SET lock_timeout = '"+dropWait+"'",
				"DROP SCHEMA IF EXISTS "+schema+" CASCADE")
		})
		if code(err) == "55P03" { // SQLSTATE lock_not_available
			t.Errorf("drop the schema of the test: something still locks it after %s; close what the test opened", dropWait)
		} else if err != nil {
			t.Errorf("drop the schema of the test: %v", err)
		}
	})
	return dsn, schema
}

// Database returns the DSN of a new database on the shared server. It is dropped at the end of the
// test, with all connections to it. The test is skipped if the role of the server may not create
// databases.
func Database(t testing.TB) (dsn string) {
	t.Helper()
	server, database := DSN(t), name(t)
	switch err := exec(server, "CREATE DATABASE "+database+" TEMPLATE template0"); {
	case code(err) == "42501": // SQLSTATE insufficient_privilege
		t.Skipf("the test cannot create a database: %v (give the role of %s the right CREATEDB)", err, EnvDSN)
	case err != nil:
		t.Fatalf("create a database for the test: %v", err)
	}
	t.Cleanup(func() {
		if err := exec(server, "DROP DATABASE "+database+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the database of the test: %v", err)
		}
	})
	dsn, err := withDatabase(server, database)
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}

// nameMax is the longest name in bytes. An identifier may have 63 bytes; the rest is left for
// suffixes that the tested code adds.
const nameMax = 30

// name returns an identifier that contains the name of the test, is unique, and needs no quotes.
func name(t testing.TB) string {
	words := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '_'
	}, strings.TrimPrefix(t.Name(), "Test"))
	return "t_" + strings.ToLower(rand.Text()[:8]) + "_" + words[:min(len(words), nameMax)]
}

// withDatabase returns the DSN, a URL or keywords, with another database.
func withDatabase(dsn, database string) (string, error) {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " dbname=" + database, nil // if a keyword occurs several times, its last value counts
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	u.Path = "/" + database
	return u.String(), nil
}

// execLimit is the time limit of the statements before and after a test.
const execLimit = 2 * time.Minute

// exec runs statements on a new connection. It does not use the test's context, which has
// already ended when cleanups run.
func exec(dsn string, statements ...string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), execLimit)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// deadlocks is how many times in a row a cleanup tries again after a deadlock.
const deadlocks = 5

// again calls the given function. If the server has ended its transaction because of a deadlock,
// again calls the function once more. A deadlock is possible, because a connection that the test
// has cut may still have an open transaction.
func again(do func() error) (err error) {
	for range deadlocks {
		if err = do(); code(err) != "40P01" { // SQLSTATE deadlock_detected
			break
		}
	}
	return err
}

// code returns the SQLSTATE of an error, or "".
func code(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}
