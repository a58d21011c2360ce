package postgres

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A call that waits for another transaction for too long, as its id is in that one,
// is no harm to those that share its own.
//
// part of: Q10
func TestQ10_ACallThatIsHeldUpHarmsNoOther(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, impatient())
	if _, err := s.Enqueue(t.Context(), []job.New{plainJob(t, s)}); err != nil {
		t.Fatal(err)
	}
	held := plainJob(t, s)
	tx, err := connected(t, dsn).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.EnqueueTx(t.Context(), Tx(tx), []job.New{held}); err != nil {
		t.Fatal(err)
	}
	const at = 70
	group := make([]*enqueueCall, 100)
	for i := range group {
		jobs := []job.New{plainJob(t, s)}
		if i == at {
			jobs[0] = held
		}
		group[i] = &enqueueCall{ctx: t.Context(), jobs: jobs, answer: make(chan enqueueAnswer, 1)}
	}
	s.serve(slices.Clone(group))
	for i, call := range group {
		if a := <-call.answer; i == at && !errors.Is(a.err, store.ErrUnavailable) || i != at && a.err != nil {
			t.Errorf("call %d: %v", i, a.err)
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := numberOf(t, connected(t, dsn), `SELECT count(*) FROM `+s.Schema()+`.redrive_jobs`); n != int64(len(group)) {
		t.Errorf("%d jobs", n)
	}
}

// Outcomes whose transaction is cancelled are written apart from the one that has
// made it wait.
//
// part of: Q10
func TestQ10_OutcomesSurviveACancelledStatement(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, &Options{StatementTimeout: 20 * testLimit}) // it waits for the lock until it is cancelled
	all := claimN(t, s, 5)
	opens(t, dsn, `SELECT 1 FROM `+s.Schema()+`.redrive_jobs WHERE id = `+all[3].ID.String()+` FOR UPDATE`)
	admin := connected(t, dsn)
	x := store.Exchange{Holder: "worker", Lease: time.Minute}
	for i := range all {
		x.Settle = append(x.Settle, completes(&all[i]))
	}
	type answer struct {
		x   store.Exchanged
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		x, err := s.Exchange(t.Context(), x)
		answers <- answer{x, err}
	}()
	eventually(t, "a statement to cancel", func() bool {
		return numberOf(t, admin, `SELECT count(*) FILTER (WHERE pg_cancel_backend(pid)) FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND query LIKE '%`+s.Schema()+`%redrive_jobs%'`) > 0
	})
	a := within(t, answers)
	if a.err != nil {
		t.Fatal(a.err)
	}
	for i, err := range a.x.Settled {
		if i == 3 && !errors.Is(err, store.ErrUnavailable) || i != 3 && err != nil {
			t.Errorf("outcome %d: %v", i, err)
		}
	}
}
