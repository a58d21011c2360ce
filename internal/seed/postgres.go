package seed

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/store/postgres"
)

// PostgreSQL creates the schema in the database of the DSN and fills it. The schema must not
// exist, or have no jobs. The time and the function are as in SQLite.
func PostgreSQL(ctx context.Context, dsn, schema string, s Shape, now time.Time, progress func(table string)) error {
	options := &postgres.Options{Schema: schema, Clock: func() time.Time { return now }, ReadLimit: time.Hour, StatementTimeout: time.Hour}
	made, err := postgres.Open(ctx, dsn, options)
	if err != nil {
		return err
	}
	if err := made.Close(); err != nil {
		return err
	}
	if err := fillSchema(ctx, dsn, schema, newLayout(s, now), progress); err != nil {
		return err
	}
	filled, err := postgres.Open(ctx, dsn, options)
	if err != nil {
		return err
	}
	return errors.Join(index(ctx, filled), filled.Close())
}

func fillSchema(ctx context.Context, dsn, schema string, l *layout, progress func(string)) (err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	s := &server{conn: conn, schema: schema}
	if err := s.exec(ctx, `SET search_path = `+pgx.Identifier{schema}.Sanitize()+`; SET synchronous_commit = off; SET maintenance_work_mem = '512MB'`); err != nil {
		return err
	}
	indexes, err := s.texts(ctx, `SELECT pg_get_indexdef(x.indexrelid) FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
		WHERE c.relnamespace = $1::regnamespace AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = x.indexrelid) ORDER BY x.indexrelid`, schema)
	if err != nil {
		return err
	}
	drops, err := s.texts(ctx, `SELECT 'DROP INDEX ' || x.indexrelid::regclass FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
		WHERE c.relnamespace = $1::regnamespace AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = x.indexrelid)`, schema)
	if err != nil {
		return err
	}
	after := append(indexes,
		`SELECT setval(pg_get_serial_sequence('redrive_done', 'seq'), coalesce(max(seq), 0) + 1, false) FROM redrive_done`,
		`SELECT setval(pg_get_serial_sequence('redrive_groups', 'id'), coalesce(max(id), 0) + 1, false) FROM redrive_groups`,
		fmt.Sprintf(`UPDATE redrive_meta SET value = %d WHERE key = 'audit'`, l.Audit),
		`UPDATE redrive_meta SET value = (SELECT max(seq) FROM redrive_events) WHERE key = 'folded'`,
		`VACUUM (ANALYZE)`,
	)
	return fillWithout(ctx, s, drops, after, l, progress)
}

// server is the sink of a schema on PostgreSQL.
type server struct {
	conn   *pgx.Conn
	schema string
}

func (s *server) exec(ctx context.Context, text string) error {
	_, err := s.conn.Exec(ctx, text, pgx.QueryExecModeSimpleProtocol)
	return err
}

func (s *server) texts(ctx context.Context, query string, args ...any) ([]string, error) {
	found, err := s.conn.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowTo[string])
}

func (s *server) insert(ctx context.Context, table, columns string, rows iter.Seq[[]any]) error {
	next, stop := iter.Pull(rows)
	defer stop()
	_, err := s.conn.CopyFrom(ctx, pgx.Identifier{s.schema, table}, strings.Fields(columns), pgx.CopyFromFunc(func() ([]any, error) {
		row, ok := next()
		if !ok {
			return nil, nil
		}
		return row, nil
	}))
	return err
}
