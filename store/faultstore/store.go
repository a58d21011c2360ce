// Package faultstore wraps a store and makes chosen calls fail, for tests. A call can fail
// before it reaches the store, or after the store has carried it out, or it can hang. A plan
// says which calls fail, and how.
package faultstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Store is a store whose calls fail as a plan says. It can join the caller's
// transactions if the wrapped store can.
type Store struct {
	inner store.Store

	mu    sync.Mutex
	plan  Plan
	calls map[string]int
	seq   int
}

var (
	_ store.Store      = (*Store)(nil)
	_ store.Transactor = (*Store)(nil)
)

// New wraps a store. A nil plan means None.
func New(inner store.Store, plan Plan) *Store {
	s := &Store{inner: inner, calls: map[string]int{}}
	s.Set(plan)
	return s
}

// Set changes the plan. The numbers of calls are not reset.
func (s *Store) Set(plan Plan) {
	if plan == nil {
		plan = None
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan = plan
}

// Calls returns the number of calls of a method so far. For "" it returns the number of calls
// of all methods.
func (s *Store) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if method == "" {
		return s.seq
	}
	return s.calls[method]
}

func (s *Store) fault(method string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	s.calls[method]++
	return s.plan(Call{Method: method, N: s.calls[method], Seq: s.seq})
}

// do makes one call of a method of s, with the fault that the plan gives for it.
func do[T any](ctx context.Context, s *Store, method string, call func() (T, error)) (answer T, err error) {
	f := s.fault(method)
	switch {
	case f.Hang:
		<-ctx.Done()
		return answer, context.Cause(ctx)
	case f.Before != nil:
		return answer, f.Before
	}
	done, err := call()
	if err == nil && f.After != nil {
		return answer, f.After
	}
	return done, err
}

// none is the result type for methods that return only an error.
type none struct{}

// Close implements store.Store.
func (s *Store) Close() error { return s.inner.Close() }

// ReserveIDs implements store.Producer.
func (s *Store) ReserveIDs(ctx context.Context, n int) (job.ID, error) {
	return do(ctx, s, "ReserveIDs", func() (job.ID, error) { return s.inner.ReserveIDs(ctx, n) })
}

// Enqueue implements store.Producer.
func (s *Store) Enqueue(ctx context.Context, jobs []job.New) ([]job.Receipt, error) {
	return do(ctx, s, "Enqueue", func() ([]job.Receipt, error) { return s.inner.Enqueue(ctx, jobs) })
}

// EnqueueTx implements store.Transactor.
func (s *Store) EnqueueTx(ctx context.Context, tx store.Tx, jobs []job.New) ([]job.Receipt, error) {
	return do(ctx, s, "EnqueueTx", func() ([]job.Receipt, error) {
		inner, err := s.transactor()
		if err != nil {
			return nil, err
		}
		return inner.EnqueueTx(ctx, tx, jobs)
	})
}

// SettleTx implements store.Transactor.
func (s *Store) SettleTx(ctx context.Context, tx store.Tx, o job.Outcome) error {
	_, err := do(ctx, s, "SettleTx", func() (none, error) {
		inner, err := s.transactor()
		if err != nil {
			return none{}, err
		}
		return none{}, inner.SettleTx(ctx, tx, o)
	})
	return err
}

func (s *Store) transactor() (store.Transactor, error) {
	if inner, ok := s.inner.(store.Transactor); ok {
		return inner, nil
	}
	return nil, fmt.Errorf("the store %T cannot join the caller's transaction: %w", s.inner, store.ErrInvalid)
}

// Exchange implements store.Worker.
func (s *Store) Exchange(ctx context.Context, x store.Exchange) (store.Exchanged, error) {
	return do(ctx, s, "Exchange", func() (store.Exchanged, error) { return s.inner.Exchange(ctx, x) })
}

// Heartbeat implements store.Worker.
func (s *Store) Heartbeat(ctx context.Context, b store.Beat) ([]store.RunStatus, error) {
	return do(ctx, s, "Heartbeat", func() ([]store.RunStatus, error) { return s.inner.Heartbeat(ctx, b) })
}

