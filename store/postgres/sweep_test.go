package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// all is a retention by which everything that has ended goes at once.
var all = store.Retention{Completed: time.Microsecond, Failures: time.Microsecond, Dead: time.Microsecond, Events: time.Microsecond}

// opens begins a transaction for the time of a test.
func opens(t *testing.T, dsn string, statements ...string) *pgx.Conn {
	t.Helper()
	conn := connected(t, dsn)
	run(t, conn, append([]string{`BEGIN`}, statements...)...)
	return conn
}

// sweptAll sweeps until there is nothing more to do.
func sweptAll(t *testing.T, s *Store, keep store.Retention, limit int) store.Swept {
	t.Helper()
	sum, err := sweeps(t.Context(), s, keep, limit)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// sweeps is sweptAll for goroutines beside the test's.
func sweeps(ctx context.Context, s *Store, keep store.Retention, limit int) (sum store.Swept, err error) {
	for more := true; more; {
		swept, err := s.Sweep(ctx, keep, limit)
		if err != nil {
			return sum, err
		}
		add(&sum, &swept)
		more = swept.More
	}
	return sum, nil
}

// ends makes jobs that have ended, by the way in which they do.
func ends(t *testing.T, s *Store, how ...job.State) (ids []job.ID) {
	t.Helper()
	for _, state := range how {
		id := added(t, s)
		ids = append(ids, id)
		if state == job.Cancelled {
			if _, err := s.Cancel(t.Context(), ann, []job.ID{id}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		c := claimOne(t, s)
		o := job.Outcome{ID: c.ID, Token: c.Token, Cause: job.Succeeded, To: job.Completed}
		if state == job.Dead {
			o = job.Outcome{ID: c.ID, Token: c.Token, Cause: job.Failed, To: job.Dead, Reason: job.MaxRetries,
				Failure: &job.Failure{How: job.ByError, Class: "A", Message: "a", Fingerprint: "A|mail"}}
		}
		x, err := s.Exchange(t.Context(), store.Exchange{Holder: "worker", Lease: time.Minute, Settle: []job.Outcome{o}})
		if err != nil || x.Settled[0] != nil {
			t.Fatal(err, x.Settled)
		}
	}
	return ids
}

// rowsOf counts rows of the store's tables.
func rowsOf(t *testing.T, conn *pgx.Conn, s *Store, table, where string) int64 {
	t.Helper()
	return numberOf(t, conn, `SELECT count(*) FROM `+s.Schema()+`.redrive_`+table+` WHERE `+where)
}

// A sweep does not wait for keys that somebody else has locked, and neither does
// anybody behind it: what is held goes the next time, and all else goes now.
//
// part of: Q6, Q10
func TestQ6_SweepsLeaveKeysThatAreHeld(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	ids := ends(t, s, job.Cancelled, job.Cancelled, job.Completed, job.Dead, job.Dead, job.Completed, job.Completed)
	held, free, over, dead, deadFree := ids[0], ids[1], ids[2], ids[3], ids[4]
	if _, err := s.Act(t.Context(), ann, store.Action{Do: store.ActResolve, IDs: []job.ID{dead, deadFree}}); err != nil {
		t.Fatal(err)
	}
	admin := connected(t, dsn)
	run(t, admin, fmt.Sprintf(`UPDATE %s.redrive_keys SET until = 1 WHERE job IN (%d, %d)`, s.Schema(), over, ids[5]))
	tx := opens(t, dsn, fmt.Sprintf(`SELECT 1 FROM %s.redrive_keys WHERE job IN (%d, %d, %d) FOR UPDATE`, s.Schema(), held, over, dead))
	swept := sweptAll(t, s, all, 2)
	if swept.Completed != 4 || swept.Keys != 1 || swept.Dead != 1 {
		t.Errorf("beside the transaction %+v", swept)
	}
	left := fmt.Sprintf(`job IN (%d, %d)`, held, free)
	if n := rowsOf(t, admin, s, "done", left); n != 1 {
		t.Errorf("%d of the cancelled jobs are left, want the one whose key is held", n)
	}
	run(t, tx, `COMMIT`)
	swept = sweptAll(t, s, all, 2)
	if swept.Completed != 1 || swept.Keys != 1 || swept.Dead != 1 {
		t.Errorf("after the transaction %+v", swept)
	}
	for id, want := range map[job.ID]job.State{held: job.Cancelled, free: job.Cancelled, dead: job.Dead, deadFree: job.Dead} {
		n := newJob(t, s)
		n.Key = "k" + id.String()
		receipts, err := s.Enqueue(t.Context(), []job.New{n})
		if err != nil || receipts[0] != (job.Receipt{ID: id, Existing: true, State: want}) {
			t.Errorf("the key of job %s, which was %s: %+v, %v", id, want, receipts, err)
		}
	}
}

// While a transaction holds the lock on dead letters for as long as it is open, everything goes
// on but what is about dead letters.
//
// part of: Q6, Q10
func TestQ6_SweepsDoNotWaitForDeadLetters(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	ids := ends(t, s, job.Completed, job.Completed, job.Dead, job.Completed)
	if _, err := s.Act(t.Context(), ann, store.Action{Do: store.ActResolve, IDs: ids[2:3]}); err != nil {
		t.Fatal(err)
	}
	tx := opens(t, dsn, fmt.Sprintf(`SELECT pg_advisory_xact_lock(%d)`, s.deadLetters))
	swept, err := s.Sweep(t.Context(), all, 10)
	if err != nil || swept.Completed != 3 || swept.Dead != 0 || !swept.More {
		t.Errorf("beside the transaction %+v, %v", swept, err)
	}
	admin := connected(t, dsn)
	if _, err := s.Enqueue(t.Context(), []job.New{newJob(t, s)}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the counters are folded", func() bool {
		if err := s.foldAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		return rowsOf(t, admin, s, "events", `seq > (SELECT value FROM `+s.Schema()+`.redrive_meta WHERE key = 'folded')`) == 0
	})
	run(t, tx, `COMMIT`)
	if swept := sweptAll(t, s, all, 10); swept.Dead != 1 {
		t.Errorf("after the transaction %+v", swept)
	}
}

// Events that nobody can read yet, because of an older transaction, are not removed.
//
// part of: N6, Q6
func TestN6_SweepsLeaveEventsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	ends(t, s, job.Completed)
	tx := opens(t, dsn, `SELECT pg_current_xact_id()`)
	id := ends(t, s, job.Completed, job.Completed)[0]
	sweptAll(t, s, store.Retention{Events: time.Microsecond}, 10)
	run(t, tx, `COMMIT`)
	eventually(t, "the events of the job", func() bool {
		return seen(t, s, id) == 3
	})
}

// Sweeps of several processes at one time remove each row once, and the counters
// come out right.
//
// part of: Q6, B3
func TestQ6_SweepsAtOneTime(t *testing.T) {
	t.Parallel()
	a, dsn := freshAt(t, &Options{StatementTimeout: time.Minute})
	stores := []*Store{a, opened(t, dsn, &Options{Schema: a.Schema(), StatementTimeout: time.Minute})}
	ends(t, a, job.Completed)
	const jobs = 5_000
	admin := connected(t, setting(dsn, "search_path", a.Schema()))
	run(t, admin, fmt.Sprintf(`INSERT INTO redrive_done (job, lane, state, priority, token, life, attempts, crashes, deferrals, snoozes,
		interrupts, created_at, life_at, finished_at) SELECT 1000000 + i, 1, 4 + 2 * (i %% 2), 3, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1
		FROM generate_series(1, %d) i`, jobs), fmt.Sprintf(`INSERT INTO redrive_failures (job, token, life, attempt, started_at, ended_at,
		how, class, permanent, message) SELECT 1000000 + i, 1, 1, 1, 1, 1, 'error', 'C', 0, 'm' FROM generate_series(1, %d) i`, jobs),
		fmt.Sprintf(`INSERT INTO redrive_keys (owner, kind, key, job, digest, created_at, until) SELECT '', 'mail', 'x' || i, i, '', 1, 1
			FROM generate_series(1, %d) i`, jobs),
		fmt.Sprintf(`INSERT INTO redrive_counters (lane, state, n) VALUES (1, 4, %d), (1, 6, %[1]d)
			ON CONFLICT (lane, state) DO UPDATE SET n = redrive_counters.n + excluded.n`, jobs/2))
	ends(t, a, job.Completed)
	var mu sync.Mutex
	var sum store.Swept
	var together sync.WaitGroup
	for _, s := range append(slices.Clone(stores), stores...) {
		together.Go(func() {
			swept, err := sweeps(t.Context(), s, all, 300)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			add(&sum, &swept)
		})
	}
	together.Wait()
	if sum.Completed != jobs+2 || sum.Failures != jobs || sum.Keys != jobs {
		t.Errorf("%+v, want %d of each", sum, jobs)
	}
	counts, err := a.Counts(t.Context())
	if err != nil || len(counts) != 0 {
		t.Errorf("counts %+v, %v", counts, err)
	}
}

// seen returns how many events of a job can be read.
func seen(t *testing.T, s *Store, id job.ID) (n int) {
	t.Helper()
	events, err := s.Events(t.Context(), event.Cursor{}, 1_000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		if events[i].Job == id {
			n++
		}
	}
	return n
}

// A plan that was made for an empty table is not kept for a sweep of a full one.
//
// part of: Q6
func TestQ6_SweepsArePlannedForTheTablesAsTheyAre(t *testing.T) {
	t.Parallel()
	s := fresh(t, nil)
	if _, err := s.Sweep(t.Context(), store.Retention{Completed: time.Hour, Failures: time.Hour, Events: time.Hour, Dead: time.Hour}, 10); err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, pool := range []*pgxpool.Pool{s.pool, s.fastPool} {
		for _, c := range pool.AcquireAllIdle(t.Context()) {
			kept := numberOf(t, c.Conn(), `SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%redrive_done ORDER BY ' || 'seq LIMIT%' OR statement LIKE '%redrive_keys WHERE ' || 'until%'`)
			if kept != 0 {
				t.Errorf("%d statements of sweeps are kept on a connection", kept)
			}
			looked++
			c.Release()
		}
	}
	if looked == 0 {
		t.Error("no connection was looked at")
	}
}

// A sweep that cannot remove events has removed jobs before that, and says so.
func TestASweepThatFailsSaysWhatItHasRemoved(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	ends(t, s, job.Completed, job.Completed, job.Completed)
	conn := opens(t, dsn, fmt.Sprintf(`SELECT pg_advisory_xact_lock(%d)`, s.folds))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var swept store.Swept
	var err error
	over := make(chan struct{})
	go func() {
		defer close(over)
		swept, err = s.Sweep(ctx, all, store.SweepMax)
	}()
	watch := connected(t, dsn)
	eventually(t, "the jobs are removed", func() bool {
		return numberOf(t, watch, `SELECT count(*) FROM `+pgx.Identifier{s.Schema(), "redrive_done"}.Sanitize()) == 0
	})
	stop()
	<-over
	if err == nil || swept.Completed != 3 {
		t.Errorf("a sweep that was stopped at the events: got %+v and the error %v, want 3 completed jobs and an error", swept, err)
	}
	run(t, conn, `ROLLBACK`)
}
