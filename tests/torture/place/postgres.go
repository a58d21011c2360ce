package place

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/postgres"
)

// server is the application's connection to a schema of a PostgreSQL database.
type server struct {
	pool   *pgxpool.Pool
	schema string
}

// Split splits the URL of a torture test's database on a PostgreSQL server into the DSN and the
// schema.
func Split(where string) (dsn, schema string, err error) {
	u, err := url.Parse(where)
	if err != nil {
		return "", "", err
	}
	schema, u.Fragment = u.Fragment, ""
	return u.String(), schema, nil
}

func openPostgres(ctx context.Context, where string) (*Place, error) {
	dsn, schema, err := Split(where)
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	// PgBouncer keeps neither prepared statements nor settings of a connection.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.ConnConfig.RuntimeParams["application_name"] = "application"
	s, err := postgres.Open(ctx, dsn, &postgres.Options{Schema: schema})
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &Place{Jobs: s, app: server{pool, schema}}, nil
}

func (s server) tx(ctx context.Context, do func(context.Context, *Tx) error) error {
	tx, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }() // the rollback does nothing after a commit
	err = do(ctx, &Tx{Jobs: postgres.Tx(tx), exec: func(ctx context.Context, text string, args ...any) error {
		_, err := tx.Exec(ctx, numbered(text), args...)
		return err
	}})
	if err != nil {
		return err
	}
	err = tx.Commit(ctx)
	if err == nil || refused(err) {
		return err
	}
	return fmt.Errorf("commit: %w: %w", store.ErrUnknown, err)
}

// begin begins a transaction in which tables are found in the schema.
func (s server) begin(ctx context.Context) (pgx.Tx, error) {
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, `SET LOCAL search_path = `+s.schema); err != nil {
		return nil, errors.Join(err, tx.Rollback(ctx))
	}
	return tx, nil
}

// refused reports whether the server has answered that it did not commit. A server that ends
// without such an answer may have committed.
func refused(err error) bool {
	said, ok := errors.AsType[*pgconn.PgError](err)
	return errors.Is(err, pgx.ErrTxCommitRollback) || ok && said.SeverityUnlocalized == "ERROR"
}

func (s server) query(ctx context.Context, text string, each func(scan func(...any) error) error) error {
	tx, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }() // nothing was written
	rows, err := tx.Query(ctx, text)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (s server) close() error {
	s.pool.Close()
	return nil
}

// numbered replaces the question marks of a statement by PostgreSQL's numbered parameters.
func numbered(text string) string {
	var b strings.Builder
	n := 0
	for part := range strings.SplitSeq(text, "?") {
		if n > 0 {
			b.WriteString("$" + strconv.Itoa(n))
		}
		b.WriteString(part)
		n++
	}
	return b.String()
}
