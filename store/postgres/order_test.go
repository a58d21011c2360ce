package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var ann = store.By{Actor: "ann", Reason: "test"}

// cancelling cancels jobs in a goroutine and waits until that waits for a lock.
func cancelling(t *testing.T, s *Store, dsn string, ids ...job.ID) (done <-chan error) {
	t.Helper()
	look := connected(t, dsn)
	ended := make(chan error, 1)
	go func() {
		_, err := s.Cancel(t.Context(), ann, ids)
		ended <- err
	}()
	eventually(t, "the cancel waits for a row", func() bool {
		return numberOf(t, look, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
			AND query LIKE '%`+s.Schema()+`%redrive_jobs%'`) > 0
	})
	return ended
}

func added(t *testing.T, s *Store) job.ID {
	t.Helper()
	n := newJob(t, s)
	if _, err := s.Enqueue(t.Context(), []job.New{n}); err != nil {
		t.Fatal(err)
	}
	return n.ID
}

// A job that is claimed while it is cancelled is running, and is asked to stop.
// part of: Q4
func TestQ4_ACancelSeesWhatAClaimHasDone(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	id := added(t, s)
	other := connected(t, dsn)
	run(t, other, `BEGIN`, `UPDATE `+s.Schema()+`.redrive_jobs SET state = 3, token = 1, holder = 'other',
		lease_until = 9000000000000000 WHERE id = `+id.String())
	done := cancelling(t, s, dsn, id)
	run(t, other, `COMMIT`)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	j, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if j.State != job.Running || j.CancelAt == 0 {
		t.Errorf("the job is %s, asked to stop: %v; want it running, and asked", j.State, j.CancelAt != 0)
	}
}

// A claim whose transaction has its number already, and then meets a job that a
// later transaction has made ready, begins anew: its events would stand before what
// they follow.
//
// part of: Q9
func TestQ9_AClaimFollowsWhatMadeItsJobReady(t *testing.T) {
	t.Parallel()
	s, _ := freshAt(t, nil)
	added(t, s) // so that the lane is there
	claimOne(t, s)
	x := store.Exchange{Holder: "worker", Lease: time.Minute, Want: []store.Want{
		{Queue: "default", Max: 1, Kinds: []store.KindWant{{Kind: "mail", Max: 1, MaxCrashes: 2}}},
	}}
	var id job.ID
	var out store.Exchanged
	tries := 0
	err := s.fast(t.Context(), func(tx *fastTxn) error {
		tries++
		out = store.Exchanged{NextDue: store.Never}
		if err := tx.send(pg.Step{Q: query("number", `SELECT pg_current_xact_id()`)}); err != nil {
			return err
		}
		if tries == 1 {
			n := newJob(t, s)
			n.RunAt = 1 // due already when the claim began
			if _, err := s.Enqueue(t.Context(), []job.New{n}); err != nil {
				return err
			}
			id = n.ID
		}
		_, err := s.claimIn(tx, &x, &out)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if tries != 2 || len(out.Claims) != 1 || out.Claims[0].ID != id {
		t.Errorf("%d tries, claims %v; want job %d at the second", tries, out.Claims, id)
	}
}

// Events of a job are in the order in which they happened, also when the number of
// a transaction was given before that of another one that came first.
// part of: Q9
func TestQ9_EventsOfAJobAreInTheirOrder(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	first, held, moved := added(t, s), added(t, s), added(t, s)
	other := connected(t, dsn)
	run(t, other, `BEGIN`, `SELECT 1 FROM `+s.Schema()+`.redrive_jobs WHERE id = `+held.String()+` FOR UPDATE`)
	done := cancelling(t, s, dsn, first, held, moved)

	claim := claimOne(t, s)
	if claim.ID != moved {
		t.Fatalf("job %d was claimed, want %d", claim.ID, moved)
	}
	snooze := job.Outcome{ID: moved, Token: claim.Token, Cause: job.Snoozed, To: job.Waiting, Delay: time.Hour}
	if _, err := s.Exchange(t.Context(), store.Exchange{Holder: "worker", Lease: time.Minute, Settle: []job.Outcome{snooze}}); err != nil {
		t.Fatal(err)
	}
	run(t, other, `ROLLBACK`)
	if err := <-done; err != nil {
		t.Fatal(err)
	}

	hasEvents(t, s, moved, event.JobEnqueued, event.JobClaimed, event.JobSnoozed, event.JobCancelled)
}

// hasEvents fails the test unless the events of a job are those, in this order.
func hasEvents(t *testing.T, s *Store, id job.ID, want ...event.Type) {
	t.Helper()
	dump, err := s.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var types []event.Type
	for i := range dump.Events {
		if e := &dump.Events[i]; e.Job == id {
			types = append(types, e.Type)
		}
	}
	if !slices.Equal(types, want) {
		t.Fatalf("events %v, want %v", types, want)
	}
}

// The end of a run comes after the request to stop it, also when the transaction of the end has had its
// number before: it began with other jobs, and waited for one of them.
//
// part of: Q9
func TestQ9_AnEndFollowsTheRequestToStop(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	var ends []job.Outcome
	for i := range 3 {
		added(t, s)
		claim := claimOne(t, s)
		o := job.Outcome{ID: claim.ID, Token: claim.Token, Cause: job.Snoozed, To: job.Waiting, Delay: time.Hour}
		if i == 0 { // so that the jobs are locked one after the other
			o = job.Outcome{ID: claim.ID, Token: claim.Token, Cause: job.Succeeded, To: job.Completed}
		}
		ends = append(ends, o)
	}
	other, look := connected(t, dsn), connected(t, dsn)
	run(t, other, `BEGIN`, `SELECT 1 FROM `+s.Schema()+`.redrive_jobs WHERE id = `+ends[1].ID.String()+` FOR UPDATE`)
	ended := make(chan error, 1)
	go func() {
		out, err := s.Exchange(t.Context(), store.Exchange{Holder: "worker", Lease: time.Minute, Settle: ends})
		ended <- errors.Join(append(out.Settled, err)...)
	}()
	eventually(t, "the outcomes wait for a row", func() bool {
		return numberOf(t, look, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
			AND query LIKE '%`+s.Schema()+`%redrive_jobs%'`) > 0
	})
	if _, err := s.Cancel(t.Context(), ann, []job.ID{ends[2].ID}); err != nil {
		t.Fatal(err)
	}
	run(t, other, `ROLLBACK`)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	hasEvents(t, s, ends[2].ID, event.JobEnqueued, event.JobClaimed, event.JobCancelAsked, event.JobSnoozed, event.JobCancelled)
}

