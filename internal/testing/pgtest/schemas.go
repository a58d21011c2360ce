package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Schemas are schemas whose tables several tests use one after the other. To create the tables
// takes hundreds of milliseconds; to empty them takes a few. Concurrent tests may use one Schemas;
// only its field Make must be set. The test binary drops the schemas at its end, see [Stopping].
type Schemas struct {
	// Make creates the schema with its tables and their initial rows.
	Make func(ctx context.Context, dsn, schema string) error

	mu   sync.Mutex
	free []*lent
}

// lent is a schema that tests use one after the other.
type lent struct {
	dsn, schema string
	reset       []string // statements that restore the initial rows
}

// largeTable is the size in bytes from which a table is emptied by TRUNCATE. For smaller tables
// DELETE is faster, because TRUNCATE creates new files.
const largeTable = "1 << 20"

// seedSuffix is the suffix of the schema that keeps the initial rows.
const seedSuffix = "_seed"

// Take returns the DSN of the shared server and the name of a schema in the state that Make left
// it. No other test uses the schema meanwhile. The caller closes its connections and then calls the
// returned function once, to give the schema back. This call fails if something still locks a
// table. A schema that is not returned is not used again.
func (p *Schemas) Take(t testing.TB) (dsn, schema string, back func() error) {
	t.Helper()
	dsn = DSN(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	var l *lent
	if n := len(p.free); n > 0 {
		l, p.free = p.free[n-1], p.free[:n-1]
	} else {
		var err error
		if l, err = p.make(dsn); err != nil {
			t.Fatalf("make a schema for tests: %v", err)
		}
	}
	return l.dsn, l.schema, func() error {
		if err := again(l.empty); err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.free = append(p.free, l)
		return nil
	}
}

// Lend takes a schema and calls the given function, which opens a store or a connection in the
// schema. The returned function closes it and gives the schema back. If that is not possible, the
// test fails.
func Lend[C io.Closer](t testing.TB, p *Schemas, open func(dsn, schema string) (C, error)) (opened C, end func() error) {
	t.Helper()
	dsn, schema, back := p.Take(t)
	opened, err := open(dsn, schema)
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	return opened, func() error {
		err := opened.Close()
		once.Do(func() {
			if err := back(); err != nil {
				t.Error(err)
			}
		})
		return err
	}
}

func (p *Schemas) make(dsn string) (*lent, error) {
	l := &lent{dsn: dsn, schema: "t_" + strings.ToLower(rand.Text()[:8]) + "_shared"}
	ctx, cancel := context.WithTimeout(context.Background(), execLimit)
	defer cancel()
	drop.add(dsn, l.schema, l.schema+seedSuffix)
	if err := p.Make(ctx, dsn, l.schema); err != nil {
		return nil, err
	}
	return l, l.seed(ctx)
}

// seed copies the initial rows, and makes the statements that restore them.
func (l *lent) seed(ctx context.Context) (err error) {
	conn, err := pgx.Connect(ctx, l.dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	if _, err := conn.Exec(ctx, "CREATE SCHEMA "+l.schema+seedSuffix); err != nil {
		return err
	}
	tables, err := names(ctx, conn, "SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r' ORDER BY 1", l.schema)
	if err != nil {
		return err
	}
	for _, name := range tables {
		table, kept := l.schema+"."+name, l.schema+seedSuffix+"."+name
		tag, err := conn.Exec(ctx, "CREATE TABLE "+kept+" AS SELECT * FROM "+table)
		if err != nil {
			return err
		}
		l.reset = append(l.reset, "DELETE FROM "+table)
		if tag.RowsAffected() > 0 {
			l.reset = append(l.reset, "INSERT INTO "+table+" OVERRIDING SYSTEM VALUE SELECT * FROM "+kept)
		}
	}
	sequences, err := names(ctx, conn, `SELECT format('SELECT setval(%L, %s, %s)', $1 || '.' || sequencename,
		coalesce(last_value, start_value), CASE WHEN last_value IS NULL THEN 'false' ELSE 'true' END)
		FROM pg_sequences WHERE schemaname = $1`, l.schema)
	l.reset = append(l.reset, sequences...)
	return err
}

// empty restores the initial rows of all tables.
func (l *lent) empty() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), execLimit)
	defer cancel()
	conn, err := pgx.Connect(ctx, l.dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	large, err := names(ctx, conn, `SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r'
		AND pg_table_size(oid) > `+largeTable, l.schema)
	if err != nil {
		return err
	}
	statements := []string{"BEGIN", "SET LOCAL synchronous_commit = off", "SET LOCAL lock_timeout = '" + dropWait + "'"}
	for _, name := range large {
		statements = append(statements, "TRUNCATE "+l.schema+"."+name)
	}
	statements = append(append(statements, l.reset...), "COMMIT")
	_, err = conn.PgConn().Exec(ctx, strings.Join(statements, "; ")).ReadAll()
	if code(err) == "55P03" { // SQLSTATE lock_not_available
		err = errors.New("something still locks the schema of a test after " + dropWait + "; close what the test opened")
	}
	return err
}

func names(ctx context.Context, conn *pgx.Conn, query, schema string) ([]string, error) {
	rows, err := conn.Query(ctx, query, schema)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// drop holds the schemas that the test binary drops at its end. It stays empty if the binary started
// the server, because the whole server is then removed.
var drop dropping

type dropping struct {
	mu      sync.Mutex
	schemas []string
	dsn     string
}

func (d *dropping) add(dsn string, schemas ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dsn = dsn
	d.schemas = append(d.schemas, schemas...)
}

func (d *dropping) all() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.schemas) == 0 {
		return nil
	}
	statements := []string{"SET client_min_messages = warning", "SET lock_timeout = '" + dropWait + "'"}
	for _, s := range d.schemas {
		statements = append(statements, "DROP SCHEMA IF EXISTS "+s+" CASCADE")
	}
	d.schemas = nil
	return exec(d.dsn, statements...)
}
