package cli

import (
	"context"

	"github.com/redrive/redrive/internal/selfbench"
)

// benchCmd is the command `redrive bench`: it measures the speed of redrive on this
// machine.
type benchCmd struct {
	Throughput benchThroughputCmd `cmd:"" default:"withargs" help:"Throughput beside its floor: the bare statements with the same rows kept."`
	Figures    benchFiguresCmd    `cmd:"" help:"Everything that has a target, as JSON lines. Takes minutes and some GiB."`
	Soak       benchSoakCmd       `cmd:"" help:"At full rate for a long time: claims stay flat, the size bounded, and no job is lost."`
	Child      benchChildCmd      `cmd:"" hidden:"" help:"The other process of a measurement."`
}

// Help implements kong.HelpProvider.
func (*benchCmd) Help() string {
	return `Measures in a temporary folder ($TMPDIR chooses the disk). Nothing else should run meanwhile: what counts is the ratio to the floor, which is measured in turn with it.

    redrive bench
    redrive bench --jobs 200000 --workers 100 --payload 200
    redrive bench figures
    redrive bench soak --for 10m`
}

// loadFlags are the flags that describe the load of a measurement: number of jobs, workers
// and so on.
type loadFlags struct {
	Jobs      int `default:"100000" help:"Jobs of a round."`
	Workers   int `default:"100" help:"Jobs at a time."`
	Producers int `default:"100" help:"Goroutines that enqueue."`
	Payload   int `default:"200" help:"Bytes of a payload."`
	Rounds    int `default:"3" help:"Rounds, of which the median counts."`
}

// Validate checks the flags. The parser kong calls it.
func (l *loadFlags) Validate() error {
	return selfbench.Load(*l).Validate()
}

type benchThroughputCmd struct{ loadFlags }

// Run implements the command.
func (c *benchThroughputCmd) Run(ctx context.Context, a *app) error {
	return selfbench.Bench(ctx, selfbench.Load(c.loadFlags), a.out)
}

type benchFiguresCmd struct {
	loadFlags
	Rows int      `default:"5000000" help:"Rows in each place beside which a claim has to stay flat; a fifth of it are dead letters."`
	Only []string `enum:"judgement,throughput,latency,flat,dead,fresh" help:"Only these subjects: ${enum}." placeholder:"SUBJECT"`
}

// Run implements the command.
func (c *benchFiguresCmd) Run(ctx context.Context, a *app) error {
	return selfbench.Figures(ctx, selfbench.Load(c.loadFlags), c.Rows, c.Only, a.stdout, a.stderr)
}

type benchChildCmd struct {
	Args []string `arg:""`
}

// Run implements the command.
func (c *benchChildCmd) Run(ctx context.Context, a *app) error {
	return selfbench.Child(ctx, a.stdout, c.Args)
}
