package sqlite_test

import (
	"path/filepath"
	"runtime"
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

// part of: Q10
func TestQ10_FindingsOfTheDoctor(t *testing.T) {
	t.Parallel()
	s := openTemp(t, nil)
	storetest.Findings(t, s, time.Now(), func() (*store.Findings, error) {
		d, err := sqlite.Diagnose(t.Context(), s.Path(), time.Now)
		if err != nil {
			return nil, err
		}
		if runtime.GOOS == "linux" && (d.Space == nil || d.Space.Total <= 0 || d.Space.Free > d.Space.Total) {
			t.Errorf("Diagnose: got the space %+v, want a total above 0 and at most as many free bytes", d.Space)
		}
		return &d.Findings, nil
	})
}
