package selfbench

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	store "github.com/redrive/redrive/store/sqlite"
)

// floor does the smallest amount of work that jobs need on this machine. It runs only the
// SQL statements and writes the same rows as the engine (job, claim with lease, history,
// counters, packed events). It uses one goroutine with group commit and the same schema and
// settings, and its callers wait for their commit. It checks nothing, decides nothing and
// runs no handler.
type floor struct {
	conn     *sqlite.Conn
	insert   *sqlite.Stmt
	seek     *sqlite.Stmt
	read     *sqlite.Stmt
	claim    *sqlite.Stmt
	done     *sqlite.Stmt
	remove   *sqlite.Stmt
	counter  *sqlite.Stmt
	event    *sqlite.Stmt
	begin    *sqlite.Stmt
	commit   *sqlite.Stmt
	requests chan *floorRequest
	payload  []byte
	nextID   int64
	pack     event.Packer
	counts   [7]int64
	left     int // number of jobs that must still end before the workers stop
}

// floorRequest asks the floor either to insert jobs, or to end a job and to return the next
// jobs. If settle is not 0, it is the id of the job to end.
type floorRequest struct {
	inserts int
	settle  int64
	token   int64
	wants   int
	got     []floorClaim
	done    chan struct{}
}

type floorClaim struct{ id, token int64 }

func openFloor(ctx context.Context, dir string, payload int) (*floor, error) {
	path := filepath.Join(dir, "floor.db")
	s, err := store.Open(ctx, path, nil) // Open creates the schema
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenWAL)
	if err != nil {
		return nil, err
	}
	for _, text := range []string{
		`PRAGMA synchronous=FULL`, `PRAGMA temp_store=MEMORY`, `PRAGMA cache_size=-65536`, `PRAGMA wal_autocheckpoint=4000`,
		`INSERT INTO redrive_lanes (id, queue, kind, deps) VALUES (1, 'bench', 'noop', '')`,
	} {
		if err := sqlitex.ExecuteTransient(conn, text, nil); err != nil {
			return nil, err
		}
	}
	f := &floor{conn: conn, requests: make(chan *floorRequest, 1024), payload: make([]byte, payload), nextID: 1}
	for stmt, text := range map[**sqlite.Stmt]string{
		&f.insert: `INSERT INTO redrive_jobs (id, lane, state, priority, run_at, token, life, attempts, crashes, deferrals,
			snoozes, interrupts, created_at, life_at, payload) VALUES (?1, 1, 1, 2, ?2, 0, 1, 0, 0, 0, 0, 0, ?2, ?2, ?3)`,
		&f.seek: `SELECT run_at, id FROM redrive_jobs INDEXED BY redrive_ready
			WHERE lane = 1 AND priority = 2 AND state < 3 ORDER BY run_at, id`,
		&f.read: `SELECT token, payload FROM redrive_jobs WHERE id = ? AND state < 3`,
		&f.claim: `UPDATE redrive_jobs SET state = 3, token = ?2, lease_until = ?3, claimed_at = ?4,
			holder = ?5, crash_max = 5 WHERE id = ?1 AND state < 3`,
		&f.done: `INSERT INTO redrive_done (job, lane, state, priority, token, life, attempts, crashes, deferrals, snoozes,
			interrupts, created_at, life_at, claimed_at, finished_at, holder)
			SELECT id, lane, 4, priority, token, life, attempts + 1, crashes, deferrals, snoozes, interrupts, created_at,
			life_at, claimed_at, ?3, holder FROM redrive_jobs WHERE id = ?1 AND token = ?2 AND state = 3`,
		&f.remove: `DELETE FROM redrive_jobs WHERE id = ?1 AND token = ?2`,
		&f.counter: `INSERT INTO redrive_counters (lane, state, n) VALUES (1, ?1, ?2)
			ON CONFLICT (lane, state) DO UPDATE SET n = n + ?2`,
		&f.event:  `INSERT INTO redrive_events (at, n, body) VALUES (?, ?, ?)`,
		&f.begin:  `BEGIN IMMEDIATE`,
		&f.commit: `COMMIT`,
	} {
		if *stmt, err = conn.Prepare(text); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *floor) close() error {
	return f.conn.Close()
}

// serve handles requests until their channel is closed or the context ends.
func (f *floor) serve(ctx context.Context) error {
	group := make([]*floorRequest, 0, 1024)
	var hungry []*floorRequest
	for f.left > 0 {
		group = group[:0]
		select {
		case r := <-f.requests:
			group = append(group, r)
		case <-ctx.Done():
			return ctx.Err()
		}
		for len(f.requests) > 0 {
			group = append(group, <-f.requests)
		}
		still, err := f.transact(group, hungry)
		if err != nil {
			return err
		}
		hungry = append(hungry[:0], still...)
	}
	for _, r := range hungry {
		close(r.done)
	}
	return nil
}

func (f *floor) transact(group, hungry []*floorRequest) (still []*floorRequest, err error) {
	now := time.Now().UnixMicro()
	if err := run(f.begin); err != nil {
		return nil, err
	}
	f.pack.Reset()
	clear(f.counts[:])
	var answered []*floorRequest
	for _, r := range group {
		for range r.inserts {
			if err := f.insertJob(now); err != nil {
				return nil, err
			}
		}
		if r.settle != 0 {
			if err := f.settleJob(r, now); err != nil {
				return nil, err
			}
		}
		if r.wants > 0 {
			hungry = append(hungry, r)
		} else {
			answered = append(answered, r)
		}
	}
	fed, err := f.feed(hungry, now)
	if err != nil {
		return nil, err
	}
	if err := f.flush(now); err != nil {
		return nil, err
	}
	for _, r := range answered {
		close(r.done)
	}
	for _, r := range hungry[:fed] {
		close(r.done)
	}
	return hungry[fed:], nil
}

