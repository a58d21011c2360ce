package systems

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/bench/agent"
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// The floor of PostgreSQL runs the smallest number of statements that jobs need. It writes every
// row that redrive writes: job, claim with lease, history, and packed events with the changes of
// counters. Inserts use two connections, claims one and ends two, which was the fastest layout on a
// small machine. Waiting calls are written as one transaction in one round trip. It checks and
// decides nothing, and runs no handler.
const (
	floorInserters = 2
	floorSettlers  = 2
	floorBatch     = 1000 // the largest number of rows in one transaction
)

func floorPostgres() agent.Program {
	return agent.Program{
		Modules: []string{"github.com/jackc/pgx/v5"},
		Floor:   func(_ context.Context, c agent.Config) (agent.Floor, error) { return postgresFloor{c}, nil },
	}
}

type postgresFloor struct{ c agent.Config }

const floorTables = `
CREATE TABLE floor_jobs (
	id bigint PRIMARY KEY, lane bigint NOT NULL, state smallint NOT NULL, priority smallint NOT NULL, run_at bigint NOT NULL,
	token bigint NOT NULL, life int NOT NULL, attempts int NOT NULL, crashes int NOT NULL, deferrals int NOT NULL,
	snoozes int NOT NULL, interrupts int NOT NULL, created_at bigint NOT NULL, life_at bigint NOT NULL, claimed_at bigint,
	lease_until bigint, crash_max int, holder text, deadline bigint, owner text, batch bigint, memo bytea, payload bytea
) WITH (fillfactor = 80);
CREATE INDEX floor_ready ON floor_jobs (lane, priority, run_at, id) WHERE state < 3;
CREATE INDEX floor_lease ON floor_jobs (lease_until) WHERE lease_until IS NOT NULL;
CREATE TABLE floor_done (
	seq bigserial PRIMARY KEY, job bigint NOT NULL, lane bigint NOT NULL, state smallint NOT NULL, priority smallint NOT NULL,
	token bigint NOT NULL, life int NOT NULL, attempts int NOT NULL, created_at bigint NOT NULL, life_at bigint NOT NULL,
	claimed_at bigint, finished_at bigint NOT NULL, holder text
);
CREATE INDEX floor_done_job ON floor_done (job);
CREATE TABLE floor_events (
	xid bigint NOT NULL, part int NOT NULL, at bigint NOT NULL, n int NOT NULL, body bytea NOT NULL,
	lanes bigint[] NOT NULL, states smallint[] NOT NULL, ns bigint[] NOT NULL, PRIMARY KEY (xid, part)
);`

const (
	floorInsert = `INSERT INTO floor_jobs (id, lane, state, priority, run_at, token, life, attempts, crashes, deferrals, snoozes,
		interrupts, created_at, life_at, payload)
		SELECT id, 1, 1, 2, $2, 0, 1, 0, 0, 0, 0, 0, $2, $2, $3 FROM unnest($1::bigint[]) AS t(id)`
	floorClaim = `WITH got AS MATERIALIZED (SELECT id FROM floor_jobs WHERE lane = 1 AND priority = 2 AND state < 3
			AND run_at BETWEEN $1 AND $2 ORDER BY run_at, id LIMIT $3 FOR UPDATE SKIP LOCKED)
		UPDATE floor_jobs SET state = 3, token = token + 1, lease_until = $4, claimed_at = $2, holder = $5, crash_max = 5
		WHERE id = ANY(ARRAY(SELECT id FROM got)) RETURNING id, token, run_at, payload`
	floorSettle = `WITH gone AS (DELETE FROM floor_jobs j USING unnest($1::bigint[], $2::bigint[]) AS t(id, token)
			WHERE j.id = t.id AND j.token = t.token AND j.state = 3 RETURNING j.*)
		INSERT INTO floor_done (job, lane, state, priority, token, life, attempts, created_at, life_at, claimed_at, finished_at, holder)
		SELECT id, lane, 4, priority, token, life, attempts + 1, created_at, life_at, claimed_at, $3, holder FROM gone`
	floorEvent = `INSERT INTO floor_events (xid, part, at, n, body, lanes, states, ns)
		VALUES (pg_current_xact_id()::text::bigint, 0, $1, $2, $3, $4, $5, $6)`
)

// floorRun is one run of the floor.
type floorRun struct {
	payload []byte
	inserts chan floorCall
	settles chan floorCall
	claimed chan floorJob
	idle    atomic.Int64  // the number of workers that wait for a job
	wake    chan struct{} // a channel that wakes the claimer when a worker has become idle
	nextID  atomic.Int64
	left    atomic.Int64 // number of jobs that are still to be settled
	done    chan struct{}
}

type floorJob struct{ id, token int64 }

