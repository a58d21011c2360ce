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

	"github.com/redrive/redrive/internal/sqlstore"
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
	*sqlstore.Core
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
	s.Core = sqlstore.NewCore(sqlstore.DB{Clock: s.clock, Write: s.write, Read: s.read, Join: s.join})
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
	native := newNative(conn)
	s.writer = &writer{
		conn: conn, turn: turn, clock: s.clock, requests: make(chan *request, groupMax),
		quit: make(chan struct{}), ended: make(chan struct{}), native: native, txn: sqlstore.NewTxn(native, true, sqlstore.Hooks{}),
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
	reader := <-s.readers.free
	newest, err := sqlstore.ReadInt(reader, selLastAt)
	s.readers.free <- reader
	if err != nil {
		return asStoreError(err)
	}
	sqlstore.Opened(s.Core, s.clock.Now(), job.Micros(newest))
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
func (s *Store) write(ctx context.Context, do func(*sqlstore.Txn) error) error {
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

// Notify implements store.Worker.
func (s *Store) Notify(ch chan<- struct{}) (stop func()) { return s.watcher.subscribe(ch) }

// Commits returns how many transactions this process has committed, for
// measuring how many requests share one.
func (s *Store) Commits() int64 { return s.writer.commits.Load() }
