package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// startedBatch publishes a batch of so many members, with a callback at each end.
func startedBatch(t *testing.T, s *Store, members int) store.Batch {
	t.Helper()
	jobs := make([]job.New, members)
	for i := range jobs {
		jobs[i] = plainJob(t, s)
	}
	b, _, err := s.StartBatch(t.Context(), store.By{}, store.NewBatch{
		Callbacks: []store.BatchCallback{{On: "end", Kind: "after", Queue: "after"}}}, jobs)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// outcomesAre fails the test unless the batch has so many outcomes, numbered from 1, each with the
// job of a callback, and the state.
func outcomesAre(t *testing.T, s *Store, id int64, n int, state job.BatchState) {
	t.Helper()
	all, err := s.Outcomes(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Batch(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	callbacks := 0
	for i := range d.Jobs {
		if d.Jobs[i].Kind == "after" {
			callbacks++
		}
	}
	if len(all) != n || callbacks != n || b.State != state {
		t.Errorf("batch %d is %s and has %d outcomes and %d callbacks, want %s and %d of each", id, b.State, len(all), callbacks, state, n)
	}
	for i := range all {
		if all[i].N != int64(i+1) {
			t.Errorf("outcome %d of batch %d has the number %d", i+1, id, all[i].N)
		}
	}
}

func (s *Store) hasOutcomes(t *testing.T, id int64, n int) func() bool {
	return func() bool {
		all, err := s.Outcomes(t.Context(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		return len(all) == n
	}
}

// unfolded keeps all processes from folding until the test has ended or calls the function.
func unfolded(t *testing.T, s *Store, dsn string) (fold func()) {
	t.Helper()
	conn := connected(t, dsn)
	run(t, conn, `BEGIN`)
	if _, err := conn.Exec(t.Context(), `SELECT pg_advisory_xact_lock($1)`, s.folds); err != nil {
		t.Fatal(err)
	}
	return func() { run(t, conn, `ROLLBACK`) }
}

// A retry brings a member back, and its change of the counts is not folded: what is folded still says
// that all members have ended. No second outcome is written.
//
// part of: B2
func TestB2_Trap2_FoldedCountsAloneEndNothing(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	b := startedBatch(t, s, 1)
	c := claimOne(t, s)
	if own := settles(t, s, kills(&c)); own[0] != nil {
		t.Fatal(own[0])
	}
	if err := s.EvaluateBatches(t.Context()); err != nil {
		t.Fatal(err)
	}
	unfolded(t, s, dsn)
	if did, err := s.Act(t.Context(), ann, store.Action{Do: store.ActRetry, IDs: []job.ID{c.ID}}); err != nil || did.Errors[0] != nil {
		t.Fatal(did, err)
	}
	run(t, connected(t, dsn), `UPDATE `+s.Schema()+`.redrive_batch_counts SET ripe = 1`)
	if err := s.endBatches(t.Context()); err != nil {
		t.Fatal(err)
	}
	outcomesAre(t, s, b.ID, 1, job.BatchProcessing)
}

// interrupted runs an evaluation of batches and calls the function before a statement of it.
func interrupted(t *testing.T, s *Store, id int64, statement string, do func() error) error {
	t.Helper()
	var all array
	all.add(id)
	n := 1
	return s.transact(t.Context(), &s.begins.write, func(c *pg.Session) (err error) {
		txn, terr := s.txn(before{c, statement, &n, func() { err = do() }}, true)
		if terr != nil {
			return terr
		}
		return errors.Join(txn.EndBatches(all.value(), clearRipe, selManyBatchCounts), err, txn.Flush())
	})
}

// The last member ends while an evaluation is between two of its statements. The batch ends.
//
// part of: B2
func TestB2_Trap3_AnEndDuringTheEvaluationIsSeen(t *testing.T) {
	t.Parallel()
	for _, statement := range []string{"clearRipe", "selManyBatchCounts", "insOutcome"} {
		t.Run("before "+statement, func(t *testing.T) {
			t.Parallel()
			s, dsn := freshAt(t, nil)
			b := startedBatch(t, s, 2)
			first, last := claimOne(t, s), claimOne(t, s)
			fold := unfolded(t, s, dsn)
			if own := settles(t, s, completes(&first)); own[0] != nil {
				t.Fatal(own[0])
			}
			run(t, connected(t, dsn), `INSERT INTO `+s.Schema()+`.redrive_batch_counts (batch, total, completed, dead, cancelled, ripe)
				VALUES (`+job.ID(b.ID).String()+`, 0, 0, 0, 0, 1) ON CONFLICT (batch) DO UPDATE SET ripe = 1`)
			ended := false
			end := func() error {
				ended = true
				x, err := s.Exchange(t.Context(), store.Exchange{Holder: "worker", Lease: time.Minute, Settle: []job.Outcome{completes(&last)}})
				return errors.Join(err, errors.Join(x.Settled...))
			}
			if err := interrupted(t, s, b.ID, statement, end); err != nil {
				t.Fatal(err)
			}
			if !ended { // the evaluation did not come so far
				if err := end(); err != nil {
					t.Fatal(err)
				}
			}
			fold()
			eventually(t, "the outcome", s.hasOutcomes(t, b.ID, 1))
			outcomesAre(t, s, b.ID, 1, job.BatchReady)
			outcomeFollows(t, s, b.ID, last.ID)
		})
	}
}

// The last member ends and is folded before an evaluation takes the mark away. The counts are read after that, so the batch
// ends: nothing would mark it again.
//
// part of: B2
func TestB2_Trap3_AnEndThatIsFoldedBeforeTheMarkIsTakenIsSeen(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	s.evaluating.Lock() // no other evaluation
	defer s.evaluating.Unlock()
	b := startedBatch(t, s, 2)
	first, last := claimOne(t, s), claimOne(t, s)
	if own := settles(t, s, completes(&first)); own[0] != nil {
		t.Fatal(own[0])
	}
	if err := s.foldAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	run(t, connected(t, dsn), `UPDATE `+s.Schema()+`.redrive_batch_counts SET ripe = 1`)
	err := interrupted(t, s, b.ID, "clearRipe", func() error {
		x, err := s.Exchange(t.Context(), store.Exchange{Holder: "worker", Lease: time.Minute, Settle: []job.Outcome{completes(&last)}})
		return errors.Join(err, errors.Join(x.Settled...), s.foldAll(t.Context()))
	})
	if err != nil {
		t.Fatal(err)
	}
	outcomesAre(t, s, b.ID, 1, job.BatchReady)
}

// The process that evaluates a batch is gone before its commit. Another one ends the batch.
//
// part of: B2
func TestB2_Trap4_AnotherProcessEndsTheBatch(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	b := startedBatch(t, s, 1)
	c := claimOne(t, s)
	fold := unfolded(t, s, dsn)
	if own := settles(t, s, completes(&c)); own[0] != nil {
		t.Fatal(own[0])
	}
	run(t, connected(t, dsn), `UPDATE `+s.Schema()+`.redrive_batch_counts SET ripe = 1`)
	gone := errors.New("gone")
	if err := interrupted(t, s, b.ID, "setBatchRow", func() error { return gone }); err != nil && !errors.Is(err, gone) {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	fold()
	other := opened(t, dsn, &Options{Schema: s.Schema()})
	eventually(t, "the outcome", other.hasOutcomes(t, b.ID, 1))
	outcomesAre(t, other, b.ID, 1, job.BatchReady)
}

// The end with the lowest number commits last, after two folds.
//
// part of: B2
func TestB2_Trap5_ALateCommitEndsTheBatch(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	b := startedBatch(t, s, 2)
	first, second := claimOne(t, s), claimOne(t, s)
	end := held(t, s, dsn, completes(&first))
	if own := settles(t, s, completes(&second)); own[0] != nil {
		t.Fatal(own[0])
	}
	for range 2 {
		if err := s.EvaluateBatches(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	outcomesAre(t, s, b.ID, 0, job.BatchProcessing)
	end(true)
	eventually(t, "the outcome", s.hasOutcomes(t, b.ID, 1))
	outcomesAre(t, s, b.ID, 1, job.BatchReady)
}

// Callers' open transactions that have locked batches, and one that has written an end with a
// callback, hold up no other batch, no counter and nobody who wants ids.
//
// part of: B2, I2
func TestB2_Trap12_OpenTransactionsHoldUpNoOtherBatch(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	adding, joined, ended, free := startedBatch(t, s, 1), startedBatch(t, s, 1), startedBatch(t, s, 1), startedBatch(t, s, 1)
	fold := unfolded(t, s, dsn)
	for range 4 {
		c := claimOne(t, s)
		if own := settles(t, s, completes(&c)); own[0] != nil {
			t.Fatal(own[0])
		}
	}
	begin := func() store.Tx {
		tx, err := connected(t, dsn).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return Tx(tx)
	}
	member, more := plainJob(t, s), plainJob(t, s)
	if _, err := s.AddMembersTx(t.Context(), begin(), adding.ID, []job.New{member}); err != nil {
		t.Fatal(err)
	}
	more.Batch = joined.ID
	if _, err := s.EnqueueTx(t.Context(), begin(), []job.New{more}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PublishBatchTx(t.Context(), begin(), ann, ended.ID); err != nil { // it finds that the batch has ended
		t.Fatal(err)
	}
	fold()
	eventually(t, "the outcome of the batch that nobody holds", s.hasOutcomes(t, free.ID, 1))
	limit, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	if _, err := s.ReserveIDs(limit, 1); err != nil {
		t.Errorf("ids beside a transaction that has written an end: %v", err)
	}
	counts, err := s.Counts(limit)
	if err != nil || len(counts) == 0 {
		t.Errorf("counts: %v, %v", counts, err)
	}
}

// What publishes, retries, cancels, ends and evaluates batches at once does not wait in a circle, so
// that callers would get.
//
// part of: B2
func TestB2_Trap13_ACrowdDoesNotDeadlock(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, &Options{StatementTimeout: time.Minute}) // much longer than the server needs to find a circle
	stores := []*Store{s, opened(t, dsn, &Options{Schema: s.Schema(), StatementTimeout: time.Minute})}
	const batches, rounds = 4, 12
	var ids []int64
	for range batches {
		ids = append(ids, startedBatch(t, s, 8).ID)
	}
	limit, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	var all sync.WaitGroup
	many := func(what string, do func(s *Store, round int) error) {
		for i := range 2 {
			all.Go(func() {
				for round := range rounds {
					if err := do(stores[(i+round)%2], round); err != nil && !errors.Is(err, store.ErrConflict) {
						t.Errorf("%s: %v", what, err)
					}
				}
			})
		}
	}
	for i := range 2 {
		many("work", func(s *Store, round int) error {
			x, err := s.Exchange(t.Context(), store.Exchange{Holder: "w", Lease: time.Minute, Want: []store.Want{
				{Queue: "default", Max: 10, Kinds: []store.KindWant{{Kind: "mail", Max: 10, MaxCrashes: 2}}}}})
			if err != nil {
				return err
			}
			outcomes := make([]job.Outcome, len(x.Claims))
			for k := range x.Claims {
				if outcomes[k] = completes(&x.Claims[k]); (k+round+i)%2 == 0 {
					outcomes[k] = kills(&x.Claims[k])
				}
			}
			x, err = s.Exchange(t.Context(), store.Exchange{Holder: "w", Lease: time.Minute, Settle: outcomes})
			return errors.Join(err, errors.Join(x.Settled...))
		})
	}
	many("retry by filter", func(s *Store, round int) error {
		for {
			_, err := s.Act(limit, ann, store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{Batch: ids[round%batches]}, Through: 1 << 40, Limit: 100})
			if !errors.Is(err, store.ErrUnavailable) { // on a slow machine the others may hold the lock for longer than a person waits
				return err
			}
		}
	})
	many("publish", func(s *Store, round int) error {
		_, err := s.PublishBatch(t.Context(), ann, ids[round%batches])
		return err
	})
	many("add", func(s *Store, round int) error {
		_, err := s.AddMembers(t.Context(), ids[(round+1)%batches], []job.New{plainJob(t, s), plainJob(t, s)})
		return err
	})
	many("join", func(s *Store, round int) error {
		a, b := newJob(t, s), newJob(t, s)
		a.Batch, b.Batch = ids[round%batches], ids[(round+3)%batches]
		_, err := s.Enqueue(t.Context(), []job.New{a, b})
		return err
	})
	many("step", func(s *Store, _ int) error { _, err := s.StepBatches(t.Context(), 5); return err })
	many("evaluate", func(s *Store, _ int) error { return s.EvaluateBatches(t.Context()) })
	all.Wait()
}

// Members that are added one by one have one span, and so have jobs that name the batch.
//
// part of: B3
func TestB3_Trap28_SpansOfNeighboursAreJoined(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	b := startedBatch(t, s, 1)
	first, err := s.ReserveIDs(t.Context(), 60)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		n := job.New{ID: first + job.ID(i), Kind: "mail", Queue: "default", Priority: job.PriorityDefault}
		if i%2 == 0 {
			_, err = s.AddMembers(t.Context(), b.ID, []job.New{n})
		} else {
			n.Batch = b.ID
			_, err = s.Enqueue(t.Context(), []job.New{n})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := rowsOf(t, connected(t, dsn), s, "spans", "true"); n > 2 {
		t.Errorf("%d spans of members with ids that follow each other, want one for the first and one for the others", n)
	}
	seen := 0
	for after := job.ID(0); ; {
		page, err := s.Members(t.Context(), b.ID, store.MemberFilter{}, after)
		if err != nil {
			t.Fatal(err)
		}
		seen += len(page.Members)
		if after = page.Next; after == 0 {
			break
		}
	}
	if seen != 61 {
		t.Errorf("%d members, want 61", seen)
	}
}