type floorCall struct {
	job  floorJob
	done chan error
}

// Run measures one workload on empty tables.
func (f postgresFloor) Run(ctx context.Context, mode string, jobs int) (seconds float64, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	conns, err := f.connectAll(ctx)
	defer func() {
		for _, c := range conns {
			err = errors.Join(err, c.Close(context.WithoutCancel(ctx)))
		}
	}()
	if err != nil {
		return 0, err
	}
	if _, err := conns[0].Exec(ctx, floorTables); err != nil {
		return 0, fmt.Errorf("make the floor's tables: %w", err)
	}
	r := &floorRun{
		payload: []byte(`"` + strings.Repeat("x", max(0, f.c.Payload-2)) + `"`),
		inserts: make(chan floorCall, floorBatch), settles: make(chan floorCall, floorBatch),
		claimed: make(chan floorJob, f.c.Workers), wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	if mode == "process" {
		if err := r.preload(ctx, conns[0], jobs); err != nil {
			return 0, err
		}
	}
	r.left.Store(int64(jobs))

	start := time.Now()
	stop := r.serveAll(ctx, conns, mode, cancel)
	r.callAll(ctx, mode, jobs, f.c)
	seconds = time.Since(start).Seconds()
	stop()
	return seconds, context.Cause(ctx)
}

// connectAll opens the connections in the order inserts, claims, ends. After an error it returns
// those that are open.
func (f postgresFloor) connectAll(ctx context.Context) (conns []*pgx.Conn, err error) {
	for range floorInserters + 1 + floorSettlers {
		c, err := f.connect(ctx)
		if err != nil {
			return conns, err
		}
		conns = append(conns, c)
	}
	return conns, nil
}

func (f postgresFloor) connect(ctx context.Context) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(f.c.Address)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"} {
		config.RuntimeParams[name] = "off" // these settings force the best query plans, whatever the statistics are
	}
	return pgx.ConnectConfig(ctx, config)
}

func (r *floorRun) preload(ctx context.Context, c *pgx.Conn, jobs int) error {
	return agent.Steps(0, jobs, func(_, n int) error {
		calls := make([]floorCall, n)
		for i := range calls {
			calls[i].job.id = r.nextID.Add(1)
		}
		return r.insert(ctx, c, calls)
	})
}

// serveAll runs a goroutine for each connection. The returned function ends the goroutines and
// waits for them. The given function is called with the first error.
func (r *floorRun) serveAll(ctx context.Context, conns []*pgx.Conn, mode string, failed context.CancelCauseFunc) (stop func()) {
	serving, end := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i, c := range conns {
		part := func() error { return r.claim(serving, c) }
		switch {
		case i < floorInserters:
			part = func() error { return r.serve(serving, r.inserts, c, r.insert) }
		case i > floorInserters:
			part = func() error { return r.serve(serving, r.settles, c, r.settle) }
		case mode == "enqueue":
			continue
		}
		all.Go(func() {
			if err := part(); err != nil && serving.Err() == nil {
				failed(err)
			}
		})
	}
	return func() {
		end()
		all.Wait()
	}
}

