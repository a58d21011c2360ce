package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A transaction of others that stays open holds up the folding of nothing but its own
// row, which is folded when it has ended.
//
// part of: B3
func TestB3_AnOpenTransactionDelaysNoFolding(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	b, _, err := s.StartBatch(t.Context(), store.By{}, store.NewBatch{}, []job.New{newJob(t, s)})
	if err != nil {
		t.Fatal(err)
	}
	slow, err := connected(t, dsn).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	own := newJob(t, s)
	own.Batch = b.ID
	if _, err := s.EnqueueTx(t.Context(), Tx(slow), []job.New{own}); err != nil {
		t.Fatal(err)
	}
	const n = 5
	for range n - 1 { // the batch has one member already
		beside := newJob(t, s)
		beside.Batch = b.ID
		if _, err := s.Enqueue(t.Context(), []job.New{beside}); err != nil {
			t.Fatal(err)
		}
	}
	conn := connected(t, dsn)
	table := s.Schema() + ".redrive_"
	folded := func() (counters, batch int64) {
		if err := s.foldAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		return numberOf(t, conn, `SELECT coalesce(sum(n), 0)::bigint FROM `+table+`counters`),
			numberOf(t, conn, `SELECT coalesce(sum(total), 0)::bigint FROM `+table+`batch_counts WHERE batch = 1`)
	}
	count := func() (n int64) {
		counts, err := s.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range counts {
			n += c.N
		}
		return n
	}
	eventually(t, "the others to be folded", func() bool {
		counters, batch := folded()
		if got := count(); got != n {
			t.Fatalf("%d are counted, want %d", got, n)
		}
		return counters == n && batch == n
	})
	if err := slow.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := count(); got != n+1 {
		t.Errorf("%d are counted before the last one is folded, want %d", got, n+1)
	}
	eventually(t, "the last one to be folded", func() bool {
		counters, batch := folded()
		return counters == n+1 && batch == n+1
	})
	if counters, batch := folded(); counters != n+1 || batch != n+1 || count() != n+1 {
		t.Errorf("%d, %d and %d are counted, want %d", counters, batch, count(), n+1)
	}
}

// What needs no counters does not read them: neither do ids take longer the more
// there is to be folded, nor does the enqueueing in a caller's transaction.
//
// part of: B3
func TestB3_CountersAreReadWhereTheyAreNeeded(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	conn := connected(t, dsn)
	n := newJob(t, s)
	if _, err := s.Enqueue(t.Context(), []job.New{n}); err != nil {
		t.Fatal(err)
	}
	// A call that reads them fails.
	run(t, conn, `ALTER TABLE `+s.Schema()+`.redrive_counters RENAME TO away`)
	if _, err := s.ReserveIDs(t.Context(), 1); err != nil {
		t.Error(err)
	}
	tx, err := connected(t, dsn).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.ReserveIDs(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	next := n
	next.ID = id
	if _, err := s.EnqueueTx(t.Context(), Tx(tx), []job.New{next}); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Rescue(t.Context(), 10); err != nil {
		t.Error(err)
	}
	if _, err := s.SetQueue(t.Context(), store.By{Actor: "ann"}, store.QueueChange{Name: n.Queue, Mode: new(store.Paused)}); err != nil {
		t.Error(err)
	}
	if answers, err := s.Cancel(t.Context(), store.By{Actor: "ann"}, []job.ID{n.ID}); err != nil || answers[0] != nil {
		t.Error(answers, err)
	}
	run(t, conn, `ALTER TABLE `+s.Schema()+`.away RENAME TO redrive_counters`)
}

// A lane that another process has made after a transaction read the lanes is known to
// the rows of that transaction.
//
// part of: Q10
func TestQ10_ARowOfALaneMadeMeanwhile(t *testing.T) {
	t.Parallel()
	a, dsn := freshAt(t, nil)
	b := opened(t, dsn, &Options{Schema: a.Schema()})
	n := newJob(t, b)
	n.Queue = "made-meanwhile"
	err := a.write(t.Context(), func(x *sqlstore.Txn) error {
		if _, err := b.Enqueue(t.Context(), []job.New{n}); err != nil {
			return err
		}
		var run *sqlstore.Run
		err := x.Session().Rows(sqlstore.Statement("selAny"), func(r sqlstore.Row) error {
			run = x.ScanRun(r)
			return nil
		}, sqlstore.Num(n.ID))
		if err == nil && (run == nil || run.Queue() != n.Queue || run.Kind() != n.Kind) {
			t.Errorf("the run is %+v", run)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A caller's transaction that has a job of a batch keeps nobody from ending another
// job of that batch.
//
// part of: I2, B2
func TestI2_ABatchInAnOpenTransactionHoldsUpNobody(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	first, second := newJob(t, s), newJob(t, s)
	b, _, err := s.StartBatch(t.Context(), store.By{}, store.NewBatch{}, []job.New{first})
	if err != nil {
		t.Fatal(err)
	}
	second.Batch = b.ID
	tx, err := connected(t, dsn).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.EnqueueTx(t.Context(), Tx(tx), []job.New{second}); err != nil {
		t.Fatal(err)
	}
	out, err := s.Exchange(t.Context(), store.Exchange{Holder: "w", Lease: time.Minute, Want: []store.Want{{Queue: first.Queue, Max: 1,
		Kinds: []store.KindWant{{Kind: first.Kind, Max: 1, MaxCrashes: 3}}}}})
	if err != nil || len(out.Claims) != 1 {
		t.Fatal(out.Claims, err)
	}
	o := job.Outcome{ID: first.ID, Token: out.Claims[0].Token, Cause: job.Succeeded, To: job.Completed}
	if out, err = s.Exchange(t.Context(), store.Exchange{Holder: "w", Lease: time.Minute, Settle: []job.Outcome{o}}); err != nil || out.Settled[0] != nil {
		t.Fatal(out.Settled, err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn := connected(t, dsn)
	eventually(t, "the batch to be right", func() bool {
		if err := s.foldAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		return numberOf(t, conn, `SELECT count(*) FROM `+s.Schema()+`.redrive_batch_counts WHERE batch = 1 AND total = 2 AND completed = 1
			AND dead = 0 AND cancelled = 0`) == 1
	})
}

// A transaction that holds the lock on dead letters keeps nobody from making a lane.
//
// part of: I2
func TestI2_DeadLettersHoldUpNoNewLanes(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	tx, err := connected(t, dsn).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock($1)`, s.deadLetters); err != nil {
		t.Fatal(err)
	}
	n := newJob(t, s)
	n.Queue = "fresh"
	if _, err := s.EnqueueTx(t.Context(), Tx(tx), []job.New{n}); err != nil {
		t.Error(err)
	}
	n = newJob(t, s)
	n.Queue = "fresher"
	if _, err := s.Enqueue(t.Context(), []job.New{n}); err != nil {
		t.Error(err)
	}
	if err := s.Declare(t.Context(), []string{"freshest"}); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Error(err)
	}
}

// A transaction that has ended is refused, also when its connection is in another one
// by now, which stays as it is.
//
// part of: I2
func TestI2_AnEndedTransactionWritesIntoNoOther(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	conn := connected(t, dsn)
	ended, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := ended.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	other, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.EnqueueTx(t.Context(), Tx(ended), []job.New{newJob(t, s)}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("the ended transaction: %v", err)
	}
	if err := other.Commit(t.Context()); err != nil {
		t.Error(err)
	}
	if events, err := s.Events(t.Context(), event.Cursor{}, 1); err != nil || len(events) > 0 {
		t.Error(events, err)
	}
}
