package storetest_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
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

// proves: Q10, Q9
func TestQ10_StoresBehaveAlike(t *testing.T) {
	storetest.Differential(t, map[string]storetest.Open{"memory": openMemory, "sqlite": openSQLite}, 0)
}

// The coverage that a differential run demands is reached by the reference
// alone, too: two of it cannot differ.
func TestDifferentialReachesEverything(t *testing.T) {
	storetest.Differential(t, map[string]storetest.Open{"memory 1": openMemory, "memory 2": openMemory}, 300)
}

// proves: D3, D6
func TestI25_FiltersSelectWhatAPredicateSelects(t *testing.T) {
	for name, open := range map[string]storetest.Open{"memory": openMemory, "sqlite": openSQLite} {
		t.Run(name, func(t *testing.T) { storetest.Filters(t, open) })
	}
}
