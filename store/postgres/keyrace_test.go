package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const raceKey = job.AliveKey + "race"

// keyedJob enqueues a job with the key raceKey.
func keyedJob(t *testing.T, s *Store) job.ID {
	t.Helper()
	n := newJob(t, s)
	n.Key, n.Digest = raceKey, nil
	r, err := s.Enqueue(t.Context(), []job.New{n})
	if err != nil || r[0].Existing {
		t.Fatalf("enqueue of a job with a free key: got receipts %+v, error %v; want a new job", r, err)
	}
	return n.ID
}

// before is a session that calls do before its nth statement with the name.
type before struct {
	sqlstore.Session
	name string
	n    *int
	do   func()
}

func (b before) see(q *sqlstore.Query) {
	if q.Name != b.name {
		return
	}
	if *b.n--; *b.n == 0 {
		b.do()
	}
}

func (b before) Exec(q *sqlstore.Query, args ...sqlstore.Value) (int, error) {
	b.see(q)
	return b.Session.Exec(q, args...)
}

func (b before) Rows(q *sqlstore.Query, each func(sqlstore.Row) error, args ...sqlstore.Value) error {
	b.see(q)
	return b.Session.Rows(q, each, args...)
}

// A retry finds its unique key free. Then another process enqueues a job with the key and
// commits, before the retry takes the key. The retry is refused: the dead job does not run
// without its key.
//
// part of: I1
func TestI1_ARetryThatLosesItsKeyIsRefused(t *testing.T) {
	t.Parallel()
	for _, at := range []struct {
		name string // the statement before which the other process enqueues its job
		n    int
	}{{"selKey", 2}, {"putKey", 1}} {
		t.Run(fmt.Sprintf("before %s %d", at.name, at.n), func(t *testing.T) {
			t.Parallel()
			s, dsn := freshAt(t, nil)
			other := opened(t, dsn, &Options{Schema: s.Schema()})
			dead := keyedJob(t, s)
			c := claimOne(t, s)
			if own := settles(t, s, kills(&c)); own[0] != nil {
				t.Fatal(own[0])
			}
			var holder job.ID
			n, tries := at.n, 0
			core := sqlstore.NewCore(sqlstore.DB{Clock: s.clock, AdminWrite: func(ctx context.Context, do func(*sqlstore.Txn) error) error {
				return s.transact(ctx, &s.begins.write, func(c *pg.Session) error {
					tries++
					txn, err := s.txn(before{c, at.name, &n, func() { holder = keyedJob(t, other) }}, true)
					if err != nil {
						return err
					}
					if err := do(txn); err != nil {
						return err
					}
					return txn.Flush()
				})
			}})
			did, err := core.Act(t.Context(), ann, store.Action{Do: store.ActRetry, IDs: []job.ID{dead}})
			if err != nil {
				t.Fatal(err)
			}
			if holder == 0 || tries != 2 {
				t.Fatalf("the retry made %d transactions, and the other process enqueued job %s; want 2 transactions and a job", tries, holder)
			}
			if err := did.Errors[0]; !errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), "job "+holder.String()) {
				t.Errorf("the retry: got error %v, want an ErrConflict that names job %s", err, holder)
			}
			for id, want := range map[job.ID]job.State{dead: job.Dead, holder: job.Waiting} {
				if j, err := s.Get(t.Context(), id); err != nil || j.State != want {
					t.Errorf("job %s: got state %s, error %v; want %s", id, j.State, err, want)
				}
			}
		})
	}
}

// A sweep finds that a completed job holds its key. Then another process enqueues a job
// that takes the key, and commits, before the sweep locks the key. The key stays with the
// other job. The completed job goes with the next sweep.
//
// part of: Q6, I1
func TestQ6_ASweepLeavesAKeyThatAnotherJobHasTaken(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	other := opened(t, dsn, &Options{Schema: s.Schema()})
	keyedJob(t, s)
	c := claimOne(t, s)
	if own := settles(t, s, completes(&c)); own[0] != nil {
		t.Fatal(own[0])
	}
	ends(t, s, job.Completed) // the newest row of redrive_done is never removed
	// The sweep waits for the lock after it has found the keys and before it locks them.
	gate := s.lockKey("gate of a test")
	const found = "FROM keyed d"
	text := strings.Replace(s.texts.Of(sweepDone), found, fmt.Sprintf("FROM (SELECT keyed.*, pg_advisory_xact_lock(%d) FROM keyed) d", gate), 1)
	if text == s.texts.Of(sweepDone) {
		t.Fatalf("the statement sweepDone does not have the text %q, after which this test makes it wait", found)
	}
	admin := opens(t, dsn, fmt.Sprintf(`SELECT pg_advisory_xact_lock(%d)`, gate))
	look := connected(t, dsn)
	swept := make(chan error, 1)
	removed := int64(0)
	go func() {
		swept <- s.transact(t.Context(), &s.begins.sweep, func(c *pg.Session) error {
			return remover{c}.send(pg.Step{Q: query("sweepDone", text), Args: []any{int64(s.clock.Now().Add(time.Hour)), int64(10)},
				Each: func(r sqlstore.Row) error { removed += r.Int(2); return nil }})
		})
	}()
	eventually(t, "the sweep waits between finding the key and locking it", func() bool {
		return numberOf(t, look, `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND query LIKE '%`+s.Schema()+`%redrive_done%'`) > 0
	})
	holder := keyedJob(t, other)
	run(t, admin, `ROLLBACK`)
	if err := <-swept; err != nil {
		t.Fatal(err)
	}
	check := func(when string, wantRemoved int64) {
		t.Helper()
		if removed != wantRemoved {
			t.Errorf("%s: %d jobs were removed, want %d", when, removed, wantRemoved)
		}
		if n := rowsOf(t, look, s, "keys", fmt.Sprintf("key = '%s' AND job = %d", raceKey, holder)); n != 1 {
			t.Errorf("%s: %d rows of the key with job %s, want 1", when, n, holder)
		}
	}
	check("after the sweep", 1) // the job without a key
	removed = sweptAll(t, s, all, 10).Completed
	check("after the next sweep", 1)
}
