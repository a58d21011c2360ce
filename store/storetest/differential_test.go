package storetest_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/pgtest"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/store/postgres"
	"github.com/redrive/redrive/store/sqlite"
	"github.com/redrive/redrive/store/storetest"
)

func openMemory(_ *testing.T, clock func() time.Time) store.Store {
	return memory.New(memory.Options{Clock: clock})
}

func openSQLite(t *testing.T, clock func() time.Time) store.Store {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"), &sqlite.Options{Clock: clock, ReadLimit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// schemas are for one store after the other: to migrate anew takes longer than a
// check. There is no other place for what the checks of a binary share.
var schemas = pgtest.Schemas{Make: func(ctx context.Context, dsn, schema string) error {
	_, err := postgres.Migrate(ctx, dsn, schema, 1)
	return err
}}

// lent is a store in a schema that is given back when it is closed.
type lent struct {
	*postgres.Store
	t    *testing.T
	back func() error
}

func (l *lent) Close() error {
	err := l.Store.Close()
	if back := l.back; back != nil {
		l.back = nil
		if err := back(); err != nil {
			l.t.Error(err)
		}
	}
	return err
}

func openPostgres(t *testing.T, clock func() time.Time) store.Store {
	dsn, schema, back := schemas.Take(t)
	s, err := postgres.Open(t.Context(), dsn, &postgres.Options{Schema: schema, Clock: clock, ReadLimit: time.Minute,
		StatementTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return &lent{s, t, back}
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

// The coverage that a differential run demands is reached by the reference
// alone, too: two of it cannot differ.
func TestDifferentialReachesEverything(t *testing.T) {
	storetest.Differential(t, storetest.Match{Exact: map[string]storetest.Open{"memory 1": openMemory, "memory 2": openMemory}, Checks: 300})
}

// proves: D3, D6
func TestI25_FiltersSelectWhatAPredicateSelects(t *testing.T) {
	for name, open := range map[string]storetest.Open{"memory": openMemory, "sqlite": openSQLite, "postgres": openPostgres} {
		t.Run(name, func(t *testing.T) { storetest.Filters(t, open) })
	}
}
