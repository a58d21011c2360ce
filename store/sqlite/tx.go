package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Tx wraps a transaction of the caller so that jobs can be enqueued and completed in it. The
// transaction must be on this store's database file and as durable as the store (synchronous
// FULL or EXTRA). A call with a transaction that could lose an acknowledged job in a power
// loss is refused. Prefer Store.Tx, which begins such a transaction and waits for its turn. A
// transaction that was begun in another way should be IMMEDIATE, as with the data source name
//
//	file:app.db?_txlock=immediate&_pragma=synchronous(FULL)&_pragma=busy_timeout(5000)
//
// of the driver "sqlite" that this package registers. A deferred transaction works, too, but
// when another connection has written between its first read and its first write, the call
// fails with store.ErrUnavailable: then roll back and repeat the transaction.
func Tx(tx *sql.Tx) store.Tx { return callersTx{tx} }

type callersTx struct{ tx *sql.Tx }

func (callersTx) StoreTx() string { return "sqlite" }

// Tx begins a transaction for the caller and calls the given function in it. The transaction is on
// the same file and as durable as the store's transactions. The transaction is committed when the
// function returns nil, and is rolled back otherwise. It waits for its turn behind the store's
// writer. While it runs, it blocks every other writer, so it is rolled back after Options.TxLimit.
// The context that the function gets belongs to the transaction, so use it for every call in the
// function: a plain Enqueue with it fails at once, because it would wait for this transaction to
// end. With another context it does wait, until TxLimit: then the transaction is rolled back, and
// the enqueued job exists nevertheless.
func (s *Store) Tx(ctx context.Context, do func(ctx context.Context, tx *sql.Tx) error) error {
	if store.InTx(ctx, s) {
		return errors.New("this context already belongs to a transaction; use that transaction")
	}
	if err := s.writable(); err != nil {
		return err
	}
	release, err := s.writer.park(ctx)
	if err != nil {
		return err
	}
	defer s.watcher.tell()
	return s.transact(ctx, sync.OnceFunc(release), do)
}

func (s *Store) transact(ctx context.Context, release func(), do func(context.Context, *sql.Tx) error) (err error) {
	defer release()
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.TxLimit,
		fmt.Errorf("the caller's transaction took longer than its limit of %s and was rolled back: do slow work before it, or raise "+
			"Options.TxLimit; a call in it that writes without the context of the function, such as Client.Enqueue, waits for its "+
			"end: pass that context, and use Client.EnqueueTx", s.options.TxLimit))
	defer cancel()
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return withCause(ctx, asStoreError(err))
	}
	defer tx.Rollback() // does nothing after a commit; also runs when the given function panics
	// At the time limit, the other writers may continue, even if the given function has not
	// returned, because it may be waiting for one of these writers. When ctx ends, database/sql
	// rolls the transaction back, but only after the running statement has ended. If the function
	// did not pass ctx to that statement, the other writers find the file locked and get an error;
	// they do not wait.
	stop := context.AfterFunc(ctx, release)
	defer stop()
	if err := do(store.MarkTx(ctx, s), tx); err != nil {
		return withCause(ctx, err)
	}
	if err := s.writable(); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return withCause(ctx, commitError(err))
	}
	return nil
}

// withCause adds to an error the reason for which the context ended. It returns the error unchanged
// if the context has not ended.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

var (
	selSynchronous = &sqlstore.Query{Name: "selSynchronous"}
	selFile        = &sqlstore.Query{Name: "selFile"}
)

// sameFile returns an ErrInvalid if a transaction is on another database file than the store's.
// Otherwise the jobs in such a transaction would get ids of the wrong database.
func (s *Store) sameFile(f *foreign) error {
	var path string
	if err := f.Rows(selFile, func(r sqlstore.Row) error { path = r.Text(0); return nil }); err != nil {
		return asStoreError(err)
	}
	theirs, err1 := os.Stat(path)
	ours, err2 := os.Stat(s.path)
	if err := errors.Join(err1, err2); err != nil || !os.SameFile(theirs, ours) {
		return fmt.Errorf("the transaction is on the database %q, but this store uses %q: begin the transaction with Store.Tx, "+
			"or on a connection to that file: %w", path, s.path, store.ErrInvalid)
	}
	return nil
}

var (
	savepoint  = &sqlstore.Query{Name: "savepoint"}
	releaseTo  = &sqlstore.Query{Name: "releaseTo"}
	rollbackTo = &sqlstore.Query{Name: "rollbackTo"}
)

// join calls the given function inside the caller's transaction. It uses only data that this
// transaction can see, and not the state of the writer. Either all changes of the function are made
// or none, even when the caller commits after an error: the function continues when the context
// ends, and after an error join rolls back to a savepoint.
func (s *Store) join(ctx context.Context, tx store.Tx, do func(*sqlstore.Txn) error) error {
	callers, ok := tx.(callersTx)
	if !ok {
		return fmt.Errorf("the transaction is for a %s store, but this store is sqlite: make the transaction with sqlite.Tx: %w", tx.StoreTx(), store.ErrInvalid)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.writable(); err != nil {
		return err
	}
	f := &foreign{ctx: context.WithoutCancel(ctx), tx: callers.tx}
	if err := s.sameFile(f); err != nil {
		return err
	}
	level, err := sqlstore.ReadInt(f, selSynchronous)
	if err != nil {
		return asStoreError(err)
	}
	if level < synchronousFull {
		return fmt.Errorf("the transaction's connection has synchronous=%d, which loses acknowledged jobs on a power loss: "+
			"use Store.Tx, or set PRAGMA synchronous=FULL on that connection: %w", level, store.ErrInvalid)
	}
	cat, err := sqlstore.ReadCatalog(f)
	if err != nil {
		return asStoreError(err)
	}
	last, err := sqlstore.ReadInt(f, selLastAt)
	if err != nil {
		return asStoreError(err)
	}
	s.clock.Floor(job.Micros(last))
	if _, err := f.Exec(savepoint); err != nil {
		return asStoreError(err)
	}
	t := sqlstore.NewTxn(f, false, sqlstore.Hooks{})
	t.Reset(s.clock.Now(), cat)
	err = do(t)
	if err == nil {
		err = t.Flush()
	}
	if err != nil {
		_, back := f.Exec(rollbackTo)
		_, free := f.Exec(releaseTo)
		return asStoreError(errors.Join(err, back, free))
	}
	_, err = f.Exec(releaseTo)
	return asStoreError(err)
}
