package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/sqlite"
)

// openTemp opens a store on a new file for one test. Parallel tests slow each other down, so
// reads get a longer time limit than the default, unless the test sets a limit.
func openTemp(t *testing.T, o *sqlite.Options) *sqlite.Store {
	t.Helper()
	var with sqlite.Options
	if o != nil {
		with = *o
	}
	if with.ReadLimit == 0 {
		with.ReadLimit = time.Minute
	}
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"), &with)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newJob(t *testing.T, s store.Store) job.New {
	t.Helper()
	id, err := s.ReserveIDs(context.WithoutCancel(t.Context()), 1)
	if err != nil {
		t.Fatal(err)
	}
	return job.New{ID: id, Kind: "mail", Queue: "default", Priority: 2, Payload: []byte(`{}`)}
}

func claimOne(t *testing.T, s store.Store) job.Claim {
	t.Helper()
	x, err := s.Exchange(t.Context(), store.Exchange{Holder: "worker", Lease: time.Minute, Want: []store.Want{
		{Queue: "default", Max: 1, Kinds: []store.KindWant{{Kind: "mail", Max: 1, MaxCrashes: 2}}},
	}})
	if err != nil || len(x.Claims) != 1 {
		t.Fatalf("claim of one job: got claims %v, error %v; want one claim", x.Claims, err)
	}
	return x.Claims[0]
}

func rowsOf(t *testing.T, s *sqlite.Store, table string) (n int) {
	t.Helper()
	err := s.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `SELECT count(*) FROM `+table).Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func createOrders(t *testing.T, s *sqlite.Store) {
	t.Helper()
	err := s.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE orders (id INTEGER PRIMARY KEY)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A job that was enqueued in a caller's transaction exists if and only if the caller commits.
//
// proves: Q1
func TestQ1_EnqueueInTheCallersTransaction(t *testing.T) {
	t.Parallel()
	s := openTemp(t, nil)
	createOrders(t, s)
	refused := errors.New("out of stock")
	for _, want := range []error{refused, nil} {
		n := newJob(t, s)
		err := s.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, `INSERT INTO orders DEFAULT VALUES`); err != nil {
				return err
			}
			if _, err := s.EnqueueTx(ctx, sqlite.Tx(tx), []job.New{n}); err != nil {
				return err
			}
			return want
		})
		if !errors.Is(err, want) {
			t.Fatalf("Tx: got error %v, want the error that its function returned: %v", err, want)
		}
		j, err := s.Get(t.Context(), n.ID)
		if committed := want == nil; committed != (err == nil && j.State == job.Waiting) || !committed && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("after Tx returned %v: got job state %v, error %v; want a waiting job only if Tx returned nil", want, j.State, err)
		}
	}
	if n := rowsOf(t, s, "orders"); n != 1 {
		t.Errorf("rows in the caller's table after one commit: got %d, want 1", n)
	}
	claimOne(t, s) // the claim finds the job only if the writer's cache contains the new lane
}

// The first enqueue of a process may be inside a caller's transaction. The enqueue reserves its ids
// in that transaction, and a rollback also cancels the reservation.
//
// proves: Q1
func TestQ1_FirstEnqueueInATransaction(t *testing.T) {
	t.Parallel()
	s := openTemp(t, nil)
	client, err := redrive.New(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	const mail redrive.Kind[string] = "mail"
	var ids []job.ID
	for _, want := range []error{errors.New("no"), nil, nil} {
		err := s.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			receipts, err := client.EnqueueManyTx(ctx, sqlite.Tx(tx), []redrive.Spec{mail.New("a", nil), mail.New("b", nil)})
			if err != nil {
				return err
			}
			if want == nil {
				ids = append(ids, receipts[0].ID, receipts[1].ID)
			}
			return want
		})
		if !errors.Is(err, want) {
			t.Fatalf("Tx: got error %v, want the error that its function returned: %v", err, want)
		}
	}
	if _, err := client.Enqueue(t.Context(), mail.New("c", nil)); err != nil {
		t.Fatal(err)
	}
	page, err := s.List(t.Context(), store.Filter{})
	if err != nil || len(page.Jobs) != 5 {
		t.Fatalf("after the commit: got %d jobs, error %v; want 5 jobs with the ids %v", len(page.Jobs), err, ids)
	}
}

// proves: I2, Q4
func TestI2_CompleteInTheCallersTransaction(t *testing.T) {
	t.Parallel()
	s := openTemp(t, nil)
	createOrders(t, s)
	n := newJob(t, s)
	if _, err := s.Enqueue(t.Context(), []job.New{n}); err != nil {
		t.Fatal(err)
	}
	c := claimOne(t, s)
	complete := func(token job.Token, then error) error {
		return s.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, `INSERT INTO orders DEFAULT VALUES`); err != nil {
				return err
			}
			err := s.SettleTx(ctx, sqlite.Tx(tx), job.Outcome{ID: c.ID, Token: token, Cause: job.Succeeded, To: job.Completed})
			return errors.Join(err, then)
		})
	}
	if err := complete(c.Token-1, nil); !errors.Is(err, store.ErrInvalid) && !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("SettleTx with an outcome of an older run: got error %v, want ErrInvalid or ErrLeaseLost", err)
	}
	if err := complete(c.Token, errors.New("an error of the handler")); err == nil {
		t.Error("Tx returned no error after its function had failed, want the error of the function")
	}
	if j, err := s.Get(t.Context(), c.ID); err != nil || j.State != job.Running {
		t.Fatalf("after two transactions were rolled back: got job state %v, error %v; want running", j.State, err)
	}
	if n := rowsOf(t, s, "orders"); n != 0 {
		t.Errorf("rows in the caller's table after the rollbacks: got %d, want 0", n)
	}
	if err := complete(c.Token, nil); err != nil {
		t.Fatal(err)
	}
	if j, err := s.Get(t.Context(), c.ID); err != nil || j.State != job.Completed {
		t.Errorf("after the commit: got job state %v, error %v; want completed", j.State, err)
	}
	if n := rowsOf(t, s, "orders"); n != 1 {
		t.Errorf("rows in the caller's table after the commit: got %d, want 1", n)
	}
}

