package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Tx makes a caller's own transaction one that jobs can be enqueued and completed
// in. It must be of the store's database and READ COMMITTED, PostgreSQL's
// default. Locks that jobs need are held until it ends, so end it soon. The commit
// is made durable (synchronous_commit) if it would not be.
//
// After an error of a call it is as it was before the call, and goes on. So it is
// when the context of a call ends, or after 2 min, while the call waits for another
// transaction; only where the server has not answered for 2 s more is the
// connection closed, which rolls back all of it.
func Tx(tx pgx.Tx) store.Tx { return callersTx{tx} }

// SQLTx is Tx for a transaction of database/sql, with pgx's driver or any other
// for PostgreSQL. What a call waits for is ended by pg_cancel_backend on a
// connection of the store's, which its role may do to its own sessions and to those
// of roles that it is a member of. Else the driver ends it, 2 s after the context,
// and with most drivers the transaction is lost.
func SQLTx(tx *sql.Tx) store.Tx { return callersSQLTx{tx} }

type callersTx struct{ tx pgx.Tx }

func (callersTx) StoreTx() string { return "postgres" }

type callersSQLTx struct{ tx *sql.Tx }

func (callersSQLTx) StoreTx() string { return "postgres" }

// joined is a session in a caller's transaction.
type joined interface {
	sqlstore.Session
	// enter sets the savepoint, through the caller's transaction: it knows whether it
	// has ended, and its connection is in another one now.
	enter() error
	// plain runs a statement without parameters.
	plain(text string) error
	// interrupt ends what runs, see interruptible.
	interrupt()
}

// joinedSession is a session in a transaction of pgx.
type joinedSession struct {
	*session
	tx pgx.Tx
}

func (s *joinedSession) enter() error {
	if s.conn.IsBusy() {
		return fmt.Errorf("rows of the transaction are still open: read them to their end or close them before the call: %w", store.ErrInvalid)
	}
	if _, err := s.tx.Exec(s.ctx, savepoint); err != nil {
		return &failed{savepoint, err}
	}
	return nil
}

func (s *sqlSession) enter() error { return s.plain(savepoint) }

// foreign returns the session of a caller's transaction. The end of its context
// costs the connection, see limited.
func (s *Store) foreign(ctx context.Context, tx store.Tx) (joined, error) {
	switch callers := tx.(type) {
	case callersTx:
		if callers.tx == nil || callers.tx.Conn() == nil {
			return nil, fmt.Errorf("the transaction has ended: %w", store.ErrInvalid)
		}
		return &joinedSession{&session{ctx: ctx, conn: callers.tx.Conn().PgConn(), texts: s.texts}, callers.tx}, nil
	case callersSQLTx:
		if callers.tx == nil {
			return nil, fmt.Errorf("the transaction has ended: %w", store.ErrInvalid)
		}
		return &sqlSession{ctx: ctx, tx: callers.tx, texts: s.texts, others: s.pool}, nil
	}
	return nil, fmt.Errorf("transaction of a %s store, this is postgres: make it with postgres.Tx or postgres.SQLTx: %w",
		tx.StoreTx(), store.ErrInvalid)
}

func (s *session) plain(text string) error {
	if _, err := s.conn.ExecParams(s.ctx, text, nil, nil, []int16{}, []int16{pgtype.TextFormatCode}).Close(); err != nil {
		return &failed{text, err}
	}
	return nil
}

var (
	selTx    = &sqlstore.Query{Name: "selTx"}
	setPath  = &sqlstore.Query{Name: "setPath"}
	selOurs  = &sqlstore.Query{Name: "selOurs"}
	keepSync = &sqlstore.Query{Name: "keepSync"}
	notifyTx = &sqlstore.Query{Name: "notifyTx"}
)

// fits refuses a transaction that jobs cannot be written in rightly. Path becomes the
// caller's search_path.
func (s *Store) fits(c sqlstore.Session, path *string) error {
	var database, isolation, readOnly, sync, coding string
	there := false
	err := c.Rows(selTx, func(r sqlstore.Row) error {
		database, there, isolation, readOnly, sync = r.Text(0), r.Int(1) != 0, r.Text(2), r.Text(3), r.Text(4)
		coding, *path = r.Text(6), r.Text(7)
		if callers, ok := c.(*sqlSession); ok {
			callers.backend.Store(r.Int(5))
		}
		return nil
	}, text(quote(s.options.Schema)+".redrive_meta"))
	if err != nil {
		return err
	}
	identity := ""
	if there {
		if err := c.Rows(selOurs, func(r sqlstore.Row) error { identity = r.Text(0); return nil }); err != nil {
			return err
		}
	}
	switch {
	case identity != s.identity:
		return fmt.Errorf("the transaction is of the database %q, whose schema %q is not that of this store: "+
			"begin it on a connection to %s: %w", database, s.options.Schema, s.where, store.ErrInvalid)
	case readOnly != "off":
		return fmt.Errorf("the transaction is read-only: begin it READ WRITE: %w", store.ErrInvalid)
	case isolation != "read committed" && isolation != "read uncommitted":
		return fmt.Errorf("the transaction is %s, in which it does not see what other processes have just written: "+
			"begin it READ COMMITTED: %w", isolation, store.ErrInvalid)
	case coding != "UTF8":
		return fmt.Errorf("the connection of the transaction takes texts as %s, and would store others than are sent: "+
			"set client_encoding to UTF8 in its DSN, or for its role: %w", coding, store.ErrInvalid)
	}
	if sync == "off" {
		_, err = c.Exec(keepSync)
	}
	return err
}

