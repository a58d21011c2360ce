package postgres

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/redrive/redrive/internal/testing/pgproxy"
	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A call whose context ends while it waits for another transaction returns, and
// leaves its own transaction as it was: what was done before goes on to be there,
// and other calls go well.
//
// part of: I2
func TestI2_ContextEndsAWait(t *testing.T) {
	allWays(t, func(t *testing.T, w way, s *Store, dsn string) {
		admin := connected(t, dsn)
		before, held, after := newJob(t, s), newJob(t, s), newJob(t, s)
		twin := newJob(t, s)
		twin.Key = held.Key
		holder, _, release := w.begin(t, dsn, &sql.TxOptions{})
		if _, err := s.EnqueueTx(t.Context(), holder, []job.New{held}); err != nil {
			t.Fatal(err)
		}
		tx, exec, end := w.begin(t, dsn, &sql.TxOptions{})
		if _, err := s.EnqueueTx(t.Context(), tx, []job.New{before}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			answer := make(chan error, 1)
			go func() {
				_, err := s.EnqueueTx(ctx, tx, []job.New{twin})
				answer <- err
			}()
			eventually(t, "the call to wait", func() bool {
				return numberOf(t, admin, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
					AND query LIKE '%`+s.Schema()+`%'`) == 1
			})
			cancel()
			if err := within(t, answer); !errors.Is(err, context.Canceled) || !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%v", err)
			}
			if err := exec(`SELECT 1`); err != nil {
				t.Fatalf("the transaction does not go on: %v", err)
			}
		}
		if _, err := s.EnqueueTx(t.Context(), tx, []job.New{after}); err != nil {
			t.Errorf("another call: %v", err)
		}
		if err := errors.Join(end(true), release(false)); err != nil {
			t.Fatal(err)
		}
		for _, n := range []job.New{before, after} {
			if _, err := s.Get(t.Context(), n.ID); err != nil {
				t.Errorf("job %s: %v", n.ID, err)
			}
		}
		if _, err := s.Get(t.Context(), twin.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the job of the call that was ended: %v", err)
		}
	})
}

// A server that does not answer does not keep a call in a transaction beyond its
// context either; only then the connection is given up.
//
// part of: I2
func TestI2_ContextEndsACallOfAHangingServer(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			server := pgtest.New(t)
			s := opened(t, server.DSN(), nil)
			p, through, err := pgproxy.Before(server.DSN())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Close() })
			first, second := newJob(t, s), newJob(t, s)
			tx, _, end := w.begin(t, through, &sql.TxOptions{})
			for _, n := range []job.New{first, newJob(t, s)} { // by the second the lane is known, and not asked for any more
				if _, err := s.EnqueueTx(t.Context(), tx, []job.New{n}); err != nil {
					t.Fatal(err)
				}
			}
			server.Pause()
			sent := p.Stats().ToServer
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			answer := make(chan error, 1)
			go func() {
				_, err := s.EnqueueTx(ctx, tx, []job.New{second})
				answer <- err
			}()
			eventually(t, "the call to be under way", func() bool { return p.Stats().ToServer > sent })
			cancel()
			if err := within(t, answer); !errors.Is(err, context.Canceled) || !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%v", err)
			}
			server.Resume()
			if err := end(true); err == nil {
				t.Error("the transaction could be committed")
			}
			if _, err := s.Get(t.Context(), first.ID); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("the first job: %v", err)
			}
		})
	}
}

// within returns what comes in time.
func within[T any](t *testing.T, ch <-chan T) (v T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	select {
	case v = <-ch:
	case <-ctx.Done():
		t.Fatal("nothing came in time")
	}
	return v
}
