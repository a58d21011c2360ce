package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/store"
)

// How long an attempt to connect may take is said by the DSN, by the environment as
// libpq takes it, or by the options, in this order.
func TestConnectTimeout(t *testing.T) {
	for _, c := range []struct {
		env, dsn string
		want     time.Duration
	}{
		{"", "postgres://u@h/db", 4 * time.Second},
		{"7", "postgres://u@h/db", 7 * time.Second},
		{"7", "postgres://u@h/db?connect_timeout=3", 3 * time.Second},
		{"", "postgres://u:connect_timeout@h/db?connect_timeout=0", 4 * time.Second},
	} {
		t.Setenv("PGCONNECT_TIMEOUT", c.env)
		config, err := configure(c.dsn, &Options{ConnectTimeout: 4 * time.Second})
		if err != nil || config.ConnConfig.ConnectTimeout != c.want {
			t.Errorf("%+v: %v, %v", c, config.ConnConfig.ConnectTimeout, err)
		}
	}
}

// Settings of a pool that would mean nothing are refused, with what is meant.
func TestPoolSettingsAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pool_max_conns", "pool_min_conns", "pool_min_idle_conns"} {
		for _, dsn := range []string{"postgres://u@127.0.0.1:1/db?" + name + "=3", "host=127.0.0.1 port=1 user=u " + name + "=3"} {
			if err := refused(t, dsn, nil); !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), name) ||
				!strings.Contains(err.Error(), "MaxConns") {
				t.Errorf("%s: %v", dsn, err)
			}
		}
	}
	if _, err := configure("postgres://u@h/db?pool_max_conn_lifetime=5m", &Options{}); err != nil {
		t.Error(err)
	}
}

// Both forms of where the database is name all hosts, and no password.
func TestWhereNamesAllHosts(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string][2]string{
		"postgres://ann:" + secret + "@a,b:5433/app": {"postgres://ann@a:5432,b:5433/app",
			`PostgreSQL at a:5432 or b:5433, database "app", user "ann"`},
		"postgres://ann@[::1]:5433/app?sslmode=prefer": {"postgres://ann@[::1]:5433/app",
			`PostgreSQL at [::1]:5433, database "app", user "ann"`},
		"host=/run/a,b port=5432 user=ann dbname=app": {"postgres://ann@/app?host=%2Frun%2Fa%2Cb&port=5432%2C5432",
			`PostgreSQL at /run/a or b:5432, database "app", user "ann"`},
	} {
		config, err := parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{address(config.ConnConfig), place(config.ConnConfig)}; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		again, err := Where(want[0])
		if err != nil || again != want[0] {
			t.Errorf("%s is read as %s, %v", want[0], again, err)
		}
	}
}

// BeforeConnect is asked for every connection, in the pools and beside them; what it
// refuses, the caller hears of.
func TestBeforeConnect(t *testing.T) {
	t.Parallel()
	dsn, schema := pgtest.Schema(t)
	right, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	var refuse atomic.Bool
	expired := errors.New("the token has expired")
	s := opened(t, with(t, dsn, right.User, "not the password", ""), &Options{Schema: schema,
		BeforeConnect: func(_ context.Context, c *pgx.ConnConfig) error {
			asked.Add(1)
			if refuse.Load() {
				return expired
			}
			c.Password = right.Password
			c.RuntimeParams["application_name"] = schema
			return nil
		}})
	claimNothing(t, s)
	admin := connected(t, dsn)
	eventually(t, "all connections", func() bool {
		return numberOf(t, admin, `SELECT count(*) FROM pg_stat_activity WHERE application_name = '`+schema+`'`) >= 3
	})
	if n := numberOf(t, admin, `SELECT count(*) FROM pg_stat_activity WHERE application_name = '`+schema+`'`); asked.Load() < n {
		t.Errorf("asked %d times, for %d connections", asked.Load(), n)
	}
	refuse.Store(true)
	s.pool.Reset()
	if _, err := s.Counts(t.Context()); !errors.Is(err, expired) || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if err := refused(t, dsn, &Options{BeforeConnect: func(context.Context, *pgx.ConnConfig) error { return expired }}); !errors.Is(err, expired) {
		t.Errorf("%v", err)
	}
}

// The page for those who run the server counts connections as they are divided.
func TestThePageCountsTheConnections(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/postgres.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(raw)), " ")
	o := Options{MaxConns: MaxConnsDefault}
	for _, want := range []string{
		fmt.Sprintf("default is %d, the minimum %d", MaxConnsDefault, MaxConnsMin),
		fmt.Sprintf("| listening and notifying | %d |", lineConns),
		fmt.Sprintf("| half of the others, at most %d;", fastConns),
		fmt.Sprintf("| the rest: %d of %d |", o.shares(false).rest, MaxConnsDefault),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("docs/postgres.md does not say %q", want)
		}
	}
}

func claimNothing(t *testing.T, s *Store) {
	t.Helper()
	_, err := s.Exchange(t.Context(), store.Exchange{Holder: "h", Lease: time.Minute,
		Want: []store.Want{{Queue: "q", Max: 1, Kinds: []store.KindWant{{Kind: "none", Max: 1, MaxCrashes: 5}}}}})
	if err != nil {
		t.Fatal(err)
	}
}
