package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive/internal/crashpoint"
	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	insertJobs = `INSERT INTO redrive_jobs (id, lane, state, priority, run_at, token, life, attempts, crashes, deferrals, snoozes,
			interrupts, created_at, life_at, deadline, owner, correlation, key, batch, attrs, policy, long, payload)
		SELECT t.id, t.lane, 1, t.priority, t.run_at, 0, 1, 0, 0, 0, 0, 0, $1::bigint, greatest(t.run_at, $1::bigint), t.deadline,
			t.owner, t.correlation, t.key, t.batch, t.attrs, t.policy, t.long, t.payload
		FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[], $10::bigint[],
			$11::bytea[], $12::bytea[], $13::bigint[], $14::bytea[])
			AS t(id, lane, priority, run_at, deadline, owner, correlation, key, batch, attrs, policy, long, payload)
		ON CONFLICT (id) DO NOTHING`
	// A key whose time is over is free. What is returned is taken by this statement;
	// of the others nobody knows more yet. The order keeps two transactions from
	// waiting for each other.
	reserveKeys = `INSERT INTO redrive_keys (owner, kind, key, job, digest, created_at, until)
		SELECT t.owner, t.kind, t.key, t.job, t.digest, $1::bigint, t.until
		FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bytea[], $7::bigint[])
			AS t(owner, kind, key, job, digest, until)
		ON CONFLICT (owner, kind, key) DO UPDATE SET job = excluded.job, digest = excluded.digest,
			created_at = excluded.created_at, until = excluded.until, state = NULL
		WHERE redrive_keys.until <= $1::bigint
		RETURNING job`
	insertBodies = `INSERT INTO redrive_bodies (job, payload) SELECT * FROM unnest($1::bigint[], $2::bytea[])`
	// Whoever holds a key in a transaction that is open is not waited for
	// by a whole group of calls.
	waitShortly = `SET LOCAL lock_timeout = '50ms'`
	selEnded    = `SELECT job FROM redrive_done WHERE job = ANY($1::bigint[])
		UNION ALL SELECT job FROM redrive_dead WHERE job = ANY($1::bigint[])`
)

const (
	// enqueuers is how many transactions of new jobs a process has under way. Half of
	// them are of jobs that have to wait for nobody, so that these never do.
	enqueuers = 4
	// turnMax is how long a transaction may take before another one begins all the same.
	turnMax = 5 * time.Millisecond
	// A transaction takes what waits, up to so many calls and jobs, and so many
	// bytes: a message to the server is a lot smaller than the 1 GiB that it may be.
	callsMax = 512
	jobsMax  = 2_000
	bytesMax = 32 << 20
	// jobBytes is about what a job takes besides its values of any length.
	jobBytes = 256
)

// intake takes new jobs in. Calls that wait at one time share a transaction.
type intake struct {
	plain   chan *enqueueCall // that wait for no other transaction
	waiting chan *enqueueCall // that may have to: with a key
	bytes   int               // bytesMax
	used    atomic.Int64      // no job with an id above it can be there: none was taken from ReserveIDs, or used
	singles singles
}

// enqueueCall is the jobs of one call.
type enqueueCall struct {
	ctx    context.Context //nolint:containedctx // of the waiting caller
	jobs   []job.New
	bytes  int
	waits  bool // it may have to wait for other transactions
	held   bool // it had to; of singles
	answer chan enqueueAnswer
	state  atomic.Int32
}

// The states of a call. What is taken back from a transaction that has failed is
// waiting again.
const (
	callWaiting int32 = iota
	callStarted       // it may be with the server
	callGone          // its caller has been answered; it is not begun any more
)

type enqueueAnswer struct {
	receipts []job.Receipt
	err      error
}

func newIntake(o *Options) *intake {
	return &intake{plain: make(chan *enqueueCall, callsMax), waiting: make(chan *enqueueCall, callsMax), bytes: bytesMax,
		singles: newSingles(o)}
}

// takeAll serves calls until the store is closed and all that were begun have
// their answers.
func (s *Store) takeAll() {
	var taking sync.WaitGroup
	plain, waiting := make(chan struct{}, 1), make(chan struct{}, 1)
	for range enqueuers / 2 {
		taking.Go(func() { s.takeIn(s.intake.plain, plain) })
		taking.Go(func() { s.takeIn(s.intake.waiting, waiting) })
	}
	taking.Wait()
	s.intake.singles.finish()
	close(s.drained)
}

