// Package sqlite keeps jobs in one SQLite file: no server, any number of
// processes on one machine. It is pure Go.
//
// Commits are durable (WAL, synchronous=FULL) and grouped: whatever the process
// wants to write at one time shares one transaction and one flush.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redrive/redrive/internal/crashpoint"
	"github.com/redrive/redrive/internal/storeclock"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Options are the settings of a store. The zero value and nil are the defaults.
type Options struct {
	// Clock is the store's clock; time.Now when nil. It is floored by the
	// latest stored time, so that it never runs backwards.
	Clock func() time.Time
	// Readers is the number of connections that read, 1 to 64; default 4.
	Readers int
	// TxLimit bounds the caller's own transactions in Tx, which hold up every
	// other writer; default 5 s.
	TxLimit time.Duration
	// ReadLimit bounds one read, which is refused with a store.ErrUnavailable when
	// it takes longer: while one goes on, the write-ahead log cannot be reused and
	// grows. Default 1 s.
	ReadLimit time.Duration
	// WatchEvery is how often the file is looked at for commits of other
	// processes; default 10 ms.
	WatchEvery time.Duration
	// KeepSchema refuses to open a database whose schema would have to be
	// migrated first, instead of migrating it.
	KeepSchema bool
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Clock == nil {
		out.Clock = time.Now
	}
	if out.Readers == 0 {
		out.Readers = 4
	}
	if out.TxLimit == 0 {
		out.TxLimit = 5 * time.Second
	}
	if out.ReadLimit == 0 {
		out.ReadLimit = time.Second
	}
	if out.WatchEvery == 0 {
		out.WatchEvery = 10 * time.Millisecond
	}
	return out
}

// Store is a store.Store on one SQLite file.
type Store struct {
	path    string
	options Options
	clock   *storeclock.Clock
	writer  *writer
	readers *readers
	watcher *watcher
	db      *sql.DB // for transactions of the caller's own

	closing sync.Once
	closed  chan struct{}
}

var (
	_ store.Store      = (*Store)(nil)
	_ store.Transactor = (*Store)(nil)
	_ store.TxReserver = (*Store)(nil)
)

// Open opens the database at path, makes it when there is none, and brings its
// schema up to date. It refuses, and says why: a file of a newer version, a
// network file system, a file that cannot be written, an SQLite library older
// than 3.51.3.
func Open(ctx context.Context, path string, o *Options) (*Store, error) {
	options := o.withDefaults()
	path, err := resolve(path)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	if err := checkPlace(path); err != nil {
		return nil, err
	}
	if err := migrateUp(ctx, path, options.KeepSchema); err != nil {
		return nil, fmt.Errorf("database %s: %w", path, err)
	}
	s := &Store{path: path, options: options, clock: storeclock.New(options.Clock), closed: make(chan struct{})}
	if err := s.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: %w", path, err), s.Close())
	}
	return s, nil
}

func (s *Store) open() error {
	turn, err := openTurnstile(s.path)
	if err != nil {
		return asStoreError(err)
	}
	conn, err := connect(s.path, roleWriter)
	if err != nil {
		return errors.Join(err, turn.close())
	}
	s.writer = &writer{
		conn: conn, turn: turn, clock: s.clock, requests: make(chan *request, groupMax),
		quit: make(chan struct{}), ended: make(chan struct{}), txn: txn{s: newNative(conn), mine: make(map[job.ID]*run)},
	}
	s.watcher = newWatcher()
	s.writer.wake = s.watcher.tell
	go s.writer.run()
	if s.readers, err = openReaders(s.path, s.options.Readers); err != nil {
		return err
	}
	if s.db, err = openDB(s.path); err != nil {
		return err
	}
	return s.watcher.start(s.path, s.options.WatchEvery)
}

// Close waits for what is being written and closes the file.
func (s *Store) Close() (err error) {
	s.closing.Do(func() {
		close(s.closed)
		if s.watcher != nil {
			err = errors.Join(err, s.watcher.stop())
		}
		if s.readers != nil {
			err = errors.Join(err, s.readers.close())
		}
		if s.db != nil {
			err = errors.Join(err, s.db.Close())
		}
		if s.writer != nil {
			err = errors.Join(err, s.writer.close())
		}
	})
	return err
}

// Path returns the database file's absolute path.
func (s *Store) Path() string { return s.path }

// write runs do in a transaction, unless the caller's own transaction is open:
// that one holds the right to write, and waiting for it would never end.
func (s *Store) write(ctx context.Context, do func(*txn) error) error {
	if store.InTx(ctx, s) {
		return fmt.Errorf("this context belongs to a transaction of your own, which has to end first: "+
			"use EnqueueTx or CompleteTx with that transaction, or call with another context: %w", store.ErrInvalid)
	}
	if err := s.writable(); err != nil {
		return err
	}
	return s.writer.write(ctx, do)
}

// writable refuses writes to a file that is not the one at its path any more.
func (s *Store) writable() error {
	if !s.watcher.replaced.Load() {
		return nil
	}
	return fmt.Errorf("database %s: the file was deleted or replaced while it was in use, and what is written to it now "+
		"would be lost: restart every program that uses it: %w", s.path, store.ErrUnavailable)
}

// ReserveIDs implements store.Producer.
func (s *Store) ReserveIDs(ctx context.Context, n int) (first job.ID, err error) {
	if err := checkReserve(n); err != nil {
		return 0, err
	}
	err = s.write(ctx, func(t *txn) error {
		first, err = t.reserve(n)
		return err
	})
	return first, err
}

func checkReserve(n int) error {
	if n < 1 || n > 1<<20 {
		return fmt.Errorf("reserve %d ids: must be 1 to %d: %w", n, 1<<20, store.ErrInvalid)
	}
	return nil
}

