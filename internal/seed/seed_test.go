package seed

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/testing/check"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/postgres"
	"github.com/redrive/redrive/store/sqlite"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var testNow = time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return testNow }

func nothing(string) {}

// seededFile fills a file with a thousandth of the large shape, and opens it.
func seededFile(t *testing.T, s Shape) (*sqlite.Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "seed.db")
	if err := SQLite(t.Context(), path, s, testNow, nothing); err != nil {
		t.Fatal(err)
	}
	opened, err := sqlite.Open(t.Context(), path, &sqlite.Options{Clock: clock, ReadLimit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return opened, path
}

func dumpOf(t *testing.T, s store.Reader) *store.Dump {
	t.Helper()
	d, err := s.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A seeded file must be a database that the store could have written: the doctor counts
// everything again, and the figures by minute must add up to the jobs.
func TestASeededFileIsSound(t *testing.T) {
	t.Parallel()
	shape := Large.Over(1000)
	s, path := seededFile(t, shape)
	found, err := sqlite.Diagnose(t.Context(), path, clock)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Problems) > 0 {
		t.Errorf("the doctor finds %d problems, the first of them: %q", len(found.Problems), found.Problems[:min(3, len(found.Problems))])
	}
	d := dumpOf(t, s)
	counted := make(map[job.State]int)
	for i := range d.Jobs {
		counted[d.Jobs[i].State]++
	}
	want := map[job.State]int{job.Completed: shape.Completed, job.Dead: shape.Dead, job.Waiting: shape.Waiting, job.Retrying: shape.Retrying}
	if diff := cmp.Diff(want, counted); diff != "" {
		t.Errorf("number of jobs by state (-want +got):\n%s", diff)
	}
	d.Events = nil // a seed has only the events of new jobs, so the checker cannot compare the jobs with them
	for _, v := range check.Check(&check.History{Dump: d}) {
		if v.Invariant == check.SoundStore {
			t.Errorf("the checker of histories: %v", v)
		}
	}
	checkFigures(t, d, shape)
}

// checkFigures compares the stored figures with the jobs: by minute and by hour, of the
// lanes and of all lanes together.
func checkFigures(t *testing.T, d *store.Dump, s Shape) {
	t.Helper()
	type sum struct {
		unit time.Duration
		all  bool
	}
	sums := make(map[sum]*store.Figures)
	for i := range d.Figures {
		f := &d.Figures[i]
		k := sum{f.Unit, f.Queue == "" && f.Kind == ""}
		if sums[k] == nil {
			sums[k] = new(store.Figures)
		}
		sums[k].Add(&f.Figures)
	}
	for _, unit := range []time.Duration{time.Minute, time.Hour} {
		for _, all := range []bool{true, false} {
			f := sums[sum{unit, all}]
			if f == nil {
				t.Fatalf("no figures by %s (of all lanes: %v)", unit, all)
			}
			got := []int64{f.Enqueued, f.Completed, f.Dead, f.Failed, f.Started}
			want := []int64{int64(s.Jobs()), int64(s.Completed), int64(s.Dead), int64(2*s.Dead + s.Retrying), int64(s.Completed + 2*s.Dead + s.Retrying)}
			if !slices.Equal(got, want) {
				t.Errorf("figures by %s (of all lanes: %v): enqueued, completed, dead, failed, started are %v, want %v", unit, all, got, want)
			}
			if f.Failed != sumOfClasses(f) {
				t.Errorf("figures by %s: %d attempts failed, but by class %d", unit, f.Failed, sumOfClasses(f))
			}
		}
	}
}

func sumOfClasses(f *store.Figures) (n int64) {
	for i := range f.Classes {
		n += f.Classes[i].Failed
	}
	return n
}

// An owner's list must be complete: the index of owners is made by the store from the
// events that the seed writes.
func TestASeededFileListsTheJobsOfAnOwner(t *testing.T) {
	t.Parallel()
	s, _ := seededFile(t, Large.Over(4000))
	d := dumpOf(t, s)
	owner, want := d.Jobs[0].Owner, 0
	for i := range d.Jobs {
		if d.Jobs[i].Owner == owner {
			want++
		}
	}
	got := 0
	for f := (store.Filter{Owner: owner, Limit: job.PageMax}); ; {
		page, err := s.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		got += len(page.Jobs)
		if f.From = page.Next; f.From.IsZero() {
			break
		}
	}
	if got != want || want < 2 {
		t.Errorf("the list of the owner %q has %d jobs, want %d", owner, got, want)
	}
}

// Both stores must get the same content.
func TestSeedsOfBothStoresAreEqual(t *testing.T) {
	t.Parallel()
	dsn, schema := pgtest.Schema(t)
	shape := Large.Over(4000)
	if err := PostgreSQL(t.Context(), dsn, schema, shape, testNow, nothing); err != nil {
		t.Fatal(err)
	}
	found, err := postgres.Diagnose(t.Context(), dsn, schema, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Problems) > 0 {
		t.Errorf("the doctor finds %d problems, the first of them: %q", len(found.Problems), found.Problems[:min(3, len(found.Problems))])
	}
	p, err := postgres.Open(t.Context(), dsn, &postgres.Options{Schema: schema, Clock: clock, ReadLimit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	s, _ := seededFile(t, shape)
	if diff := cmp.Diff(dumpOf(t, s), dumpOf(t, p)); diff != "" {
		t.Errorf("content on SQLite and on PostgreSQL (-SQLite +PostgreSQL):\n%.2000s", diff)
	}
}

func TestNamesOfSeedsDiffer(t *testing.T) {
	t.Parallel()
	name := Large.Name("CREATE TABLE a")
	if name == Large.Name("CREATE TABLE b") || name == Large.Over(2).Name("CREATE TABLE a") || name != Large.Name("CREATE TABLE a") {
		t.Error("the name of a seed must depend on the shape and the schema, and on nothing else")
	}
}

func TestACancelledSeedEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	err := SQLite(ctx, filepath.Join(t.TempDir(), "seed.db"), Large.Over(4000), testNow, func(string) { cancel() })
	if err == nil {
		t.Error("a seed whose context has ended after its first table returns no error")
	}
}
