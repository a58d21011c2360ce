package postgres

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func newJob(t *testing.T, s store.Store) job.New {
	t.Helper()
	id, err := s.ReserveIDs(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return job.New{ID: id, Kind: "mail", Queue: "default", Priority: 2, Payload: []byte(`{}`), Key: "k" + id.String(), Digest: []byte("d")}
}

func claimOne(t *testing.T, s store.Store) job.Claim {
	t.Helper()
	var claim job.Claim
	eventually(t, "a claim", func() bool {
		x, err := s.Exchange(t.Context(), store.Exchange{Holder: "worker", Lease: time.Minute, Want: []store.Want{
			{Queue: "default", Max: 1, Kinds: []store.KindWant{{Kind: "mail", Max: 1, MaxCrashes: 2}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if len(x.Claims) == 1 {
			claim = x.Claims[0]
		}
		return len(x.Claims) == 1
	})
	return claim
}

// way is one of the ways to a transaction of the caller's own.
type way struct {
	name  string
	begin func(t *testing.T, dsn string, o *sql.TxOptions) (tx store.Tx, exec func(string) error, end func(commit bool) error)
}

func ways() []way {
	return []way{
		{"pgx", func(t *testing.T, dsn string, o *sql.TxOptions) (store.Tx, func(string) error, func(bool) error) {
			conn := connected(t, dsn)
			options := pgx.TxOptions{}
			if o.ReadOnly {
				options.AccessMode = pgx.ReadOnly
			}
			if o.Isolation == sql.LevelSerializable {
				options.IsoLevel = pgx.Serializable
			}
			tx, err := conn.BeginTx(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			exec := func(text string) error { _, err := tx.Exec(t.Context(), text); return err }
			return Tx(tx), exec, func(commit bool) error {
				if commit {
					return tx.Commit(t.Context())
				}
				return tx.Rollback(t.Context())
			}
		}},
		{"database/sql", func(t *testing.T, dsn string, o *sql.TxOptions) (store.Tx, func(string) error, func(bool) error) {
			config, err := pgx.ParseConfig(dsn)
			if err != nil {
				t.Fatal(err)
			}
			db := stdlib.OpenDB(*config)
			t.Cleanup(func() { _ = db.Close() })
			tx, err := db.BeginTx(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			exec := func(text string) error { _, err := tx.ExecContext(t.Context(), text); return err }
			return SQLTx(tx), exec, func(commit bool) error {
				if commit {
					return tx.Commit()
				}
				return tx.Rollback()
			}
		}},
	}
}

// allWays runs a test with each way, on a store and its database.
func allWays(t *testing.T, test func(t *testing.T, w way, s *Store, dsn string)) {
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s, dsn := freshAt(t, nil)
			test(t, w, s, dsn)
		})
	}
}

// A job of the caller's transaction exists if and only if the caller commits, and
// so does the end of a run.
//
// proves: I2, Q1
func TestI2_Q1_CallersTransaction(t *testing.T) {
	allWays(t, func(t *testing.T, w way, s *Store, dsn string) {
		run(t, connected(t, dsn), `CREATE TABLE `+s.Schema()+`.orders (id int)`)
		order := `INSERT INTO ` + s.Schema() + `.orders VALUES (1)`
		wake := make(chan struct{}, 1)
		defer s.Notify(wake)()
		var in job.New
		for _, commit := range []bool{false, true} {
			in = newJob(t, s)
			in.Owner = "nul \x00"
			tx, exec, end := w.begin(t, dsn, &sql.TxOptions{})
			if err := exec(order); err != nil {
				t.Fatal(err)
			}
			receipts, err := s.EnqueueTx(t.Context(), tx, []job.New{in})
			if err != nil || len(receipts) != 1 || receipts[0].ID != in.ID {
				t.Fatalf("EnqueueTx: %v, %v", receipts, err)
			}
			if _, err := s.Get(t.Context(), in.ID); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("seen before the commit: %v", err)
			}
			if err := end(commit); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Get(t.Context(), in.ID); (err == nil) != commit {
				t.Errorf("commit %t: %v", commit, err)
			}
		}
		<-wake // another process hears of it, too: see TestNewsReachOtherProcesses
		claim := claimOne(t, s)
		for _, commit := range []bool{false, true} {
			tx, _, end := w.begin(t, dsn, &sql.TxOptions{})
			outcome := job.Outcome{ID: claim.ID, Token: claim.Token, Cause: job.Succeeded, To: job.Completed, Result: []byte("1")}
			if err := s.SettleTx(t.Context(), tx, outcome); err != nil {
				t.Fatal(err)
			}
			if err := end(commit); err != nil {
				t.Fatal(err)
			}
			want := map[bool]job.State{false: job.Running, true: job.Completed}[commit]
			if j, err := s.Get(t.Context(), claim.ID); err != nil || j.State != want {
				t.Errorf("commit %t: %s, %v", commit, j.State, err)
			}
		}
		if n := numberOf(t, connected(t, dsn), `SELECT count(*) FROM `+s.Schema()+`.orders`); n != 1 {
			t.Errorf("%d orders, want 1", n)
		}
	})
}

// What is refused leaves nothing in the caller's transaction, which goes on.
//
// part of: I2
func TestI2_RefusedLeavesNothing(t *testing.T) {
	allWays(t, func(t *testing.T, w way, s *Store, dsn string) {
		good, twin := newJob(t, s), newJob(t, s)
		if _, err := s.Enqueue(t.Context(), []job.New{twin}); err != nil {
			t.Fatal(err)
		}
		other := newJob(t, s)
		other.Key, other.Digest = twin.Key, []byte("other")
		first := newJob(t, s)
		tx, exec, end := w.begin(t, dsn, &sql.TxOptions{})
		if _, err := s.EnqueueTx(t.Context(), tx, []job.New{first, other}); !errors.Is(err, store.ErrConflict) {
			t.Fatalf("a key that is held: %v", err)
		}
		stale := job.Outcome{ID: 4711, Token: 1, Cause: job.Succeeded, To: job.Completed}
		if err := s.SettleTx(t.Context(), tx, stale); !errors.Is(err, store.ErrLeaseLost) && !errors.Is(err, store.ErrNotFound) {
			t.Fatalf("a run that is not: %v", err)
		}
		if _, err := s.EnqueueTx(t.Context(), tx, []job.New{good}); err != nil {
			t.Fatal(err)
		}
		if err := exec(`SELECT 1`); err != nil {
			t.Error(err)
		}
		if err := end(true); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(t.Context(), first.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the first job of the refused call: %v", err)
		}
		if _, err := s.Get(t.Context(), good.ID); err != nil {
			t.Error(err)
		}
	})
}

// A transaction in which jobs would not be written rightly is refused with the
// cure.
//
// part of: I2
func TestI2_TransactionsThatDoNotFit(t *testing.T) {
	allWays(t, func(t *testing.T, w way, s *Store, dsn string) {
		n := newJob(t, s)
		refused := func(what, dsn string, o *sql.TxOptions, spoil string, want string) {
			t.Helper()
			tx, exec, end := w.begin(t, dsn, o)
			if spoil != "" {
				_ = exec(spoil)
			}
			_, err := s.EnqueueTx(t.Context(), tx, []job.New{n})
			if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", what, err, want)
			}
			_ = end(false)
		}
		refused("serializable", dsn, &sql.TxOptions{Isolation: sql.LevelSerializable}, "", "READ COMMITTED")
		refused("read-only", dsn, &sql.TxOptions{ReadOnly: true}, "", "READ WRITE")
		refused("failed", dsn, &sql.TxOptions{}, "SELECT 1 / 0", "roll it back")
		refused("another database", pgtest.Database(t), &sql.TxOptions{}, "", "begin it on a connection to")
		tx, _, end := w.begin(t, dsn, &sql.TxOptions{})
		if err := end(true); err != nil {
			t.Fatal(err)
		}
		if _, err := s.EnqueueTx(t.Context(), tx, []job.New{n}); err == nil {
			t.Error("a transaction that has ended is taken")
		}
		if _, err := s.EnqueueTx(t.Context(), foreignTx{}, []job.New{n}); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("a transaction of another store: %v", err)
		}
		// A schema of the same name in another database is another store.
		elsewhere := pgtest.Database(t)
		opened(t, elsewhere, &Options{Schema: s.Schema()})
		refused("the same schema elsewhere", elsewhere, &sql.TxOptions{}, "", "begin it on a connection to")
	})
}

type foreignTx struct{}

func (foreignTx) StoreTx() string { return "memory" }

// A commit that would not wait for the disk is made to.
//
// part of: I2
func TestI2_CommitIsMadeDurable(t *testing.T) {
	allWays(t, func(t *testing.T, w way, s *Store, dsn string) {
		tx, exec, end := w.begin(t, dsn, &sql.TxOptions{})
		if err := exec(`SET synchronous_commit = off`); err != nil {
			t.Fatal(err)
		}
		if _, err := s.EnqueueTx(t.Context(), tx, []job.New{newJob(t, s)}); err != nil {
			t.Fatal(err)
		}
		err := exec(`DO $$ BEGIN IF current_setting('synchronous_commit') = 'off' THEN RAISE 'would be lost'; END IF; END $$`)
		if err := errors.Join(err, end(err == nil)); err != nil {
			t.Error(err)
		}
	})
}

// An ended context stops a call before it begins, and not in its middle.
//
// part of: I2
func TestI2_ContextOfACall(t *testing.T) {
	allWays(t, func(t *testing.T, w way, s *Store, dsn string) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		tx, exec, end := w.begin(t, dsn, &sql.TxOptions{})
		if _, err := s.EnqueueTx(ctx, tx, []job.New{newJob(t, s)}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if err := errors.Join(exec(`SELECT 1`), end(true)); err != nil {
			t.Errorf("the transaction does not go on: %v", err)
		}
	})
}

// A transaction that takes its time holds up nobody, not even for a kind of job
// that was never seen before.
//
// part of: I2
func TestI2_OthersGoOn(t *testing.T) {
	allWays(t, func(t *testing.T, w way, s *Store, dsn string) {
		tx, _, end := w.begin(t, dsn, &sql.TxOptions{})
		if _, err := s.EnqueueTx(t.Context(), tx, []job.New{newJob(t, s)}); err != nil {
			t.Fatal(err)
		}
		other := newJob(t, s)
		other.Kind, other.Queue = "new", "other"
		if _, err := s.Enqueue(t.Context(), []job.New{newJob(t, s), other}); err != nil {
			t.Errorf("beside it: %v", err)
		}
		claimOne(t, s)
		if _, err := s.Sweep(t.Context(), store.Retention{Completed: time.Hour, Events: time.Hour}, 100); err != nil {
			t.Errorf("sweep: %v", err)
		}
		if err := end(true); err != nil {
			t.Fatal(err)
		}
	})
}

// A call with several jobs whose payloads are long, and that is repeated while the first one commits, finds
// the jobs of the first.
//
// part of: I1, I2
func TestI1_ARepeatBesideItsFirstCallIsNoError(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, &Options{StatementTimeout: time.Hour})
	jobs := []job.New{newJob(t, s), newJob(t, s)}
	for i := range jobs {
		jobs[i].Key, jobs[i].Digest, jobs[i].Payload = "", nil, bytes.Repeat([]byte(" "), sqlstore.InlineMax+1)
	}
	first, err := connected(t, dsn).Begin(t.Context())
	if err == nil {
		_, err = s.EnqueueTx(t.Context(), Tx(first), slices.Clone(jobs))
	}
	if err != nil {
		t.Fatal(err)
	}
	again := slices.Clone(jobs)
	for i := range again {
		again[i].Repeat = true
	}
	second, err := connected(t, dsn).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan error, 1)
	go func() {
		_, err := s.EnqueueTx(t.Context(), Tx(second), again)
		answer <- err
	}()
	admin := connected(t, dsn)
	eventually(t, "the repeat to wait", func() bool { return numberOf(t, admin, waitingFor(s, "redrive_jobs")) == 1 })
	if err := first.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := within(t, answer); err != nil {
		t.Errorf("the repeat: %v", err)
	}
	if err := second.Commit(t.Context()); err != nil {
		t.Error(err)
	}
}

// Rows are numbered apart however often a transaction enqueues, and their counts
// are right.
//
// part of: I2
func TestI2_ManyCallsInOneTransaction(t *testing.T) {
	allWays(t, func(t *testing.T, w way, s *Store, dsn string) {
		tx, _, end := w.begin(t, dsn, &sql.TxOptions{})
		for range 5 {
			if _, err := s.EnqueueTx(t.Context(), tx, []job.New{newJob(t, s)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := end(true); err != nil {
			t.Fatal(err)
		}
		counts, err := s.Counts(t.Context())
		if err != nil || len(counts) != 1 || counts[0].N != 5 || counts[0].State != job.Waiting {
			t.Errorf("%v, %v", counts, err)
		}
		d, err := s.Dump(t.Context())
		if err != nil || len(d.Events) != 0 && len(d.Events) != 5 {
			t.Errorf("%d events, %v", len(d.Events), err)
		}
	})
}
