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
	_ "modernc.org/sqlite" // the driver of the sql command

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

// execSQL is "sql FILE STATEMENT": it changes a database directly, as a bug or a person
// with another tool would.
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

// execCode is "code COMMAND": it runs the command and prints its exit code. A script
// that fails interrupts what runs in its background and waits for it. The command gets
// two signals then, so that it ends whatever it is doing.
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
	_ = cmd.Wait() // the exit code is in its state
	fmt.Printf("code=%d\n", cmd.ProcessState.ExitCode())
}

// execLib is "lib FILE": a program in Go that enqueues jobs and runs them once. They end
// in ways that only a handler in Go can.
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

// scriptLimit ends a script that hangs, before the time for all tests is up.
const scriptLimit = 10 * time.Minute

// TestScripts runs the command as people do: each script of testdata/script
// starts real processes. A script says in "# proves:" which rows it proves, and
// its test carries them in its name. One that takes seconds says why in "# long:",
// and is skipped with -short.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("scripts: %v, %d found", err, len(files))
	}
	for _, file := range files {
		t.Run(rows(t, file), func(t *testing.T) {
			t.Parallel()
			if why, long := remark(t, file, "# long: "); long && testing.Short() {
				t.Skip("-short: " + why)
			}
			runScript(t, file, nil, nil)
		})
	}
}

// rows returns the rows that a script proves, as "Q1_Q8"; "-" when it proves none.
func rows(t *testing.T, file string) string {
	if list, ok := remark(t, file, "# proves: "); ok {
		return strings.ReplaceAll(list, ", ", "_")
	}
	return "-"
}

// remark returns the rest of the first line of a script that begins so.
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
