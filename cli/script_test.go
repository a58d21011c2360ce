package cli_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite" // database driver for the script command sql

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/cli"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

func TestMain(m *testing.M) {
	testscript.Main(pgtest.Stopping(m), map[string]func(){
		"redrive": func() {
			os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
		},
		"sql":  execSQL,
		"pg":   execPG,
		"lib":  execLib,
		"code": execCode,
	})
}

// execSQL implements the script command "sql FILE STATEMENT": it changes a database
// directly, as a bug or another program could.
func execSQL() {
	db, err := sql.Open("sqlite", os.Args[1])
	if err == nil {
		_, err = db.ExecContext(context.Background(), os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// execCode implements the script command "code COMMAND": it runs the command and prints its
// exit code. If a script fails, testscript interrupts the background commands and waits for
// them. execCode then sends two signals, so that the command ends its running jobs at once.
func execCode() {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGQUIT)
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		<-interrupted
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Process.Signal(syscall.SIGTERM)
		time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
	}()
	_ = cmd.Wait() // cmd.ProcessState has the exit code
	fmt.Printf("code=%d\n", cmd.ProcessState.ExitCode())
}

// execLib implements the script command "lib FILE": a Go program that enqueues jobs and
// runs them once. The jobs end in ways that are possible only with a handler in Go.
func execLib() {
	ctx := context.Background()
	st, err := sqlite.Open(ctx, os.Args[1], nil)
	if err == nil {
		err = errors.Join(runLib(ctx, st), st.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runLib(ctx context.Context, st store.Store) error {
	client, err := redrive.New(st, &redrive.Config{TempDir: "libtmp", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	for kind, end := range map[string]func() error{
		"snoozer":   func() error { return failure.Snooze(time.Hour) },
		"canceller": func() error { return failure.Cancel("the customer is gone") },
		"panicker":  func() error { panic("index out of range") },
	} {
		redrive.HandleRaw(client, kind, func(context.Context, *redrive.Job[[]byte]) error { return end() }, nil)
		if _, err := client.Enqueue(ctx, redrive.NewRaw(kind, []byte("{}"), nil)); err != nil {
			return err
		}
	}
	return client.RunUntilIdle(ctx)
}

// scriptLimit is the longest time for one script. It is shorter than the time limit of the
// whole test.
const scriptLimit = 15 * time.Minute

// TestScripts runs the command as a person would: each script of testdata/script starts
// real processes. The line "# proves:" of a script lists the requirements that the script
// proves; the name of the test includes them. A script that takes seconds gives the reason
// in a line "# long:", and is skipped with -short.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("got error %v and %d scripts in testdata/script, want at least one script", err, len(files))
	}
	for _, file := range files {
		t.Run(rows(t, file), func(t *testing.T) {
			t.Parallel()
			if why, long := remark(t, file, "# long: "); long && testing.Short() {
				t.Skip("-short: " + why)
			}
			var setup func(*testscript.Env)
			if _, either := remark(t, file, "# either store"); either {
				setup = func(e *testscript.Env) { e.Setenv("REDRIVE_DB", "redrive.db") }
			}
			runScript(t, file, nil, setup)
		})
	}
}

// rows returns the requirements that a script proves, such as "Q1_Q8", or "-" if it proves
// none.
func rows(t *testing.T, file string) string {
	if list, ok := remark(t, file, "# proves: "); ok {
		return strings.ReplaceAll(list, ", ", "_")
	}
	return "-"
}

// remark returns the rest of the first line of a script that begins with prefix.
func remark(t *testing.T, file, prefix string) (rest string, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if rest, ok = strings.CutPrefix(line, prefix); ok {
			return rest, true
		}
	}
	return "", false
}
