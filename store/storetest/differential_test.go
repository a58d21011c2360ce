package storetest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/store/postgres"
	"github.com/redrive/redrive/store/sqlite"
	"github.com/redrive/redrive/store/storetest"
)

func openMemory(_ *testing.T, clock func() time.Time) store.Store {
	return memory.New(memory.Options{Clock: clock})
}

// empty is the content of a database file without jobs, after the migration. It is made only
// once, because a migration takes longer than a check.
var empty = sync.OnceValues(func() (content []byte, err error) {
	dir, err := os.MkdirTemp("", "redrive")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "jobs.db")
	if _, err := sqlite.Migrate(context.Background(), path, 1); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func openSQLite(t *testing.T, clock func() time.Time) store.Store {
	content, err := empty()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // the directory is removed when the store is closed, because one test uses hundreds of directories
	path := filepath.Join(dir, "jobs.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), path, &sqlite.Options{Clock: clock, ReadLimit: time.Minute, Readers: 1, WatchEvery: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return lent{s, func() error { return errors.Join(s.Close(), os.RemoveAll(dir)) }}
}

// schemas holds the database schemas that later stores can use again, because a migration
// takes longer than a check. It is a variable of the package, because all checks of the test
// binary share it.
var schemas = pgtest.Schemas{Make: func(ctx context.Context, dsn, schema string) error {
	_, err := postgres.Migrate(ctx, dsn, schema, 1)
	return err
}}

// lent is a store that lends its database schema: after the store is closed, later stores use the
// schema again.
type lent struct {
	store.Store
	end func() error
}

// Close closes the store and lets later stores use its database schema.
func (l lent) Close() error { return l.end() }

func openPostgres(t *testing.T, clock func() time.Time) store.Store {
	t.Helper()
	s, end := pgtest.Lend(t, &schemas, func(dsn, schema string) (*postgres.Store, error) {
		return postgres.Open(t.Context(), dsn, &postgres.Options{Schema: schema, Clock: clock, ReadLimit: time.Minute,
			StatementTimeout: time.Minute})
	})
	return lent{s, end}
}

// EvaluateBatches writes the ends of batches, which this store writes later.
func (l lent) EvaluateBatches(ctx context.Context) error {
	if s, ok := l.Store.(*postgres.Store); ok {
		return s.EvaluateBatches(ctx)
	}
	return nil
}

// proves: Q10, Q9
func TestQ10_StoresBehaveAlike(t *testing.T) {
	storetest.Differential(t, storetest.Match{Exact: map[string]storetest.Open{"memory": openMemory, "sqlite": openSQLite}})
}

// proves: Q10, Q9
func TestQ10_PostgreSQLBehavesLikeTheOthers(t *testing.T) {
	pgtest.DSN(t)
	storetest.Differential(t, storetest.Match{
		Exact:   map[string]storetest.Open{"memory": openMemory, "sqlite": openSQLite},
		Own:     map[string]storetest.Open{"postgres": openPostgres},
		Default: 60,
	})
}

// A run with two reference stores finds no difference. It must still cover all operations and
// transitions.
func TestDifferentialReachesEverything(t *testing.T) {
	storetest.Differential(t, storetest.Match{Exact: map[string]storetest.Open{"memory 1": openMemory, "memory 2": openMemory}, Checks: 300})
}

// proves: D3, D6
func TestD3_D6_FiltersSelectWhatAPredicateSelects(t *testing.T) {
	for name, open := range map[string]storetest.Open{"memory": openMemory, "sqlite": openSQLite, "postgres": openPostgres} {
		t.Run(name, func(t *testing.T) { storetest.Filters(t, open) })
	}
}
