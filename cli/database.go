package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/postgres"
	"github.com/redrive/redrive/store/sqlite"
)

// database says where the jobs are stored: in an SQLite file or in a schema of a PostgreSQL
// database. Only this file of the package knows the difference.
type database struct {
	file     string // path of the SQLite file; "" if the database is PostgreSQL
	dsn      config.Secret
	postgres config.Postgres
	name     string // name for people to read, without a password
}

// databaseOf returns the database that a configuration names. The password comes from the
// environment variable or the file that the configuration names.
func (a *app) databaseOf(c *config.Config) (*database, error) {
	p := c.Postgres
	if p.DSN.IsZero() {
		return &database{file: c.Database, name: c.Database}, nil
	}
	dsn, err := p.WithPassword(a.getenv)
	if err != nil {
		return nil, err
	}
	where, err := postgres.Where(dsn)
	if err != nil {
		return nil, a.badDSN(err)
	}
	return &database{dsn: config.NewSecret(dsn), postgres: p, name: where}, nil
}

// checkDSN returns an error if the DSN of a configuration is not valid. A configuration
// without a DSN is valid.
func checkDSN(c *config.Config) error {
	if c.Postgres.DSN.IsZero() {
		return nil
	}
	_, err := postgres.Where(c.Postgres.DSN.Reveal())
	return err
}

// badDSN completes an error about a DSN: it adds the flag, the variable or the setting that
// contains the DSN.
func (a *app) badDSN(err error) error {
	if name, from := a.namedDatabase(); name != "" {
		return usagef("%s: %w", from, err)
	}
	return fmt.Errorf("database: %w", err)
}

// String returns the name of the database without its password.
func (d *database) String() string {
	if d.file != "" {
		return d.file
	}
	return d.name + ", schema " + d.postgres.Schema
}

// there returns an error of the kind wire.NotFound if the database or its tables do not exist. It
// changes nothing, so that a command that only looks never makes tables.
func (d *database) there(ctx context.Context) error {
	if err := d.fileThere(); err != nil {
		return err
	}
	s, err := d.version(ctx)
	switch {
	case err != nil || s.Version > 0:
		return err
	case s.Foreign:
		return d.foreign()
	case d.file != "":
		return absentf("database %s: the file is empty; `redrive enqueue` and `redrive work` make redrive's tables in it, --db names another one", d)
	}
	return absentf("database %s: it has no tables of redrive; `redrive enqueue`, `redrive work` and `redrive migrate` make them, "+
		"--db and --schema name others", d)
}

// foreignError says that an SQLite file belongs to another program.
type foreignError struct{ absentError }

// foreign returns the error for an SQLite file that has tables, but none of redrive.
func (d *database) foreign() error {
	return foreignError{absentError(fmt.Sprintf("database %s: the file has tables of another program and none of redrive; "+
		"`redrive migrate` adds redrive's tables, --db names another file", d))}
}

// creates says whether the next open of the database will make a new SQLite file, or the tables in
// an empty one. It returns an error if the file belongs to another program.
func (d *database) creates(ctx context.Context) (bool, error) {
	if d.file == "" {
		return false, nil
	}
	if err := d.usable(); err != nil {
		return false, err
	}
	s, err := d.version(ctx)
	if err == nil && s.Foreign {
		err = d.foreign()
	}
	return s.Version == 0, err
}

// usable returns an error if the path cannot be that of an SQLite file.
func (d *database) usable() error {
	info, err := os.Stat(d.file)
	switch {
	case err == nil && info.IsDir():
		return usagef("database %s: it is a folder; name a file in it, such as %s", d.file, filepath.Join(d.file, "jobs.db"))
	case err == nil && !info.Mode().IsRegular():
		return usagef("database %s: it is not a file; name a file with --db", d.file)
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(d.file); err == nil {
			return absentf("database %s: the symbolic link points to a file that does not exist; remove it, or name the file itself", d.file)
		}
	}
	return nil
}

// fileThere returns an error if the database is an SQLite file that does not exist. For PostgreSQL
// it returns nil and does not connect to the server.
func (d *database) fileThere() error {
	if d.file == "" {
		return nil
	}
	if err := d.usable(); err != nil {
		return err
	}
	if _, err := os.Stat(d.file); errors.Is(err, fs.ErrNotExist) {
		return absentf("database %s: there is no such file; `redrive enqueue` and `redrive work` make it, --db names another one", d.file)
	}
	return nil
}

// opened is an open database. The commands use it through a client.
type opened struct{ store store.Store }

// client returns a client that uses the open database.
func (o *opened) client(c *redrive.Config) (*redrive.Client, error) { return redrive.New(o.store, c) }

