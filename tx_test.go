package redrive_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/memory"
	"github.com/redrive/redrive/store/sqlite"
)

// openSQLite opens a new database, which also has a table for rows that the test itself
// writes.
func openSQLite(t *testing.T) *sqlite.Store {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	err = st.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE invoices (scene INTEGER)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func invoices(t *testing.T, st *sqlite.Store) (n int) {
	t.Helper()
	err := st.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `SELECT count(*) FROM invoices`).Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func newClient(t *testing.T, s store.Store, h func(context.Context, *redrive.Job[renderArgs]) error) *redrive.Client {
	t.Helper()
	c, err := redrive.New(s, &redrive.Config{TempDir: t.TempDir(), Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	redrive.Handle(c, render, h, nil)
	return c
}

var errChangedMind = errors.New("changed my mind")

// proves: Q1
func TestQ1_EnqueueTxHappensIfTheTransactionDoes(t *testing.T) {
	t.Parallel()
	st := openSQLite(t)
	c := newClient(t, st, succeed)
	if _, err := c.Enqueue(t.Context(), render.New(renderArgs{}, nil)); err != nil {
		t.Fatal(err)
	}
	for _, commit := range []bool{false, true} {
		var receipts []redrive.Receipt
		err := st.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) (err error) {
			if _, err := tx.ExecContext(ctx, `INSERT INTO invoices VALUES (1)`); err != nil {
				return err
			}
			if _, err := c.Enqueue(ctx, render.New(renderArgs{}, nil)); err == nil || !strings.Contains(err.Error(), "EnqueueTx") {
				t.Errorf("Enqueue inside the transaction: got error %v, want the advice to use EnqueueTx", err)
			}
			receipts, err = c.EnqueueManyTx(ctx, sqlite.Tx(tx), []redrive.Spec{render.New(renderArgs{Scene: 1}, nil), render.New(renderArgs{Scene: 2}, nil)})
			if err == nil && !commit {
				err = errChangedMind
			}
			return err
		})
		if commit != (err == nil) || len(receipts) != 2 {
			t.Fatalf("commit %v: EnqueueManyTx: got error %v; want 2 receipts, and an error only without a commit", commit, err)
		}
		for _, r := range receipts {
			if _, err := c.Get(t.Context(), r.ID); errors.Is(err, store.ErrNotFound) == commit {
				t.Errorf("commit %v: Get of job %d: got error %v, want ErrNotFound only after a rollback", commit, r.ID, err)
			}
		}
		if n := invoices(t, st); (n == 1) != commit {
			t.Errorf("commit %v: got %d invoices, want 1 after a commit and 0 after a rollback", commit, n)
		}
	}
}

func TestCompleteTx_CompletesIfTheTransactionDoes(t *testing.T) {
	t.Parallel()
	st := openSQLite(t)
	c := newClient(t, st, func(ctx context.Context, j *redrive.Job[renderArgs]) error {
		if err := j.SetResult(j.Args.Scene); err != nil {
			return err
		}
		err := st.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, `INSERT INTO invoices VALUES (?)`, j.Args.Scene); err != nil {
				return err
			}
			if err := j.CompleteTx(ctx, sqlite.Tx(tx)); err != nil {
				return err
			}
			if j.Args.Scene == 2 {
				return errChangedMind
			}
			return nil
		})
		if errors.Is(err, errChangedMind) {
			return nil // the handler returns success, although it has not committed the transaction
		}
		return err
	})
	var ids []redrive.JobID
	for scene := range int64(3) {
		r, err := c.Enqueue(t.Context(), render.New(renderArgs{Scene: scene}, nil))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	if err := c.RunUntilIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []job.State{job.Completed, job.Completed, job.Retrying}
	for i, id := range ids {
		j, err := c.Get(t.Context(), id)
		if err != nil || j.State != want[i] {
			t.Errorf("job %d: got state %v, error %v; want state %v", i, j.State, err, want[i])
		}
	}
	if j, _ := c.Get(t.Context(), ids[1]); string(j.Result) != "1" {
		t.Errorf("job completed by CompleteTx: got the result %q, want 1", j.Result)
	}
	failures, err := c.Failures(t.Context(), ids[2])
	if err != nil || len(failures) != 1 || !strings.Contains(failures[0].Message, "did not commit") {
		t.Errorf("got failures %+v, error %v; want one failure that says that the handler did not commit", failures, err)
	}
	if n := invoices(t, st); n != 2 {
		t.Errorf("the table has %d invoices, want 2", n)
	}
}

// joiner is a store that can write inside the caller's transaction, but cannot reserve ids while a
// transaction is open.
type joiner struct {
	*memory.Store
	inside bool
	tx     store.Tx
	jobs   []job.New
}

type ownTx struct{}

func (ownTx) StoreTx() string { return "joiner" }

func (j *joiner) ReserveIDs(ctx context.Context, n int) (job.ID, error) {
	if j.inside {
		return 0, errors.New("the reservation would wait for ever")
	}
	return j.Store.ReserveIDs(ctx, n)
}

func (j *joiner) ReserveIDsTx(_ context.Context, tx store.Tx, n int) (job.ID, error) {
	j.tx = tx
	return job.ID(1000 - n), nil
}

func (j *joiner) EnqueueTx(_ context.Context, _ store.Tx, jobs []job.New) ([]job.Receipt, error) {
	j.jobs = jobs
	return make([]job.Receipt, len(jobs)), nil
}

func (j *joiner) SettleTx(context.Context, store.Tx, job.Outcome) error { return nil }

func TestEnqueueTx_ReservesIDsInsideTheTransaction(t *testing.T) {
	t.Parallel()
	s := &joiner{Store: memory.New(memory.Options{}), inside: true}
	c, err := redrive.New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec := render.New(renderArgs{}, nil)
	if _, err := c.EnqueueManyTx(t.Context(), ownTx{}, []redrive.Spec{spec, spec}); err != nil {
		t.Fatal(err)
	}
	if s.tx != (ownTx{}) || s.jobs[0].ID != 998 || s.jobs[1].ID != 999 {
		t.Errorf("got the ids %d and %d in transaction %v, want the ids 998 and 999 in the caller's transaction", s.jobs[0].ID, s.jobs[1].ID, s.tx)
	}
	s.inside = false
	for range 2 { // the second transaction reserves more ids than it needs
		if _, err := c.Enqueue(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	s.inside = true
	if _, err := c.EnqueueTx(t.Context(), ownTx{}, spec); err != nil {
		t.Fatal(err)
	}
	if s.jobs[0].ID != 3 {
		t.Errorf("enqueue after two transactions: got id %d, want id 3, which is left from the last reservation", s.jobs[0].ID)
	}
}

func TestTx_AStoreThatCannotJoinSaysSo(t *testing.T) {
	t.Parallel()
	var inHandler error
	c := newClient(t, memory.New(memory.Options{}), func(ctx context.Context, j *redrive.Job[renderArgs]) error {
		inHandler = j.CompleteTx(ctx, ownTx{})
		return nil
	})
	spec := render.New(renderArgs{}, nil)
	if _, err := c.EnqueueTx(t.Context(), ownTx{}, spec); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("EnqueueTx with a transaction of another type: got error %v, want ErrInvalid", err)
	}
	if _, err := c.Enqueue(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if err := c.RunUntilIdle(t.Context()); err != nil || !errors.Is(inHandler, store.ErrInvalid) {
		t.Errorf("RunUntilIdle: got error %v of CompleteTx in the handler and error %v of RunUntilIdle; want ErrInvalid of CompleteTx and no other error", inHandler, err)
	}
}
