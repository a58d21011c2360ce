package cli

import (
	"context"
	"time"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/selfbench"
)

// benchSoakCmd runs jobs at the full rate for a long time and checks that no job is lost.
type benchSoakCmd struct {
	For       span  `default:"10m" help:"Duration, without the warm-up and the end."`
	Keep      span  `default:"1m" help:"Retention of completed jobs, failures, dead letters and events."`
	Backlog   int   `default:"20000" help:"Number of unfinished jobs above which no jobs are enqueued."`
	Workers   int   `default:"400" help:"Number of jobs that run at the same time, in four queues together."`
	Producers int   `default:"100" help:"Number of goroutines that enqueue."`
	Payload   int   `default:"200" help:"Size of a payload in bytes."`
	Rate      int   `help:"Number of jobs to enqueue per second. Default: as fast as possible."`
	Snapshot  bool  `help:"Hold a snapshot on another connection for the whole time, as a backup does."`
	SizeMax   int64 `name:"size-max" placeholder:"GIB" default:"20" help:"Size of the database in GiB at which the test ends."`
	JSON      bool  `name:"json" help:"Print JSON lines."`
}

// Help implements kong.HelpProvider.
func (*benchSoakCmd) Help() string {
	return `The test enqueues and runs jobs at the same time, as fast as possible or at a rate. The jobs are in four queues, with and
without keys, due now and later. They succeed, fail and die, and old data is removed meanwhile. Ten times, but at most
once a minute, the test prints the number of finished jobs, the time of claims, the size of the database and the memory
of the process. At the end it checks whether claims became slower, the database grew, or a job was lost. The exit code is
1 when a target was missed.

The test creates a database and removes it at the end: a file in a temporary folder ($TMPDIR chooses the disk), or the
new file of --db, or a separate schema when --db is a DSN. It ignores $REDRIVE_DB and the configuration.

    redrive bench soak
    redrive bench soak --for 1h --rate 2000
    redrive bench soak --db postgres://user@host:5432/database --snapshot`
}

// Validate checks the flags. The parser kong calls it.
func (c *benchSoakCmd) Validate() error { return c.soak().Validate() }

func (c *benchSoakCmd) soak() *selfbench.Soak {
	return &selfbench.Soak{
		For: time.Duration(c.For), Keep: time.Duration(c.Keep), Backlog: c.Backlog, Workers: c.Workers, Producers: c.Producers, Payload: c.Payload, Rate: c.Rate,
		Snapshot: c.Snapshot, SizeMax: c.SizeMax << 30,
	}
}

// Run implements the command.
func (c *benchSoakCmd) Run(ctx context.Context, a *app) error {
	s := c.soak()
	if a.Schema != "" {
		return usagef("--schema %s: a soak makes a schema of its own; leave it out", a.Schema)
	}
	if a.DB != "" {
		named := config.Default()
		if err := named.SetDatabase(a.DB); err != nil {
			return usagef("--db: %w", err)
		}
		s.File, s.DSN = named.Database, named.Postgres.DSN.Reveal()
	}
	return s.Run(ctx, a.stdout, c.JSON)
}
