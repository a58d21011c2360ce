package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
	"github.com/redrive/redrive/store/storetest"
)

// proves: Q10
func TestQ10_Conformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, open)
}

// open opens a store on a new database file.
func open(t *testing.T, clock func() time.Time) store.Store {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"), &sqlite.Options{Clock: clock, ReadLimit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
