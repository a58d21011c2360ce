package postgres

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/redrive/redrive/internal/testing/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Stopping(m)) }

// testLimit is how long a test waits for what must happen.
const testLimit = time.Minute

// fresh opens a store in a schema of its own on the shared server.
func fresh(t *testing.T, o *Options) *Store {
	t.Helper()
	s, _ := freshAt(t, o)
	return s
}

func freshAt(t *testing.T, o *Options) (s *Store, dsn string) {
	t.Helper()
	dsn, schema := pgtest.Schema(t)
	if o == nil {
		o = &Options{}
	}
	o.Schema = schema
	return opened(t, dsn, o), dsn
}

// opened opens a store for the time of a test. Tests in parallel slow each other down,
// so a read may take longer than it may with users, unless the test says how long.
func opened(t *testing.T, dsn string, o *Options) *Store {
	t.Helper()
	var with Options
	if o != nil {
		with = *o
	}
	if with.ReadLimit == 0 {
		with.ReadLimit = time.Minute
	}
	s, err := Open(t.Context(), dsn, &with)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// connected opens a connection for the time of a test.
func connected(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	return pgtest.Connect(t, dsn)
}

// connectedLate is connected for a cleanup, when the test's context has ended.
func connectedLate(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func run(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := conn.Exec(t.Context(), s, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func numberOf(t *testing.T, conn *pgx.Conn, query string) (n int64) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// with returns a DSN, a URL, with another user, password and database; "" leaves
// them.
func with(t *testing.T, dsn, user, password, database string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		t.Skipf("the DSN of the tests' server is no URL")
	}
	if user != "" {
		u.User = url.UserPassword(user, password)
	}
	if database != "" {
		u.Path = "/" + database
	}
	return u.String()
}

// setting returns a DSN, a URL, with a setting for the connections to it.
func setting(dsn, name, value string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited %s for: %s", testLimit, what)
		case <-tick.C:
		}
	}
}
