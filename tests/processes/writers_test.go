//go:build linux

package processes

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/postgres"
)

// Several processes claim, complete, kill and extend jobs, while people cancel, retry and ignore
// others. These writers never deadlock, and the counters are right.
// proves: Q10
func TestQ10_ConcurrentWritersDoNotDeadlock(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: this test starts processes")
	}
	f := fleetAt(t, pgtest.Database(t), "redrive") // the test needs a separate database, because the server counts deadlocks per database
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, []byte(strict), 0o600); err != nil {
		t.Fatal(err)
	}
	processes := f.up(4, "-kinds", "short,broken", "-policy", path, "-lease", "400ms", "-scan", "100ms", "-workers", "8")
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		f.enqueue("short", 30)
		f.enqueue("broken", 20)
		f.act(random)
	}
	f.stored("all have ended", func() bool {
		n := f.counts()
		return n[job.Waiting]+n[job.Running]+n[job.Retrying] == 0
	})

	report, err := postgres.Diagnose(t.Context(), f.dsn, f.schema, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range report.Problems {
		if strings.Contains(problem, "please report this") { // other findings are about the server, which other tests use, too
			t.Errorf("redrive doctor found a problem: %v", problem)
		}
	}
	for _, p := range processes {
		p.kill()
	}
	if err := f.store.Close(); err != nil {
		t.Fatal(err)
	}
	if n := f.deadlocks(); n != 0 {
		t.Errorf("got %d deadlocks, want 0", n)
	}
}

// act does random actions of people on random jobs.
func (f *fleet) act(random *rand.Rand) {
	f.Helper()
	ctx := f.Context()
	must := func(err error) {
		f.Helper()
		if err != nil {
			f.Fatal(err)
		}
	}
	page, err := f.store.List(ctx, store.Filter{States: []job.State{job.Waiting, job.Running}, Limit: 30})
	must(err)
	ids := make([]job.ID, len(page.Jobs))
	for i := range page.Jobs {
		ids[i] = page.Jobs[i].ID
	}
	random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	must(f.patiently(func() error {
		_, err := f.store.Cancel(ctx, ann, ids[:min(10, len(ids))])
		return err
	}))
	filter := store.DeadFilter{Statuses: store.ActRetry.Statuses()}
	for _, do := range []store.Act{store.ActRetry, store.ActIgnore} {
		frozen, err := f.store.Preview(ctx, store.Action{Do: do, Filter: &filter})
		must(err)
		if frozen.Done == 0 {
			continue
		}
		must(f.patiently(func() error {
			_, err := f.store.Act(ctx, ann, store.Action{Do: do, Filter: &filter, Through: frozen.Through, Limit: 5})
			return err
		}))
	}
}

// patiently repeats a call while the store is busy, as people would.
func (f *fleet) patiently(ask func() error) (err error) {
	f.Helper()
	f.stored("a person has an answer", func() bool {
		err = ask()
		return !errors.Is(err, store.ErrUnavailable)
	})
	return err
}

// deadlocks returns the number of deadlocks in the database. It waits until all other connections
// are closed, because the server counts a connection's deadlocks when it ends.
func (f *fleet) deadlocks() int64 {
	f.Helper()
	conn, err := pgx.Connect(f.Context(), f.dsn)
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }() // no error check: an error of Close does not matter
	number := func(query string) (n int64) {
		f.Helper()
		if err := conn.QueryRow(f.Context(), query).Scan(&n); err != nil {
			f.Fatal(err)
		}
		return n
	}
	f.stored("all other connections are gone", func() bool {
		return number(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'`) == 1
	})
	return number(`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`)
}
