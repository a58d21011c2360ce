package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

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

// foreign returns the session of a caller's transaction. The end of its context
// costs the connection, see limited.
func (s *Store) foreign(ctx context.Context, tx store.Tx) (pg.Joined, error) {
	switch callers := tx.(type) {
	case callersTx:
		if callers.tx == nil || callers.tx.Conn() == nil {
			return nil, fmt.Errorf("the transaction has ended: %w", store.ErrInvalid)
		}
		return pg.NewJoined(ctx, callers.tx, s.texts), nil
	case callersSQLTx:
		if callers.tx == nil {
			return nil, fmt.Errorf("the transaction has ended: %w", store.ErrInvalid)
		}
		return pg.NewJoinedSQL(ctx, callers.tx, s.texts, s.pool), nil
	}
	return nil, fmt.Errorf("transaction of a %s store, this is postgres: make it with postgres.Tx or postgres.SQLTx: %w",
		tx.StoreTx(), store.ErrInvalid)
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
		if callers, ok := c.(*pg.SQLSession); ok {
			callers.Backend.Store(r.Int(5))
		}
		return nil
	}, text(pg.Quote(s.options.Schema)+".redrive_meta"))
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
	soft, hard, cancel := pg.Limited(ctx)
	defer cancel()
	c, err := s.foreign(hard, tx)
	if err != nil {
		return err
	}
	if err := c.Enter(); err != nil {
		return pg.WithContext(soft, pg.SavepointError(err))
	}
	err = pg.Interruptible(soft, c.Interrupt, func() error {
		err := s.joined(c, do)
		for try := 1; errors.Is(err, sqlstore.ErrAgain) && try < tries && soft.Err() == nil; try++ {
			if err = c.Plain(pg.RollbackTo); err == nil {
				err = s.joined(c, do)
			}
		}
		return err
	})
	if err != nil {
		back := c.Plain(pg.RollbackTo)
		if back == nil {
			back = c.Plain(pg.ReleaseTo)
		}
		return pg.WithContext(soft, pg.AsStoreError(errors.Join(err, back)))
	}
	return pg.WithContext(soft, pg.AsStoreError(c.Plain(pg.ReleaseTo)))
}

func (s *Store) joined(c pg.Joined, do func(*sqlstore.Txn) error) error {
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
	notice := noticeOf(t)
	if err := t.Flush(); err != nil {
		return err
	}
	if !notice.Empty() {
		if _, err := c.Exec(notifyTx, text(s.news.channel), text(notice.Text(anyone))); err != nil {
			return err
		}
	}
	_, err = c.Exec(setPath, text(path)) // where a call fails, the savepoint has it
	return err
}

// EnqueueTx implements store.Transactor. Lanes and terms that are not there yet are made
// beside the transaction: inside of it, a transaction that needs another new one would have
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
