package conn

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/store"
)

// The savepoint of a call in a caller's transaction.
const (
	savepoint  = `SAVEPOINT redrive_join`
	ReleaseTo  = `RELEASE SAVEPOINT redrive_join`
	RollbackTo = `ROLLBACK TO SAVEPOINT redrive_join`
)

// Joined is a session in a caller's transaction.
type Joined interface {
	sqlstore.Session
	// enter sets the savepoint, through the caller's transaction: it knows whether it
	// has ended, and its connection is in another one now.
	Enter() error
	// plain runs a statement without parameters.
	Plain(text string) error
	// interrupt ends what runs, see interruptible.
	Interrupt()
}

// joinedSession is a session in a transaction of pgx.
type joinedSession struct {
	*Session
	tx pgx.Tx
}

// NewJoined returns a session in a transaction of pgx. The end of its context costs the connection, see limited.
func NewJoined(ctx context.Context, tx pgx.Tx, texts sqlstore.Texts) Joined {
	s := NewSession(ctx, tx.Conn().PgConn(), texts)
	s.callers = true
	return &joinedSession{s, tx}
}

// NewJoinedSQL does the same for a transaction of database/sql. What it waits for is ended on a connection of others.
func NewJoinedSQL(ctx context.Context, tx *sql.Tx, texts sqlstore.Texts, others *pgxpool.Pool) Joined {
	return &SQLSession{ctx: ctx, tx: tx, texts: texts, others: others}
}

// Enter implements Joined.
func (s *joinedSession) Enter() error {
	if s.Conn.IsBusy() {
		return fmt.Errorf("rows of the transaction are still open: read them to their end or close them before the call: %w", store.ErrInvalid)
	}
	if _, err := s.tx.Exec(s.Ctx, savepoint); err != nil {
		return &Failed{savepoint, err}
	}
	return nil
}

// Enter implements Joined.
func (s *SQLSession) Enter() error { return s.Plain(savepoint) }

// Plain runs a statement without parameters.
func (s *Session) Plain(text string) error {
	if _, err := s.Conn.ExecParams(s.Ctx, text, nil, nil, []int16{}, []int16{pgtype.TextFormatCode}).Close(); err != nil {
		return &Failed{text, err}
	}
	return nil
}

// Interrupt asks the server to cancel what runs. When that fails, joinGrace ends it.
func (s *joinedSession) Interrupt() { _ = s.Conn.CancelRequest(s.Ctx) }

// Interrupt asks the server to cancel what runs, on another connection: what is
// behind a transaction of database/sql cannot be got at.
func (s *SQLSession) Interrupt() {
	if pid := s.Backend.Load(); pid != 0 {
		_, _ = s.others.Exec(s.ctx, "SELECT pg_catalog.pg_cancel_backend($1)", pgx.QueryExecModeSimpleProtocol, pid) // see above
	}
}

// SavepointError says what is wrong with a transaction that takes no savepoint.
func SavepointError(err error) error {
	if errors.Is(err, pgx.ErrTxClosed) || errors.Is(err, sql.ErrTxDone) {
		return fmt.Errorf("the transaction has ended: begin another one: %w: %w", store.ErrInvalid, err)
	}
	if errors.Is(err, driver.ErrBadConn) { // for one as for the other
		return fmt.Errorf("%w: the connection to PostgreSQL was lost, or rows of the transaction are still open: "+
			"close them before the call: %w", store.ErrUnavailable, err)
	}
	switch SQLState(err) {
	case "25P01": // no_active_sql_transaction
		return fmt.Errorf("the transaction has ended: begin another one: %w: %w", store.ErrInvalid, err)
	case "25P02": // in_failed_sql_transaction
		return fmt.Errorf("an earlier statement of the transaction has failed: roll it back: %w: %w", store.ErrInvalid, err)
	}
	return AsStoreError(err)
}
