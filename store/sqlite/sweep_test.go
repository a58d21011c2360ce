package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// keeper is a seeder whose clock the test can advance.
type keeper struct {
	*seeder
	path  string
	ahead *atomic.Int64
}

func openKeeper(t *testing.T) *keeper {
	k := &keeper{seeder: &seeder{t: t}, path: filepath.Join(t.TempDir(), "jobs.db"), ahead: &atomic.Int64{}}
	k.s = k.open()
	return k
}

// open opens the same database file again, as another process would do.
func (k *keeper) open() *Store {
	k.t.Helper()
	s, err := Open(k.t.Context(), k.path, &Options{ReadLimit: time.Minute,
		Clock: func() time.Time { return seedNow.Add(time.Duration(k.ahead.Load())) }})
	k.must(err)
	k.t.Cleanup(func() { k.must(s.Close()) })
	return s
}

func (k *keeper) advance(d time.Duration) { k.ahead.Add(int64(d)) }

func (k *keeper) sweep(keep store.Retention, limit int) store.Swept {
	k.t.Helper()
	swept, err := k.s.Sweep(k.t.Context(), keep, limit)
	k.must(err)
	return swept
}

// sweepAll sweeps until there is nothing more to remove. It fails the test after the given
// number of sweeps.
func (k *keeper) sweepAll(keep store.Retention, limit, most int) (sum store.Swept) {
	k.t.Helper()
	for range most {
		swept := k.sweep(keep, limit)
		sum.Completed += swept.Completed
		sum.Failures += swept.Failures
		sum.Dead += swept.Dead
		sum.Pending += swept.Pending
		sum.Events += swept.Events
		sum.Keys += swept.Keys
		sum.Reopened += swept.Reopened
		if !swept.More {
			return sum
		}
	}
	k.t.Fatalf("after %d sweeps of at most %d rows there are still rows to remove, want none; removed so far: %+v", most, limit, sum)
	return sum
}

func (k *keeper) complete(n int) {
	k.end(n, func(o *job.Outcome) { o.To, o.Cause = job.Completed, job.Succeeded })
}

// makeDead makes n jobs that die. The given function returns the cause of death of job number i.
func (k *keeper) makeDead(n int, cause func(i int) string) {
	i := 0
	k.end(n, func(o *job.Outcome) {
		o.To, o.Cause, o.Reason = job.Dead, job.Failed, job.NonRetriable
		o.Failure = &job.Failure{How: job.ByError, Class: "Refused", Message: "refused by " + cause(i), Fingerprint: cause(i)}
		i++
	})
}

func (k *keeper) act(a *store.Action) store.Acted {
	k.t.Helper()
	if a.Filter != nil {
		found, err := k.s.Preview(k.t.Context(), *a)
		k.must(err)
		a.Through = found.Through
	}
	acted, err := k.s.Act(k.t.Context(), store.By{Actor: "ann"}, *a)
	k.must(err)
	return acted
}

// number runs an SQL query whose result is one number, and returns that number.
func (k *keeper) number(text string, args ...any) (n int64) {
	k.t.Helper()
	k.rows(fmt.Sprintf(text, args...), func(r sqlstore.Row) { n = r.Int(0) })
	return n
}

var keepShort = store.Retention{Completed: time.Hour, Failures: time.Hour, Dead: time.Hour, DropPending: true, Events: time.Hour}

// A sweep costs the same whether the tables have many or few other rows. This is true for
// sweeps that remove rows and for sweeps that do not, also in a database on which ANALYZE was
// run.
//
// proves: Q6
func TestQ6_SweepCostIsFlat(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped with -short, because the test needs many rows")
	}
	few, many := openKeeper(t), openKeeper(t)
	for k, rows := range map[*keeper]int{few: 500, many: 3_000} {
		k.complete(rows)
		k.makeDead(rows, func(i int) string { return fmt.Sprint("cause ", i%100) })
		k.advance(30 * time.Minute)
	}
	for _, step := range []struct {
		name    string
		advance time.Duration
		removes bool
	}{
		{"nothing is old enough", time.Minute, false},
		{"everything is old enough", time.Hour, true},
	} {
		for _, statistics := range []bool{false, true} {
			var costs []cost
			for _, k := range []*keeper{few, many} {
				if statistics {
					k.analyze()
				} else {
					k.advance(step.advance)
				}
				// These two sweeps compile the statements, so their cost is not measured. The
				// second sweep is needed because it is the first that finds events of a sweep.
				k.sweep(keepShort, 50)
				k.sweep(keepShort, 50)
				k.count()
				if swept := k.sweep(keepShort, 50); swept.Removed() != step.removes || !swept.More {
					t.Fatalf("sweep when %s: got %+v, want all removals that its limit allows and More true", step.name, swept)
				}
				costs = append(costs, k.count())
			}
			t.Logf("sweep when %s, statistics %v: SQLite needed %d steps with few rows and %d steps with many", step.name, statistics, costs[0].steps, costs[1].steps)
			if costs[1].steps > costs[0].steps*3/2 {
				t.Errorf("sweep when %s, statistics %v: SQLite needed %d steps with many rows and %d steps with few; want at most 1.5 times as many steps",
					step.name, statistics, costs[1].steps, costs[0].steps)
			}
			if n := costs[0].compiled + costs[1].compiled; n > 0 {
				t.Errorf("sweep when %s, statistics %v: SQLite compiled statements again %d times, want 0", step.name, statistics, n)
			}
		}
	}
}