// operator returns a client that reads and changes data, but runs no jobs. The client
// accepts changes to the given queues even if they never had a job, and checks new payloads.
func (o *opened) operator(queues []string, checks map[string]redrive.PayloadCheck) (*redrive.Client, error) {
	c := redrive.Config{PayloadMax: job.PayloadMax, PayloadChecks: checks, Logger: slog.New(slog.DiscardHandler), Queues: map[string]redrive.Queue{}}
	for _, name := range queues {
		c.Queues[name] = redrive.Queue{}
	}
	return o.client(&c)
}

// Close closes the database.
func (o *opened) Close() error { return o.store.Close() }

// connsOfLook is the maximum number of connections to PostgreSQL of each command except work.
const connsOfLook = 8

// openOrCreate does the same as open, and prints the path of a database that is new.
func (d *database) openOrCreate(ctx context.Context, a *app) (*opened, error) {
	return d.creating(ctx, func() (*opened, error) { return d.open(ctx, a.warnings()) }, func() error {
		err := d.absolute()
		fmt.Fprintf(a.stderr, "redrive: made a new database: %s\n", words.Clean(d.file))
		return err
	})
}

// creating opens the database, and calls made if this has made a new SQLite file or the tables in an
// empty one. It opens no file that belongs to another program.
func (d *database) creating(ctx context.Context, open func() (*opened, error), made func() error) (*opened, error) {
	creates, err := d.creates(ctx)
	if err != nil {
		return nil, err
	}
	db, err := open()
	if err != nil || !creates {
		return db, err
	}
	if err := made(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// open opens the database to read it or to change some jobs. It creates the tables if the database
// has none, and does not change an existing schema.
func (d *database) open(ctx context.Context, log *slog.Logger) (*opened, error) {
	if d.file != "" {
		return openedAs(sqlite.Open(ctx, d.file, &sqlite.Options{Readers: 1, KeepSchema: true}))
	}
	o := d.options(log)
	o.MaxConns = min(o.MaxConns, connsOfLook)
	return openedAs(postgres.Open(ctx, d.dsn.Reveal(), o))
}

// openToWork opens the database to run jobs.
func (d *database) openToWork(ctx context.Context, log *slog.Logger) (*opened, error) {
	if d.file == "" {
		return openedAs(postgres.Open(ctx, d.dsn.Reveal(), d.options(log)))
	}
	open := func() (*opened, error) { return openedAs(sqlite.Open(ctx, d.file, &sqlite.Options{KeepSchema: true})) }
	return d.creating(ctx, open, func() error {
		log.InfoContext(ctx, "made a new database", "database", d.String())
		return nil
	})
}

func (d *database) options(log *slog.Logger) *postgres.Options {
	return &postgres.Options{
		Schema: d.postgres.Schema, MaxConns: d.postgres.MaxConns, StatementTimeout: d.postgres.StatementTimeout,
		PgBouncer: d.postgres.PgBouncer, KeepSchema: true, Logger: log,
	}
}

// openedAs turns the results of a store's Open function into an opened database.
func openedAs[S store.Store](s S, err error) (*opened, error) {
	if err != nil {
		return nil, err
	}
	return &opened{s}, nil
}

// version returns the version of the database schema.
func (d *database) version(ctx context.Context) (store.Schema, error) {
	if d.file == "" {
		return postgres.ReadSchema(ctx, d.dsn.Reveal(), d.postgres.Schema)
	}
	s, err := sqlite.ReadSchema(ctx, d.file)
	if err != nil {
		err = fmt.Errorf("database %s: %w", d.file, d.unreadable(err))
	}
	return s, err
}

// unreadable returns, for a file that this user may not read, an error that says so: that of SQLite does not.
func (d *database) unreadable(err error) error {
	f, refused := os.Open(d.file)
	if refused == nil {
		_ = f.Close() // nothing was written
		return err
	}
	info, absent := os.Stat(d.file)
	if absent != nil || !errors.Is(refused, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("this user may not read the file, whose mode is %04o; give the user the right to read and write it: %w",
		info.Mode().Perm(), store.ErrReadOnly)
}

// numbered returns the words that stand before the version number in messages: they name what has
// the version.
func (d *database) numbered() string {
	if d.file == "" {
		return "version"
	}
	return "schema"
}

// migrate moves the schema to the given version and returns the number of steps that this
// took.
func (d *database) migrate(ctx context.Context, to int64) (steps int, err error) {
	var passed []int64
	if d.file == "" {
		passed, err = postgres.Migrate(ctx, d.dsn.Reveal(), d.postgres.Schema, to)
	} else {
		passed, err = sqlite.Migrate(ctx, d.file, to)
	}
	if err != nil {
		err = fmt.Errorf("database %s: %w", d, err)
	}
	return len(passed), err
}

// absolute makes the path of an SQLite file absolute, so that answers can name it in full.
func (d *database) absolute() error {
	if d.file == "" {
		return nil
	}
	file, err := filepath.Abs(d.file)
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	d.file, d.name = file, file
	return nil
}
