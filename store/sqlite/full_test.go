package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// On a full disk, calls that need space fail and change nothing. When there is space again, the
// store works without a restart. The test limits the number of pages of the file, because SQLite
// returns the same error at this limit as on a full disk.
//
// part of: Q10
func TestFullDiskHeals(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s, err := Open(ctx, filepath.Join(t.TempDir(), "jobs.db"), &Options{Clock: func() time.Time { return clock }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	limit := func(pages int) {
		t.Helper()
		err := s.writer.request(ctx, nil, func() error {
			_, err := one(s.writer.conn, fmt.Sprintf("PRAGMA max_page_count=%d", pages))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	enqueue := func(n int) error {
		first, err := s.ReserveIDs(ctx, n)
		if err != nil {
			return err
		}
		jobs := make([]job.New, n)
		for i := range jobs {
			jobs[i] = job.New{ID: first + job.ID(i), Kind: "k", Queue: "q", Priority: 2, Payload: make([]byte, 900)}
		}
		_, err = s.Enqueue(ctx, jobs)
		return err
	}
	if err := enqueue(10); err != nil {
		t.Fatal(err)
	}
	exchange := store.Exchange{Holder: "h", Lease: time.Minute, Want: []store.Want{
		{Queue: "q", Max: 5, Kinds: []store.KindWant{{Kind: "k", Max: 5, MaxCrashes: 2}}},
	}}
	claimed, err := s.Exchange(ctx, exchange)
	if err != nil || len(claimed.Claims) != 5 {
		t.Fatalf("claim before the disk is full: got %d claims, error %v; want 5 claims", len(claimed.Claims), err)
	}
	limit(1) // SQLite raises this limit to the present number of pages, so the file cannot grow
	before, err := s.Dump(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := enqueue(200); !errors.Is(err, store.ErrFull) {
		t.Fatalf("enqueue on a full disk: got error %v, want ErrFull", err)
	}
	after, err := s.Dump(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the failed calls changed the store, want no change (-before +after):\n%s", diff)
	}
	limit(1 << 20)
	if err := enqueue(200); err != nil {
		t.Errorf("enqueue when there is space again: got error %v, want none", err)
	}
	exchange.Settle = []job.Outcome{{ID: claimed.Claims[0].ID, Token: 1, Cause: job.Succeeded, To: job.Completed}}
	x, err := s.Exchange(ctx, exchange)
	if err != nil || x.Settled[0] != nil || len(x.Claims) != 5 {
		t.Errorf("exchange when there is space again: got errors of outcomes %v, %d claims, error %v; want no errors and 5 claims", x.Settled, len(x.Claims), err)
	}
}

// A migration on a full disk changes nothing, says the cure, and works when there is space again. The limit on the number
// of pages stands for the full disk, as above.
//
// proves: Q10
func TestQ10_AMigrationOnAFullDiskChangesNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "jobs.db")
	tables := func() (names []string) {
		t.Helper()
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		rows, err := db.QueryContext(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('sqlite_sequence', ?) ORDER BY name`, sqlstore.VersionTable)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return names
	}
	files, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	text, err := fs.ReadFile(files, "00001_init.sql")
	if err != nil {
		t.Fatal(err)
	}
	const up = "-- +goose Up\n"
	full := fstest.MapFS{"00001_init.sql": {Data: []byte(strings.Replace(string(text), up, up+"PRAGMA max_page_count = 12;\n", 1))}}
	_, err = migrateWith(ctx, path, full, 1)
	const want = "migrate from schema 0 to 1: store is full: free some space on the disk of the database; nothing is lost: "
	if !errors.Is(err, store.ErrFull) || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "rolled back") {
		t.Errorf("got error %v, want ErrFull with the text %q", err, want)
	}
	if got := tables(); len(got) != 0 {
		t.Errorf("after the failed migration the file has the tables %q, want none", got)
	}
	if passed, err := Migrate(ctx, path, schemaVersion); err != nil || len(passed) != schemaVersion {
		t.Errorf("when there is space again: got the migrations %d, error %v; want all", passed, err)
	}
	if got := tables(); !slices.Contains(got, "redrive_jobs") {
		t.Errorf("got the tables %q, want those of redrive", got)
	}
}

// The store's time never runs backwards. This also holds after a restart, and when the
// machine's clock is set back.
//
// proves: Q2
func TestQ2_ClockSetBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "jobs.db")
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	var last job.Micros
	for _, jump := range []time.Duration{0, -time.Hour, time.Minute, -24 * time.Hour} {
		now = now.Add(jump)
		s, err := Open(ctx, path, &Options{Clock: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		id, err := s.ReserveIDs(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Enqueue(ctx, []job.New{{ID: id, Kind: "k", Queue: "q", Priority: 2}}); err != nil {
			t.Fatal(err)
		}
		j, err := s.Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if j.CreatedAt < last {
			t.Errorf("after the machine's clock jumped by %s, the store's time went back from %s to %s; want no earlier time", jump, last.Time(), j.CreatedAt.Time())
		}
		last = j.CreatedAt
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// proves: Q10
func TestQ10_MigrationKeepsEveryRow(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "jobs.db")
	s, err := Open(ctx, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		id, err := s.ReserveIDs(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Enqueue(ctx, []job.New{{ID: id, Kind: "k", Queue: "q", Priority: 2, Payload: make([]byte, i*100)}}); err != nil {
			t.Fatal(err)
		}
	}
	before, err := s.Dump(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	first, err := migrations.ReadFile("migrations/00001_init.sql")
	if err != nil {
		t.Fatal(err)
	}
	next := &fstest.MapFile{Data: []byte(`-- +goose Up
ALTER TABLE redrive_jobs ADD COLUMN later INTEGER;
INSERT INTO redrive_meta VALUES ('compatible_from', 1);
-- +goose Down
ALTER TABLE redrive_jobs DROP COLUMN later;
DELETE FROM redrive_meta WHERE key = 'compatible_from';
`)}
	files := fstest.MapFS{"00001_init.sql": {Data: first}, "00002_later.sql": next}
	for _, to := range []int64{2, 1} {
		if _, err := migrateWith(ctx, path, files, to); err != nil {
			t.Fatalf("migrate to schema %d: got error %v, want none", to, err)
		}
		s, err := Open(ctx, path, nil)
		if err != nil {
			t.Fatalf("open a database with schema %d: got error %v, want none", to, err)
		}
		after, err := s.Dump(ctx)
		if err != nil {
			t.Fatal(err)
		}
		after.Now = before.Now
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("migration to schema %d has changed rows, want unchanged rows (-want +got):\n%s", to, diff)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files["00002_twin.sql"] = next
	if _, err := migrateWith(ctx, path, files, 2); err == nil {
		t.Error("two migrations with the same number were accepted, want an error")
	}
}

func TestOldSQLiteIsRefused(t *testing.T) {
	t.Parallel()
	for version, ok := range map[string]bool{"3.51.2": false, "3.9.0": false, "3.51.3": true, "3.53.4": true, "4.0.0": true} {
		if err := checkVersion(version); (err == nil) != ok {
			t.Errorf("check of SQLite version %s: got error %v, want an error only for versions below 3.51.3", version, err)
		}
	}
}