func (f *floor) insertJob(now int64) error {
	f.insert.BindInt64(1, f.nextID)
	f.insert.BindInt64(2, now)
	f.insert.BindBytes(3, f.payload)
	f.add(event.JobEnqueued, f.nextID, job.None, job.Waiting)
	f.nextID++
	return run(f.insert)
}

func (f *floor) settleJob(r *floorRequest, now int64) error {
	f.done.BindInt64(1, r.settle)
	f.done.BindInt64(2, r.token)
	f.done.BindInt64(3, now)
	if err := run(f.done); err != nil {
		return err
	}
	f.remove.BindInt64(1, r.settle)
	f.remove.BindInt64(2, r.token)
	f.left--
	f.add(event.JobSucceeded, r.settle, job.Running, job.Completed)
	return run(f.remove)
}

// feed claims jobs for waiting requests. Each request gets the full number of jobs that it
// wants, or none.
func (f *floor) feed(hungry []*floorRequest, now int64) (fed int, err error) {
	wanted := 0
	for _, r := range hungry {
		wanted += r.wants
	}
	if wanted == 0 {
		return 0, nil
	}
	var ids []int64
	for len(ids) < wanted {
		more, err := f.seek.Step()
		if err != nil {
			return 0, err
		}
		if !more {
			break
		}
		ids = append(ids, f.seek.ColumnInt64(1))
	}
	if err := f.seek.Reset(); err != nil {
		return 0, err
	}
	for _, r := range hungry {
		if len(ids) == 0 {
			break
		}
		n := min(r.wants, len(ids))
		for _, id := range ids[:n] {
			token, err := f.claimJob(id, now)
			if err != nil {
				return 0, err
			}
			r.got = append(r.got, floorClaim{id, token})
		}
		ids = ids[n:]
		fed++
	}
	return fed, nil
}

func (f *floor) claimJob(id, now int64) (token int64, err error) {
	f.read.BindInt64(1, id)
	if _, err := f.read.Step(); err != nil {
		return 0, err
	}
	token = f.read.ColumnInt64(0) + 1
	payload := make([]byte, f.read.ColumnLen(1))
	f.read.ColumnBytes(1, payload)
	if err := f.read.Reset(); err != nil {
		return 0, err
	}
	f.claim.BindInt64(1, id)
	f.claim.BindInt64(2, token)
	f.claim.BindInt64(3, now+10_000_000)
	f.claim.BindInt64(4, now)
	f.claim.BindText(5, "host-4711-0123456789ab")
	f.add(event.JobClaimed, id, job.Waiting, job.Running)
	return token, run(f.claim)
}

func (f *floor) add(t event.Type, id int64, from, to job.State) {
	if from != job.None {
		f.counts[from]--
	}
	f.counts[to]++
	f.pack.Add(&event.Event{Type: t, Job: job.ID(id), Kind: "noop", Queue: "bench", From: from, To: to, Life: 1, Token: 1})
}

func (f *floor) flush(now int64) error {
	for state, n := range f.counts {
		if n == 0 {
			continue
		}
		f.counter.BindInt64(1, int64(state))
		f.counter.BindInt64(2, n)
		if err := run(f.counter); err != nil {
			return err
		}
	}
	if f.pack.Len() > 0 {
		f.event.BindInt64(1, now)
		f.event.BindInt64(2, int64(f.pack.Len()))
		f.event.BindBytes(3, f.pack.Bytes())
		if err := run(f.event); err != nil {
			return err
		}
	}
	return run(f.commit)
}

func run(stmt *sqlite.Stmt) error {
	for {
		more, err := stmt.Step()
		if err != nil {
			return err
		}
		if !more {
			return stmt.Reset()
		}
	}
}

// both measures inserting and processing together: producers insert jobs one by one while
// workers process them. It returns the time until the last job has ended.
func (f *floor) both(ctx context.Context, jobs, producers, workers int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, runMax)
	defer cancel()
	f.left = jobs
	served := make(chan error, 1)
	start := time.Now()
	go func() { served <- f.serve(ctx) }()
	var left atomic.Int64
	left.Store(int64(jobs))
	for range producers {
		go func() {
			for left.Add(-1) >= 0 {
				if f.ask(ctx, &floorRequest{inserts: 1}) != nil {
					return
				}
			}
		}()
	}
	for range workers {
		go func() {
			r := &floorRequest{wants: 1}
			for f.ask(ctx, r) == nil && len(r.got) > 0 {
				r = &floorRequest{settle: r.got[0].id, token: r.got[0].token, wants: 1}
			}
		}()
	}
	err := <-served
	return time.Since(start), err
}

// enqueue measures how long several producers need to insert jobs one by one.
func (f *floor) enqueue(ctx context.Context, jobs, producers int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, runMax)
	defer cancel()
	f.left = 1 // one job never ends, so serve runs until the context ends
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- f.serve(serving) }()
	start := time.Now()
	err := inParallel(producers, jobs, func(int) error { return f.ask(ctx, &floorRequest{inserts: 1}) })
	took := time.Since(start)
	stop()
	if serr := <-served; err == nil && !errors.Is(serr, context.Canceled) {
		err = serr
	}
	return took, err
}

func (f *floor) ask(ctx context.Context, r *floorRequest) error {
	r.done = make(chan struct{})
	select {
	case f.requests <- r:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runMax is the longest time that one measured run may take.
const runMax = 2 * time.Minute
