package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/internal/testing/servers"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A server that is stopped, away and started again: calls fail within their
// contexts with the store's word for it, and all is well when it is back, without
// a word to the store.
//
// part of: Q10
func TestQ10_ServerAwayAndBack(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	s := opened(t, server.DSN(), nil)
	wake := make(chan struct{}, 1)
	defer s.Notify(wake)()
	before := newJob(t, s)
	if _, err := s.Enqueue(t.Context(), []job.New{before}); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []servers.Mode{servers.Fast, servers.Immediate} {
		server.Stop(mode)
		var calls sync.WaitGroup
		for range 50 {
			calls.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				_, err := s.Enqueue(ctx, []job.New{{ID: before.ID + 1_000_000, Kind: "mail", Queue: "default", Priority: 2, Payload: []byte("1")}})
				if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v: %v", mode, err)
				}
				if _, err := s.Counts(ctx); !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v: %v", mode, err)
				}
			})
		}
		calls.Wait()
		select { // only what comes after the start counts
		case <-wake:
		default:
		}
		server.Start()
		if _, err := s.Get(t.Context(), before.ID); err != nil {
			t.Errorf("%v: the first call after it: %v", mode, err)
		}
		if _, err := s.ReserveIDs(t.Context(), 1); err != nil {
			t.Errorf("%v: the first write after it: %v", mode, err)
		}
		limit, done := context.WithTimeout(t.Context(), testLimit)
		select { // the listener listens again, and says that something may have been missed
		case <-wake:
		case <-limit.Done():
			t.Errorf("%v: no full look after it", mode)
		}
		done()
	}
	claimOne(t, s)
}

// A server that does not answer is not waited for beyond the context, and what
// was asked for is not done behind the caller's back.
//
// part of: Q10
func TestQ10_ServerHangs(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t)
	s := opened(t, server.DSN(), nil)
	n := newJob(t, s)
	server.Pause()
	ctx, giveUp := context.WithCancel(t.Context())
	answer := make(chan error, 1)
	go func() {
		_, err := s.ReserveIDs(ctx, 1)
		answer <- err
	}()
	eventually(t, "the call to be under way, beside the folding", func() bool { return inUse(s.pool) >= 2 })
	giveUp()
	if err := within(t, answer); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	server.Resume()
	if _, err := s.Enqueue(t.Context(), []job.New{n}); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// A connection that is killed costs the call that was on it, and no other.
//
// part of: Q10
func TestQ10_KilledBackends(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	admin := connected(t, dsn)
	err := s.transact(t.Context(), &s.begins.write, func(c *pg.Session) error {
		pid, err := sqlstore.ReadInt(c, query("pid", `SELECT pg_backend_pid()`))
		if err != nil {
			return err
		}
		run(t, admin, fmt.Sprintf(`SELECT pg_terminate_backend(%d, 5000)`, pid))
		_, err = sqlstore.ReadInt(c, query("pid", `SELECT pg_backend_pid()`))
		return err
	})
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("killed in a transaction: %v", err)
	}
	// Killed while it lies in the pool: nobody notices.
	run(t, admin, `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid()
		AND application_name = 'redrive' AND query LIKE '%`+s.Schema()+`%'`)
	if _, err := s.ReserveIDs(t.Context(), 1); err != nil {
		t.Errorf("killed in the pool: %v", err)
	}
}

// Transactions that wait for each other in a ring are run again.
//
// part of: Q10
func TestQ10_DeadlocksAreRunAgain(t *testing.T) {
	t.Parallel()
	s := fresh(t, nil)
	for i := range 2 {
		if err := s.Declare(t.Context(), []string{fmt.Sprint("q", i)}); err != nil {
			t.Fatal(err)
		}
	}
	lockQueue := s.query("lockQueue", `UPDATE redrive.redrive_queues SET lim = lim + 1 WHERE name = $1`)
	first, met := make(chan int, 2), make(chan struct{})
	go func() { <-first; <-first; close(met) }()
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() {
			waited := false
			err := s.transact(t.Context(), &s.begins.write, func(c *pg.Session) error {
				if _, err := c.Exec(lockQueue, text(fmt.Sprint("q", i))); err != nil {
					return err
				}
				if !waited { // only the first time: then each has one lock
					waited = true
					first <- i
					<-met
				}
				_, err := c.Exec(lockQueue, text(fmt.Sprint("q", 1-i)))
				return err
			})
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	both.Wait()
	queues, err := s.Queues(t.Context())
	if err != nil || len(queues) != 2 || queues[0].Limit != 2 || queues[1].Limit != 2 {
		t.Errorf("%v, %v", queues, err)
	}
}

// A statement that waits too long for a lock ends, says so, and leaves nothing.
//
// part of: Q10
func TestQ10_StatementLimit(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, &Options{StatementTimeout: 2 * time.Second, ReadLimit: 2 * time.Second})
	admin := connected(t, dsn)
	run(t, admin, `BEGIN`, `LOCK TABLE `+s.Schema()+`.redrive_meta IN ACCESS EXCLUSIVE MODE`)
	if _, err := s.ReserveIDs(t.Context(), 1); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "limit") {
		t.Errorf("a write: %v", err)
	}
	if _, err := s.Counts(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a read: %v", err)
	}
	run(t, admin, `ROLLBACK`)
	eventually(t, "a write", func() bool { _, err := s.ReserveIDs(t.Context(), 1); return err == nil })
}

// A migration by another process while this one has statements prepared.
//
// part of: Q10
func TestQ10_PreparedStatementsOutliveAMigration(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	if err := s.Declare(t.Context(), []string{"q"}); err != nil {
		t.Fatal(err)
	}
	all := s.query("all", `SELECT * FROM redrive.redrive_queues`)
	look := func() error {
		return s.transact(t.Context(), &s.begins.read, func(c *pg.Session) error {
			return c.Rows(all, func(sqlstore.Row) error { return nil })
		})
	}
	for range 2 * s.options.MaxConns {
		if err := look(); err != nil {
			t.Fatal(err)
		}
	}
	run(t, connected(t, dsn), `ALTER TABLE `+s.Schema()+`.redrive_queues ADD COLUMN later bigint`)
	if err := look(); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// What is not understood, or has ended the transaction unnoticed, is no success.
func TestUnnoticedErrorsAreNoSuccess(t *testing.T) {
	t.Parallel()
	s := fresh(t, nil)
	err := s.transact(t.Context(), &s.begins.write, func(c *pg.Session) error {
		_, _ = c.Exec(query("bad", `SELECT 1 / 0`))
		return nil
	})
	if err == nil || errors.Is(err, store.ErrUnknown) {
		t.Errorf("%v", err)
	}
}
