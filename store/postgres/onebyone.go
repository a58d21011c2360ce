package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"slices"
	"sync"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// singles are the calls that are written one by one, by the shared statements. Only a few run at
// a time: a call that waits for another client's transaction occupies a connection, and other calls
// need connections, too.
type singles struct {
	ctx    context.Context //nolint:containedctx // ends with the grace of Close
	cancel context.CancelFunc
	grace  time.Duration
	done   sync.WaitGroup
	slots  chan struct{} // of calls that come to the shared statements directly

	mu      sync.Mutex
	queue   []*enqueueCall
	running int
	most    int
	busy    map[keyName]bool // the keys and batches of running calls
}

// closeGrace is how long Close lets calls wait for transactions of others.
const closeGrace = 2 * time.Second

func newSingles(o *Options) singles {
	ctx, cancel := context.WithCancel(context.Background())
	conns := o.shares(false).rest
	return singles{ctx: ctx, cancel: cancel, grace: closeGrace, most: max(1, min(4, 2*conns/5)),
		slots: make(chan struct{}, max(1, conns/2)), busy: make(map[keyName]bool)}
}

// heldBy returns the keys and batches that a call may have to wait for, in their order.
func (c *enqueueCall) heldBy() (names []keyName) {
	for i := range c.jobs {
		n := &c.jobs[i]
		if n.Key != "" {
			names = append(names, nameOf(n))
		}
		if n.Batch != 0 {
			names = append(names, keyName{owner: store.BatchMemberKey(n.Batch)})
		}
	}
	slices.SortFunc(names, compareNames)
	return slices.Compact(names)
}

// oneByOne queues calls to be written one at a time. Nothing of them has been written yet. The argument
// held says that some of them had to wait for a lock.
func (s *Store) oneByOne(calls []*enqueueCall, held bool) {
	q := &s.intake.singles
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, call := range calls {
		if call.held = held; held {
			call.locks = call.heldBy()
		}
		if call.state.CompareAndSwap(callStarted, callWaiting) {
			q.queue = append(q.queue, call)
		}
	}
	s.launch()
}

// launch starts the calls that can start. Of calls that wait for the same key or batch only one
// runs. The caller holds the lock.
func (s *Store) launch() {
	q := &s.intake.singles
	for q.running < q.most {
		i := slices.IndexFunc(q.queue, func(c *enqueueCall) bool {
			return !slices.ContainsFunc(c.locks, func(n keyName) bool { return q.busy[n] })
		})
		if i < 0 {
			return
		}
		call := q.queue[i]
		q.queue = slices.Delete(q.queue, i, i+1)
		if !call.state.CompareAndSwap(callWaiting, callStarted) {
			continue
		}
		q.running++
		for _, name := range call.locks {
			q.busy[name] = true
		}
		q.done.Go(func() { s.writeOne(call) })
	}
}

func (s *Store) writeOne(call *enqueueCall) {
	q := &s.intake.singles
	ctx, cancel := context.WithCancelCause(call.ctx)
	stop := context.AfterFunc(q.ctx, func() { cancel(errClosed) })
	receipts, err := s.core.Enqueue(ctx, call.jobs)
	stop()
	cancel(nil)
	s.intake.use(call.jobs)
	call.answer <- enqueueAnswer{receipts, err}

	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	for _, name := range call.locks {
		delete(q.busy, name)
	}
	if call.held && pg.HeldUp(err) { // calls that wait for the same have waited as long
		q.queue = slices.DeleteFunc(q.queue, func(c *enqueueCall) bool {
			same := c.held && slices.Equal(c.locks, call.locks)
			if same {
				c.answer <- enqueueAnswer{err: err}
			}
			return same
		})
	}
	s.launch()
}

// finish waits for the calls that have started. No more calls may come.
func (q *singles) finish() {
	timer := time.AfterFunc(q.grace, q.cancel)
	q.done.Wait()
	timer.Stop()
	q.cancel()
}

// slot waits for one of the slots of calls that may have to wait for a transaction of somebody else's, and
// returns the function that leaves it.
func (s *Store) slot(ctx context.Context) (leave func(), err error) {
	slots := s.intake.singles.slots
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.closed:
		return nil, errClosed
	}
}

// enqueueAlone writes jobs by the shared statements at once. Of calls that may have
// to wait for a transaction of somebody else's there are so many that connections
// are left.
func (s *Store) enqueueAlone(ctx context.Context, jobs []job.New, waits bool) ([]job.Receipt, error) {
	if waits {
		leave, err := s.slot(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	receipts, err := s.core.Enqueue(ctx, jobs)
	s.intake.use(jobs)
	return receipts, err
}