// Rescue implements store.Worker.
func (s *Store) Rescue(ctx context.Context, limit int) (store.Rescue, error) {
	return do(ctx, s, "Rescue", func() (store.Rescue, error) { return s.inner.Rescue(ctx, limit) })
}

// Signals implements store.Worker.
func (s *Store) Signals(ctx context.Context, holder string) (store.Signals, error) {
	return do(ctx, s, "Signals", func() (store.Signals, error) { return s.inner.Signals(ctx, holder) })
}

// Declare implements store.Worker.
func (s *Store) Declare(ctx context.Context, queues []string) error {
	_, err := do(ctx, s, "Declare", func() (none, error) { return none{}, s.inner.Declare(ctx, queues) })
	return err
}

// Follow implements store.Reader. If the call's fault has a Before error, Follow never sends.
func (s *Store) Follow(ch chan<- struct{}) (stop func()) {
	if s.fault("Follow").Before != nil {
		return func() {}
	}
	return s.inner.Follow(ch)
}

// Notify implements store.Worker. If the call's fault has a Before error, Notify never sends.
func (s *Store) Notify(ch chan<- struct{}) (stop func()) {
	if s.fault("Notify").Before != nil {
		return func() {}
	}
	return s.inner.Notify(ch)
}

// Get implements store.Reader.
func (s *Store) Get(ctx context.Context, id job.ID) (job.Job, error) {
	return do(ctx, s, "Get", func() (job.Job, error) { return s.inner.Get(ctx, id) })
}

// Failures implements store.Reader.
func (s *Store) Failures(ctx context.Context, id job.ID) ([]job.Failure, error) {
	return do(ctx, s, "Failures", func() ([]job.Failure, error) { return s.inner.Failures(ctx, id) })
}

// GetAll implements store.Reader.
func (s *Store) GetAll(ctx context.Context, ids []job.ID) ([]job.Job, error) {
	return do(ctx, s, "GetAll", func() ([]job.Job, error) { return s.inner.GetAll(ctx, ids) })
}

// Latest implements store.Reader.
func (s *Store) Latest(ctx context.Context, ids []job.ID) ([]job.Failure, error) {
	return do(ctx, s, "Latest", func() ([]job.Failure, error) { return s.inner.Latest(ctx, ids) })
}

// Lookup implements store.Reader.
func (s *Store) Lookup(ctx context.Context, owner, kind, key string) (job.ID, error) {
	return do(ctx, s, "Lookup", func() (job.ID, error) { return s.inner.Lookup(ctx, owner, kind, key) })
}

// Processed implements store.Reader.
func (s *Store) Processed(ctx context.Context, owner, kind, key string) (job.Processed, error) {
	return do(ctx, s, "Processed", func() (job.Processed, error) { return s.inner.Processed(ctx, owner, kind, key) })
}

// DeadLetter implements store.Reader.
func (s *Store) DeadLetter(ctx context.Context, id job.ID) (job.DeadLetter, error) {
	return do(ctx, s, "DeadLetter", func() (job.DeadLetter, error) { return s.inner.DeadLetter(ctx, id) })
}

// List implements store.Reader.
func (s *Store) List(ctx context.Context, f store.Filter) (store.Page, error) {
	return do(ctx, s, "List", func() (store.Page, error) { return s.inner.List(ctx, f) })
}

// Counts implements store.Reader.
func (s *Store) Counts(ctx context.Context) ([]store.Count, error) {
	return do(ctx, s, "Counts", func() ([]store.Count, error) { return s.inner.Counts(ctx) })
}

// Series implements store.Reader.
func (s *Store) Series(ctx context.Context, q store.SeriesQuery) ([]store.Point, error) {
	return do(ctx, s, "Series", func() ([]store.Point, error) { return s.inner.Series(ctx, q) })
}

// Due implements store.Reader.
func (s *Store) Due(ctx context.Context, minutes int) (store.DueRetries, error) {
	return do(ctx, s, "Due", func() (store.DueRetries, error) { return s.inner.Due(ctx, minutes) })
}

