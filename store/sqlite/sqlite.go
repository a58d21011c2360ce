// Package sqlite keeps jobs in one SQLite file. It needs no server, and any number of
// processes on one machine can use the file. It is pure Go.
//
// Commits are durable (WAL, synchronous=FULL) and grouped: all requests of the process
// that wait at the same time share one transaction and one flush to the disk.
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

// Options are the settings of a store. A nil pointer and the zero value mean the default
// settings.
type Options struct {
	// Clock is the store's clock; nil means time.Now. The store's time is never earlier
	// than the latest stored time, so it never runs backwards.
	Clock func() time.Time
	// Readers is the number of connections that only read, 1 to 64; default 4.
	Readers int
	// TxLimit is the time limit of a caller's transaction in Tx, because this
	// transaction blocks every other writer; default 5 s.
	TxLimit time.Duration
	// ReadLimit is the time limit of one read; default 1 s. A longer read fails with
	// store.ErrUnavailable. The limit exists because the write-ahead log grows while a read
	// runs.
	ReadLimit time.Duration
	// WatchEvery is the interval at which the store looks for commits of other processes;
	// default 10 ms.
	WatchEvery time.Duration
	// KeepSchema makes Open fail on a database with an older schema instead of
	// migrating it.
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

// core is the part of a store that does not depend on the database. The alias has a name that is
// not exported, so that the field of Store that embeds it is not exported either.
type core = sqlstore.Core

// Store is a store.Store that keeps its data in one SQLite file.
type Store struct {
	*core
	path    string
	options Options
	clock   *storeclock.Clock
	writer  *writer
	readers *readers
	watcher *watcher
	db      *sql.DB // the same file opened with database/sql, for callers' transactions

	closing  sync.Once
	closed   chan struct{}
	indexing sync.WaitGroup
}

var (
	_ store.Store      = (*Store)(nil)
	_ store.Transactor = (*Store)(nil)
	_ store.TxReserver = (*Store)(nil)
)

// Open opens the database at path, creates the file if it does not exist, and migrates the
// schema to the newest version. It fails, and says why, for a file with a newer schema, a
// network file system, a file that cannot be written, and an SQLite library older than 3.51.3.
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
	s.core = sqlstore.NewCore(sqlstore.DB{Clock: s.clock, Write: s.write, Read: s.read, Join: s.join})
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
	s.writer.wake, s.writer.wrote = s.watcher.tell, s.watcher.tellFollowers
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
	sqlstore.NoteOpened(s.core, s.clock.Now(), job.Micros(newest))
	if err := s.watcher.start(s.path, s.options.WatchEvery); err != nil {
		return err
	}
	s.indexing.Go(s.index)
	return nil
}

// indexEvery is the time between two attempts to extend the index of owners. An attempt does
// nothing if there are too few new events.
const indexEvery = time.Second

// index extends the index of owners until the store is closed.
func (s *Store) index() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { <-s.closed; cancel() }()
	ticker := time.NewTicker(indexEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.closed:
			return
		case <-ticker.C:
		}
		// The error is ignored here: without the extension, lists are only slower, and a sweep
		// returns the same error.
		_ = sqlstore.IndexOwners(ctx, s.core, false)
	}
}

// Close waits until the writes in progress have ended. Then it closes the file.
func (s *Store) Close() (err error) {
	s.closing.Do(func() {
		close(s.closed)
		s.indexing.Wait()
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

// write calls the given function in a transaction. It returns an ErrInvalid when ctx belongs to a
// caller's transaction, because that transaction has the right to write and the call would wait
// for it for ever.
func (s *Store) write(ctx context.Context, do func(*sqlstore.Txn) error) error {
	if store.InTx(ctx, s) {
		return fmt.Errorf("this context belongs to your own open transaction, which must end first: "+
			"use EnqueueTx or CompleteTx with that transaction, or call with another context: %w", store.ErrInvalid)
	}
	if err := s.writable(); err != nil {
		return err
	}
	return s.writer.write(ctx, do)
}

// writable returns an ErrUnavailable when the file at the path is not the open file any more,
// because the open file was deleted or replaced.
func (s *Store) writable() error {
	if !s.watcher.replaced.Load() {
		return nil
	}
	return fmt.Errorf("database %s: the file was deleted or replaced while it was in use, and what is written to it now "+
		"would be lost: restart every program that uses it: %w", s.path, store.ErrUnavailable)
}

// Notify implements store.Worker.
func (s *Store) Notify(ch chan<- struct{}) (stop func()) { return s.watcher.subscribe(ch) }

// Follow implements store.Reader. Commits of other processes are found every
// Options.WatchEvery.
func (s *Store) Follow(ch chan<- struct{}) (stop func()) { return s.watcher.follow(ch) }

// Commits returns the number of transactions that this process has committed. Tests and
// benchmarks use it to measure how many requests share one transaction.
func (s *Store) Commits() int64 { return s.writer.commits.Load() }
