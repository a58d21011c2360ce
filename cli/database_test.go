package cli_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

// looking are the commands that only look, and those that act on jobs that exist.
var looking = []string{
	"jobs list", "jobs show 1", "jobs cancel 1", "dlq list", "dlq groups", "dlq stats", "dlq export", "dlq retry 1", "dlq redrive list",
	"queues list", "queues pause default", "audit", "events", "cron list", "explain 1", "policy list", "workers", "stats", "keys list", "doctor",
}

// TestQ10_OnlyMigrateAddsTablesToAForeignFile runs commands on the file of another program, on an
// empty file and on no file.
//
// proves: Q10
func TestQ10_OnlyMigrateAddsTablesToAForeignFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	shop := filepath.Join(dir, "shop.db")
	db, err := sql.Open("sqlite", shop)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE orders (id INTEGER PRIMARY KEY, total INTEGER); INSERT INTO orders VALUES (1, 4711)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(shop)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "empty.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	config := "kinds:\n  mail:\n    command: [cat]\n    payload: text\n"
	if err := os.WriteFile(filepath.Join(dir, "redrive.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := func(name, message string, args ...string) {
		t.Helper()
		_, stderr, code := run(t, dir, append(args, "--db", name)...)
		if code != 4 || !strings.Contains(stderr, message) {
			t.Errorf("redrive %s --db %s: got exit code %d and %q, want 4 and %q", strings.Join(args, " "), name, code, stderr, message)
		}
	}
	const foreign = "the file has tables of another program and none of redrive; `redrive migrate` adds redrive's tables"
	for _, command := range looking {
		args := strings.Fields(command)
		refused("shop.db", foreign, args...)
		if command != "cron list" { // it shows the schedules of the configuration, also before there is a database
			refused("empty.db", "the file is empty", args...)
			refused("none.db", "there is no such file", args...)
		}
	}
	for _, args := range [][]string{{"enqueue", "mail", "hello"}, {"work", "--until-idle"}, {"keys", "create", "ann", "--role", "view"}} {
		refused("shop.db", foreign, args...)
	}
	if after, err := os.ReadFile(shop); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the commands changed the file of another program (error %v)", err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.db*"))
	if err != nil || len(names) != 2 {
		t.Errorf("got the files %v (error %v), want shop.db and empty.db only", names, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "empty.db")); err != nil || info.Size() != 0 {
		t.Errorf("the commands changed the empty file (error %v)", err)
	}
	for _, args := range [][]string{{"migrate"}, {"enqueue", "mail", "hello"}, {"work", "--until-idle"}, {"jobs", "list"}} {
		if _, stderr, code := run(t, dir, append(args, "--db", "shop.db")...); code != 0 {
			t.Errorf("redrive %s on the migrated file: got exit code %d and %q, want 0", strings.Join(args, " "), code, stderr)
		}
	}
}

// TestEnqueue_NeedsANamedDatabase shows that a job never goes to a database that nobody named, and
// that a new database is named.
func TestEnqueue_NeedsANamedDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, stderr, code := run(t, dir, "enqueue", "mail", "1")
	if want := "no database is named: there is no redrive.yaml in this folder; name the database with --db or $REDRIVE_DB"; code != 2 || !strings.Contains(stderr, want) {
		t.Errorf("got exit code %d and %q, want 2 and %q", code, stderr, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "redrive.yml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, _ = run(t, dir, "enqueue", "mail", "1"); !strings.Contains(stderr, "there is a redrive.yml: rename it") {
		t.Errorf("got %q, want a hint at redrive.yml", stderr)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 1 {
		t.Errorf("got the files %v (error %v), want redrive.yml only", names, err)
	}
	for _, want := range []string{"redrive: made a new database: " + filepath.Join(dir, "new.db") + "\n", ""} {
		if _, stderr, code := run(t, dir, "enqueue", "mail", "1", "--db", "new.db"); code != 0 || stderr != want {
			t.Errorf("got exit code %d and %q, want 0 and %q", code, stderr, want)
		}
	}
}

// A file that the user may not read is named with its mode, and with the cure.
func TestLook_NamesAFileThatTheUserMayNotRead(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "jobs.db"), []byte("SQLite format 3\x00"), 0o200); err != nil {
		t.Fatal(err)
	}
	const want = "jobs.db: this user may not read the file, whose mode is 0200; give the user the right to read and write it"
	if _, stderr, code := run(t, dir, "jobs", "list", "--db", "jobs.db"); code != 1 || !strings.Contains(stderr, want) {
		t.Errorf("got exit code %d and %q, want 1 and %q", code, stderr, want)
	}
}
