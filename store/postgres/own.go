package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// own are the settings of the store's own transactions: what a role, a database or a
// DSN says otherwise is for others. A statement of 0 has no limit. With another
// search_path a function or operator that somebody has made in a schema of it could
// fit a statement better than the one that is meant, and would run with the rights of
// this role.
//
// A connection to the server has them for its time. Behind a pooler it is everybody's;
// there, and before it is known that there is no pooler, they hold for a transaction.
func own(statement time.Duration) [][2]string {
	limit := "0" // none
	if statement > 0 {
		limit = millis(statement)
	}
	return [][2]string{{"search_path", "pg_catalog"}, {"lock_timeout", "0"}, {"statement_timeout", limit},
		{"idle_in_transaction_session_timeout", millis(idleLimit)}}
}

// setLocal makes settings those of the transaction.
func setLocal(settings [][2]string) string {
	var b strings.Builder
	for _, s := range settings {
		b.WriteString("SET LOCAL " + s[0] + " = " + s[1] + "; ")
	}
	return b.String()
}

// setAll makes settings those of a connection.
func setAll(settings [][2]string) string {
	return strings.ReplaceAll(setLocal(settings), "SET LOCAL ", "SET ")
}

// makeOwn makes a connection the store's own. That of a pooler stays as it is.
func (s *Store) makeOwn(ctx context.Context, conn *pgx.Conn) error {
	if s.unnamed.Load() {
		return nil
	}
	return conn.PgConn().Exec(ctx, setAll(own(s.options.StatementTimeout))+"SET default_transaction_read_only = off").Close()
}

// dialOwn is dial for a connection that stays.
func (s *Store) dialOwn(ctx context.Context) (*pgx.Conn, error) {
	conn, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.makeOwn(ctx, conn); err != nil {
		return nil, errors.Join(pg.AsStoreError(pg.Fail("set", err)), conn.Close(ctx))
	}
	return conn, nil
}

// ownAndRaised is what is done to a new connection of the common pool.
func (s *Store) ownAndRaised(ctx context.Context, conn *pgx.Conn) error {
	if err := s.makeOwn(ctx, conn); err != nil {
		return err
	}
	return s.raise(ctx, conn)
}

// asked runs do, which only looks, in a transaction with settings of its own.
func asked(ctx context.Context, conn *pgx.Conn, statement time.Duration, do func() error) error {
	text := `BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY; ` + setLocal(own(statement))
	if err := conn.PgConn().Exec(ctx, text).Close(); err != nil {
		return pg.AsStoreError(pg.Fail("begin", err))
	}
	err := do()
	if end := conn.PgConn().Exec(ctx, `ROLLBACK`).Close(); end != nil && err == nil {
		err = pg.AsStoreError(pg.Fail("rollback", end))
	}
	return err
}
