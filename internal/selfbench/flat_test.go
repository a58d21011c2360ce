package selfbench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/testing/pgtest"
	store "github.com/redrive/redrive/store/sqlite"
)

// TestMain also runs the child processes of a measurement, because they start this test
// binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "bench" && os.Args[2] == "child" {
		if err := childFlat(context.Background(), os.Stdout, os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	pgtest.Main(m)
}

// The seeds write rows with SQL. These rows must be equal to the rows that the store would
// write.
func TestSeededDatabasesHaveNoProblems(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: this test creates databases with thousands of jobs")
	}
	for name, seed := range map[string]func(context.Context, string, int) error{"flat": seedFlat, "waiting": seedWaiting, "dead": seedDead} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "jobs.db")
			if err := seed(t.Context(), path, 2000); err != nil {
				t.Fatal(err)
			}
			report, err := store.Diagnose(t.Context(), path, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			// The index of owners is made from events, and seeding writes no events. So this
			// problem is expected.
			report.Problems = slices.DeleteFunc(report.Problems, func(p string) bool { return strings.Contains(p, "not in the index of owners") })
			if len(report.Problems) > 0 || report.Jobs["waiting"]+report.Jobs["dead"] == 0 {
				t.Errorf("the seeded database has the jobs %v and the problems %q, want no problems", report.Jobs, report.Problems[:min(3, len(report.Problems))])
			}
		})
	}
}

func TestFlat(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: this test measures for some seconds")
	}
	onLinux(t)
	dir := t.TempDir()
	results, err := flat(t.Context(), dir, 2000)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 2*len(flatPolls) {
		t.Errorf("got %d results, want %d: %v", len(results), 2*len(flatPolls), results)
	}
	for _, r := range results {
		if r.few <= 0 || r.many <= 0 {
			t.Errorf("poll %s took %s on the small file and %s on the large file, want durations above 0", r.poll, r.few, r.many)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.db*")); err != nil || len(left) > 0 {
		t.Errorf("flat left the files %v (error %v), want no files", left, err)
	}
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: this test measures for some seconds")
	}
	onLinux(t)
	r, err := waiting(t.Context(), t.TempDir(), 5000, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if r.warm <= 0 || r.cold <= 0 || r.peak < 10<<20 {
		t.Errorf("measured a start of %s, a start without page cache of %s and a peak memory of %d bytes; want durations above 0 and at least 10 MiB", r.warm, r.cold, r.peak)
	}
}

func onLinux(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the page cache and the peak memory can be measured only on Linux")
	}
}