var addNextID = &query{`UPDATE redrive_meta SET value = value + ? WHERE key = 'next_id' RETURNING value`}

func (t *txn) reserve(n int) (first job.ID, err error) {
	t.wrote = true
	err = t.rows(addNextID, func(r row) error { first = job.ID(r.int(0) - int64(n)); return nil }, num(n))
	return first, err
}

// Enqueue implements store.Producer.
func (s *Store) Enqueue(ctx context.Context, jobs []job.New) (receipts []job.Receipt, err error) {
	if err := checkNew(jobs); err != nil {
		return nil, err
	}
	err = s.write(ctx, func(t *txn) error {
		receipts, err = t.enqueue(jobs)
		crashpoint.Hit(crashpoint.BeforeEnqueueCommit)
		return err
	})
	crashpoint.Hit(crashpoint.AfterEnqueueCommit)
	return receipts, err
}

func checkNew(jobs []job.New) error {
	if len(jobs) > job.EnqueueMax {
		return fmt.Errorf("%d jobs in one call: at most %d: %w", len(jobs), job.EnqueueMax, store.ErrTooLarge)
	}
	for i := range jobs {
		if err := store.Validate(&jobs[i]); err != nil {
			return fmt.Errorf("job %d of %d: %w", i+1, len(jobs), err)
		}
	}
	return nil
}

// Exchange implements store.Worker.
func (s *Store) Exchange(ctx context.Context, x store.Exchange) (out store.Exchanged, err error) {
	if err := x.Validate(); err != nil {
		return store.Exchanged{}, err
	}
	err = s.write(ctx, func(t *txn) error {
		out, err = t.exchange(&x)
		hitExchange(&x, &out, crashpoint.BeforeSettleCommit, crashpoint.BeforeClaimCommit)
		return err
	})
	hitExchange(&x, &out, crashpoint.AfterSettleCommit, crashpoint.AfterClaimCommit)
	return out, err
}

// hitExchange hits the crash points of what an exchange brought and took.
func hitExchange(x *store.Exchange, out *store.Exchanged, settle, claim crashpoint.Point) {
	if len(x.Settle) > 0 {
		crashpoint.Hit(settle)
	}
	if len(out.Claims) > 0 {
		crashpoint.Hit(claim)
	}
}

// Heartbeat implements store.Worker.
func (s *Store) Heartbeat(ctx context.Context, b store.Beat) (status []store.RunStatus, err error) {
	if b.Lease <= 0 {
		return nil, fmt.Errorf("lease %s: must be above zero: %w", b.Lease, store.ErrInvalid)
	}
	err = s.write(ctx, func(t *txn) error {
		status, err = t.heartbeat(&b)
		return err
	})
	return status, err
}

// jumpGrace is how long no run is rescued after the wall clock has jumped forward,
// as when a suspended machine wakes up: the leases ended in the gap, and the
// living have to have the time to say so.
const jumpGrace = 15 * time.Second

// Rescue implements store.Worker.
func (s *Store) Rescue(ctx context.Context, limit int) (out store.Rescue, err error) {
	if limit < 1 || limit > job.ExchangeMax {
		return out, fmt.Errorf("rescue of %d runs: must be 1 to %d: %w", limit, job.ExchangeMax, store.ErrInvalid)
	}
	err = s.write(ctx, func(t *txn) error {
		if ago, jumped := s.clock.SinceJump(); jumped && ago < jumpGrace {
			out = store.Rescue{NextExpiry: jumpGrace - ago}
			return nil
		}
		out, err = t.rescue(limit)
		return err
	})
	return out, err
}

// Declare implements store.Worker.
func (s *Store) Declare(ctx context.Context, queues []string) error {
	for _, name := range queues {
		if err := store.ValidName("queue", name); err != nil {
			return err
		}
	}
	return s.write(ctx, func(t *txn) error {
		for _, name := range queues {
			if _, err := t.queue(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// Notify implements store.Worker.
func (s *Store) Notify(ch chan<- struct{}) (stop func()) { return s.watcher.subscribe(ch) }

// Cancel implements store.Admin.
func (s *Store) Cancel(ctx context.Context, by store.By, ids []job.ID) ([]error, error) {
	return s.each(ctx, by, ids, (*txn).cancel)
}

// Retry implements store.Admin.
func (s *Store) Retry(ctx context.Context, by store.By, ids []job.ID) ([]error, error) {
	return s.each(ctx, by, ids, (*txn).retry)
}

func (s *Store) each(ctx context.Context, by store.By, ids []job.ID,
	act func(*txn, store.By, job.ID) (own, fatal error),
) (answers []error, err error) {
	if err := by.Validate(); err != nil {
		return nil, err
	}
	if len(ids) > job.IDsMax {
		return nil, fmt.Errorf("%d ids in one call: at most %d: %w", len(ids), job.IDsMax, store.ErrTooLarge)
	}
	err = s.write(ctx, func(t *txn) error {
		answers = make([]error, len(ids))
		for i, id := range ids {
			own, fatal := act(t, by, id)
			if fatal != nil {
				return fatal
			}
			answers[i] = own
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// SetQueue implements store.Admin.
func (s *Store) SetQueue(ctx context.Context, by store.By, c store.QueueChange) (q store.Queue, err error) {
	if err := errors.Join(by.Validate(), c.Validate()); err != nil {
		return q, err
	}
	err = s.write(ctx, func(t *txn) error {
		q, err = t.setQueue(by, &c)
		return err
	})
	return q, err
}

// Commits returns how many transactions this process has committed, for
// measuring how many requests share one.
func (s *Store) Commits() int64 { return s.writer.commits.Load() }
