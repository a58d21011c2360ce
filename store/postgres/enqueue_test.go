package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A lane that is made while a process only enqueues is known to it afterwards:
// otherwise each of its calls would get a transaction of its own for ever.
func TestAProducerKnowsTheLanesItMakes(t *testing.T) {
	t.Parallel()
	s := fresh(t, nil)
	for _, kind := range []string{"mail", "mail", "thumbnail", "thumbnail"} {
		id, err := s.ReserveIDs(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		n := job.New{ID: id, Kind: kind, Queue: "default", Priority: 2, Payload: []byte(`{}`)}
		if _, err := s.Enqueue(t.Context(), []job.New{n}); err != nil {
			t.Fatal(err)
		}
	}
	known, err := s.lanesKnown(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"mail", "thumbnail"} {
		if known.catalog.LaneOf("default", kind, "") == 0 {
			t.Errorf("the lane of %s is not known after two jobs of it", kind)
		}
	}
}

// plainJob is newJob without a key.
func plainJob(t *testing.T, s *Store) job.New {
	t.Helper()
	n := newJob(t, s)
	n.Key, n.Digest = "", nil
	return n
}

// holding is a store, and a transaction of a caller's own that holds a key.
type holding struct {
	s     *Store
	tx    pgx.Tx
	admin *pgx.Conn
	dsn   string
	job   job.New // of the key
}

// hold opens one. Statements have no limit: what waits for the key does so until
// the test lets it.
func hold(t *testing.T) *holding {
	t.Helper()
	s, dsn := freshAt(t, &Options{StatementTimeout: time.Hour})
	h := &holding{s: s, admin: connected(t, dsn), dsn: dsn}
	for range 2 { // the lane is there, and known
		if _, err := s.Enqueue(t.Context(), []job.New{plainJob(t, s)}); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := connected(t, dsn).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.tx, h.job = tx, newJob(t, s)
	if _, err := s.EnqueueTx(t.Context(), Tx(tx), []job.New{h.job}); err != nil {
		t.Fatal(err)
	}
	return h
}

// rival returns a job with the key that is held.
func (h *holding) rival(t *testing.T) job.New {
	t.Helper()
	n := newJob(t, h.s)
	n.Key = h.job.Key
	return n
}

// waits waits until a call is written singly and waits for the key.
func (h *holding) waits(t *testing.T) {
	t.Helper()
	eventually(t, "a call that waits for the key", func() bool {
		q := &h.s.intake.singles
		q.mu.Lock()
		running := q.running
		q.mu.Unlock()
		return running > 0 && numberOf(t, h.admin, waitingFor(h.s, "redrive_keys")) > 0
	})
}

// waitingFor counts the statements about a table that wait for a lock.
func waitingFor(s *Store, table string) string {
	return `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%` + s.Schema() + `%` + table + `%'`
}

func (h *holding) exists(t *testing.T, id job.ID) bool {
	t.Helper()
	s := opened(t, h.dsn, &Options{Schema: h.s.Schema()})
	_, err := s.Get(t.Context(), id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

// A call that Close finds under way is answered with what has become of it, also
// when it is written by itself.
//
// part of: Q10
func TestQ10_CloseAnswersCallsThatAreWrittenSingly(t *testing.T) {
	t.Parallel()
	for _, goes := range []bool{true, false} {
		t.Run(fmt.Sprint("let go ", goes), func(t *testing.T) {
			t.Parallel()
			h := hold(t)
			n := h.rival(t)
			answered, closed := make(chan error, 1), make(chan error, 1)
			go func() { _, err := h.s.Enqueue(t.Context(), []job.New{n}); answered <- err }()
			h.waits(t)
			h.s.intake.singles.grace = time.Hour
			if !goes {
				h.s.intake.singles.grace = 0
			}
			go func() { closed <- h.s.Close() }()
			<-h.s.closed
			var err error
			if !goes {
				err = <-answered
			}
			if err := h.tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			if goes {
				err = <-answered
			}
			if err := <-closed; err != nil {
				t.Error(err)
			}
			exists := h.exists(t, n.ID)
			switch {
			case exists != goes:
				t.Errorf("the job exists: %v", exists)
			case goes && err != nil:
				t.Errorf("it was written: %v", err)
			case !goes && (!errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown)):
				t.Errorf("it was not written: %v", err)
			}
		})
	}
}

// A call that wants a key that an open transaction holds waits; all others
// do not, also those of a batch, and a call that waits can give up at any time.
//
// part of: Q10
func TestQ10_AKeyInAnOpenTransactionHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	h := hold(t)
	s := h.s
	b, _, err := s.StartBatch(t.Context(), store.By{}, store.NewBatch{}, []job.New{plainJob(t, s)})
	if err != nil {
		t.Fatal(err)
	}
	rivals, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	answers := make(chan error, 1_000)
	enqueue := func(jobs ...job.New) { _, err := s.Enqueue(rivals, jobs); answers <- err }
	const each = 12
	for range each {
		go enqueue(h.rival(t))
		go enqueue(h.rival(t), newJob(t, s))
	}
	h.waits(t)
	limit, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	var others sync.WaitGroup
	for i := range 3 * each {
		n := newJob(t, s)
		switch i % 3 {
		case 0:
			n.Key, n.Digest = "", nil
		case 1:
			n.Batch = b.ID
		}
		others.Go(func() {
			if receipts, err := s.Enqueue(limit, []job.New{n}); err != nil || receipts[0].Existing {
				t.Errorf("another call: %v, %v", receipts, err)
			}
		})
		if i%each == 0 {
			go enqueue(h.rival(t))
		}
	}
	others.Wait()
	if _, err := s.Counts(limit); err != nil {
		t.Errorf("a read: %v", err)
	}
	giveUp() // those on their way may get to know in time that nothing was written
	for range 2*each + 3 {
		select {
		case err := <-answers:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("given up: %v", err)
			}
		case <-limit.Done():
			t.Fatal("a call that is given up has no answer")
		}
	}
	if err := h.tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	receipts, err := s.Enqueue(limit, []job.New{h.rival(t)})
	if err != nil || !receipts[0].Existing || receipts[0].ID != h.job.ID {
		t.Errorf("after the commit: %v, %v", receipts, err)
	}
}

// The calls that wait for one key are not let wait one after the other.
func TestCallsThatWaitForOneKeyShareTheWait(t *testing.T) {
	t.Parallel()
	h := hold(t)
	s := opened(t, h.dsn, &Options{Schema: h.s.Schema(), StatementTimeout: time.Second})
	limit, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // one after the other would take 5
	defer cancel()
	var rivals sync.WaitGroup
	for range 300 {
		n := h.rival(t)
		rivals.Go(func() {
			if _, err := s.Enqueue(limit, []job.New{n}); !errors.Is(err, store.ErrUnavailable) || limit.Err() != nil {
				t.Errorf("%v", err)
			}
		})
	}
	rivals.Wait()
}

// A call that is about to make a lane and waits for a key holds up nobody who needs
// another new lane.
//
// part of: Q10
func TestQ10_ACallThatWaitsForAKeyHoldsNoLanes(t *testing.T) {
	t.Parallel()
	h := hold(t)
	n := h.rival(t)
	n.Queue = "made-while-waiting"
	answered := make(chan error, 1)
	go func() { _, err := h.s.Enqueue(t.Context(), []job.New{n}); answered <- err }()
	h.waits(t)
	limit, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	other := newJob(t, h.s)
	other.Queue, other.Kind = "another", "another"
	if _, err := h.s.Enqueue(limit, []job.New{other}); err != nil {
		t.Errorf("a call that needs another new lane: %v", err)
	}
	by := store.By{Actor: "ann", Reason: "test"}
	if _, err := h.s.SetQueue(limit, by, store.QueueChange{Name: "default", Limit: new(5)}); err != nil {
		t.Errorf("the limit of a queue: %v", err)
	}
	if err := h.tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("the call that has waited: %v", err)
	}
	j, err := h.s.Get(t.Context(), n.ID)
	if err != nil || j.Queue != n.Queue {
		t.Errorf("its job: %+v, %v", j, err)
	}
}
