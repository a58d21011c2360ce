package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/internal/testing/servers"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// refused opens a store that does not open, and returns the error.
func refused(t *testing.T, dsn string, o *Options) error {
	t.Helper()
	s, err := Open(t.Context(), dsn, o)
	if err == nil {
		t.Error("it opens")
		return errors.Join(errors.New("none"), s.Close())
	}
	return err
}

const secret = "p4ssw0rd"

// A DSN that cannot be read is refused without a word of it: any part of it may be
// the password.
func TestOpenKeepsPasswordsToItself(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"", "jobs.db", "postgres://", "mysql://u:" + secret + "@host/db",
		"postgres://u:" + secret + "%zz@host/db",
		"postgres://u:" + secret + "/x@host/db",
		"postgres://u:" + secret + "@host:port/db",
		"postgres://u:" + secret + "@127.0.0.1:1/db?sslmode=sometimes",
		"postgres://u:" + secret + "@127.0.0.1:1/db?connect_timeout=1",
		"host=127.0.0.1 port=1 user=u password=" + secret,
		"host=127.0.0.1 port=x user=u password=" + secret,
		"host=127.0.0.1 port=1 user=u password='" + secret,
		"host=127.0.0.1 port=1 user=u password=a " + secret,
		"user:" + secret + "@tcp(127.0.0.1:1)/db",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), testLimit)
		s, err := Open(ctx, dsn, &Options{ConnectTimeout: time.Second})
		cancel()
		if err == nil {
			t.Errorf("%q opens", dsn)
			_ = s.Close()
			continue
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			if strings.Contains(fmt.Sprintf("%v %+v", e, e), secret) {
				t.Errorf("the password is in: %v", e)
			}
		}
	}
}

func TestOpenRefusesOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{
		{Schema: "Jobs"}, {Schema: "pg_jobs"}, {Schema: strings.Repeat("a", 49)}, {Schema: `a"; DROP`}, {Schema: "1a"},
		{MaxConns: MaxConnsMin - 1}, {MaxConns: MaxConnsMax + 1}, {StatementTimeout: -1}, {ReadLimit: 2 * time.Hour}, {ConnectTimeout: time.Microsecond},
	} {
		if err := refused(t, "postgres://127.0.0.1:1/db", &o); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// role makes a role that may log in, for the time of a test.
func role(t *testing.T, dsn, schema string) (name string) {
	t.Helper()
	conn := connected(t, dsn)
	name = schema + "_r"
	run(t, conn, `CREATE ROLE `+name+` LOGIN PASSWORD '`+secret+`'`)
	t.Cleanup(func() {
		conn := connectedLate(t, dsn)
		defer func() { _ = conn.Close(context.Background()) }()
		_, err := conn.Exec(context.Background(), `DROP OWNED BY `+name+`; DROP ROLE `+name)
		if err != nil {
			t.Error(err)
		}
	})
	return name
}

// part of: Q10
func TestQ10_OpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t) // asks for passwords over TCP
	dsn := server.DSN()
	short := strings.Repeat("x", 3)
	for name, c := range map[string]struct {
		dsn  string
		want []string
	}{
		"nobody listens":   {"postgres://u:" + secret + "@127.0.0.1:1/db", []string{"127.0.0.1:1", `user "u"`, "is the server running"}},
		"no such host":     {"postgres://u:" + secret + "@no.such.host.invalid/db", []string{"no.such.host.invalid", "is the server running"}},
		"wrong password":   {with(t, dsn, "postgres", secret+short, ""), []string{"check user and password", `user "postgres"`}},
		"no such user":     {with(t, dsn, "nobody_here", secret, ""), []string{"check user and password"}},
		"no such database": {with(t, dsn, "", "", "nothing_here"), []string{`CREATE DATABASE "nothing_here"`}},
	} {
		err := refused(t, c.dsn, &Options{ConnectTimeout: 5 * time.Second})
		if !errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
	conn := connected(t, dsn)
	run(t, conn, `CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`)
	if err := refused(t, with(t, dsn, "", "", "latin"), nil); !strings.Contains(err.Error(), "ENCODING 'UTF8'") {
		t.Errorf("a database of another encoding: %v", err)
	}
	// A replica: the same data, started as one.
	open := opened(t, dsn, nil)
	server.Stop(servers.Fast)
	if err := os.WriteFile(filepath.Join(server.Process().Dir(), "standby.signal"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	server.Start()
	if err := refused(t, dsn, nil); !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), "connect to the primary") {
		t.Errorf("a replica: %v", err)
	}
	if _, err := open.ReserveIDs(t.Context(), 1); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a server that has become a replica: %v", err)
	}
}

