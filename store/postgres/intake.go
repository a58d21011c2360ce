package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
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
	waiting chan *enqueueCall // that may have to: with keys or batches
	bytes   int               // bytesMax
	used    atomic.Int64      // no job with an id above it can be there: none was taken from ReserveIDs, or used
	singles singles
}

// enqueueCall is the jobs of one call.
type enqueueCall struct {
	ctx    context.Context //nolint:containedctx // of the waiting caller
	jobs   []job.New
	bytes  int
	waits  bool      // it may have to wait for other transactions
	held   bool      // it had to; of singles
	locks  []keyName // what it may have been held up by
	answer chan enqueueAnswer
	state  atomic.Int32

	// receipts are the answers to jobs of which some may be known already; of a group that is being written.
	receipts []job.Receipt
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
	if err := s.storeTerms(ctx, jobs); err != nil {
		return nil, err
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

// fresh reports whether a job of the call is written: it was not known already.
func (c *enqueueCall) fresh(i int) bool { return c.receipts == nil || !c.receipts[i].Existing }

// measure returns about how many bytes jobs take in a message, and whether they
// may have to wait for a key or a batch.
func measure(jobs []job.New) (size int, waits bool) {
	for i := range jobs {
		n := &jobs[i]
		size += jobBytes + len(n.Payload) + len(n.Attrs) + len(n.Override) + len(n.Digest) + len(n.Owner) + len(n.Correlation) + len(n.Key)
		waits = waits || n.Key != "" || n.Batch != 0
	}
	return size, waits
}

// plain reports whether jobs can be written with those of other calls: none is
// asked again.
func plain(jobs []job.New) bool {
	if len(jobs) == 0 || len(jobs) > jobsMax {
		return false
	}
	for i := range jobs {
		if jobs[i].Repeat {
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

// errOneByOne says that some call of a group cannot be served with the others.
var errOneByOne = errors.New("one of the calls has to be written by itself")

func (s *Store) serve(group []*enqueueCall) {
	together := group[:0]
	for _, call := range group {
		if call.state.CompareAndSwap(callWaiting, callStarted) {
			together = append(together, call)
		}
	}
	if len(together) == 0 {
		return
	}
	apart, err := s.insert(together, together[0].waits)
	held := together[0].waits && pg.HeldUp(err)
	if !held && len(together) > 1 && pg.HeldUp(err) {
		s.divide(together)
		return
	}
	// What is wrong with it, and whether anything is, is for the shared statements to find.
	aside := errors.Is(err, errOneByOne) || len(together) > 1 && pg.OfStatement(err) || held
	s.oneByOne(answerAll(together, apart, err, aside), held)
}

// answerAll answers the calls of a transaction but those that are apart, or all that
// are put aside: these it returns.
func answerAll(group []*enqueueCall, apart refusedCalls, err error, aside bool) (left []*enqueueCall) {
	for _, call := range group {
		switch why, is := apart[call]; {
		case why != nil:
			call.answer <- enqueueAnswer{err: why}
		case aside || is:
			left = append(left, call)
		case err != nil:
			call.answer <- enqueueAnswer{err: err}
		case call.receipts != nil:
			call.answer <- enqueueAnswer{receipts: call.receipts}
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

// use notes that ids are in use, or may be.
func (i *intake) use(jobs []job.New) {
	highest := job.ID(0)
	for k := range jobs {
		highest = max(highest, jobs[k].ID)
	}
	raiseTo(&i.used, int64(highest))
}
