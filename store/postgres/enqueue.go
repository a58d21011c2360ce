package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/redrive/redrive/internal/crashpoint"
	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	insertJobs = `INSERT INTO redrive_jobs (id, lane, state, priority, run_at, token, life, attempts, crashes, deferrals, snoozes,
			interrupts, created_at, life_at, deadline, owner, correlation, batch, attrs, policy, long, payload)
		SELECT t.id, t.lane, 1, t.priority, t.run_at, 0, 1, 0, 0, 0, 0, 0, $1::bigint, greatest(t.run_at, $1::bigint), t.deadline,
			t.owner, t.correlation, t.batch, t.attrs, t.policy, t.long, t.payload
		FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::bigint[],
			$10::bytea[], $11::bytea[], $12::bigint[], $13::bytea[])
			AS t(id, lane, priority, run_at, deadline, owner, correlation, batch, attrs, policy, long, payload)
		ON CONFLICT (id) DO NOTHING`
	insertBodies = `INSERT INTO redrive_bodies (job, payload) SELECT * FROM unnest($1::bigint[], $2::bytea[])`
	selEnded     = `SELECT job FROM redrive_done WHERE job = ANY($1::bigint[])
		UNION ALL SELECT job FROM redrive_dead WHERE job = ANY($1::bigint[])`
)

const (
	// enqueuers is how many transactions of new jobs a process has under way: while
	// one waits for the disk, the next is filled.
	enqueuers = 2
	// A transaction takes what waits, up to so many calls and jobs.
	callsMax = 512
	jobsMax  = 2_000
)

// intake takes new jobs in. Calls that wait at one time share a transaction.
type intake struct {
	calls chan *enqueueCall
	used  atomic.Int64 // no job with an id above it can be there: none was taken from ReserveIDs, or used
}

// enqueueCall is the jobs of one call.
type enqueueCall struct {
	ctx     context.Context //nolint:containedctx // of the waiting caller
	jobs    []job.New
	answer  chan enqueueAnswer
	started atomic.Bool // by the intake; or the caller has gone
}

type enqueueAnswer struct {
	receipts []job.Receipt
	err      error
}

func newIntake() *intake { return &intake{calls: make(chan *enqueueCall, callsMax)} }