// A sweep continues where the previous sweep ended, also in another process and after a restart.
// Together the sweeps remove all data whose retention time is over, from every table.
//
// proves: Q6
func TestQ6_SweepsGoOnWhereTheLastOneEnded(t *testing.T) {
	t.Parallel()
	k := openKeeper(t)
	k.complete(120)
	k.makeDead(100, func(i int) string { return fmt.Sprint("cause ", i%7) })
	k.add(30, func(int, *job.New) {}) // jobs that stay alive
	k.advance(2 * time.Hour)
	for i := 0; ; i++ {
		if i > 100 {
			t.Fatal("after 100 sweeps there are still rows to remove, want none")
		}
		if !k.sweep(keepShort, 11).More {
			break
		}
		k.must(k.s.Close())
		k.s = k.open()
	}
	k.sweepAll(keepShort, 11, 100) // these sweeps remove rows that were still needed when the earlier sweeps examined them
	got := map[string]int64{}
	want := map[string]int64{"jobs": 31} // 30, and the first member of the batch
	for _, table := range []string{"jobs", "done", "dead", "failures", "bodies", "originals", "progress", "groups", "trends"} {
		if n := k.number(`SELECT count(*) FROM redrive_%s`, table); n > 0 {
			got[table] = n
		}
	}
	if bodies := k.number(`SELECT count(*) FROM redrive_jobs WHERE long = 1`); bodies > 0 {
		want["bodies"] = bodies
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wrong number of remaining rows in the tables (-want +got):\n%s", diff)
	}
	if n := k.number(`SELECT count(*) FROM redrive_events WHERE at < %d`, job.At(seedNow.Add(time.Hour))); n != 0 {
		t.Errorf("events of %d old commits remain after the sweeps, want 0", n)
	}
	if n := k.number(`SELECT coalesce(sum(n), 0) FROM redrive_dead_counts`); n != 0 {
		t.Errorf("counters of dead letters after all were removed: got a sum of %d, want 0", n)
	}
	k.healthy()
}

// healthy checks that redrive doctor finds no problems.
func (k *keeper) healthy() {
	k.t.Helper()
	report, err := Diagnose(k.t.Context(), k.path, func() time.Time { return seedNow.Add(time.Duration(k.ahead.Load())) })
	k.must(err)
	for _, problem := range report.Problems {
		k.t.Errorf("redrive doctor found a problem, want none: %v", problem)
	}
}

// On a full disk, a sweep that needs space fails and changes nothing. A sweep that frees enough
// space succeeds. The test limits the number of pages of the file, because SQLite returns the same
// error at this limit as on a full disk.
//
// proves: Q6
func TestQ6_SweepOnAFullDisk(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped with -short, because the test makes hundreds of dead letters")
	}
	k := openKeeper(t)
	k.complete(300)
	k.makeDead(300, func(i int) string { return fmt.Sprint("cause ", i%7) })
	for _, id := range k.dead()[:200] {
		k.act(&store.Action{Do: store.ActIgnore, IDs: []job.ID{id}, Until: job.At(seedNow.Add(time.Hour)), Note: string(make([]byte, 1))})
	}
	k.advance(2 * time.Hour)
	limit := func(pages int) {
		t.Helper()
		k.must(k.s.writer.request(t.Context(), nil, func() error {
			_, err := one(k.s.writer.conn, fmt.Sprintf("PRAGMA max_page_count=%d", pages))
			return err
		}))
	}
	limit(1) // SQLite raises this limit to the present number of pages, so the file cannot grow
	for k.number(`PRAGMA freelist_count`) > 0 {
		k.must(k.fillDisk())
	}
	if err := k.fillDisk(); !errors.Is(err, store.ErrFull) {
		t.Fatalf("write on a full disk: got error %v, want ErrFull", err)
	}
	before, err := k.s.Dump(t.Context())
	k.must(err)
	// This sweep has nothing to remove, but it needs space for the events of 200 reopened dead
	// letters.
	if _, err := k.s.Sweep(t.Context(), store.Retention{}, 200); !errors.Is(err, store.ErrFull) {
		t.Fatalf("sweep that needs space on a full disk: got error %v, want ErrFull", err)
	}
	after, err := k.s.Dump(t.Context())
	k.must(err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the failed sweep changed the store, want no change (-before +after):\n%s", diff)
	}
	if swept := k.sweep(keepShort, 500); swept.Completed == 0 || swept.Dead == 0 || swept.Events == 0 {
		t.Errorf("sweep that frees space on a full disk: got %+v, want removed jobs, dead letters and events", swept)
	}
	if err := k.fillDisk(); err != nil {
		t.Errorf("write after a sweep that has freed space: got error %v, want none", err)
	}
	k.healthy()
}

