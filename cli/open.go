package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/user"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
)

// defaultConfig is the configuration file that is read if it exists and no other file is
// named.
const defaultConfig = "redrive.yaml"

// settings are a configuration and the file from which it was read.
type settings struct {
	*config.Config
	file string // path of the configuration file; "" if no file was read: then nothing says which kinds and queues exist
}

// settings reads the configuration from --config, $REDRIVE_CONFIG or redrive.yaml; the
// first that is set is used. Only redrive.yaml may be missing. --db and $REDRIVE_DB replace
// the database of the configuration.
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
	if err := c.FromEnvironment(a.lookup); err != nil {
		return settings{}, usagef("%w", err)
	}
	return settings{c, file}, nil
}

// override replaces the database and the schema by the values from the command line or the
// environment.
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
		return usagef("--schema needs a PostgreSQL database, but %s is a file; name one with --db postgres://user@host:5432/database", c.Database)
	}
	c.Postgres.Schema = a.Schema
	return nil
}

// namedDatabase returns the database of --db or $REDRIVE_DB, and the name of the flag or
// the variable. Both are "" if neither is set.
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

// database returns the database to use. It reads the configuration only if necessary, so
// that --db works even if the configuration has mistakes.
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

// namesDatabase returns an error if neither a configuration nor a flag nor a variable names the
// database: a job enqueued in the wrong folder would be stored in a database that no worker uses.
func (a *app) namesDatabase(s *settings) error {
	if name, _ := a.namedDatabase(); name != "" || s.file != "" {
		return nil
	}
	return usagef("no database is named: there is no %s in this folder%s; name the database with --db or $REDRIVE_DB, "+
		"or a configuration with --config", defaultConfig, renameHint())
}

// renameHint names a redrive.yml, which is not read, if there is one in the folder.
func renameHint() string {
	if _, err := os.Stat("redrive.yml"); err != nil {
		return ""
	}
	return " (there is a redrive.yml: rename it)"
}

// known returns the configuration. If the configuration cannot be read, known returns an empty
// configuration, because its callers work without one, too.
func (a *app) known() *config.Config {
	s, err := a.settings()
	if err != nil || s.file == "" {
		return &config.Config{}
	}
	return s.Config
}

// open opens an existing database and does not change its schema. It returns a client that
// reads and changes data but runs no jobs. The caller closes the database.
func (a *app) open(ctx context.Context) (*redrive.Client, io.Closer, error) {
	return a.openWith(ctx, nil)
}

// openWith does the same as open. The client can also change the given queues if they never
// had a job.
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
	client, err := db.operator(queues, lazyChecks(a.known()))
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return client, db, nil
}

// warnings returns the logger of commands that run no jobs. It logs warnings and errors.
func (a *app) warnings() *slog.Logger {
	return newLogger(a.stderr, a.styleOf(a.stderr), config.Log{Level: slog.LevelWarn, Format: config.LogText})
}

// closing closes c in a deferred call. If *err is nil, it sets *err to the error of Close.
func closing(c io.Closer, err *error) {
	if cerr := c.Close(); *err == nil {
		*err = cerr
	}
}

// openFile opens a file that the command line names.
func openFile(path string) (*os.File, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absentf("%s: there is no such file", path)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = usagef("%s is a folder; name a file", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// input opens a file that the command line names; "-" is standard input.
func (a *app) input(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(a.in), nil
	}
	return openFile(path)
}

// by has the flags for the name of the person who acts.
type by struct {
	By     string `name:"by" placeholder:"NAME" help:"Your name, for the audit log. Default: $$USER, or the user of this process."`
	Reason string `name:"reason" placeholder:"TEXT" help:"Your reason, for the audit log."`
}

func (b by) actor(a *app) redrive.By {
	for _, name := range []string{b.By, a.getenv("USER"), a.getenv("LOGNAME")} {
		if name = strings.TrimSpace(name); name != "" {
			return redrive.By{Actor: name, Reason: b.Reason}
		}
	}
	if u, err := user.Current(); err == nil && u.Username != "" { // cron, systemd and containers set no $USER
		return redrive.By{Actor: u.Username, Reason: b.Reason}
	}
	return redrive.By{Actor: "cli", Reason: b.Reason}
}