const (
	savepoint  = `SAVEPOINT redrive_join`
	releaseTo  = `RELEASE SAVEPOINT redrive_join`
	rollbackTo = `ROLLBACK TO SAVEPOINT redrive_join`
)

// join runs do inside the caller's transaction, whole or not at all, also for a
// caller who commits after an error: what is refused is taken back to where it
// began. It implements sqlstore.DB's Join.
func (s *Store) join(ctx context.Context, tx store.Tx, do func(*sqlstore.Txn) error) error {
	select {
	case <-s.closed:
		return errClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	soft, hard, cancel := limited(ctx)
	defer cancel()
	c, err := s.foreign(hard, tx)
	if err != nil {
		return err
	}
	if err := c.enter(); err != nil {
		return withContext(soft, savepointError(err))
	}
	err = interruptible(soft, c.interrupt, func() error {
		err := s.joined(c, do)
		for try := 1; errors.Is(err, sqlstore.ErrAgain) && try < tries && soft.Err() == nil; try++ {
			if err = c.plain(rollbackTo); err == nil {
				err = s.joined(c, do)
			}
		}
		return err
	})
	if err != nil {
		back := c.plain(rollbackTo)
		if back == nil {
			back = c.plain(releaseTo)
		}
		return withContext(soft, asStoreError(errors.Join(err, back)))
	}
	return withContext(soft, asStoreError(c.plain(releaseTo)))
}

// savepointError says what is wrong with a transaction that takes no savepoint.
func savepointError(err error) error {
	if errors.Is(err, pgx.ErrTxClosed) || errors.Is(err, sql.ErrTxDone) {
		return fmt.Errorf("the transaction has ended: begin another one: %w: %w", store.ErrInvalid, err)
	}
	if errors.Is(err, driver.ErrBadConn) { // for one as for the other
		return fmt.Errorf("%w: the connection to PostgreSQL was lost, or rows of the transaction are still open: "+
			"close them before the call: %w", store.ErrUnavailable, err)
	}
	switch sqlstate(err) {
	case "25P01": // no_active_sql_transaction
		return fmt.Errorf("the transaction has ended: begin another one: %w: %w", store.ErrInvalid, err)
	case "25P02": // in_failed_sql_transaction
		return fmt.Errorf("an earlier statement of the transaction has failed: roll it back: %w: %w", store.ErrInvalid, err)
	}
	return asStoreError(err)
}

func (s *Store) joined(c joined, do func(*sqlstore.Txn) error) error {
	path := ""
	if err := s.fits(c, &path); err != nil {
		return err
	}
	t, err := s.txn(c, false)
	if err != nil {
		return err
	}
	if err := do(t); err != nil {
		return err
	}
	told := newsOf(t)
	if err := t.Flush(); err != nil {
		return err
	}
	if !told.empty() {
		if _, err := c.Exec(notifyTx, text(s.news.channel), text(told.text(anyone))); err != nil {
			return err
		}
	}
	_, err = c.Exec(setPath, text(path)) // where a call fails, the savepoint has it
	return err
}

// EnqueueTx implements store.Transactor. Lanes and terms that are not there yet are made
// beside the transaction: inside of it, whoever needs another new one would have
// to wait for its end. A lane without jobs is of no harm.
func (s *Store) EnqueueTx(ctx context.Context, tx store.Tx, jobs []job.New) ([]job.Receipt, error) {
	known, err := s.lanesKnown(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(jobs, func(n job.New) bool { return store.Validate(&n) != nil }) {
		if err := s.storeTerms(ctx, jobs); err != nil {
			return nil, err
		}
	}
	var missing []*job.New
	for i := range jobs {
		n := &jobs[i]
		if store.Validate(n) == nil && known.catalog.LaneOf(n.Queue, n.Kind, n.Deps) == 0 {
			missing = append(missing, n)
		}
	}
	if len(missing) > 0 {
		err := s.write(ctx, func(t *sqlstore.Txn) error {
			for _, n := range missing {
				if err := t.MakeLane(n); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return s.core.EnqueueTx(ctx, tx, jobs)
}

// SettleTx implements store.Transactor. The lane of another queue is made beside the
// transaction, see EnqueueTx.
func (s *Store) SettleTx(ctx context.Context, tx store.Tx, o job.Outcome) error {
	if o.Queue != "" && o.Validate() == nil && store.ValidName("queue", o.Queue) == nil {
		err := s.write(ctx, func(t *sqlstore.Txn) error { return t.MakeLaneAfter(&o) })
		if err != nil && !errors.Is(err, store.ErrTooLarge) { // that is for the outcome to say
			return err
		}
	}
	return s.core.SettleTx(ctx, tx, o)
}

// ReserveIDsTx implements store.TxReserver. It does not use the caller's transaction. A
// reservation updates one row of redrive_meta. Inside the caller's transaction, that row
// would stay locked until the transaction ends, and every other process would have to
// wait for ids. On a connection of the store the reservation is committed at once and
// waits for nobody. If the caller rolls back, the ids are not used: they leave a gap.
func (s *Store) ReserveIDsTx(ctx context.Context, _ store.Tx, n int) (job.ID, error) {
	return s.ReserveIDs(ctx, n)
}

func text(s string) sqlstore.Value { return sqlstore.Value{Kind: sqlstore.IsText, S: s} }
