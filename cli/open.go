package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
)

// defaultConfig is read if it is there and no other one is named.
const defaultConfig = "redrive.yaml"

// settings are the configuration of a call and the file that it comes from.
type settings struct {
	*config.Config
	file string // "" when there is no file: then kinds and queues are not known
}

// settings reads the configuration that counts: --config, $REDRIVE_CONFIG or
// redrive.yaml, in this order. Only the last may be missing. --db and
// $REDRIVE_DB win over the database of the configuration.
func (a *app) settings() (settings, error) {
	file, named := a.configPath()
	c, err := config.Load(file)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist) && !named:
		c, file = config.Default(), ""
	case errors.Is(err, fs.ErrNotExist):
		return settings{}, absentf("configuration %s: there is no such file", file)
	default:
		return settings{}, err
	}
	if err := a.override(c); err != nil {
		return settings{}, err
	}
	return settings{c, file}, nil
}

// override sets the database and schema of the command line and the environment.
func (a *app) override(c *config.Config) error {
	if name, from := a.namedDatabase(); name != "" {
		if err := c.SetDatabase(name); err != nil {
			return usagef("%s: %w", from, err)
		}
	}
	if a.Schema == "" {
		return nil
	}
	if err := config.CheckSchema(a.Schema); err != nil {
		return usagef("--schema %w", err)
	}
	if c.Postgres.DSN.IsZero() {
		return usagef("--schema goes with a PostgreSQL database, and %s is a file; name one with --db postgres://user@host:5432/database", c.Database)
	}
	c.Postgres.Schema = a.Schema
	return nil
}

// namedDatabase returns the database that --db or $REDRIVE_DB names, "" when neither
// does, and which of them it was.
func (a *app) namedDatabase() (name, from string) {
	if a.DB != "" {
		return a.DB, "--db"
	}
	return a.getenv("REDRIVE_DB"), "REDRIVE_DB"
}

func (a *app) configPath() (file string, named bool) {
	if a.ConfigFile != "" {
		return a.ConfigFile, true
	}
	if file := a.getenv("REDRIVE_CONFIG"); file != "" {
		return file, true
	}
	return defaultConfig, false
}

// database returns the database to use. The configuration is read only if it has to be,
// so that --db works while the configuration has mistakes.
func (a *app) database() (*database, error) {
	name, _ := a.namedDatabase()
	if name != "" && (a.Schema != "" || !config.IsDSN(name)) {
		c := config.Default()
		if err := a.override(c); err != nil {
			return nil, err
		}
		return a.databaseOf(c)
	}
	s, err := a.settings()
	if _, broken := errors.AsType[config.Problems](err); broken && name != "" {
		err = &noted{err, "the configuration may say which schema is meant; --schema says it without"}
	}
	if err != nil {
		return nil, err
	}
	return a.databaseOf(s.Config)
}

// known returns the configuration if there is one that can be read, else an
// empty one. It is for commands to which it adds something and that work without.
func (a *app) known() *config.Config {
	s, err := a.settings()
	if err != nil || s.file == "" {
		return &config.Config{}
	}
	return s.Config
}

// open opens a database that must exist, and never changes its schema. The client is
// for what people read and change; the caller closes the database.
func (a *app) open(ctx context.Context) (*redrive.Client, io.Closer, error) {
	return a.openWith(ctx, nil)
}

// openWith is open with queues that the client may change before any job was in them.
func (a *app) openWith(ctx context.Context, queues []string) (*redrive.Client, io.Closer, error) {
	d, err := a.database()
	if err != nil {
		return nil, nil, err
	}
	if err := d.there(ctx); err != nil {
		return nil, nil, err
	}
	db, err := d.open(ctx, a.warnings())
	if err != nil {
		return nil, nil, err
	}
	client, err := db.operator(queues)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return client, db, nil
}

// warnings returns the log of commands that run no jobs.
func (a *app) warnings() *slog.Logger {
	return newLogger(a.stderr, a.styleOf(a.stderr), config.Log{Level: slog.LevelWarn, Format: config.LogText})
}

// closing closes c at the end of a function whose named error it sets, unless
// there is one already.
func closing(c io.Closer, err *error) {
	if cerr := c.Close(); *err == nil {
		*err = cerr
	}
}

// by names the person who acts.
type by struct {
	By     string `name:"by" placeholder:"NAME" help:"Who does this, for the audit log. Default: $$USER."`
	Reason string `name:"reason" placeholder:"TEXT" help:"Why, for the audit log."`
}

func (b by) actor(a *app) redrive.By {
	for _, name := range []string{b.By, a.getenv("USER"), a.getenv("LOGNAME")} {
		if name = strings.TrimSpace(name); name != "" {
			return redrive.By{Actor: name, Reason: b.Reason}
		}
	}
	return redrive.By{Actor: "cli", Reason: b.Reason}
}
