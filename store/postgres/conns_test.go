package postgres

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/testing/pgtest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A process that is asked for everything at once has as many connections as it may
// have, and no more.
func TestMaxConnsCountsAllConnections(t *testing.T) {
	t.Parallel()
	for _, most := range []int{MaxConnsMin, 10, MaxConnsDefault} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			t.Parallel()
			dsn, schema := pgtest.Schema(t)
			s := opened(t, setting(dsn, "application_name", schema), &Options{Schema: schema, MaxConns: most, StatementTimeout: time.Minute,
				ReadLimit: time.Minute})
			known, plain, keyed := plainJob(t, s), plainJob(t, s), plainJob(t, s)
			if _, err := s.Enqueue(t.Context(), []job.New{known}); err != nil {
				t.Fatal(err)
			}
			claim := func() error {
				_, err := s.Exchange(t.Context(), store.Exchange{Holder: "h", Lease: time.Minute,
					Want: []store.Want{{Queue: known.Queue, Max: 1, Kinds: []store.KindWant{{Kind: known.Kind, Max: 1, MaxCrashes: 5}}}}})
				return err
			}
			if err := claim(); err != nil { // else one reads the lanes, and the others wait for it
				t.Fatal(err)
			}
			locker, admin := connected(t, dsn), connected(t, dsn)
			run(t, locker, `BEGIN`, `LOCK TABLE `+schema+`.redrive_jobs IN ACCESS EXCLUSIVE MODE`)
			var all sync.WaitGroup
			ask := func(call func() error) {
				all.Go(func() {
					if err := call(); err != nil {
						t.Error(err)
					}
				})
			}
			keyed.Key = "key"
			ask(func() error { _, err := s.Enqueue(t.Context(), []job.New{plain}); return err })
			ask(func() error { _, err := s.Enqueue(t.Context(), []job.New{keyed}); return err })
			for range 2 * most {
				ask(func() error { _, err := s.Get(t.Context(), known.ID); return err })
				ask(claim)
			}
			inUse := func() int { return int(s.pool.Stat().AcquiredConns() + s.fastPool.Stat().AcquiredConns()) }
			eventually(t, "all connections to be in use", func() bool { return inUse() == most-lineConns })
			n := numberOf(t, admin, `SELECT count(*) FROM pg_stat_activity WHERE application_name = '`+schema+`'`)
			if n < int64(most-lineConns) || n > int64(most) {
				t.Errorf("%d connections, want %d", n, most)
			}
			run(t, locker, `COMMIT`)
			all.Wait()
		})
	}
}

// Behind a pooler nothing is pinned to a connection, and all that do not listen or
// notify are shared.
func TestMaxConnsBehindAPooler(t *testing.T) {
	t.Parallel()
	o := Options{MaxConns: 10}
	if got := o.shares(true); got != (shares{rest: 8}) {
		t.Errorf("%+v", got)
	}
	if got := o.shares(false); got != (shares{fast: 4, rest: 4}) {
		t.Errorf("%+v", got)
	}
}