// Enqueue implements store.Producer.
func (s *Store) Enqueue(ctx context.Context, jobs []job.New) ([]job.Receipt, error) {
	if !plain(jobs) {
		receipts, err := s.Core.Enqueue(ctx, jobs)
		s.intake.use(jobs)
		return receipts, err
	}
	for i := range jobs {
		if err := store.Validate(&jobs[i]); err != nil {
			return nil, fmt.Errorf("job %d of %d: %w", i+1, len(jobs), err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	call := &enqueueCall{ctx: ctx, jobs: jobs, answer: make(chan enqueueAnswer, 1)}
	select {
	case s.intake.calls <- call:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.closed:
		return nil, errClosed
	}
	select {
	case a := <-call.answer:
		return a.receipts, a.err
	case <-ctx.Done():
		if call.started.CompareAndSwap(false, true) {
			return nil, ctx.Err()
		}
		select {
		case a := <-call.answer:
			return a.receipts, a.err
		default:
			return nil, fmt.Errorf("the jobs were on their way to the server: %w: %w", store.ErrUnknown, ctx.Err())
		}
	case <-s.drained:
		select {
		case a := <-call.answer:
			return a.receipts, a.err
		default:
			return nil, errClosed
		}
	}
}

// plain reports whether jobs only have to be written: nothing in the store can
// say that they are there already.
func plain(jobs []job.New) bool {
	if len(jobs) == 0 || len(jobs) > jobsMax {
		return false
	}
	for i := range jobs {
		if jobs[i].Key != "" || jobs[i].Repeat {
			return false
		}
	}
	return true
}

// takeIn serves calls until the store is closed.
func (s *Store) takeIn() {
	group := make([]*enqueueCall, 0, callsMax)
	for {
		group = group[:0]
		select {
		case call := <-s.intake.calls:
			group = append(group, call)
		case <-s.closed:
			return
		}
		// Those who were just answered are about to come back: they share this
		// transaction when they are let run first.
		runtime.Gosched()
		n := len(group[0].jobs)
	gather:
		for len(group) < callsMax && n < jobsMax {
			select {
			case call := <-s.intake.calls:
				group = append(group, call)
				n += len(call.jobs)
			default:
				break gather
			}
		}
		s.serve(group)
	}
}

// errSingly says that some call of a group cannot be served with the others.
var errSingly = errors.New("one of the calls has to be looked at by itself")

func (s *Store) serve(group []*enqueueCall) {
	served := group[:0]
	for _, call := range group {
		if call.started.CompareAndSwap(false, true) {
			served = append(served, call)
		}
	}
	if len(served) == 0 {
		return
	}
	err := s.insert(served)
	for _, call := range served {
		var a enqueueAnswer
		switch {
		case errors.Is(err, errSingly), len(served) > 1 && ofStatement(err):
			// What is wrong with it, and whether anything is, is for the shared
			// statements to find.
			a.receipts, a.err = s.Core.Enqueue(call.ctx, call.jobs)
		case err != nil:
			a.err = err
		default:
			a.receipts = make([]job.Receipt, len(call.jobs))
			for i := range call.jobs {
				a.receipts[i] = job.Receipt{ID: call.jobs[i].ID, State: job.Waiting}
			}
		}
		call.answer <- a
	}
}

// ofStatement reports whether an error is about a statement and its values, not
// about the server: the calls beside it are not at fault.
func ofStatement(err error) bool {
	switch state := sqlstate(err); {
	case len(state) != 5:
		return false
	default:
		return state[:2] == "22" || state[:2] == "23" // data exception, integrity constraint violation
	}
}

// insert writes the jobs of a group, all of them or none.
func (s *Store) insert(group []*enqueueCall) error {
	var told news
	err := s.fast(context.Background(), func(t *fastTxn) error {
		told = news{}
		b, err := s.batch(t, group)
		if err != nil {
			return err
		}
		steps := b.steps
		written, taken := 0, 0
		steps[0].n = &written
		if b.old.n > 0 {
			steps = append(steps, step{name: "selEnded", text: selEnded, args: []any{b.old}, n: &taken})
		}
		if err := t.send(steps...); err != nil {
			return err
		}
		if written != b.n || taken > 0 {
			return errSingly
		}
		for _, call := range group {
			for i := range call.jobs {
				n := &call.jobs[i]
				lane, due := t.known.catalog.LaneOf(n.Queue, n.Kind, n.Deps), dueOf(n, t.Now())
				t.Enqueued(n, lane, due)
				told.add(lane, n.Priority, due)
			}
		}
		crashpoint.Hit(crashpoint.BeforeEnqueueCommit)
		return nil
	})
	if err != nil {
		return err
	}
	crashpoint.Hit(crashpoint.AfterEnqueueCommit)
	for _, call := range group {
		s.intake.use(call.jobs)
	}
	s.news.tell(told)
	return nil
}

func dueOf(n *job.New, now job.Micros) job.Micros {
	if n.RunAt == 0 {
		return now
	}
	return n.RunAt
}

// batch is the statements for the jobs of a group.
type batch struct {
	n     int
	steps []step
	old   *vector // ids that a job which has ended may have
}

func (s *Store) batch(t *fastTxn, group []*enqueueCall) (b batch, err error) {
	for _, call := range group {
		b.n += len(call.jobs)
	}
	ids, lanes, priorities, due, deadlines := ints(b.n), ints(b.n), ints(b.n), ints(b.n), ints(b.n)
	owners, correlations, batches := texts(b.n), texts(b.n), ints(b.n)
	attrs, policies, long, payloads := blobs(b.n), blobs(b.n), ints(b.n), blobs(b.n)
	longIDs, bodies := ints(0), blobs(0)
	b.old = ints(0)
	used := job.ID(s.intake.used.Load())
	for _, call := range group {
		for i := range call.jobs {
			n := &call.jobs[i]
			lane := t.known.catalog.LaneOf(n.Queue, n.Kind, n.Deps)
			if lane == 0 || t.known.catalog.Draining(n.Queue) {
				return b, errSingly
			}
			ids.int(int64(n.ID))
			lanes.int(lane)
			priorities.int(int64(n.Priority))
			due.int(int64(dueOf(n, t.Now())))
			deadlines.setInt(int64(n.Deadline))
			owners.setText(n.Owner)
			correlations.setText(n.Correlation)
			batches.setInt(n.Batch)
			attrs.blob(n.Attrs)
			policies.blob(n.Policy)
			if len(n.Payload) > sqlstore.InlineMax {
				long.int(1)
				payloads.null()
				longIDs.int(int64(n.ID))
				bodies.blob(n.Payload)
			} else {
				long.null()
				payloads.blob(n.Payload)
			}
			if n.ID <= used {
				b.old.int(int64(n.ID))
			}
		}
	}
	b.steps = append(b.steps, step{name: "insertJobs", text: insertJobs, args: []any{int64(t.Now()), ids, lanes, priorities, due, deadlines,
		owners, correlations, batches, attrs, policies, long, payloads}})
	if longIDs.n > 0 {
		b.steps = append(b.steps, step{name: "insertBodies", text: insertBodies, args: []any{longIDs, bodies}})
	}
	return b, nil
}

// use notes that ids are in use, or may be.
func (i *intake) use(jobs []job.New) {
	most := job.ID(0)
	for k := range jobs {
		most = max(most, jobs[k].ID)
	}
	for {
		before := i.used.Load()
		if int64(most) <= before || i.used.CompareAndSwap(before, int64(most)) {
			return
		}
	}
}
