// Command redrive takes jobs in, runs them and shows what became of them.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // zones of schedules, on machines that have none

	"github.com/redrive/redrive/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}
