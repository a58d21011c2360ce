// Command redrive enqueues jobs, runs them and shows their states and results.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // the time zones of cron schedules, for machines without a database of time zones

	"github.com/redrive/redrive/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}