// A plain Enqueue inside a caller's transaction would wait for ever. So the call fails at once, and
// its error says that EnqueueTx must be used.
func TestPlainWriteInATransactionIsRefused(t *testing.T) {
	t.Parallel()
	s := openTemp(t, nil)
	n := newJob(t, s)
	err := s.Tx(t.Context(), func(ctx context.Context, _ *sql.Tx) error {
		_, err := s.Enqueue(ctx, []job.New{n})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "EnqueueTx") {
		t.Errorf("Enqueue inside Tx: got error %v, want the advice to use EnqueueTx", err)
	}
	err = s.Tx(t.Context(), func(ctx context.Context, _ *sql.Tx) error {
		return s.Tx(ctx, func(context.Context, *sql.Tx) error { return nil })
	})
	if err == nil {
		t.Error("a call of Tx inside another Tx returned no error, want an error")
	}
}

func TestPanicInATransactionRollsBack(t *testing.T) {
	t.Parallel()
	s := openTemp(t, nil)
	createOrders(t, s)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the function in Tx panicked, but Tx did not panic; want the same panic")
			}
		}()
		_ = s.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, `INSERT INTO orders DEFAULT VALUES`); err != nil {
				t.Error(err)
			}
			panic("a panic of the caller")
		})
	}()
	if n := rowsOf(t, s, "orders"); n != 0 {
		t.Errorf("rows in the caller's table after the panic: got %d, want 0", n)
	}
	if _, err := s.Enqueue(t.Context(), []job.New{newJob(t, s)}); err != nil {
		t.Errorf("write after the panic: got error %v, want none", err)
	}
}

// A caller's transaction that takes too long is rolled back, because it blocks every other
// writer.
func TestTransactionHasATimeLimit(t *testing.T) {
	t.Parallel()
	s := openTemp(t, &sqlite.Options{TxLimit: 3 * time.Second}) // the limit is long enough for createOrders
	createOrders(t, s)
	err := s.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		<-ctx.Done()
		_, err := tx.Exec(`INSERT INTO orders DEFAULT VALUES`) // the insert ignores ctx, as a handler might do
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "limit of 3s") {
		t.Errorf("transaction after its time limit: got error %v, want an error that names the limit of 3s", err)
	}
	if n := rowsOf(t, s, "orders"); n != 0 {
		t.Errorf("rows in the caller's table after the time limit: got %d, want 0", n)
	}
}

// A refused call leaves no data behind, even if the caller commits the transaction.
//
// proves: Q1, I1
func TestQ1_I1_ARefusedEnqueueTxLeavesNothing(t *testing.T) {
	t.Parallel()
	s := openTemp(t, nil)
	known := newJob(t, s)
	known.Key, known.Digest = "order-1", []byte("one")
	if _, err := s.Enqueue(t.Context(), []job.New{known}); err != nil {
		t.Fatal(err)
	}
	before, err := s.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fresh, other := newJob(t, s), newJob(t, s)
	other.Key, other.Digest = "order-1", []byte("another")
	taken := known
	taken.Key = ""
	for name, second := range map[string]job.New{"key": other, "id": taken} {
		err = s.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			if _, err := s.EnqueueTx(ctx, sqlite.Tx(tx), []job.New{fresh, second}); err == nil {
				t.Errorf("%s: the call returned no error, want a refused call", name)
			}
			return nil // the caller commits
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	after, err := s.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	after.Now = before.Now
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the refused calls have changed the store, want no change (-want +got):\n%s", diff)
	}
}

// When the context ends in the middle of a call, the call still writes either all of its
// changes or none.
//
// proves: I2
func TestI2_SettleTxIsWholeUnderAnEndingContext(t *testing.T) {
	t.Parallel()
	s := openTemp(t, nil)
	for i := range 60 {
		n := newJob(t, s)
		if _, err := s.Enqueue(t.Context(), []job.New{n}); err != nil {
			t.Fatal(err)
		}
		c := claimOne(t, s)
		var settled error
		err := s.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			short, cancel := context.WithTimeout(ctx, time.Duration(i)*20*time.Microsecond)
			defer cancel()
			settled = s.SettleTx(short, sqlite.Tx(tx), job.Outcome{ID: c.ID, Token: c.Token, Cause: job.Succeeded, To: job.Completed})
			return nil // the caller commits
		})
		if err != nil {
			t.Fatal(err)
		}
		want := job.Completed
		if settled != nil {
			want = job.Running
		}
		if j, err := s.Get(t.Context(), c.ID); err != nil || j.State != want {
			t.Fatalf("after SettleTx returned %v: got job state %v, error %v; want state %v", settled, j.State, err, want)
		}
	}
	counts, err := s.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, c := range counts {
		sum += c.N
	}
	if sum != 60 {
		t.Errorf("counters of jobs after all calls: got %v, want 60 jobs in total", counts)
	}
}
