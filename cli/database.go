package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/postgres"
	"github.com/redrive/redrive/store/sqlite"
)

// database is where the jobs are: in a file of SQLite's, or in a schema of a
// PostgreSQL database. No other file of the command knows which.
type database struct {
	file     string // "" when it is PostgreSQL
	dsn      config.Secret
	postgres config.Postgres
	name     string // for people; without a password
}

// databaseOf returns the database of a configuration. The password is read
// from where the configuration says.
func (a *app) databaseOf(c *config.Config) (*database, error) {
	p := c.Postgres
	if p.DSN.IsZero() {
		return &database{file: c.Database, name: c.Database}, nil
	}
	dsn, err := a.withPassword(&p)
	if err != nil {
		return nil, err
	}
	where, err := postgres.Where(dsn)
	if err != nil {
		return nil, a.badDSN(err)
	}
	return &database{dsn: config.NewSecret(dsn), postgres: p, name: where}, nil
}

// checkDSN returns what is wrong with the DSN of a configuration. It may have none.
func checkDSN(c *config.Config) error {
	if c.Postgres.DSN.IsZero() {
		return nil
	}
	_, err := postgres.Where(c.Postgres.DSN.Reveal())
	return err
}

// badDSN adds to an error about a DSN where the DSN came from.
func (a *app) badDSN(err error) error {
	if name, from := a.namedDatabase(); name != "" {
		return usagef("%s: %w", from, err)
	}
	return fmt.Errorf("database: %w", err)
}

// passwordMax bounds a file with a password, in bytes.
const passwordMax = 4 << 10

// withPassword returns the DSN with the password of password_env or password_file.
func (a *app) withPassword(p *config.Postgres) (string, error) {
	password, dsn := "", p.DSN.Reveal()
	switch {
	case p.PasswordEnv != "":
		if password = a.getenv(p.PasswordEnv); password == "" {
			return "", fmt.Errorf("postgres.password_env: $%s is not set", p.PasswordEnv)
		}
	case p.PasswordFile != "":
		f, err := os.Open(p.PasswordFile)
		if err != nil {
			return "", fmt.Errorf("postgres.password_file: %w", err)
		}
		text, err := io.ReadAll(io.LimitReader(f, passwordMax+1))
		if err = errors.Join(err, f.Close()); err != nil {
			return "", fmt.Errorf("postgres.password_file: %w", err)
		}
		password = strings.TrimRight(string(text), "\r\n")
		if password == "" || len(text) > passwordMax || strings.ContainsAny(password, "\r\n\x00") {
			return "", fmt.Errorf("postgres.password_file: %s: must hold the password in one line of 1 to %d bytes and nothing else",
				p.PasswordFile, passwordMax)
		}
	default:
		return dsn, nil
	}
	if !strings.Contains(dsn, "://") {
		return dsn + " password='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(password) + "'", nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", errors.New("database: it is not a valid URL")
	}
	q := u.Query()
	q.Set("password", password)
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// String returns what names the database, without a password.
func (d *database) String() string {
	if d.file != "" {
		return d.file
	}
	return d.name + ", schema " + d.postgres.Schema
}

// there returns an error of the kind "not found" when the database or its tables do not
// exist.
func (d *database) there(ctx context.Context) error {
	if err := d.fileThere(); err != nil || d.file != "" {
		return err
	}
	s, err := d.version(ctx)
	if err == nil && s.Version == 0 {
		err = absentf("database %s: it has no tables of redrive; `redrive enqueue`, `redrive work` and `redrive migrate` make them, "+
			"--db and --schema name others", d)
	}
	return err
}

// fileThere returns an error when the database is a file that does not exist. It does not
// ask a server.
func (d *database) fileThere() error {
	if d.file == "" {
		return nil
	}
	if _, err := os.Stat(d.file); errors.Is(err, fs.ErrNotExist) {
		return absentf("database %s: there is no such file; `redrive enqueue` and `redrive work` make it, --db names another one", d.file)
	}
	return nil
}

// opened is an open database. Commands reach what is in it through a client.
type opened struct{ store store.Store }

// client returns a client on the database.
func (o *opened) client(c *redrive.Config) (*redrive.Client, error) { return redrive.New(o.store, c) }

// operator returns a client for what people read and change. It runs no jobs. Queues
// are those that the person may change before any job was in them.
func (o *opened) operator(queues []string) (*redrive.Client, error) {
	c := redrive.Config{PayloadMax: job.PayloadMax, Logger: slog.New(slog.DiscardHandler), Queues: map[string]redrive.Queue{}}
	for _, name := range queues {
		c.Queues[name] = redrive.Queue{}
	}
	return o.client(&c)
}

// Close closes the database.
func (o *opened) Close() error { return o.store.Close() }

// connsOfLook is how many connections a command other than work may have.
const connsOfLook = 8

// open opens the database to look at it or to change some jobs. It makes the schema
// when there is no schema, and does not change one that is there.
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
	if d.file != "" {
		return openedAs(sqlite.Open(ctx, d.file, &sqlite.Options{KeepSchema: true}))
	}
	return openedAs(postgres.Open(ctx, d.dsn.Reveal(), d.options(log)))
}

func (d *database) options(log *slog.Logger) *postgres.Options {
	return &postgres.Options{
		Schema: d.postgres.Schema, MaxConns: d.postgres.MaxConns, StatementTimeout: d.postgres.StatementTimeout,
		PgBouncer: d.postgres.PgBouncer, KeepSchema: true, Logger: log,
	}
}

// openedAs turns the answer of a store's Open into an opened database.
func openedAs[S store.Store](s S, err error) (*opened, error) {
	if err != nil {
		return nil, err
	}
	return &opened{s}, nil
}

// version reads the version of the schema.
func (d *database) version(ctx context.Context) (store.Schema, error) {
	if d.file == "" {
		return postgres.ReadSchema(ctx, d.dsn.Reveal(), d.postgres.Schema)
	}
	s, err := sqlite.ReadSchema(ctx, d.file)
	if err != nil {
		err = fmt.Errorf("database %s: %w", d.file, err)
	}
	return s, err
}

// numbered returns the word before the number of the schema in messages.
func (d *database) numbered() string {
	if d.file == "" {
		return "version"
	}
	return "schema"
}

// migrate moves the schema to a version and returns how many steps that took.
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

// absolute makes the path of a file absolute, to name it in an answer.
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
