// Package memory keeps jobs in memory. It is the store for tests. The other stores are
// compared with it, because its code is simple. It keeps every promise of package store except
// durability.
package memory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/storeclock"
	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Options configures a Store. The zero value is ready to use.
type Options struct {
	// Clock gives the store the time; nil means time.Now. The store's time never runs
	// backwards; see package storeclock.
	Clock func() time.Time
}

// Store is a store.Store in memory. Any number of goroutines may use it at the same time. It
// copies all byte slices that it receives or returns.
type Store struct {
	clock *storeclock.Clock

	mu        sync.Mutex // mu protects all fields below it
	closed    bool
	nextID    job.ID
	ids       []job.ID // ids of all jobs, in ascending order
	jobs      map[job.ID]*record
	lanes     map[laneName]*lane
	works     map[work][]*lane
	queues    map[string]*store.Queue
	byQueue   map[string]*usage
	byKind    map[string]*usage
	leases    *heap // running jobs; the job whose lease ends first comes first
	asked     map[job.ID]*record
	dead      map[job.ID]*entry
	deaths    []*entry // all values of the map dead, in ascending order of their death numbers
	lastDeath int64
	ended     []job.ID // completed and cancelled jobs, in the order in which they ended
	failures  map[job.ID][]job.Failure
	keys      map[keyName]*key
	groups    map[string]*group
	originals map[job.ID]store.Original
	redrives  map[int64]*store.Redrive // the redrive with id n has index n-1; no redrive is ever removed
	batches   map[int64]*batch
	drafts    map[job.ID]*batch // the batches of all drafts
	lastBatch int64             // the number of the last batch
	schedules map[string]store.CronSlot
	processes map[processName]*store.Process
	entries   map[store.DeadCount]int64              // counters of dead letters; in each map key, the field N is 0
	minutes   map[job.Micros]int64                   // number of deaths in each minute; the map key is the start of the minute
	figures   map[storekit.FigureName]*store.Figures // includes the figures of all lanes together, under empty names
	sweeping  sweeping
	policies  map[string]store.StoredPolicy
	inForce   string // the hash of the policy that was published last
	notices   notices
	seq       int64 // number of the last commit that had events
	events    []event.Event
	eventGone event.Cursor // the cursor of the last event that a sweep has removed
	audit     []store.Audit
	notes     []store.Note
	requests  map[requestName]store.Request
	access    map[string]store.AccessKey
	secrets   map[string][]byte
	endpoints map[string]store.Endpoint
	logs      streams
	marks     map[string]store.Mark
	lastNote  int64                  // number of the last note
	listeners map[*listener]struct{} // the callers of Notify
	followers map[*listener]struct{} // the callers of Follow
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
		batches:   make(map[int64]*batch),
		drafts:    make(map[job.ID]*batch),
		schedules: make(map[string]store.CronSlot),
		processes: make(map[processName]*store.Process),
		requests:  make(map[requestName]store.Request),
		access:    make(map[string]store.AccessKey),
		secrets:   make(map[string][]byte),
		endpoints: make(map[string]store.Endpoint),
		logs:      newStreams(),
		marks:     make(map[string]store.Mark),
		entries:   make(map[store.DeadCount]int64),
		minutes:   make(map[job.Micros]int64),
		figures:   make(map[storekit.FigureName]*store.Figures),
		sweeping:  sweeping{removed: make(map[string]*removal)},
		policies:  make(map[string]store.StoredPolicy),
		listeners: make(map[*listener]struct{}),
		followers: make(map[*listener]struct{}),
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

// tx is one call of the store, which has locked the store. It corresponds to a transaction. A call
// checks everything before it writes anything, so it never has to roll back.
type tx struct {
	*Store
	op   string // name of the call, used in error messages
	now  job.Micros
	wake bool // whether the call must notify listeners at its end
	from int  // length of the event log at the beginning of the call

	removed bool    // whether the call has removed jobs or dead letters from their maps
	touched []int64 // batches whose members have changed in the call
	heard   heardIn
}

// begin locks the store for one call. The caller must call end on the returned tx.
func (s *Store) begin(ctx context.Context, op string) (*tx, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, fmt.Errorf("%s: %w", op, store.ErrClosed)
	}
	return &tx{Store: s, op: op, now: s.clock.Now(), from: len(s.events)}, nil
}

// end ends the call: the events of the call become one commit, and listeners are notified.
func (t *tx) end() {
	if len(t.touched) > 0 {
		t.endBatches()
	}
	t.tell()
	if t.removed {
		t.compact()
	}
	if len(t.events) > t.from {
		t.seq++
		wake(t.followers)
	}
	if t.wake {
		wake(t.listeners)
	}
	t.mu.Unlock()
}

// emit adds an event to the events of this call.
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
		return 0, t.errorf("cannot reserve %d ids: the number must be 1 to %d: %w", n, reserveMax, store.ErrInvalid)
	}
	first := t.nextID
	t.nextID += job.ID(n)
	return first, nil
}

// reserveMax is the maximum number of ids that one call can reserve.
const reserveMax = 1 << 20
