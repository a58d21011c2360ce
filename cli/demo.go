package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/demo"
)

type demoCmd struct {
	Jobs int    `default:"560" help:"Number of jobs, 100 to 20000."`
	Seed uint64 `default:"1" help:"Seed that chooses which jobs fail, and how."`
	Fast bool   `hidden:"" help:"Use even shorter waits, for tests."`
}

// Help implements kong.HelpProvider.
func (*demoCmd) Help() string {
	return `The demo takes about 40 seconds. Five systems run several hundred jobs on a new database, with real HTTP calls,
subprocesses and temporary files. They call a server of this program on 127.0.0.1 that fails in many ways: 429 with
Retry-After, 5xx, 4xx, no answer, resets, bodies that are cut short. Their policies are the presets of redrive with
shorter waits. Then a cause is repaired, and the jobs that died of it are retried.

The demo needs only this program, and it sends nothing to other machines. At the end it prints commands to look into the
database. The exit code is 1 when a result is not as expected, and 3 after Ctrl-C.

    redrive demo
    redrive demo --seed 7 --db /tmp/demo.db`
}

// Run implements the command.
func (c *demoCmd) Run(ctx context.Context, a *app) error {
	path, err := a.demoFile()
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, which the demo runs as a subprocess: %w", err)
	}
	o := demo.Options{
		Path: path, Jobs: c.Jobs, Seed: c.Seed, Fast: c.Fast, Tool: []string{exe, "demo-tool"}, Command: commandName(exe),
		Now: a.now, Out: a.stdout, Screen: demo.ScreenOf(a.stdout, a.getenv),
	}
	if err := o.Validate(); err != nil {
		return &usageError{err}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	err = demo.Run(ctx, o)
	if errors.Is(err, demo.ErrInterrupted) {
		return &interruptedError{"the demo is not over; its jobs are in " + path}
	}
	return err
}

// demoFile returns the path of the file that the demo creates. This is the file of --db, if
// given. Otherwise it is the first of redrive-demo.db, redrive-demo-2.db and so on that
// does not exist yet in the current folder, or in the folder for temporary files if the
// current one is not writable.
func (a *app) demoFile() (string, error) {
	if a.Schema != "" || config.IsDSN(a.DB) {
		return "", usagef("the demo makes a file of its own; leave --schema out and name a new file with --db, or none")
	}
	if a.DB != "" {
		return a.DB, nil
	}
	path, err := demo.NewFile()
	if errors.Is(err, demo.ErrManyFiles) {
		return "", &usageError{err}
	}
	return path, err
}

// commandName returns the words that a person types to call this program again from the current
// folder.
func commandName(exe string) string {
	if strings.Contains(exe, string(filepath.Separator)+"go-build") {
		return "go run ./cmd/redrive"
	}
	if found, err := exec.LookPath("redrive"); err == nil {
		if here, err := os.Stat(exe); err == nil {
			if there, err := os.Stat(found); err == nil && os.SameFile(here, there) {
				return "redrive"
			}
		}
	}
	if folder, err := os.Getwd(); err == nil {
		if name, err := filepath.Rel(folder, exe); err == nil && filepath.IsLocal(name) {
			return "." + string(filepath.Separator) + name
		}
	}
	return exe
}

// demoToolCmd is a hidden command: jobs of the demo run it as a subprocess.
type demoToolCmd struct {
	Args []string `arg:"" optional:"" passthrough:""`
}

// Run implements the command.
func (c *demoToolCmd) Run(ctx context.Context, a *app) error {
	os.Exit(demo.Tool(ctx, c.Args, a.stderr)) // the called program has already printed its errors
	return nil
}