// Enqueue implements store.Producer.
func (s *Store) Enqueue(ctx context.Context, jobs []job.New) ([]job.Receipt, error) {
	size, waits := measure(jobs)
	if size > s.intake.bytes || !plain(jobs) {
		return s.enqueueAlone(ctx, jobs, waits)
	}
	for i := range jobs {
		if err := store.Validate(&jobs[i]); err != nil {
			return nil, fmt.Errorf("job %d of %d: %w", i+1, len(jobs), err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	call := &enqueueCall{ctx: ctx, jobs: jobs, bytes: size, waits: waits, answer: make(chan enqueueAnswer, 1)}
	calls := s.intake.plain
	if waits {
		calls = s.intake.waiting
	}
	select {
	case calls <- call:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.closed:
		return nil, errClosed
	}
	select {
	case a := <-call.answer:
		return a.receipts, a.err
	case <-ctx.Done():
		return call.leave(ctx.Err(), ctx.Err())
	case <-s.drained:
		return call.leave(errClosed, errLate)
	}
}

// errLate is the cause where it is not known what has become of a call at the end
// of Close.
var errLate = errors.New("the store was closed meanwhile")

// leave gives up waiting for an answer: with why when nothing was begun, and will
// be; otherwise nobody knows.
func (c *enqueueCall) leave(why, cause error) ([]job.Receipt, error) {
	was := c.state.Swap(callGone)
	select {
	case a := <-c.answer:
		return a.receipts, a.err
	default:
	}
	if was == callWaiting {
		return nil, why
	}
	return nil, fmt.Errorf("the jobs were on their way to the server: %w: %w", store.ErrUnknown, cause)
}

// measure returns about how many bytes jobs take in a message, and whether they
// may have to wait for a key.
func measure(jobs []job.New) (size int, waits bool) {
	for i := range jobs {
		n := &jobs[i]
		size += jobBytes + len(n.Payload) + len(n.Attrs) + len(n.Policy) + len(n.Digest) + len(n.Owner) + len(n.Correlation) + len(n.Key)
		waits = waits || n.Key != ""
	}
	return size, waits
}

// plain reports whether jobs can be written with those of other calls: none is
// asked again, and a key is only with a job that comes alone.
func plain(jobs []job.New) bool {
	if len(jobs) == 0 || len(jobs) > jobsMax {
		return false
	}
	for i := range jobs {
		if jobs[i].Repeat || jobs[i].Key != "" && len(jobs) > 1 {
			return false
		}
	}
	return true
}

// takeIn serves calls until the store is closed. Takers wait for each other's
// transactions as long as these are quick and carry all that comes: a commit costs
// as much as some fifteen jobs, so what comes meanwhile shares the next one.
func (s *Store) takeIn(calls <-chan *enqueueCall, turn chan struct{}) {
	group := make([]*enqueueCall, 0, callsMax)
	var next *enqueueCall // it was too big for the last group
	for {
		release := func() {}
		if next == nil { // what was left over does not wait for who has the turn, and waits for more to come
			turn <- struct{}{}
			release = sync.OnceFunc(func() { <-turn })
		}
		full := false
		if group, next, full = s.gather(calls, group[:0], next); len(group) == 0 {
			release()
			return
		}
		if full { // there is work for another
			release()
		}
		late := time.AfterFunc(turnMax, release)
		s.serve(group)
		late.Stop()
		release()
	}
}

// gather waits for a call and takes those that are there, too, as many as a
// transaction may carry; none when the store is closed. Next is what was left over
// the last time, and is this time.
func (s *Store) gather(calls <-chan *enqueueCall, group []*enqueueCall, next *enqueueCall) (_ []*enqueueCall, left *enqueueCall, full bool) {
	if next == nil {
		select {
		case next = <-calls:
		case <-s.closed:
			return nil, nil, false
		}
		// Those who were just answered are about to come back: they share this
		// transaction when they are let run first.
		runtime.Gosched()
	}
	group = append(group, next)
	n, size := len(next.jobs), next.bytes
	for len(group) < callsMax && n < jobsMax {
		select {
		case call := <-calls:
			if size+call.bytes > s.intake.bytes {
				return group, call, true
			}
			group = append(group, call)
			n += len(call.jobs)
			size += call.bytes
		default:
			return group, nil, false
		}
	}
	return group, nil, true
}

// errSingly says that some call of a group cannot be served with the others.
var errSingly = errors.New("one of the calls has to be looked at by itself")

func (s *Store) serve(group []*enqueueCall) {
	together, singly := group[:0], []*enqueueCall(nil)
	keys := make(map[keyName]bool)
	for _, call := range group {
		if !call.state.CompareAndSwap(callWaiting, callStarted) {
			continue
		}
		n := &call.jobs[0]
		name := keyName{n.Owner, n.Kind, n.Key}
		if n.Key != "" && keys[name] { // the one before has to be written first
			singly = append(singly, call)
			continue
		}
		keys[name] = true
		together = append(together, call)
	}
	if len(together) == 0 {
		return
	}
	apart, err := s.insert(together, together[0].waits)
	held := together[0].waits && heldUp(err)
	if !held && len(together) > 1 && heldUp(err) {
		s.divide(together)
		together = nil
	}
	// What is wrong with it, and whether anything is, is for the shared statements to find.
	aside := errors.Is(err, errSingly) || len(together) > 1 && ofStatement(err) || held
	singly = append(singly, answerAll(together, apart, err, aside)...)
	s.singly(singly, held)
}

// answerAll answers the calls of a transaction but those that are apart, or all that
// are put aside: these it returns.
func answerAll(group []*enqueueCall, apart map[*enqueueCall]bool, err error, aside bool) (left []*enqueueCall) {
	for _, call := range group {
		switch {
		case aside || apart[call]:
			left = append(left, call)
		case err != nil:
			call.answer <- enqueueAnswer{err: err}
		default:
			call.answer <- enqueueAnswer{receipts: receipts(call.jobs)}
		}
	}
	return left
}

func receipts(jobs []job.New) []job.Receipt {
	taken := make([]job.Receipt, len(jobs))
	for i := range jobs {
		taken[i] = job.Receipt{ID: jobs[i].ID, State: job.Waiting}
	}
	return taken
}

type keyName struct{ owner, kind, key string }

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

// heldUp reports whether something was waited for in vain. Nothing was written.
func heldUp(err error) bool {
	switch sqlstate(err) {
	case stateLockTimeout, stateCanceled:
		return !errors.Is(err, store.ErrUnknown)
	}
	return false
}

// insert writes the jobs of a group, but for calls that need a look by
// themselves: these it returns. Briefly says that it waits for locks for a short
// time only.
func (s *Store) insert(group []*enqueueCall, briefly bool) (apart map[*enqueueCall]bool, err error) {
	var told news
	ctx, cancel := s.untilGone(group)
	defer cancel()
	err = s.fast(ctx, func(t *fastTxn) (err error) {
		told, apart = news{}, s.odd(t, group)
		fresh := without(group, apart)
		if len(fresh) == 0 {
			return nil
		}
		known, err := reserve(t, fresh, briefly)
		if err != nil {
			return err
		}
		if fresh = without(fresh, known); len(known) > 0 {
			maps.Copy(apart, known)
		}
		if len(fresh) == 0 {
			return nil
		}
		b := s.batch(t, fresh)
		steps := b.steps
		written, taken := 0, 0
		steps[0].n = &written
		if b.old.n > 0 {
			steps = append(steps, step{name: "selEnded", text: selEnded, args: []any{b.old}, n: &taken})
		}
		if !t.begun {
			steps = append(lead(briefly), steps...)
		}
		if err := t.send(steps...); err != nil {
			return err
		}
		if written != b.n || taken > 0 {
			return errSingly
		}
		for _, call := range fresh {
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
		return nil, err
	}
	crashpoint.Hit(crashpoint.AfterEnqueueCommit)
	for _, call := range group {
		s.intake.use(call.jobs)
	}
	s.news.tell(told)
	return apart, nil
}

func without(group []*enqueueCall, some map[*enqueueCall]bool) []*enqueueCall {
	if len(some) == 0 {
		return group
	}
	return slices.DeleteFunc(slices.Clone(group), func(call *enqueueCall) bool { return some[call] })
}

// odd finds the calls to lanes that are not there yet and to queues that take
// nothing.
func (s *Store) odd(t *fastTxn, group []*enqueueCall) map[*enqueueCall]bool {
	odd := make(map[*enqueueCall]bool)
	for _, call := range group {
		for i := range call.jobs {
			n := &call.jobs[i]
			if t.known.catalog.LaneOf(n.Queue, n.Kind, n.Deps) == 0 {
				// It is about to be made, and a process that only enqueues has
				// nothing else that would notice.
				s.hot.known.CompareAndSwap(t.known, nil)
				odd[call] = true
			} else if t.known.catalog.Draining(n.Queue) {
				odd[call] = true
			}
		}
	}
	return odd
}

// lead is what the transaction of a group begins with.
func lead(briefly bool) []step {
	if !briefly {
		return nil
	}
	return []step{{name: "waitShortly", text: waitShortly}}
}

// reserve takes the keys of a group, and returns the calls whose keys are known
// already, to whomever.
func reserve(t *fastTxn, group []*enqueueCall, briefly bool) (known map[*enqueueCall]bool, err error) {
	var keyed []*enqueueCall
	for _, call := range group {
		if call.jobs[0].Key != "" {
			keyed = append(keyed, call)
		}
	}
	if len(keyed) == 0 {
		return nil, nil
	}
	slices.SortFunc(keyed, func(a, b *enqueueCall) int {
		x, y := &a.jobs[0], &b.jobs[0]
		return cmp.Or(cmp.Compare(x.Owner, y.Owner), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Key, y.Key))
	})
	n := len(keyed)
	owners, kinds, keys, jobs, digests, until := texts(n), texts(n), texts(n), ints(n), blobs(n), ints(n)
	for _, call := range keyed {
		j := &call.jobs[0]
		owners.text(j.Owner)
		kinds.text(j.Kind)
		keys.text(j.Key)
		jobs.int(int64(j.ID))
		digests.blob(present(j.Digest))
		until.setInt(int64(j.KeyUntil))
	}
	taken := make(map[job.ID]bool, n)
	err = t.send(append(lead(briefly), step{name: "reserveKeys", text: reserveKeys,
		args: []any{int64(t.Now()), owners, kinds, keys, jobs, digests, until},
		each: func(r sqlstore.Row) error { taken[job.ID(r.Int(0))] = true; return nil }})...)
	if err != nil || len(taken) == n {
		return nil, err
	}
	known = make(map[*enqueueCall]bool)
	for _, call := range keyed {
		if !taken[call.jobs[0].ID] {
			known[call] = true
		}
	}
	return known, nil
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

func (s *Store) batch(t *fastTxn, group []*enqueueCall) (b batch) {
	for _, call := range group {
		b.n += len(call.jobs)
	}
	ids, lanes, priorities, due, deadlines := ints(b.n), ints(b.n), ints(b.n), ints(b.n), ints(b.n)
	owners, correlations, keys, batches := texts(b.n), texts(b.n), texts(b.n), ints(b.n)
	attrs, policies, long, payloads := blobs(b.n), blobs(b.n), ints(b.n), blobs(b.n)
	longIDs, bodies := ints(0), blobs(0)
	b.old = ints(0)
	used := job.ID(s.intake.used.Load())
	for _, call := range group {
		for i := range call.jobs {
			n := &call.jobs[i]
			lane := t.known.catalog.LaneOf(n.Queue, n.Kind, n.Deps)
			ids.int(int64(n.ID))
			lanes.int(lane)
			priorities.int(int64(n.Priority))
			due.int(int64(dueOf(n, t.Now())))
			deadlines.setInt(int64(n.Deadline))
			owners.setText(n.Owner)
			correlations.setText(n.Correlation)
			keys.setText(n.Key)
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
		owners, correlations, keys, batches, attrs, policies, long, payloads}})
	if longIDs.n > 0 {
		b.steps = append(b.steps, step{name: "insertBodies", text: insertBodies, args: []any{longIDs, bodies}})
	}
	return b
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