// The outcome of a batch comes after the ends of its members, also when the transaction that writes it has had its
// number before: it began with another batch, and waited for this one.
//
// part of: Q9, B2
func TestB2_AnOutcomeFollowsTheEndsOfItsMembers(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	first, second := startedBatch(t, s, 1), startedBatch(t, s, 2)
	one, two, last := claimOne(t, s), claimOne(t, s), claimOne(t, s)
	if err := errors.Join(settles(t, s, kills(&one), kills(&two))...); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the outcome of the first batch", s.hasOutcomes(t, first.ID, 1))
	release := retryBehind(t, s, dsn, "redrive_batches", "id", second.ID, one.ID, two.ID)
	if err := errors.Join(settles(t, s, completes(&last))...); err != nil {
		t.Fatal(err)
	}
	release()
	outcomeFollows(t, s, second.ID, last.ID)
}

// A retry that brings a member back comes after the outcome that it follows, also when its transaction has had its
// number before: it began with another batch, and this one ended meanwhile.
//
// part of: Q9, B2
func TestB2_AReopeningFollowsTheOutcome(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	startedBatch(t, s, 1)
	second := startedBatch(t, s, 1)
	one, two := claimOne(t, s), claimOne(t, s)
	fold := unfolded(t, s, dsn)
	if err := errors.Join(settles(t, s, kills(&one), kills(&two))...); err != nil {
		t.Fatal(err)
	}
	release := retryBehind(t, s, dsn, "redrive_dead", "job", int64(one.ID), one.ID, two.ID)
	fold()
	eventually(t, "the outcome of the second batch", s.hasOutcomes(t, second.ID, 1))
	release()
	dump, err := s.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for i := range dump.Events {
		if e := &dump.Events[i]; e.Type == event.BatchChanged && e.Batch == second.ID || e.Type == event.JobRetried && e.Job == two.ID {
			order = append(order, strings.TrimSpace(e.Type.String()+" "+e.Reason))
		}
	}
	if len(order) < 3 || !slices.Equal(order[len(order)-3:], []string{"batch.changed failed", "job.retried", "batch.changed processing"}) {
		t.Errorf("events of batch %d and of the retry of job %d: %q, want the outcome before the retry", second.ID, two.ID, order)
	}
}

// retryBehind begins to retry the jobs while another session holds the lock of a row, and returns when the retry waits
// for it. The returned function releases the lock and waits for the retry.
func retryBehind(t *testing.T, s *Store, dsn, table, column string, id int64, jobs ...job.ID) (release func()) {
	t.Helper()
	other, look := connected(t, dsn), connected(t, dsn)
	run(t, other, `BEGIN`, fmt.Sprintf(`SELECT 1 FROM %s.%s WHERE %s = %d FOR UPDATE`, s.Schema(), table, column, id))
	retried := make(chan error, 1)
	go func() {
		did, err := s.Act(t.Context(), ann, store.Action{Do: store.ActRetry, IDs: jobs})
		retried <- errors.Join(append(did.Errors, err)...)
	}()
	eventually(t, "the retry waits for a row of "+table, func() bool {
		return numberOf(t, look, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
			AND query LIKE '%`+s.Schema()+`%`+table+`%'`) > 0
	})
	return func() {
		t.Helper()
		run(t, other, `ROLLBACK`)
		if err := <-retried; err != nil {
			t.Fatal(err)
		}
	}
}

// outcomeFollows fails the test unless the batch has one outcome, which stands after the completion of the job.
func outcomeFollows(t *testing.T, s *Store, batch int64, completed job.ID) {
	t.Helper()
	dump, err := s.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var order []event.Type
	for i := range dump.Events {
		switch e := &dump.Events[i]; {
		case e.Job == completed && e.Type == event.JobSucceeded, e.Batch == batch && e.Type == event.BatchChanged && e.Note == "1":
			order = append(order, e.Type)
		}
	}
	if want := []event.Type{event.JobSucceeded, event.BatchChanged}; len(order) < 2 || !slices.Equal(order[:2], want) {
		t.Errorf("events of job %d and of batch %d since its outcome: %v, want %v first", completed, batch, order, want)
	}
}
