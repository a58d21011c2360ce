// Command program is the demo alone, without the other commands of redrive, so that it compiles faster.
// Package cmd/demo compiles and runs it.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redrive/redrive/internal/demo"
)

// Exit codes as those of redrive demo.
const (
	exitUsage       = 2
	exitInterrupted = 3
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "demo-tool" {
		os.Exit(demo.Tool(context.Background(), os.Args[2:], os.Stderr))
	}
	os.Exit(run())
}

func run() int {
	o := demo.Options{Now: time.Now, Out: os.Stdout, Screen: demo.ScreenOf(os.Stdout, os.Getenv)}
	flag.StringVar(&o.Path, "db", "", "file of the new database; default: redrive-demo.db, or the next free name")
	flag.IntVar(&o.Jobs, "jobs", demo.JobsDefault, "number of jobs, 100 to 20000")
	flag.Uint64Var(&o.Seed, "seed", 1, "seed that chooses which jobs fail, and how")
	flag.BoolVar(&o.Fast, "fast", false, "even shorter waits, for tests")
	flag.Parse()
	exe, err := os.Executable()
	if err == nil && o.Path == "" {
		o.Path, err = demo.NewFile()
	}
	o.Tool, o.Command = []string{exe, "demo-tool"}, cmp.Or(os.Getenv("REDRIVE_DEMO_COMMAND"), "redrive")
	if err == nil {
		err = o.Validate()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := demo.Run(ctx, o); {
	case errors.Is(err, demo.ErrInterrupted):
		fmt.Fprintln(os.Stderr, "demo: the demo is not over; its jobs are in", o.Path)
		return exitInterrupted
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		return 1
	}
	return 0
}
