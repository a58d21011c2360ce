package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/store/postgres"
)

// The examples do what they say, on a real server.
//
// part of: I2
func TestI2_ExamplesDoWhatTheySay(t *testing.T) {
	dsn := pgtest.Database(t)
	t.Setenv("DATABASE_URL", dsn)
	u := users(t, dsn)
	u.exec(`CREATE TABLE orders (id int, customer text, confirmed int NOT NULL DEFAULT 0)`)
	ExampleOpen()
	ExampleTx()
	ExampleTx_complete()
	ExampleSQLTx()
	ExampleSQLTx_complete()
	if n := u.number(`SELECT count(*) FROM orders WHERE confirmed = 1`); n != 2 {
		t.Errorf("%d orders were confirmed once, want 2", n)
	}
	if n := u.number(`SELECT count(*) FROM redrive.redrive_done WHERE state = 4`); n != 2 {
		t.Errorf("%d jobs are completed, want 2", n)
	}
	if n := u.number(`SELECT count(*) FROM jobs.redrive_done WHERE state = 4`); n != 1 {
		t.Errorf("%d jobs are completed in the other schema, want 1", n)
	}
}

// user is a connection of the program that uses redrive.
type user struct {
	t    *testing.T
	conn *pgx.Conn
}

func users(t *testing.T, dsn string) user {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return user{t, conn}
}

func (u user) exec(statement string) {
	u.t.Helper()
	if _, err := u.conn.Exec(u.t.Context(), statement); err != nil {
		u.t.Fatalf("%s: %v", statement, err)
	}
}

func (u user) number(query string) (n int) {
	u.t.Helper()
	if err := u.conn.QueryRow(u.t.Context(), query).Scan(&n); err != nil {
		u.t.Fatalf("%s: %v", query, err)
	}
	return n
}

// own is a transaction of the program's own.
type own struct {
	tx       store.Tx
	exec     func(string) error
	commit   func() error
	rollback func() error
}

// drivers begin transactions in both ways.
var drivers = map[string]func(t *testing.T, dsn string) func(context.Context) (own, error){
	"pgx": func(t *testing.T, dsn string) func(context.Context) (own, error) {
		return func(ctx context.Context) (own, error) {
			conn, err := pgx.Connect(ctx, dsn)
			if err != nil {
				return own{}, err
			}
			t.Cleanup(func() { _ = conn.Close(context.Background()) })
			tx, err := conn.Begin(ctx)
			if err != nil {
				return own{}, err
			}
			return own{postgres.Tx(tx), func(s string) error { _, err := tx.Exec(ctx, s); return err },
				func() error { return tx.Commit(ctx) }, func() error { return tx.Rollback(ctx) }}, nil
		}
	},
	"sql": func(t *testing.T, dsn string) func(context.Context) (own, error) {
		db, err := sql.Open("pgx", dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return func(ctx context.Context) (own, error) {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return own{}, err
			}
			return own{postgres.SQLTx(tx), func(s string) error { _, err := tx.ExecContext(ctx, s); return err },
				tx.Commit, tx.Rollback}, nil
		}
	},
}

// rig is a store with a client, and a table of the program's own beside it.
type rig struct {
	user
	store   *postgres.Store
	effects string // name of the table
	begin   func(context.Context) (own, error)
}

func newRig(t *testing.T, driver string, clock func() time.Time) *rig {
	t.Helper()
	dsn, schema := pgtest.Schema(t)
	st, err := postgres.Open(t.Context(), dsn, &postgres.Options{Schema: schema, Clock: clock, ReadLimit: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &rig{users(t, dsn), st, schema + ".effects", drivers[driver](t, dsn)}
	r.exec(`CREATE TABLE ` + r.effects + ` (job int)`)
	return r
}

// effect is what the program does in its own transaction.
func (r *rig) effect() string { return `INSERT INTO ` + r.effects + ` VALUES (1)` }

func (r *rig) client(h func(context.Context, *redrive.Job[int]) error) *redrive.Client {
	r.t.Helper()
	c, err := redrive.New(r.store, &redrive.Config{TempDir: r.t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		r.t.Fatal(err)
	}
	redrive.Handle(c, Confirm, h, nil)
	return c
}

func (r *rig) enqueue(c *redrive.Client) redrive.JobID {
	r.t.Helper()
	receipt, err := c.Enqueue(r.t.Context(), Confirm.New(1, nil))
	if err != nil {
		r.t.Fatal(err)
	}
	return receipt.ID
}

func (r *rig) wants(id redrive.JobID, state job.State, effects int) {
	r.t.Helper()
	if j, err := r.store.Get(r.t.Context(), id); err != nil || j.State != state {
		r.t.Errorf("job %d is %s (%v), want %s", id, j.State, err, state)
	}
	if n := r.number(`SELECT count(*) FROM ` + r.effects); n != effects {
		r.t.Errorf("%d effects, want %d", n, effects)
	}
}

func eachDriver(t *testing.T, test func(*testing.T, string)) {
	t.Parallel()
	for name := range drivers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, name)
		})
	}
}

