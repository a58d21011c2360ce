package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
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
	_ = conn.Conn().PgConn().Conn().SetDeadline(past) // what it is about to say is of no use
	_ = conn.Conn().Close(context.Background())
}

// cut closes a connection at once.
func cut(conn *pgconn.PgConn) {
	_ = conn.Conn().SetDeadline(past) // what it is about to say is of no use
	_ = conn.Close(context.Background())
}

// sessionKey is where a connection keeps its session.
const sessionKey = "redrive"

// session returns the session of a pooled connection.
func (s *Store) session(conn *pgxpool.Conn) *session {
	raw := conn.Conn().PgConn()
	data := raw.CustomData()
	c, ok := data[sessionKey].(*session)
	if !ok {
		c = &session{ctx: context.Background(), conn: raw, texts: s.texts}
		if !s.unnamed.Load() {
			c.stmts = &statements{known: make(map[string]*pgconn.StatementDescription)}
		}
		data[sessionKey] = c
	}
	c.cursors = 0
	return c
}
