// Package memory keeps jobs in memory. It is the reference to which the other stores are compared,
// and the store for tests. It keeps every promise of package store except durability.
package memory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/storeclock"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Options configures a Store. The zero value is ready to use.
type Options struct {
	// Clock is the store's clock; nil means time.Now. The store's time never runs
	// backwards, see package storeclock.
	Clock func() time.Time
}

// Store is a store.Store in memory, safe for use by any number of goroutines. Byte slices are
// copied on their way in and out.
type Store struct {
	clock *storeclock.Clock

	mu        sync.Mutex // guards everything below
	closed    bool
	nextID    job.ID
	ids       []job.ID // of all jobs, ascending
	jobs      map[job.ID]*record
	lanes     map[laneName]*lane
	works     map[work][]*lane
	queues    map[string]*store.Queue
	byQueue   map[string]*usage
	byKind    map[string]*usage
	leases    *heap // running jobs, the earliest end first
	asked     map[job.ID]*record
	dead      map[job.ID]*entry
	deaths    []*entry // all entries of dead, by the numbers of their deaths
	lastDeath int64
	ended     []job.ID // completed and cancelled jobs, in the order of their ends
	failures  map[job.ID][]job.Failure
	keys      map[keyName]*key
	groups    map[string]*group
	originals map[job.ID]store.Original
	redrives  map[int64]*store.Redrive // by id from 1; none is ever removed
	schedules map[string]store.CronSlot
	entries   map[store.DeadCount]int64 // numbers of dead letters, by the key without its N
	minutes   map[job.Micros]int64      // deaths by the start of the minute
	hours     map[job.Micros]*store.Hour
	sweeping  sweeping
	policies  map[string]store.StoredPolicy
	inForce   string // the hash of the policy that was published last
	seq       int64  // of the last commit that had events
	events    []event.Event
	audit     []store.Audit
	listeners map[*listener]struct{}
}

var _ store.Store = (*Store)(nil)

// New returns an empty store.
func New(o Options) *Store {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Store{
		clock:     storeclock.New(o.Clock),
		nextID:    1,
		jobs:      make(map[job.ID]*record),
		lanes:     make(map[laneName]*lane),
		works:     make(map[work][]*lane),
		queues:    make(map[string]*store.Queue),
		byQueue:   make(map[string]*usage),
		byKind:    make(map[string]*usage),
		leases:    &heap{before: leaseEndsBefore},
		asked:     make(map[job.ID]*record),
		dead:      make(map[job.ID]*entry),
		failures:  make(map[job.ID][]job.Failure),
		keys:      make(map[keyName]*key),
		groups:    make(map[string]*group),
		originals: make(map[job.ID]store.Original),
		redrives:  make(map[int64]*store.Redrive),
		schedules: make(map[string]store.CronSlot),
		entries:   make(map[store.DeadCount]int64),
		minutes:   make(map[job.Micros]int64),
		hours:     make(map[job.Micros]*store.Hour),
		sweeping:  sweeping{removed: make(map[string]*removal)},
		policies:  make(map[string]store.StoredPolicy),
		listeners: make(map[*listener]struct{}),
	}
}

// Close closes the store: every later call returns store.ErrUnavailable. Closing twice is not
// an error.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// tx is one call while it holds the lock, like a transaction. A call checks everything before its
// first write, so it never rolls back.
type tx struct {
	*Store
	op   string // names the call in errors
	now  job.Micros
	wake bool // listeners must be notified
	from int  // length of the event log at the start

	removed bool // whether jobs or entries were removed from their maps
}

// begin locks the store for one call. The caller must end the tx.
func (s *Store) begin(ctx context.Context, op string) (*tx, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, fmt.Errorf("%s: the store is closed: %w", op, store.ErrUnavailable)
	}
	return &tx{Store: s, op: op, now: s.clock.Now(), from: len(s.events)}, nil
}

// end commits: the events of the call become one commit, and listeners are notified.
func (t *tx) end() {
	if t.removed {
		t.compact()
	}
	if len(t.events) > t.from {
		t.seq++
	}
	if t.wake {
		t.notify()
	}
	t.mu.Unlock()
}

// emit adds an event to the commit.
func (t *tx) emit(e event.Event) {
	e.Cursor = event.Cursor{Seq: t.seq + 1, Index: len(t.events) - t.from + 1}
	e.At = t.now
	t.events = append(t.events, e)
}

func (t *tx) errorf(format string, args ...any) error {
	return fmt.Errorf(t.op+": "+format, args...)
}

// ReserveIDs implements store.Producer.
func (s *Store) ReserveIDs(ctx context.Context, n int) (job.ID, error) {
	t, err := s.begin(ctx, "reserve ids")
	if err != nil {
		return 0, err
	}
	defer t.end()
	if n < 1 || n > reserveMax {
		return 0, t.errorf("%d ids: must be 1 to %d: %w", n, reserveMax, store.ErrInvalid)
	}
	first := t.nextID
	t.nextID += job.ID(n)
	return first, nil
}

// reserveMax is the maximum number of ids that one call reserves.
const reserveMax = 1 << 20
