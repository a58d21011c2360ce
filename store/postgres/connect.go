package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/store"
)

// lineConns is how many connections have nothing to do with transactions: one
// listens, one notifies.
const lineConns = 2

// shares is how the connections that a process may have are divided.
type shares struct {
	fast int // for the statements for many jobs
	rest int
}

// shares divides MaxConns. Behind a pooler the statements for many jobs have no
// connections of their own.
func (o *Options) shares(pooled bool) shares {
	n := o.MaxConns - lineConns
	if pooled {
		return shares{rest: n}
	}
	fast := min(fastConns, n/2)
	return shares{fast, n - fast}
}

// versionMin is the oldest server that is supported, as in server_version_num.
const versionMin = 150_000

// schemaName is what a schema may be called: what needs no quotes in PostgreSQL,
// and leaves room in the name of the notification channel.
var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,47}$`)

func checkSchema(name string) error {
	if !schemaName.MatchString(name) || strings.HasPrefix(name, "pg_") {
		return fmt.Errorf("schema %q: must be 1 to 48 lower-case letters, digits and underscores, "+
			"begin with no digit and not with pg_: %w", name, store.ErrInvalid)
	}
	return nil
}

// parse reads a DSN. No part of it is in the error: which part is the password
// is not known when the whole cannot be read.
func parse(dsn string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err == nil {
		return config, ownSettings(dsn)
	}
	why := "it is neither a URL (postgres://user:password@host:5432/database) nor made of keywords (host=… dbname=…)"
	if u, uerr := url.Parse(dsn); uerr != nil && strings.Contains(dsn, "://") {
		why = "it is not a valid URL: write special characters of a password as %XX"
	} else if cause := errors.Unwrap(err); uerr == nil && cause != nil && u.Host != "" && u.User.String() == u.User.Username() {
		why = cause.Error() // a URL without a password
	} else if u != nil && u.Host != "" {
		why = "a setting in it is not valid: look at the port, at sslmode and at the files that it names"
	}
	return nil, fmt.Errorf("PostgreSQL DSN: %s: %w", why, store.ErrInvalid)
}

// ownSettings refuses settings of a pool in a DSN that MaxConns is for.
func ownSettings(dsn string) error {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return fmt.Errorf("PostgreSQL DSN: %w", store.ErrInvalid) // it was read a moment ago
	}
	for _, name := range []string{"pool_max_conns", "pool_min_conns", "pool_min_idle_conns"} {
		if _, ok := config.RuntimeParams[name]; ok {
			return fmt.Errorf("PostgreSQL DSN: %s is not for redrive, which divides its connections: set Options.MaxConns, or postgres.max_conns: %w",
				name, store.ErrInvalid)
		}
	}
	return nil
}

// configure makes the settings of connections.
func configure(dsn string, o *Options) (*pgxpool.Config, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = o.ConnectTimeout
	}
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "redrive"
	}
	config.ConnConfig.DialFunc = dialer(config.ConnConfig.ConnectTimeout)
	inUTF8(config.ConnConfig)
	if before := o.BeforeConnect; before != nil {
		config.BeforeConnect = func(ctx context.Context, c *pgx.ConnConfig) error {
			if err := before(ctx, c); err != nil {
				return &unready{err}
			}
			inUTF8(c)
			return nil
		}
	}
	return config, nil
}

// inUTF8 has texts taken as what they are, whatever the DSN, the role or the database
// says: read as another encoding, one key would be two.
func inUTF8(c *pgx.ConnConfig) {
	if c.RuntimeParams == nil { // of BeforeConnect
		c.RuntimeParams = make(map[string]string, 1)
	}
	for name := range c.RuntimeParams {
		if strings.EqualFold(name, clientEncoding) {
			delete(c.RuntimeParams, name)
		}
	}
	c.RuntimeParams[clientEncoding] = "UTF8"
}

const clientEncoding = "client_encoding"

// unready is an error of Options.BeforeConnect.
type unready struct{ err error }

func (e *unready) Error() string { return "BeforeConnect: " + e.err.Error() }
func (e *unready) Unwrap() error { return e.err }

// dial opens one of the store's connections outside of its pools.
func (s *Store) dial(ctx context.Context) (*pgx.Conn, error) {
	c := s.config.ConnConfig.Copy()
	if before := s.config.BeforeConnect; before != nil {
		if err := before(ctx, c); err != nil {
			return nil, connectError(c, err)
		}
	}
	return dial(ctx, c)
}

// dial opens one connection outside of the pool.
func dial(ctx context.Context, c *pgx.ConnConfig) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return nil, connectError(c, err)
	}
	return conn, nil
}

// connectError says why no connection came about, and what to do.
func connectError(c *pgx.ConnConfig, err error) error {
	where := place(c)
	if _, ok := errors.AsType[*unready](err); ok {
		return fmt.Errorf("%s: %w: %w", where, store.ErrUnavailable, err)
	}
	switch pg.SQLState(err) {
	case pg.StatePassword, pg.StateAuthorization:
		return fmt.Errorf("%s: the server refuses the user: check user and password, and pg_hba.conf on the server: %w: %w",
			where, store.ErrUnavailable, refusal(err))
	case pg.StateNoDatabase:
		return fmt.Errorf("%s: there is no such database: CREATE DATABASE %s, or choose another one: %w: %w",
			where, pg.Quote(c.Database), store.ErrUnavailable, refusal(err))
	case pg.StateRights:
		return fmt.Errorf("%s: the user may not connect: GRANT CONNECT ON DATABASE %s TO %s: %w: %w",
			where, pg.Quote(c.Database), pg.Quote(c.User), store.ErrUnavailable, refusal(err))
	case "":
		return fmt.Errorf("%s: no connection: is the server running, and does it listen there? %w: %w",
			where, store.ErrUnavailable, refusal(err))
	}
	return fmt.Errorf("%s: %w", where, pg.AsStoreError(refusal(err)))
}

// refusal is the innermost error of a connection attempt that says something:
// the outer ones repeat every address that was tried.
func refusal(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dns
	}
	return err
}

// server is what a connection tells about its server.
type server struct {
	version int
	replica bool
	coding  string
	pooled  bool // what answers is not what was connected to: a pooler
}

var selServer = &sqlstore.Query{Name: "selServer"}

// examine asks a server what it is, and refuses one that cannot keep jobs.
func examine(ctx context.Context, conn *pgx.Conn) (s server, err error) {
	var r pg.Result
	if err := r.Read(conn.PgConn().ExecParams(ctx, shippedTexts().Of(selServer), nil, nil, nil, pg.BinaryColumns)); err != nil {
		return s, pg.AsStoreError(pg.Fail("ask for the version", err))
	}
	row := r.Row(0)
	s = server{int(row.Int(0)), row.Int(1) != 0, row.Text(2), uint32(row.Int(3)) != conn.PgConn().PID()}
	return s, s.fits()
}

// fits refuses a server that cannot keep jobs.
func (s server) fits() error {
	switch {
	case s.version < versionMin:
		return fmt.Errorf("the server is PostgreSQL %d: redrive needs %d or newer: upgrade the server",
			s.version/10_000, versionMin/10_000)
	case s.coding != "UTF8":
		return fmt.Errorf("the database stores text as %s: redrive needs UTF8: "+
			"make a database WITH ENCODING 'UTF8' TEMPLATE template0", s.coding)
	case s.replica:
		return fmt.Errorf("%w: the server is a replica: connect to the primary, "+
			"or name both in the DSN with target_session_attrs=read-write", store.ErrReadOnly)
	}
	return nil
}