func TestServersThatDoNotFit(t *testing.T) {
	t.Parallel()
	if err := (server{version: 140_009, coding: "UTF8"}).fits(); err == nil || !strings.Contains(err.Error(), "is PostgreSQL 14: redrive needs 15") {
		t.Errorf("an old server: %v", err)
	}
	if err := (server{version: 180_001, coding: "UTF8"}).fits(); err != nil {
		t.Errorf("a new server: %v", err)
	}
}

// A role that may not do what is needed learns what to grant, and with that it
// works: nothing else is needed.
//
// part of: Q10
func TestQ10_LeastPrivilege(t *testing.T) {
	t.Parallel()
	dsn, schema := pgtest.Schema(t)
	user := role(t, dsn, schema)
	theirs := with(t, dsn, user, secret, "")
	o := &Options{Schema: schema}
	if err := refused(t, theirs, o); !strings.Contains(err.Error(), "AUTHORIZATION") || !strings.Contains(err.Error(), "redrive migrate") {
		t.Errorf("without rights: %v", err)
	}
	if _, err := Migrate(t.Context(), dsn, schema, schemaVersion); err != nil {
		t.Fatal(err)
	}
	admin := connected(t, dsn)
	if err := refused(t, theirs, o); !strings.Contains(err.Error(), "GRANT USAGE ON SCHEMA") {
		t.Errorf("without rights to the schema: %v", err)
	}
	run(t, admin, `GRANT USAGE ON SCHEMA `+schema+` TO `+user)
	if err := refused(t, theirs, o); !strings.Contains(err.Error(), "GRANT ") {
		t.Errorf("without rights to the tables: %v", err)
	}
	run(t, admin, `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA `+schema+` TO `+user)
	s := opened(t, theirs, o)
	if _, err := s.Enqueue(t.Context(), []job.New{newJob(t, s)}); err != nil {
		t.Error(err)
	}
	claimOne(t, s)
	// Taken away while it works.
	run(t, admin, `REVOKE INSERT ON `+schema+`.redrive_events FROM `+user)
	if _, err := s.Enqueue(t.Context(), []job.New{newJob(t, s)}); !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), "GRANT") {
		t.Errorf("a right that was taken away: %v", err)
	}
}

// Several stores are in one database, each in a schema of its own.
func TestSchemasAreApart(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	a, b := opened(t, dsn, &Options{Schema: "a"}), opened(t, dsn, &Options{Schema: "user"}) // a reserved word
	for _, s := range []*Store{a, b} {
		if _, err := s.Enqueue(t.Context(), []job.New{newJob(t, s)}); err != nil {
			t.Fatal(err)
		}
	}
	claimOne(t, a)
	if counts, err := b.Counts(t.Context()); err != nil || len(counts) != 1 || counts[0].State.String() != "waiting" {
		t.Errorf("%v, %v", counts, err)
	}
}

// Whatever the user has set, commits wait for the disk.
//
// part of: Q1
func TestQ1_CommitsAreDurable(t *testing.T) {
	t.Parallel()
	dsn, schema := pgtest.Schema(t)
	o := &Options{Schema: schema}
	for _, c := range []struct{ set, want string }{{"off", "on"}, {"on", "on"}, {"remote_apply", "remote_apply"}, {"local", "local"}} {
		s := opened(t, setting(dsn, "synchronous_commit", c.set), o)
		err := s.transact(t.Context(), &s.begins.write, func(x *pg.Session) error {
			return x.Rows(query("sync", `SELECT current_setting('synchronous_commit')`), func(r sqlstore.Row) error {
				if r.Text(0) != c.want {
					t.Errorf("%s becomes %s, want %s", c.set, r.Text(0), c.want)
				}
				return nil
			})
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestClosedStore(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := fresh(t, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if _, err := s.Counts(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a closed store reads: %v", err)
	}
	if _, err := s.ReserveIDs(t.Context(), 1); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a closed store writes: %v", err)
	}
	if log.Len() > 0 {
		t.Errorf("it logs: %s", &log)
	}
}
