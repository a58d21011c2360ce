package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

func execute(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), statement)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// A database that another build made before the first release is refused, and not changed.
//
// proves: Q10
func TestQ10_TablesOfAnotherBuildAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"a build without digests":    `DELETE FROM redrive_meta WHERE key = 'digest'`,
		"a build with another table": `UPDATE redrive_meta SET value = value + 1 WHERE key = 'digest'`,
	} {
		path := filepath.Join(t.TempDir(), "jobs.db")
		s, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		execute(t, path, change)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []*sqlite.Options{nil, {KeepSchema: true}} {
			if _, err := sqlite.Open(t.Context(), path, o); !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), "another build") {
				t.Errorf("Open of a database of %s: got error %v, want an ErrSchema that names the other build", name, err)
			}
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
			t.Errorf("Open changed the file that it refused, want an unchanged file (error when the test read the file: %v)", err)
		}
		d, err := sqlite.Diagnose(t.Context(), path, time.Now)
		if err != nil || len(d.Problems) != 1 || !strings.Contains(d.Problems[0], "another build") {
			t.Errorf("Diagnose of a database of %s: got problems %q and error %v, want one that names the other build", name, d.Problems, err)
		}
	}
}

// proves: Q10
func TestQ10_NewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "jobs.db")
	s, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, path, `INSERT INTO redrive_migrations (version_id, is_applied) VALUES (7, 1)`)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = sqlite.Open(t.Context(), path, nil)
	if !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), "schema 7") || !strings.Contains(err.Error(), "newer redrive") {
		t.Errorf("Open of a database with a newer schema: got error %v, want an ErrSchema that names schema 7 and advises to install a newer redrive", err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("Open changed the file that it refused, want an unchanged file (error when the test read the file: %v)", err)
	}
	// A migration can allow older programs to use the new schema, so that processes can be upgraded
	// one after the other.
	execute(t, path, `INSERT INTO redrive_meta VALUES ('compatible_from', 1)`)
	s, err = sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatalf("Open of a database with a newer schema that allows this program: got error %v, want none", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "no", "such", "jobs.db"): "does not exist",
		filepath.Join(text, "jobs.db"):              "not a folder",
		dir:                                         "is a folder",
		text:                                        "not an SQLite database",
	} {
		s, err := sqlite.Open(t.Context(), path, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("Open(%s): got error %v, want an error that contains %q", path, err, want)
		}
		if err == nil {
			_ = s.Close() // Open should have failed; close the store so that the file is not in use
		}
	}
}

// The path of a database file may contain any characters, including characters that have a meaning
// in a URI.
func TestOpenTakesAnyName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a b.db", "50%.db", "what?.db", "#1.db", "ü.db", "x?mode=ro.db", "%41.db"} {
		path := filepath.Join(dir, name)
		s, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Errorf("open file %q: got error %v, want none", name, err)
			continue
		}
		if _, err := s.ReserveIDs(t.Context(), 1); err != nil {
			t.Errorf("ReserveIDs in file %q: got error %v, want none", name, err)
		}
		err = s.Tx(t.Context(), func(context.Context, *sql.Tx) error { return nil })
		if err := errors.Join(err, s.Close()); err != nil {
			t.Errorf("transaction in file %q and close: got error %v, want none", name, err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("file %q after the close: got error %v, want a file at the given path that is not empty", name, err)
		}
	}
}

