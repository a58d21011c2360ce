package cli

import (
	"context"
	"errors"

	"github.com/redrive/redrive/internal/selfbench"
)

// benchCmd is the command `redrive bench`: it measures the speed of redrive on this
// machine.
type benchCmd struct {
	Throughput benchThroughputCmd `cmd:"" default:"withargs" help:"Compare the throughput with its floor: the same rows, written by bare statements."`
	Figures    benchFiguresCmd    `cmd:"" help:"Measure all figures that have a target, as JSON lines. This takes minutes and some GiB."`
	Soak       benchSoakCmd       `cmd:"" help:"Run at full rate for a long time, and check claims, size and lost jobs."`
	Seed       benchSeedCmd       `cmd:"" help:"Make the database with 8 million jobs beside which reads are measured, and keep it."`
	Child      benchChildCmd      `cmd:"" hidden:"" help:"The other process of a measurement."`
}

// Help implements kong.HelpProvider.
func (*benchCmd) Help() string {
	return `The measurement uses a temporary folder; $TMPDIR chooses the disk. Run nothing else at the same time. The result is the
ratio to the floor. Both are measured by turns.

    redrive bench
    redrive bench --jobs 200000 --workers 100 --payload 200
    redrive bench figures
    redrive bench soak --for 10m`
}

// loadFlags are the flags that describe the load of a measurement: number of jobs, workers
// and so on.
type loadFlags struct {
	Jobs      int `default:"100000" help:"Number of jobs in a round."`
	Workers   int `default:"100" help:"Number of jobs that run at the same time."`
	Producers int `default:"100" help:"Number of goroutines that enqueue."`
	Payload   int `default:"200" help:"Size of a payload in bytes."`
	Rounds    int `default:"3" help:"Number of rounds. The result is the median."`
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

// Help implements kong.HelpProvider.
func (*benchFiguresCmd) Help() string {
	return `With --db, a DSN, the subjects "reads", "page" and "watch" are measured on PostgreSQL, and the subjects "live", "owners", "idle", "http",
"takeover", "batches" and "notices" on both stores.

    redrive bench figures --only takeover --db postgres://user@host:5432/name`
}

type benchFiguresCmd struct {
	loadFlags
	seedFlags
	Rows int      `default:"5000000" help:"Number of rows in each place beside which claims are measured. Dead letters are a fifth of it."`
	Only []string `enum:"judgement,throughput,latency,flat,dead,fresh,live,owners,idle,reads,http,page,watch,takeover,batches,notices" help:"Measure only these subjects: judgement, throughput, latency, flat, dead, fresh, live, owners, idle, reads, http, page, watch, takeover, batches, notices." placeholder:"SUBJECT"`
}

// Validate checks the flags. The parser kong calls it.
func (c *benchFiguresCmd) Validate() error {
	return errors.Join(c.loadFlags.Validate(), c.seedFlags.Validate())
}

// Run implements the command.
func (c *benchFiguresCmd) Run(ctx context.Context, a *app) error {
	in, err := c.seeded(a)
	if err != nil {
		return err
	}
	return selfbench.Figures(ctx, selfbench.Load(c.loadFlags), c.Rows, in, c.Only, a.stdout, a.stderr)
}

type benchChildCmd struct {
	Args []string `arg:""`
}

// Run implements the command.
func (c *benchChildCmd) Run(ctx context.Context, a *app) error {
	return selfbench.Child(ctx, a.in, a.stdout, c.Args, a.getenv)
}
