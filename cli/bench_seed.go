package cli

import (
	"context"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/selfbench"
)

// seedFlags are the flags that describe the database with many jobs.
type seedFlags struct {
	Over int    `default:"1" help:"Divide the size of the database with many jobs (8 million) by this number."`
	Dir  string `placeholder:"DIR" help:"Folder in which that database is kept. Default: the user's cache folder."`
}

// Validate checks the flags. The parser kong calls it.
func (s *seedFlags) Validate() error {
	return selfbench.Seeded{Over: s.Over}.Validate()
}

// seeded returns what the flags describe. --db chooses the database only if it is a DSN.
func (s *seedFlags) seeded(a *app) (selfbench.Seeded, error) {
	found := selfbench.Seeded{Dir: s.Dir, Over: s.Over}
	if a.Schema != "" {
		return found, usagef("--schema %s: the measurement makes a schema of its own; leave it out", a.Schema)
	}
	if a.DB == "" {
		return found, nil
	}
	named := config.Default()
	if err := named.SetDatabase(a.DB); err != nil {
		return found, usagef("--db: %w", err)
	}
	found.DSN = named.Postgres.DSN.Reveal()
	if found.DSN == "" {
		return found, usagef("--db %s: only a DSN of PostgreSQL can be named; a file is made in the folder --dir", a.DB)
	}
	return found, nil
}

// benchSeedCmd makes the database with many jobs beside which reads are measured.
type benchSeedCmd struct{ seedFlags }

// Help implements kong.HelpProvider.
func (*benchSeedCmd) Help() string {
	return `The database has 5 million completed jobs, and 1 million each that are dead, waiting and retrying, of 20,000 owners. It is made
once, in minutes, and takes some GiB; the same command finds it again. A database of another schema or size has another
name, and old ones are not removed.

    redrive bench seed
    redrive bench seed --over 1000
    redrive bench seed --db postgres://user@host:5432/database`
}

// Run implements the command.
func (c *benchSeedCmd) Run(ctx context.Context, a *app) error {
	s, err := c.seeded(a)
	if err != nil {
		return err
	}
	return selfbench.Seed(ctx, s, a.stdout, a.stderr)
}
