package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/redrive/redrive/store"
)

// acquire waits for a connection.
func (s *Store) acquire(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	conn, err := pool.Acquire(ctx)
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%w: no connection came free: all %d for such calls are in use, or the server does not answer: %w",
			store.ErrUnavailable, pool.Config().MaxConns, context.Cause(ctx))
	}
	select {
	case <-s.closed:
		return nil, errClosed
	default:
		return nil, connectError(s.config.ConnConfig, err)
	}
}

// discard closes a connection whose state is not known.
func (s *Store) discard(conn *pgxpool.Conn) {
	_ = conn.Conn().PgConn().Conn().SetDeadline(pg.Past) // what it is about to say is of no use
	_ = conn.Conn().Close(context.Background())
}
