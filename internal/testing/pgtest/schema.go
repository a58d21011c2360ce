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

// dropWait is how long what a test has left in its schema may be locked when
// the test is over.
const dropWait = "1min"

// Schema returns the DSN of the server that tests share and the name of a
// schema that is this test's alone. It does not exist yet. It is dropped when the
// test ends; the test fails if a transaction that it left open forbids that.
func Schema(t testing.TB) (dsn, schema string) {
	t.Helper()
	dsn = DSN(t)
	schema = name(t)
	t.Cleanup(func() {
		err := again(func() error {
			return exec(dsn, "SET client_min_messages = warning", "SET lock_timeout = '"+dropWait+"'",
				"DROP SCHEMA IF EXISTS "+schema+" CASCADE")
		})
		if code(err) == "55P03" { // lock_not_available
			t.Errorf("drop the schema of the test: something still locks it after %s; close what the test opened", dropWait)
		} else if err != nil {
			t.Errorf("drop the schema of the test: %v", err)
		}
	})
	return dsn, schema
}

// Database returns the DSN of a new database of the server that tests share,
// which is dropped, with the connections to it, when the test ends. The test is
// skipped if the role of the server may not make databases.
func Database(t testing.TB) (dsn string) {
	t.Helper()
	server, database := DSN(t), name(t)
	switch err := exec(server, "CREATE DATABASE "+database+" TEMPLATE template0"); {
	case code(err) == "42501": // insufficient_privilege
		t.Skipf("no database of its own: %v (give the role of %s the right CREATEDB)", err, EnvDSN)
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

// nameMax leaves room for the suffixes that code under test may put to a name,
// below the 63 bytes of an identifier.
const nameMax = 30

// name returns an identifier that no other test has, that tells of its test,
// and that needs no quotes.
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

// withDatabase returns a DSN, a URL or keywords, with another database.
func withDatabase(dsn, database string) (string, error) {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " dbname=" + database, nil // the last one counts
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	u.Path = "/" + database
	return u.String(), nil
}

// execLimit bounds what tests do before and after they do their work.
const execLimit = 2 * time.Minute

// exec runs statements on a connection of their own. A test's context has ended
// when its cleanups run.
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

// deadlocks is how many a cleanup survives.
const deadlocks = 5

// again does something again that the server has ended to resolve a deadlock: a
// connection that a test has cut may still be in the middle of a transaction.
func again(do func() error) (err error) {
	for range deadlocks {
		if err = do(); code(err) != "40P01" { // deadlock_detected
			break
		}
	}
	return err
}

// code returns the SQLSTATE of an error, "" if it has none.
func code(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}