// Heads implements store.Reader.
func (s *Store) Heads(ctx context.Context) ([]store.Head, error) {
	return do(ctx, s, "Heads", func() ([]store.Head, error) { return s.inner.Heads(ctx) })
}

// Queues implements store.Reader.
func (s *Store) Queues(ctx context.Context) ([]store.Queue, error) {
	return do(ctx, s, "Queues", func() ([]store.Queue, error) { return s.inner.Queues(ctx) })
}

// Events implements store.Reader.
func (s *Store) Events(ctx context.Context, after event.Cursor, limit int) ([]event.Event, error) {
	return do(ctx, s, "Events", func() ([]event.Event, error) { return s.inner.Events(ctx, after, limit) })
}

// EventSpan implements store.Reader.
func (s *Store) EventSpan(ctx context.Context) (first, last event.Cursor, err error) {
	type span struct{ first, last event.Cursor }
	got, err := do(ctx, s, "EventSpan", func() (got span, err error) {
		got.first, got.last, err = s.inner.EventSpan(ctx)
		return got, err
	})
	return got.first, got.last, err
}

// Audit implements store.Reader.
func (s *Store) Audit(ctx context.Context, after int64, limit int) ([]store.Audit, error) {
	return do(ctx, s, "Audit", func() ([]store.Audit, error) { return s.inner.Audit(ctx, after, limit) })
}

// AuditPage implements store.Reader.
func (s *Store) AuditPage(ctx context.Context, f store.AuditFilter) (store.AuditPage, error) {
	return do(ctx, s, "AuditPage", func() (store.AuditPage, error) { return s.inner.AuditPage(ctx, f) })
}

// Dump implements store.Reader.
func (s *Store) Dump(ctx context.Context) (*store.Dump, error) {
	return do(ctx, s, "Dump", func() (*store.Dump, error) { return s.inner.Dump(ctx) })
}

// Cancel implements store.Admin.
func (s *Store) Cancel(ctx context.Context, by store.By, ids []job.ID) ([]error, error) {
	return do(ctx, s, "Cancel", func() ([]error, error) { return s.inner.Cancel(ctx, by, ids) })
}

// SetQueue implements store.Admin.
func (s *Store) SetQueue(ctx context.Context, by store.By, c store.QueueChange) (store.Queue, error) {
	return do(ctx, s, "SetQueue", func() (store.Queue, error) { return s.inner.SetQueue(ctx, by, c) })
}

// PublishPolicy implements store.Policies.
func (s *Store) PublishPolicy(ctx context.Context, by store.By, p store.StoredPolicy) error {
	_, err := do(ctx, s, "PublishPolicy", func() (struct{}, error) { return struct{}{}, s.inner.PublishPolicy(ctx, by, p) })
	return err
}

// PublishNotify implements store.Notices.
func (s *Store) PublishNotify(ctx context.Context, by store.By, body []byte) (store.NotifyRules, error) {
	return do(ctx, s, "PublishNotify", func() (store.NotifyRules, error) { return s.inner.PublishNotify(ctx, by, body) })
}

// NotifyRules implements store.Notices.
func (s *Store) NotifyRules(ctx context.Context) (store.NotifyRules, error) {
	return do(ctx, s, "NotifyRules", func() (store.NotifyRules, error) { return s.inner.NotifyRules(ctx) })
}

// CloseWindows implements store.Notices.
func (s *Store) CloseWindows(ctx context.Context, limit int) (store.WindowStep, error) {
	return do(ctx, s, "CloseWindows", func() (store.WindowStep, error) { return s.inner.CloseWindows(ctx, limit) })
}

// Policy implements store.Policies.
func (s *Store) Policy(ctx context.Context, hash string) (store.StoredPolicy, error) {
	return do(ctx, s, "Policy", func() (store.StoredPolicy, error) { return s.inner.Policy(ctx, hash) })
}

// PolicyList implements store.Policies.
func (s *Store) PolicyList(ctx context.Context) ([]store.StoredPolicy, error) {
	return do(ctx, s, "PolicyList", func() ([]store.StoredPolicy, error) { return s.inner.PolicyList(ctx) })
}
