package sqlite

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/internal/storeclock"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// turnWait is the time for which a writer waits for the writers of other processes. A process has
// the right to write for one transaction; a caller's transaction takes a few seconds at most. A
// process that has the right for a longer time is suspended or hangs.
const turnWait = 10 * time.Second

// groupMax is the maximum number of requests in one commit. Because of this limit, the first
// request does not wait long for the other requests.
const groupMax = 512

// writer is the only goroutine of this process that writes. Callers give it functions. All
// functions that are waiting when a transaction begins share that transaction and its fsync
// (group commit).
type writer struct {
	conn     *sqlite.Conn
	turn     *turnstile
	clock    *storeclock.Clock
	wake     func()
	wrote    func() // called after each commit that wrote events
	requests chan *request
	quit     chan struct{}
	ended    chan struct{}

	native  *native
	txn     *sqlstore.Txn
	cat     *sqlstore.Catalog // a cache of lanes and queues; nil means that they must be read again
	version int64             // SQLite's data_version when cat was read

	commits atomic.Int64
}

// request is what one caller wants to do in a transaction that several callers share.
type request struct {
	do func(*sqlstore.Txn) error // called inside the shared transaction, perhaps twice
	// alone, if not nil, is called instead of do: outside of any transaction, while this process
	// has the right to write.
	alone   func() error
	done    chan error
	ctx     context.Context //nolint:containedctx // of the waiting caller
	started atomic.Bool
}

var requests = sync.Pool{New: func() any { return &request{done: make(chan error, 1)} }}

// write calls the given function in a transaction and returns when the transaction is durable. If
// the context ends before the transaction has begun, the request is withdrawn. After the
// transaction has begun, write waits for the answer even if the context ends, so that the caller
// learns the result.
func (w *writer) write(ctx context.Context, do func(*sqlstore.Txn) error) error {
	return w.request(ctx, do, nil)
}

func (w *writer) request(ctx context.Context, do func(*sqlstore.Txn) error, alone func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := requests.Get().(*request)
	r.do, r.alone, r.ctx = do, alone, ctx
	r.started.Store(false)
	select {
	case w.requests <- r:
	case <-ctx.Done():
		r.do, r.alone, r.ctx = nil, nil, nil
		requests.Put(r)
		return ctx.Err()
	case <-w.quit:
		return errClosed
	}
	select {
	case err := <-r.done:
		r.do, r.alone, r.ctx = nil, nil, nil
		requests.Put(r)
		return err
	case <-ctx.Done():
		if r.start() {
			return ctx.Err() // the writer sees that the request was withdrawn, and skips it
		}
		return <-r.done
	case <-w.ended:
		select {
		case err := <-r.done:
			return err
		default:
			return errClosed
		}
	}
}

// park waits until this process has the right to write. The process then keeps the right, without a
// transaction, until the returned function is called. Until that call, all writers of this process
// and of other processes wait.
func (w *writer) park(ctx context.Context) (release func(), err error) {
	granted, finished := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- w.request(ctx, nil, func() error {
			close(granted)
			<-finished
			return nil
		})
	}()
	select {
	case <-granted:
		return func() { close(finished); <-ended }, nil
	case err := <-ended:
		return nil, err
	}
}

var errClosed = store.ErrClosed

func (w *writer) run() {
	defer close(w.ended)
	group := make([]*request, 0, groupMax)
	for {
		select {
		case r := <-w.requests:
			group = append(group[:0], r)
		case <-w.quit:
			return
		}
		// Callers that have just received an answer often write again at once. The writer lets
		// these callers run first, so that their next requests share this commit.
		runtime.Gosched()
	gather:
		for len(group) < groupMax {
			select {
			case r := <-w.requests:
				group = append(group, r)
			default:
				break gather
			}
		}
		w.serve(group)
	}
}

// serve runs the waiting requests: first the requests that share a transaction, then the requests
// that need the right to write without a transaction.
func (w *writer) serve(group []*request) {
	// Divide the requests before answering the first one: after a request was answered, the
	// writer must not read it any more.
	var shared, alone []*request
	for _, r := range group {
		if r.alone == nil {
			shared = append(shared, r)
		} else {
			alone = append(alone, r)
		}
	}
	if len(shared) > 0 {
		w.inTurn(shared, func() { w.transact(shared) })
	}
	for _, r := range alone {
		w.inTurn([]*request{r}, func() {
			if r.start() {
				r.done <- r.alone()
			}
		})
	}
}