func nothing(context.Context, *redrive.Job[int]) error { return nil }

// A job of the caller's transaction exists if and only if the caller commits.
//
// proves: I2, Q1
func TestI2_Q1_AJobExistsIfTheCallerCommits(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		r := newRig(t, driver, nil)
		c := r.client(nothing)
		for _, commit := range []bool{false, true} {
			tx, err := r.begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := tx.exec(r.effect()); err != nil {
				t.Fatal(err)
			}
			receipts, err := c.EnqueueManyTx(t.Context(), tx.tx, []redrive.Spec{Confirm.New(1, nil), Confirm.New(2, nil)})
			if err != nil || len(receipts) != 2 {
				t.Fatalf("%v, %v", receipts, err)
			}
			if err := c.RunUntilIdle(t.Context()); err != nil { // must neither see them nor wait for them
				t.Fatal(err)
			}
			end := tx.rollback
			if commit {
				end = tx.commit
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
			for _, receipt := range receipts {
				if _, err := c.Get(t.Context(), receipt.ID); errors.Is(err, store.ErrNotFound) == commit {
					t.Errorf("commit %t: job %d: %v", commit, receipt.ID, err)
				}
			}
			if n := r.number(`SELECT count(*) FROM ` + r.effects); (n == 1) != commit {
				t.Errorf("commit %t: %d effects", commit, n)
			}
		}
		if err := c.RunUntilIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
		counts, err := r.store.Counts(t.Context())
		if err != nil || len(counts) == 0 {
			t.Fatalf("counts %v, %v", counts, err)
		}
		for _, n := range counts {
			if n.State == job.Completed && n.N != 2 || n.State != job.Completed && n.N != 0 {
				t.Errorf("%d are %s", n.N, n.State)
			}
		}
	})
}

// The effect and the completion happen together, and once.
//
// proves: I2
func TestI2_AnEffectIsDoneOnceWithItsCompletion(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		var ahead atomic.Int64
		r := newRig(t, driver, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
		runs := 0
		c := r.client(func(ctx context.Context, j *redrive.Job[int]) error {
			runs++
			tx, err := r.begin(ctx)
			if err != nil {
				return err
			}
			if err := errors.Join(tx.exec(r.effect()), j.CompleteTx(ctx, tx.tx)); err != nil {
				return errors.Join(err, tx.rollback())
			}
			switch runs {
			case 1: // fails after it has completed, and takes both back
				return errors.Join(errors.New("changed my mind"), tx.rollback())
			case 2: // says to have succeeded although nothing was committed
				return tx.rollback()
			}
			if err := tx.commit(); err != nil {
				return err
			}
			return errors.New("too late: the job is completed")
		})
		id := r.enqueue(c)
		for run, want := range []struct {
			state   job.State
			effects int
		}{{job.Retrying, 0}, {job.Retrying, 0}, {job.Completed, 1}, {job.Completed, 1}} {
			ahead.Store(int64(run) * int64(time.Hour)) // the wait is over
			if err := c.RunUntilIdle(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.wants(id, want.state, want.effects)
		}
		if runs != 3 {
			t.Errorf("%d runs, want 3", runs)
		}
	})
}

// A run that has lost its lease is refused inside the caller's transaction, and the
// other run's effect is the only one.
//
// proves: I2, Q4
func TestI2_Q4_ALostRunHasNoEffect(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver string) {
		var ahead atomic.Int64
		r := newRig(t, driver, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
		complete := func(ctx context.Context, j *redrive.Job[int]) error {
			tx, err := r.begin(ctx)
			if err != nil {
				return err
			}
			if err := errors.Join(tx.exec(r.effect()), j.CompleteTx(ctx, tx.tx)); err != nil {
				return errors.Join(err, tx.rollback())
			}
			return tx.commit()
		}
		var lost error
		c := r.client(func(ctx context.Context, j *redrive.Job[int]) error {
			if j.Run > 1 {
				return complete(ctx, j)
			}
			look := time.NewTicker(5 * time.Millisecond)
			defer look.Stop()
			ahead.Store(int64(time.Minute)) // as if this process had slept
			for {
				if _, err := r.store.Rescue(t.Context(), 10); err != nil {
					return err
				}
				if now, err := r.store.Get(t.Context(), j.ID); err != nil || now.State == job.Completed {
					break // by the other run
				}
				<-look.C
			}
			lost = complete(context.WithoutCancel(ctx), j)
			return lost
		})
		id := r.enqueue(c)
		if err := c.RunUntilIdle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(lost, store.ErrLeaseLost) {
			t.Errorf("the run that had lost its lease got the error %v", lost)
		}
		r.wants(id, job.Completed, 1)
	})
}
