package cli_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/internal/testing/servers"
)

// execPG implements the script command "pg DSN STATEMENTS": it executes statements on a
// server and prints the first column of the results.
func execPG() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, os.Args[1])
	if err == nil {
		err = answer(ctx, conn, os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answer(ctx context.Context, conn *pgx.Conn, text string) error {
	results, err := conn.PgConn().Exec(ctx, text).ReadAll()
	for _, r := range results {
		for _, row := range r.Rows {
			fmt.Println(string(row[0]))
		}
	}
	return err
}

// The scripts of testdata/script that do not read the database file directly also run on
// PostgreSQL, each in a separate database.
func TestScriptsOnEitherStore(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("got error %v and %d scripts in testdata/script, want at least one script", err, len(files))
	}
	ran := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "# either store") {
			continue
		}
		ran++
		t.Run(rows(t, file), func(t *testing.T) {
			t.Parallel()
			dsn := pgtest.Database(t)
			runScript(t, file, nil, func(e *testscript.Env) {
				e.Setenv("DB", dsn)
				e.Setenv("REDRIVE_DB", dsn)
			})
		})
	}
	if ran < 10 {
		t.Errorf("only %d scripts ran on PostgreSQL, want at least 10", ran)
	}
}

// The scripts of testdata/postgres test the use of database servers. Each script starts a
// separate server.
func TestScriptsOnPostgreSQL(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/postgres/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("got error %v and %d scripts in testdata/postgres, want at least one script", err, len(files))
	}
	for _, file := range files {
		t.Run(rows(t, file), func(t *testing.T) {
			t.Parallel()
			var options []pgtest.Option
			if strings.HasSuffix(file, "full.txtar") {
				options = append(options, pgtest.Disk("160m"), pgtest.Setting("max_wal_size", "32MB"), pgtest.Setting("min_wal_size", "32MB"))
			}
			server := pgtest.New(t, options...)
			u, err := url.Parse(server.DSN())
			if err != nil {
				t.Fatal(err)
			}
			password, _ := u.User.Password()
			runScript(t, file, server.Process(), func(e *testscript.Env) {
				e.Setenv("DSN", server.DSN())
				e.Setenv("PASSWORD", password)
				e.Setenv("AT", u.Host)
			})
		})
	}
}

// runScript runs one script. A script about a server can use the command "server STEP" to
// start, stop or restart that server.
func runScript(t *testing.T, file string, server *servers.Postgres, set func(*testscript.Env)) {
	t.Helper()
	try, err := os.ReadFile("testdata/try.sh")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files: []string{file}, RequireExplicitExec: true, Deadline: time.Now().Add(scriptLimit),
		Setup: func(e *testscript.Env) error {
			e.Setenv("TZ", "UTC")
			e.Setenv("USER", "tess")
			// With the race detector, each process would sleep for a second before it
			// exits.
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			e.Setenv("DB", "redrive.db") // some scripts use this variable in their configuration
			if set != nil {
				set(e)
			}
			return os.WriteFile(filepath.Join(e.WorkDir, "try.sh"), try, 0o600) // a shell script that repeats a command until it succeeds, or gives up
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"server": func(ts *testscript.TestScript, _ bool, args []string) {
				steps := map[string]func() error{
					"start": func() error { return server.Start(context.Background()) },
					"stop":  func() error { return server.Stop(servers.Fast) },
					"crash": func() error { return server.Stop(servers.Immediate) },
					"pause": server.Pause, "resume": func() error { server.Resume(); return nil },
					"fill": server.FillDisk, "free": server.FreeDisk,
				}
				ts.Check(steps[args[0]]())
			},
		},
	})
}