// start marks the request as accepted. It returns false when the caller has withdrawn the
// request. Otherwise the caller waits for the answer from now on, even if its context ends.
func (r *request) start() bool { return r.started.CompareAndSwap(false, true) }

// inTurn waits until this process has the right to write, and then calls the given function. If the
// process cannot get that right, inTurn answers all requests of the group with the error.
func (w *writer) inTurn(group []*request, do func()) {
	if err := w.turn.enter(turnWait, w.quit); err != nil {
		for _, r := range group {
			if r.start() {
				r.done <- err
			}
		}
		return
	}
	do()
	w.turn.leave()
}

// errRedo says that a request has failed after it had written. The transaction must be rolled
// back. Then each of its requests runs in a separate transaction.
var errRedo = errors.New("a request of the shared transaction failed after it had written, so the transaction must be rolled back")

func (w *writer) transact(group []*request) {
	err := w.begin()
	group = slices.DeleteFunc(group, func(r *request) bool { return !r.start() })
	answers := make([]error, len(group))
	if err == nil {
		err = w.commit(group, answers)
	}
	if errors.Is(err, errRedo) && len(group) > 1 {
		for i, r := range group {
			if err := w.begin(); err != nil {
				r.done <- err
				continue
			}
			err := w.commit(group[i:i+1], answers[i:i+1])
			r.done <- answerOf(err, answers[i])
		}
		return
	}
	for i, r := range group {
		r.done <- answerOf(err, answers[i])
	}
}

// answerOf returns the answer to one request of a shared transaction. The arguments are the result
// of the transaction and the result of the request itself.
func answerOf(transaction, own error) error {
	if transaction == nil || errors.Is(transaction, errRedo) && own != nil {
		return own
	}
	return transaction
}

// commit runs the requests that share the transaction, and commits the transaction. It returns
// nil when the transaction is durable. When it returns an error, it has rolled back the
// transaction.
func (w *writer) commit(group []*request, answers []error) (err error) {
	t := w.txn
	t.Reset(w.clock.Now(), w.cat)
	defer func() {
		if err != nil {
			w.rollback()
		}
	}()
	clear(answers)
	for i, r := range group {
		t.BeginPart()
		err := r.do(t)
		if err == nil {
			continue
		}
		if fatal := fatalError(err); fatal != nil {
			return fatal
		}
		answers[i] = err
		if t.Wrote() || ofStatement(err) {
			return errRedo
		}
	}
	if err := t.Flush(); err != nil {
		return asStoreError(err)
	}
	survived := crashpoint.Span(crashpoint.InCommit)
	_, err = w.native.Exec(commitTx)
	survived()
	if err != nil {
		return commitError(err)
	}
	w.commits.Add(1)
	if t.Wakes() {
		w.wake()
	}
	if t.Events().Len() > 0 {
		w.wrote()
	}
	return nil
}

var (
	beginTx    = &sqlstore.Query{Name: "beginTx"}
	commitTx   = &sqlstore.Query{Name: "commitTx"}
	rollbackTx = &sqlstore.Query{Name: "rollbackTx"}
	selVersion = &sqlstore.Query{Name: "selVersion"}
	selLastAt  = &sqlstore.Query{Name: "selLastAt"}
)

// begin begins the transaction. If other connections have committed since the last time, it
// reads the catalogue and the clock again.
func (w *writer) begin() error {
	s := w.native
	if _, err := s.Exec(beginTx); err != nil {
		return asStoreError(err)
	}
	version, err := sqlstore.ReadInt(s, selVersion)
	if err == nil && (w.cat == nil || version != w.version) {
		w.version = version
		var last int64
		if last, err = sqlstore.ReadInt(s, selLastAt); err == nil {
			w.clock.Floor(job.Micros(last))
			w.cat, err = sqlstore.ReadCatalog(s)
		}
	}
	if err != nil {
		w.rollback()
		return asStoreError(err)
	}
	return nil
}

func (w *writer) rollback() {
	w.cat = nil
	w.txn.RolledBack()
	if !w.conn.AutocommitEnabled() {
		_, _ = w.native.Exec(rollbackTx) // if the rollback fails, the next begin returns the error
	}
}

// close lets the writer finish its current requests and stops it.
func (w *writer) close() error {
	close(w.quit)
	<-w.ended
	// SQLite makes a check-point before it closes the last connection.
	defer crashpoint.Span(crashpoint.InCheckpoint)()
	err := w.conn.Close()
	if terr := w.turn.close(); err == nil {
		err = terr
	}
	return err
}
