// Command peers measures redrive and other job systems on one machine in one run. The systems take
// turns, the jobs of each run are counted at its end, and a run that lost a job has no figure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redrive/redrive/bench/agent"
	"github.com/redrive/redrive/bench/systems"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == agentArg {
		if err := agent.Serve(context.Background(), systems.Programs(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// agentArg is the argument that makes this program an agent.
const agentArg = "agent"

// run returns 0 when every requested run succeeded, 1 when a run failed or a run is not possible on
// this machine, and 2 when the command line is wrong.
func run(ctx context.Context, args []string, out, log io.Writer) int {
	o, err := parseOptions(args, log)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(log, err)
		return 2
	}
	b, err := newBench(ctx, o, log)
	if err != nil {
		fmt.Fprintln(log, err)
		return 1
	}
	began := time.Now()
	busy := [2]float64{others(ctx)}
	results := b.measureAll(ctx)
	err = errors.Join(context.Cause(ctx), b.close())
	if err != nil { // do not write a page if the comparison is incomplete
		fmt.Fprintln(log, err)
		return 1
	}
	busy[1] = others(ctx)
	p := page{
		options: o, results: results, missing: b.missing, machine: describe(), settings: b.settings,
		began: began, took: time.Since(began), busy: busy,
	}
	err = p.write(out)
	for _, r := range results {
		if r.Error != "" {
			err = errors.Join(err, fmt.Errorf("system %s, workload %s, round %d: %s", r.Workload, r.key(), r.Round, r.Error))
		}
	}
	if err != nil {
		fmt.Fprintln(log, err)
		return 1
	}
	return 0
}