// The path of a symbolic link and the path of its target open the same database, with the same
// lock files.
func TestOpenFollowsLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real, link := filepath.Join(dir, "jobs.db"), filepath.Join(dir, "link.db")
	a, err := sqlite.Open(t.Context(), real, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	b, err := sqlite.Open(t.Context(), link, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if a.Path() != b.Path() {
		t.Errorf("opened by a link and by its target: got the paths %s and %s, want the same path", a.Path(), b.Path())
	}
}

// A migration down and up again leaves a usable database. The migration down removes only
// redrive's tables.
//
// proves: Q10
func TestQ10_MigrateDownAndUp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "jobs.db")
	execute(t, path, `CREATE TABLE mine (n INTEGER); INSERT INTO mine VALUES (1)`)
	for _, to := range []int64{1, 0, 1} {
		if _, err := sqlite.Migrate(t.Context(), path, to); err != nil {
			t.Fatalf("migrate to schema %d: got error %v, want none", to, err)
		}
		schema, err := sqlite.ReadSchema(t.Context(), path)
		if err != nil || schema.Version != to {
			t.Fatalf("schema after the migration: got %+v, error %v; want schema version %d", schema, err, to)
		}
	}
	s, err := sqlite.Open(t.Context(), path, &sqlite.Options{KeepSchema: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := rowsOf(t, s, "mine"); n != 1 {
		t.Errorf("rows in the caller's own table after the migrations: got %d, want 1", n)
	}
	if _, err := sqlite.Migrate(t.Context(), path, 9); err == nil {
		t.Error("Migrate to an unknown schema returned no error, want an error")
	}
}

// Two processes may create the database at the same time.
//
// proves: Q10
func TestQ10_TwoMigrators(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "jobs.db")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			s, err := sqlite.Open(t.Context(), path, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// Other users must not be able to read the database and its lock files, because the database
// contains payloads and evidence.
func TestNewFilesArePrivate(t *testing.T) {
	t.Parallel()
	s := openTemp(t, nil)
	if _, err := s.ReserveIDs(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-turn1", "-turn2"} {
		info, err := os.Stat(s.Path() + suffix)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("file with suffix %q: got file mode %v, error %v; want file mode 0600", suffix, info.Mode(), err)
		}
	}
}

// ReadSchema and Diagnose do not change the file.
func TestDiagnoseAndReadSchemaChangeNothing(t *testing.T) {
	t.Parallel()
	s := openTemp(t, nil)
	if _, err := s.Enqueue(t.Context(), []job.New{newJob(t, s)}); err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(t.TempDir(), "backup.db")
	execute(t, s.Path(), `VACUUM INTO '`+backup+`'`) // the copy is not in WAL mode, so opening it for writing would change it
	before, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	if schema, err := sqlite.ReadSchema(t.Context(), backup); err != nil || schema.Version != schema.Known {
		t.Errorf("ReadSchema of a copy: got schema %+v, error %v; want the newest schema", schema, err)
	}
	if report, err := sqlite.Diagnose(t.Context(), backup, func() time.Time { return time.Unix(1, 0) }); err != nil || len(report.Problems) > 0 {
		t.Errorf("Diagnose of a copy: got report %+v, error %v; want no problems", report, err)
	}
	if after, err := os.ReadFile(backup); err != nil || string(after) != string(before) {
		t.Errorf("ReadSchema or Diagnose changed the file, want an unchanged file (error when the test read the file: %v)", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(backup)); err != nil || len(entries) != 1 {
		t.Errorf("after ReadSchema and Diagnose: got files %v in the directory, error %v; want only the copy of the database", entries, err)
	}
}

// A process that dies while it creates the file leaves a rollback journal, because the file is not
// yet in WAL mode. ReadSchema, Diagnose and Open recover such a file.
//
// proves: Q10
func TestQ10_AFileThatWasBeingCreatedIsRecovered(t *testing.T) {
	t.Parallel()
	made := filepath.Join(t.TempDir(), "made.db")
	db, err := sql.Open("sqlite", made+"?_pragma=cache_size(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, text := range []string{`CREATE TABLE mine (n, pad)`, `BEGIN`,
		// The cache is small, so SQLite writes pages before the commit. The journal must be valid then.
		`WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 500) INSERT INTO mine SELECT n, zeroblob(2000) FROM c`} {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	for name, do := range map[string]func(path string) error{
		"ReadSchema": func(path string) error { _, err := sqlite.ReadSchema(t.Context(), path); return err },
		"Diagnose": func(path string) error {
			_, err := sqlite.Diagnose(t.Context(), path, time.Now)
			return err
		},
		"Open": func(path string) error {
			s, err := sqlite.Open(t.Context(), path, nil)
			if err != nil {
				return err
			}
			return s.Close()
		},
	} {
		path := filepath.Join(t.TempDir(), "jobs.db")
		for _, suffix := range []string{"", "-journal"} { // the files that are left when the process is killed at this moment
			text, err := os.ReadFile(made + suffix)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path+suffix, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := do(path); err != nil {
			t.Errorf("%s of a file whose creation was interrupted: got error %v, want none", name, err)
		}
	}
}

// A read uses a snapshot of the database, so it has a time limit. After the limit the read
// fails with an error of package store.
func TestAReadHasATimeLimit(t *testing.T) {
	t.Parallel()
	s := openTemp(t, &sqlite.Options{ReadLimit: time.Nanosecond})
	_, err := s.Counts(t.Context())
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "longer than 1ns") {
		t.Errorf("a read beyond its time limit: got error %v, want ErrUnavailable", err)
	}
	if _, err := s.ReserveIDs(t.Context(), 1); err != nil {
		t.Errorf("a write, to which ReadLimit does not apply: got error %v, want none", err)
	}
}
