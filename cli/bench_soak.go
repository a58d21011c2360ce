package cli

import (
	"context"
	"time"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/selfbench"
)

// benchSoakCmd runs jobs at the full rate for a long time and checks that no job is lost.
type benchSoakCmd struct {
	For       time.Duration `default:"10m" help:"How long, without the warm-up and the end."`
	Keep      time.Duration `default:"1m" help:"How long completed jobs, failures, dead letters and events are kept."`
	Backlog   int           `default:"20000" help:"Jobs that are not done, above which nobody enqueues."`
	Workers   int           `default:"400" help:"Jobs at a time, over four queues."`
	Producers int           `default:"100" help:"Goroutines that enqueue."`
	Payload   int           `default:"200" help:"Bytes of a payload."`
	Rate      int           `help:"Jobs enqueued a second. Default: as fast as it goes."`
	Snapshot  bool          `help:"Another connection holds a snapshot for the whole time, as a backup does."`
	SizeMax   int64         `name:"size-max" placeholder:"GIB" default:"20" help:"GiB of the database at which the soak gives up."`
	JSON      bool          `name:"json" help:"Print lines of JSON."`
}

// Help implements kong.HelpProvider.
func (*benchSoakCmd) Help() string {
	return `Enqueues and works at once, as fast as it goes or at a rate: jobs that succeed, fail and die, now and later, with and
without keys, in four queues, while what is past its time is removed. Each minute it prints how many jobs were done, how long claims
took, how large the database is and how much memory the process has; of a shorter soak, each tenth. At the end it checks
whether claims became slower, the database grew, or a job was lost. The exit code is 1 when it missed a target.

It makes a database and removes it: a file in a temporary folder ($TMPDIR chooses the disk), or the new file that --db names,
or with a DSN a schema of its own beside all that is there. $REDRIVE_DB and the configuration do not count.

    redrive bench soak
    redrive bench soak --for 1h --rate 2000
    redrive bench soak --db postgres://user@host:5432/database --snapshot`
}

// Validate checks the flags. The parser kong calls it.
func (c *benchSoakCmd) Validate() error { return c.soak().Validate() }

func (c *benchSoakCmd) soak() *selfbench.Soak {
	return &selfbench.Soak{
		For: c.For, Keep: c.Keep, Backlog: c.Backlog, Workers: c.Workers, Producers: c.Producers, Payload: c.Payload, Rate: c.Rate,
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
