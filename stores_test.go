package redrive_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/store/postgres"
	"github.com/redrive/redrive/store/sqlite"
)

// database is an empty database for one test.
type database struct {
	// open opens a store on the database and closes it at the end of the test. Each call opens
	// another store, as another process would; for the memory store, each call returns the same
	// store.
	open func() store.Store
	// openAt opens a store that reads the time from a clock.
	openAt func(clock func() time.Time) store.Store
	// tx runs a function in a transaction of the caller. The transaction is committed if the
	// function returns nil. The field is nil for the memory store, which has no transactions.
	tx func(ctx context.Context, s store.Store, do func(context.Context, store.Tx) error) error
}

// onEachStore runs a test with a database of each store. The test with PostgreSQL is
// skipped where there is no server.
func onEachStore(t *testing.T, test func(t *testing.T, d database)) {
	t.Helper()
	for name, create := range map[string]func(*testing.T) database{
		"memory": inMemory, "sqlite": onSQLite, "postgres": onPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, create(t))
		})
	}
}

func inMemory(*testing.T) database {
	at := func(clock func() time.Time) store.Store { return memory.New(memory.Options{Clock: clock}) }
	return database{open: sync.OnceValue(func() store.Store { return at(nil) }), openAt: at}
}

func onSQLite(t *testing.T) database {
	path := filepath.Join(t.TempDir(), "jobs.db")
	at := func(clock func() time.Time) store.Store {
		s, err := sqlite.Open(t.Context(), path, &sqlite.Options{Clock: clock})
		return untilTheEnd(t, s, err)
	}
	return database{
		open: func() store.Store { return at(nil) }, openAt: at,
		tx: func(ctx context.Context, s store.Store, do func(context.Context, store.Tx) error) error {
			return s.(*sqlite.Store).Tx(ctx, func(ctx context.Context, tx *sql.Tx) error { return do(ctx, sqlite.Tx(tx)) })
		},
	}
}

func onPostgres(t *testing.T) database {
	dsn, schema := pgtest.Schema(t)
	at := func(clock func() time.Time) store.Store {
		s, err := postgres.Open(t.Context(), dsn, &postgres.Options{Schema: schema, Clock: clock, ReadLimit: time.Minute})
		return untilTheEnd(t, s, err)
	}
	return database{
		open: func() store.Store { return at(nil) }, openAt: at,
		tx: func(ctx context.Context, _ store.Store, do func(context.Context, store.Tx) error) error {
			tx, err := pgtest.Connect(t, dsn).Begin(ctx)
			if err != nil {
				return err
			}
			if err := do(ctx, postgres.Tx(tx)); err != nil {
				return errors.Join(err, tx.Rollback(ctx))
			}
			return tx.Commit(ctx)
		},
	}
}

// untilTheEnd closes a store that has just been opened when its test ends.
func untilTheEnd(t *testing.T, s store.Store, err error) store.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close of the store: got error %v, want none", err)
		}
	})
	return s
}
