//go:build linux

package processes

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/tests/processes/line"
	"github.com/redrive/redrive/tests/torture/place"
)

// proves: I1
func TestI1_ProcessesThatRaceWithOneKeyMakeOneJob(t *testing.T) { race(t) }

// proves: I1
func TestI1_ProcessesThatRaceWithEqualArgumentsMakeOneUniqueJob(t *testing.T) { race(t, "-unique") }

// race starts two processes enqueue the same jobs at the same time, once on SQLite and once on
// PostgreSQL.
func race(t *testing.T, flags ...string) {
	t.Helper()
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: this test starts processes")
	}
	for name, database := range map[string]func(*testing.T) string{
		"sqlite": func(t *testing.T) string { return filepath.Join(t.TempDir(), "jobs.db") },
		"postgres": func(t *testing.T) string {
			dsn, schema := pgtest.Schema(t)
			return dsn + "#" + schema
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			racing(t, database(t), flags...)
		})
	}
}

// racing lets two processes enqueue jobs with the same keys at the same time. With the flag
// -unique, the jobs have no keys but the same arguments.
func racing(t *testing.T, database string, flags ...string) {
	const processes, callers, keys = 2, 10, 25
	st, err := place.Open(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	f := &fleet{T: t, database: database, news: make(chan struct{})}
	all := f.up(processes, append(flags, "-kinds", "quick", "-enqueue", "-callers", fmt.Sprint(callers))...)
	firsts := map[string]int{} // for each process, the number of keys for which it enqueued the job first
	for n := 1; n <= keys; n++ {
		key := fmt.Sprintf("key-%d", n)
		for _, p := range all {
			if _, err := io.WriteString(p.input, key+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		lines := f.await("both processes have enqueued with "+key, func(lines []line.Line) bool {
			return count(lines, line.Taken, "") == n*processes*callers
		})
		lines = lines[len(lines)-processes*callers:]
		made := 0
		for i := range lines {
			l := &lines[i]
			if l.Note != key || l.ID != lines[0].ID {
				t.Errorf("key %s: process %s got job %d for key %s, but another caller got job %d; want the same job", key, l.From, l.ID, l.Note, lines[0].ID)
			}
			if !l.Existing {
				made++
				firsts[l.From]++
			}
		}
		if made != 1 {
			t.Errorf("key %s: %d of %d callers made a new job, want one", key, made, len(lines))
		}
	}
	d, err := st.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Jobs) != keys || len(d.Keys) != keys {
		t.Errorf("%d jobs and %d keys are stored, want %d each", len(d.Jobs), len(d.Keys), keys)
	}
	t.Logf("jobs that each process was the first to make: %v", firsts)
}
