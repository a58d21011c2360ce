package postgres

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
)

// hotPath is what the statements for many jobs keep between transactions.
type hotPath struct {
	begin   beginning
	known   atomic.Pointer[knownLanes]
	reading sync.Mutex // one reads the lanes, the others wait for it
	runs    runs
	heads   heads
}

// knownLanes are the lanes and queues at a version of the settings.
type knownLanes struct {
	version int64
	catalog *sqlstore.Catalog
}

// pinned are the settings under which the statements for many jobs are planned:
// each looks a few rows up by an index, whatever the statistics say. They were
// written with tables that were empty a moment ago, or with none at all.
const pinned = `set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
	set_config('enable_mergejoin', 'off', true), set_config('enable_bitmapscan', 'off', true),
	set_config('plan_cache_mode', 'force_generic_plan', true), `

func newHotPath(b *begins) *hotPath {
	begin := b.write
	begin.text = strings.Replace(begin.text, "SELECT ", "SELECT "+pinned, 1)
	return &hotPath{begin: begin, runs: runs{claimed: make(map[job.ID]*sqlstore.Run)}, heads: heads{low: make(map[readyPlace]job.Micros)}}
}

const selSettings = `SELECT value FROM redrive_meta WHERE key = 'settings'`

// errStale says that lanes or queues have changed since they were read.
var errStale = errors.New("lanes or queues have changed")

// fastTxn is a transaction for many jobs.
type fastTxn struct {
	*session
	*sqlstore.Txn
	known *knownLanes
	begun bool
}

// send sends steps, and with the first of the transaction looks whether the lanes
// are known as they are.
func (t *fastTxn) send(steps ...step) error {
	if t.begun {
		return t.session.send(steps...)
	}
	version := int64(0)
	look := step{name: "selSettings", text: selSettings, each: func(r sqlstore.Row) error { version = r.Int(0); return nil }}
	if err := t.session.send(append([]step{look}, steps...)...); err != nil {
		return err
	}
	if version != t.known.version {
		return errStale
	}
	t.begun = true
	return nil
}

// fast runs do in a transaction for many jobs.
func (s *Store) fast(ctx context.Context, do func(*fastTxn) error) error {
	for {
		known, err := s.lanesKnown(ctx)
		if err != nil {
			return err
		}
		err = s.transact(ctx, &s.hot.begin, func(c *session) error {
			t := &fastTxn{session: c, Txn: sqlstore.NewTxn(c, false, s.hooks(c)), known: known}
			t.Reset(s.clock.Now(), known.catalog.Borrow())
			if err := do(t); err != nil {
				return err
			}
			return t.Flush()
		})
		if !errors.Is(err, errStale) {
			return err
		}
		s.hot.known.CompareAndSwap(known, nil)
	}
}

// lanesKnown returns the lanes, which it reads when they have changed.
func (s *Store) lanesKnown(ctx context.Context) (*knownLanes, error) {
	if known := s.hot.known.Load(); known != nil {
		return known, nil
	}
	s.hot.reading.Lock()
	defer s.hot.reading.Unlock()
	if known := s.hot.known.Load(); known != nil {
		return known, nil
	}
	known := &knownLanes{}
	err := s.read(ctx, func(c sqlstore.Session) (err error) {
		err = c.(*session).send(step{name: "selSettings", text: selSettings, each: func(r sqlstore.Row) error {
			known.version = r.Int(0)
			return nil
		}})
		if err == nil {
			known.catalog, err = sqlstore.NewCatalog(c)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.hot.known.Store(known)
	return known, nil
}

// runs are those that this process has claimed, as they were then: what they hold
// cannot change under one token, and the statement that ends a run checks that.
type runs struct {
	mu      sync.Mutex
	claimed map[job.ID]*sqlstore.Run
}

// runsMax bounds the runs that are remembered. Those of lost leases are not taken
// out one by one.
const runsMax = 2 * job.ExchangeMax

// recall returns the run that an outcome ends, nil when the row has to be read. It
// is a copy: a transaction may be tried again.
func (r *runs) recall(o *job.Outcome) *sqlstore.Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	run := r.claimed[o.ID]
	if run == nil || run.Token() != o.Token {
		return nil
	}
	again := *run
	return &again
}

// remember keeps runs whose claim is committed.
func (r *runs) remember(all []*sqlstore.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.claimed)+len(all) > runsMax {
		clear(r.claimed)
	}
	for _, run := range all {
		r.claimed[run.ID()] = run
	}
}

// forget drops runs whose end is committed.
func (r *runs) forget(outcomes []job.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range outcomes {
		delete(r.claimed, outcomes[i].ID)
	}
}