// callAll runs the producers and the workers. It returns when all jobs are inserted and, if there
// are workers, settled.
func (r *floorRun) callAll(ctx context.Context, mode string, jobs int, c agent.Config) {
	var callers sync.WaitGroup
	defer callers.Wait()
	if mode != "process" {
		var taken atomic.Int64
		for range c.Producers {
			callers.Go(func() {
				for taken.Add(1) <= int64(jobs) && r.call(ctx, r.inserts, floorJob{id: r.nextID.Add(1)}) == nil {
				}
			})
		}
	}
	if mode == "enqueue" {
		return
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	for range c.Workers {
		callers.Go(func() { r.work(working) })
	}
	select {
	case <-r.done:
	case <-ctx.Done():
	}
}

// call passes a job to the goroutine that writes it, and waits for the commit.
func (r *floorRun) call(ctx context.Context, to chan<- floorCall, j floorJob) error {
	call := floorCall{j, make(chan error, 1)}
	select {
	case to <- call:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-call.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// work takes claimed jobs and settles them.
func (r *floorRun) work(ctx context.Context) {
	for {
		r.idle.Add(1)
		select {
		case r.wake <- struct{}{}:
		default:
		}
		select {
		case j := <-r.claimed:
			if r.call(ctx, r.settles, j) != nil {
				return
			}
			if r.left.Add(-1) == 0 {
				close(r.done)
			}
		case <-ctx.Done():
			return
		}
	}
}

// serve repeatedly writes all waiting calls as one transaction.
func (r *floorRun) serve(ctx context.Context, calls <-chan floorCall, c *pgx.Conn, write func(context.Context, *pgx.Conn, []floorCall) error) error {
	batch := make([]floorCall, 0, floorBatch)
	for {
		batch = batch[:0]
		select {
		case call := <-calls:
			batch = append(batch, call)
		case <-ctx.Done():
			return nil
		}
		for len(batch) < floorBatch && len(calls) > 0 {
			select {
			case call := <-calls:
				batch = append(batch, call)
			default: // another connection has already taken the waiting calls
			}
		}
		err := write(ctx, c, batch)
		for _, call := range batch {
			call.done <- err
		}
		if err != nil {
			return err
		}
	}
}

func (r *floorRun) insert(ctx context.Context, c *pgx.Conn, calls []floorCall) error {
	ids := make([]int64, len(calls))
	var pack event.Packer
	for i, call := range calls {
		ids[i] = call.job.id
		add(&pack, event.JobEnqueued, call.job, job.None, job.Waiting)
	}
	now := time.Now().UnixMicro()
	var batch pgx.Batch
	batch.Queue(floorInsert, ids, now, r.payload)
	queueEvent(&batch, now, &pack, job.None, job.Waiting)
	return transact(ctx, c, &batch)
}

func (r *floorRun) settle(ctx context.Context, c *pgx.Conn, calls []floorCall) error {
	ids, tokens := make([]int64, len(calls)), make([]int64, len(calls))
	var pack event.Packer
	for i, call := range calls {
		ids[i], tokens[i] = call.job.id, call.job.token
		add(&pack, event.JobSucceeded, call.job, job.Running, job.Completed)
	}
	now := time.Now().UnixMicro()
	var batch pgx.Batch
	batch.Queue(floorSettle, ids, tokens, now)
	queueEvent(&batch, now, &pack, job.Running, job.Completed)
	return transact(ctx, c, &batch)
}

// transact sends a batch as one transaction in one round trip.
func transact(ctx context.Context, c *pgx.Conn, batch *pgx.Batch) error {
	return c.SendBatch(ctx, batch).Close() // PostgreSQL runs a pipeline without BEGIN as one transaction
}

func add(p *event.Packer, t event.Type, j floorJob, from, to job.State) {
	p.Add(&event.Event{Type: t, Job: job.ID(j.id), Kind: "noop", Queue: "bench", From: from, To: to, Life: 1, Token: 1})
}

func queueEvent(batch *pgx.Batch, now int64, p *event.Packer, from, to job.State) {
	n := int64(p.Len())
	lanes, states, ns := []int64{1}, []int16{int16(to)}, []int64{n}
	if from != job.None {
		lanes, states, ns = append(lanes, 1), append(states, int16(from)), append(ns, -n)
	}
	batch.Queue(floorEvent, now, n, p.Bytes(), lanes, states, ns)
}

// floorLate is the longest time between the timestamp that a transaction writes and the moment at
// which its commit becomes visible.
const floorLate = 2 * time.Second

// claim claims jobs for the idle workers. It searches only jobs that are due after the last claimed
// job, because the index has only deleted rows before that time.
func (r *floorRun) claim(ctx context.Context, c *pgx.Conn) error {
	low := int64(0)
	for {
		want := min(r.idle.Load(), floorBatch)
		if want == 0 {
			select {
			case <-r.wake:
				continue
			case <-ctx.Done():
				return nil
			}
		}
		now := time.Now().UnixMicro()
		got, last, err := r.claimSome(ctx, c, low, now, want)
		if err != nil {
			return err
		}
		if len(got) == 0 {
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
				return nil
			}
			continue
		}
		low = max(low, last-floorLate.Microseconds())
		r.idle.Add(-int64(len(got)))
		for _, j := range got {
			r.claimed <- j
		}
	}
}

// claimSome claims in one transaction of two round trips. After an error the connection cannot be
// used any more.
func (r *floorRun) claimSome(ctx context.Context, c *pgx.Conn, low, now, want int64) (got []floorJob, last int64, err error) {
	var batch pgx.Batch
	var pack event.Packer
	batch.Queue("BEGIN")
	batch.Queue(floorClaim, low, now, want, now+10_000_000, "host-4711-0123456789ab").Query(func(rows pgx.Rows) error {
		var j floorJob
		var at int64
		var payload []byte
		_, err := pgx.ForEachRow(rows, []any{&j.id, &j.token, &at, &payload}, func() error {
			got, last = append(got, j), max(last, at)
			add(&pack, event.JobClaimed, j, job.Waiting, job.Running)
			return nil
		})
		return err
	})
	if err := c.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, 0, err
	}
	var end pgx.Batch
	if len(got) > 0 {
		queueEvent(&end, now, &pack, job.Waiting, job.Running)
	}
	end.Queue("COMMIT")
	return got, last, c.SendBatch(ctx, &end).Close()
}