// fillDisk writes a policy that needs several pages of the file.
func (k *keeper) fillDisk() error {
	return k.s.PublishPolicy(k.t.Context(), store.By{Actor: "ann"}, store.StoredPolicy{
		Hash: fmt.Sprint("hash ", k.number(`SELECT count(*) FROM redrive_policies`)), Name: "p", Body: make([]byte, 5_000)})
}

func (k *keeper) dead() (ids []job.ID) {
	k.rows(`SELECT job FROM redrive_dead ORDER BY death`, func(r sqlstore.Row) { ids = append(ids, job.ID(r.Int(0))) })
	return ids
}

// Dead letters with very many failure records are removed in more than one sweep.
//
// part of: Q6
func TestQ6_ManyRecordsAreSpreadOverSweeps(t *testing.T) {
	t.Parallel()
	k := openKeeper(t)
	k.makeDead(10, func(int) string { return "cause" })
	k.direct(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
		INSERT INTO redrive_failures (job, token, life, attempt, started_at, ended_at, how, class, permanent, message)
		SELECT job, 1000 + i, 1, 1, 0, died_at, 'error', 'Refused', 0, 'no' FROM redrive_dead, n`)
	k.advance(2 * time.Hour)
	keep := store.Retention{Dead: time.Hour, DropPending: true}
	first := k.sweep(keep, 500)
	if first.Dead < 1 || first.Dead > 3 || !first.More {
		t.Errorf("first sweep: got %+v, want 1 to 3 removed dead letters and More true", first)
	}
	if rest := k.sweepAll(keep, 500, 10); rest.Dead+first.Dead != 10 {
		t.Errorf("all sweeps after the first together: got %+v, want the rest of the 10 dead letters removed", rest)
	}
	if n := k.number(`SELECT count(*) FROM redrive_failures`); n != 0 {
		t.Errorf("got %d failure records after the sweeps, want 0", n)
	}
}

// A sweep can stop in the middle of the failure records of one job. The next sweep continues
// there.
//
// part of: Q6
func TestQ6_ManyRecordsOfOneJob(t *testing.T) {
	t.Parallel()
	k := openKeeper(t)
	k.direct(fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
		INSERT INTO redrive_failures (job, token, life, attempt, started_at, ended_at, how, class, permanent, message)
		SELECT 900, i, 1, 1, 0, %d + i %% 2, 'error', 'Refused', 0, 'no' FROM n`, job.At(seedNow)))
	k.advance(time.Hour)
	if swept := k.sweepAll(store.Retention{Failures: time.Hour}, 7, 6); swept.Failures != 20 {
		t.Errorf("sweeps with small limits: got %+v together, want 20 removed failure records", swept)
	}
}

// Sweeps remove the statistics that are too old to be shown, in all groups.
//
// part of: Q6
func TestQ6_OldFiguresGo(t *testing.T) {
	t.Parallel()
	k := openKeeper(t)
	const groups = sqlstore.SweepTrends + 100 // more rows than one sweep can examine
	k.makeDead(groups, func(i int) string { return fmt.Sprint("cause ", i) })
	k.advance(store.TrendHours*time.Hour + time.Minute)
	k.makeDead(1, func(int) string { return "young" })
	count := func() [3]int64 {
		return [...]int64{k.number(`SELECT count(*) FROM redrive_trends WHERE grp > 0`),
			k.number(`SELECT count(*) FROM redrive_trends WHERE grp = 0`), k.number(`SELECT count(*) FROM redrive_figures WHERE unit = 0 AND lane = 0`)}
	}
	k.sweep(store.Retention{}, 1)
	k.sweep(store.Retention{}, 1)
	if got, want := count(), [...]int64{1, 1, 2}; got != want {
		t.Errorf("after a day: got numbers of rows %v (group trends, minutes, hours), want %v", got, want)
	}
	k.advance(store.MinutesKept)
	k.sweep(store.Retention{}, 1)
	if got := count(); got != [3]int64{} {
		t.Errorf("after a month: got numbers of rows %v (group trends, minutes, hours), want 0 of each", got)
	}
}
