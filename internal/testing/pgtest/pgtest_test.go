package pgtest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/internal/testing/servers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Stopping(m)) }

func run(t *testing.T, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatalf("run the statement %s: %v", statement, err)
	}
}

func ask[T any](t *testing.T, conn *pgx.Conn, query string) (answer T) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), query).Scan(&answer); err != nil {
		t.Fatalf("run the query %s: %v", query, err)
	}
	return answer
}

func TestSchemasAreApartAndGoWithTheirTests(t *testing.T) {
	t.Parallel()
	conn := pgtest.Connect(t, pgtest.DSN(t))
	var used []string
	t.Run("users", func(t *testing.T) {
		for i := range 3 {
			t.Run(fmt.Sprintf("a long name with blanks, \"quotes\" and more, number %d", i), func(t *testing.T) {
				dsn, schema := pgtest.Schema(t)
				used = append(used, schema)
				conn := pgtest.Connect(t, dsn)
				run(t, conn, "CREATE SCHEMA "+schema)
				run(t, conn, "CREATE TABLE "+schema+".jobs (id int)")
				run(t, conn, "INSERT INTO "+schema+".jobs VALUES (1)")
				if n := ask[int](t, conn, "SELECT count(*) FROM "+schema+".jobs"); n != 1 {
					t.Errorf("got %d rows in a new schema, want only the inserted row", n)
				}
			})
		}
	})
	if len(used) != 3 || used[0] == used[1] || used[1] == used[2] {
		t.Errorf("got the schemas %q, want 3 different ones", used)
	}
	for _, schema := range used {
		if n := ask[int](t, conn, "SELECT count(*) FROM pg_namespace WHERE nspname = '"+schema+"'"); n != 0 {
			t.Errorf("schema %s still exists after its test, want it dropped", schema)
		}
	}
}

func TestADatabaseGoesWithItsTest(t *testing.T) {
	t.Parallel()
	var database string
	t.Run("user", func(t *testing.T) {
		conn := pgtest.Connect(t, pgtest.Database(t)) // this connection is still open when the database is dropped
		database = ask[string](t, conn, "SELECT current_database()")
		run(t, conn, "CREATE TABLE jobs (id int)")
	})
	conn := pgtest.Connect(t, pgtest.DSN(t))
	if n := ask[int](t, conn, "SELECT count(*) FROM pg_database WHERE datname = '"+database+"'"); n != 0 || database == "" {
		t.Errorf("database %q still exists after its test, want it dropped", database)
	}
}

// Crash tests prove nothing on a server that does not wait for the disk.
func TestServersWaitForTheDisk(t *testing.T) {
	t.Parallel()
	conn := pgtest.Connect(t, pgtest.New(t).DSN())
	for setting, want := range map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "server_encoding": "UTF8", "max_connections": "300",
	} {
		if got := ask[string](t, conn, "SHOW "+setting); got != want && (setting != "fsync" || !pgtest.Options().NoSync) {
			t.Errorf("setting %s is %s, want %s", setting, got, want)
		}
	}
}

func TestRestartsKeepWhatWasCommitted(t *testing.T) {
	t.Parallel()
	s := pgtest.New(t, pgtest.Setting("max_connections", "7"))
	conn := pgtest.Connect(t, s.DSN())
	if got := ask[string](t, conn, "SHOW max_connections"); got != "7" {
		t.Errorf("max_connections is %s, want 7 as set by the test", got)
	}
	run(t, conn, "CREATE TABLE jobs (id int)")
	steps := []struct {
		name string
		do   func()
	}{
		{"a fast restart", func() { s.Restart(servers.Fast) }},
		{"an immediate restart", func() { s.Restart(servers.Immediate) }},
		{"a kill", func() { s.Kill(); s.Start() }},
		{"a kill of a paused server", func() { s.Pause(); s.Kill(); s.Start() }},
		{"a stop of a paused server", func() { s.Pause(); s.Stop(servers.Fast); s.Start() }},
	}
	for i, step := range steps {
		run(t, conn, fmt.Sprintf("INSERT INTO jobs VALUES (%d)", i))
		step.do()
		if _, err := conn.Exec(t.Context(), "SELECT 1"); err == nil {
			t.Errorf("after %s: the old connection still works, want it cut", step.name)
		}
		conn = pgtest.Connect(t, s.DSN())
		if n := ask[int](t, conn, "SELECT count(*) FROM jobs"); n != i+1 {
			t.Errorf("after %s: got %d rows, want %d", step.name, n, i+1)
		}
	}
	if got := ask[int](t, pgtest.Connect(t, s.SocketDSN()), "SELECT count(*) FROM jobs"); got != len(steps) {
		t.Errorf("got %d rows through the socket, want %d", got, len(steps))
	}
}

func TestAPausedServerAnswersNobodyUntilItIsResumed(t *testing.T) {
	t.Parallel()
	s := pgtest.New(t)
	conn := pgtest.Connect(t, s.DSN())
	pid := ask[int](t, conn, "SELECT pg_backend_pid()")
	s.Pause()
	for _, p := range []int{pid, s.Process().PID()} {
		if state := state(t, p); state != "T" {
			t.Errorf("process %d of a paused server has the state %s, want T (stopped)", p, state)
		}
	}
	s.Pause() // a second pause does nothing
	s.Resume()
	if got := ask[int](t, conn, "SELECT pg_backend_pid()"); got != pid {
		t.Errorf("got backend process %d after the pause, want the same process %d", got, pid)
	}
}

func TestAFullDiskFailsCommitsAndFreeingItHeals(t *testing.T) {
	t.Parallel()
	s := pgtest.New(t, pgtest.Disk("100m"))
	conn := pgtest.Connect(t, s.DSN())
	run(t, conn, "CREATE TABLE jobs (payload text)")
	s.FillDisk()
	_, err := conn.Exec(t.Context(), "INSERT INTO jobs SELECT repeat(md5(n::text), 200) FROM generate_series(1, 5000) n")
	if err == nil {
		t.Fatal("inserting 30 MB on a full disk succeeded, want an error")
	}
	s.FreeDisk()
	run(t, connectSoon(t, s), "INSERT INTO jobs VALUES ('small')")
}

// connectSoon connects to a server that may still be recovering, or about to panic, because it
// could not write WAL to the full disk.
func connectSoon(t *testing.T, s *pgtest.Server) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		if !s.Process().Running() {
			s.Start()
		}
		conn, err := pgx.Connect(ctx, s.DSN())
		if err == nil {
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
			return conn
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}
