package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

// A plain Enqueue inside Tx that does not use the context of the function waits for the transaction, until its
// time limit. The error says so.
func TestTheTimeLimitNamesAnEnqueueWithAnotherContext(t *testing.T) {
	t.Parallel()
	s := openTemp(t, &sqlite.Options{TxLimit: 100 * time.Millisecond})
	n, outer := newJob(t, s), t.Context()
	err := s.Tx(outer, func(context.Context, *sql.Tx) error {
		_, err := s.Enqueue(outer, []job.New{n})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "Options.TxLimit") || !strings.Contains(err.Error(), "EnqueueTx") {
		t.Errorf("Tx around an Enqueue with another context: got error %v, want one that names Options.TxLimit and EnqueueTx", err)
	}
	if _, err := s.Get(outer, n.ID); err != nil {
		t.Errorf("the job of the Enqueue that was not part of the transaction: %v", err)
	}
}

// A deferred transaction of another connection can be used. When another connection has written since its first
// read, SQLite refuses its write: then nothing is written, and the transaction can be repeated.
func TestDeferredTransactionsCanBeRepeated(t *testing.T) {
	t.Parallel()
	s := openTemp(t, nil)
	createOrders(t, s)
	db, err := sql.Open("sqlite", "file:"+s.Path()+"?_pragma=synchronous(full)&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	n, orders := newJob(t, s), 0
	for _, disturbed := range []bool{true, false} {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM orders").Scan(&orders); err != nil {
			t.Fatal(err)
		}
		if disturbed {
			if _, err := s.Enqueue(t.Context(), []job.New{newJob(t, s)}); err != nil {
				t.Fatal(err)
			}
		}
		_, err = s.EnqueueTx(t.Context(), sqlite.Tx(tx), []job.New{n})
		if disturbed != errors.Is(err, store.ErrUnavailable) || !disturbed && err != nil {
			t.Errorf("EnqueueTx in a deferred transaction, another write in between %t: got error %v, want ErrUnavailable only then", disturbed, err)
		}
		end := tx.Commit
		if disturbed {
			end = tx.Rollback
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	if j, err := s.Get(t.Context(), n.ID); err != nil || j.State != job.Waiting {
		t.Errorf("the job of the repeated transaction: got state %v, error %v; want it waiting", j.State, err)
	}
}

// The store accepts a transaction of another connection only if that transaction is as durable
// as the store's transactions.
func TestForeignTransactionsMustFlush(t *testing.T) {
	t.Parallel()
	s := openTemp(t, nil)
	for level, taken := range map[string]bool{"off": false, "normal": false, "full": true, "extra": true} {
		db, err := sql.Open("sqlite", "file:"+s.Path()+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=synchronous("+level+")")
		if err != nil {
			t.Fatal(err)
		}
		n := newJob(t, s)
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.EnqueueTx(t.Context(), sqlite.Tx(tx), []job.New{n})
		if taken != (err == nil) || err != nil && !strings.Contains(err.Error(), "synchronous=") {
			t.Errorf("EnqueueTx on a connection with synchronous=%s: got error %v, want an error if and only if a power loss could lose the job", level, err)
		}
		if taken {
			err = tx.Commit()
		} else {
			err = tx.Rollback()
		}
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(t.Context(), n.ID); taken != (err == nil) {
			t.Errorf("Get of a job that was enqueued on a connection with synchronous=%s: got error %v, want the job if and only if EnqueueTx accepted it", level, err)
		}
	}
}
