// Package postgres keeps jobs in a PostgreSQL database, version 15 or newer, for
// any number of processes on any number of machines.
//
// Commits are durable as the server is set up to make them: synchronous_commit is
// never off in the store's transactions, and everything else (replication, fsync)
// is the server's business. The server's clock is the store's clock.
package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/store"
)

// DefaultSchema is the schema of redrive's tables when Options name none. It is
// not public: since version 15 only the owner of a database may create tables
// there, and in a schema of its own everything of redrive's can be granted, backed
// up and dropped by one name.
const DefaultSchema = "redrive"

// The default and the bounds of Options.MaxConns. Fewer connections make a process
// slower, more are of use where many goroutines look at the store at once.
const (
	MaxConnsDefault = 20
	MaxConnsMin     = 5
	MaxConnsMax     = 1_000
)

// Options are the settings of a store. The zero value and nil are the defaults.
type Options struct {
	// Schema is the schema of redrive's tables: 1 to 48 lower-case letters, digits
	// and underscores. Several stores can be in one database, each in a schema of its
	// own. Default DefaultSchema. It is made when it does not exist.
	Schema string
	// Clock replaces the server's clock, in tests. It is floored by the latest time
	// that was given, so that it never runs backwards.
	Clock func() time.Time
	// MaxConns bounds all connections of this process to the server, MaxConnsMin to
	// MaxConnsMax; default MaxConnsDefault. They are opened when they are needed.
	MaxConns int
	// StatementTimeout bounds one statement, waiting for locks included; default
	// 10 s.
	StatementTimeout time.Duration
	// ReadLimit bounds one read, which is refused with a store.ErrUnavailable when it
	// takes longer: while one goes on, the server cannot clean its tables. Default
	// 1 s.
	ReadLimit time.Duration
	// ConnectTimeout bounds an attempt to connect, unless the DSN or $PGCONNECT_TIMEOUT
	// has a connect_timeout above zero; default 5 s.
	ConnectTimeout time.Duration
	// BeforeConnect is called before each connection is opened and may change how:
	// a password that expires, a dialer, TLS, a tracer. It gets a copy of what the DSN
	// says, must not lead to another database, and is called by several goroutines at
	// once. After an error there is no connection, and the call that wanted it fails
	// with a store.ErrUnavailable.
	BeforeConnect func(context.Context, *pgx.ConnConfig) error
	// KeepSchema refuses to open a database whose schema would have to be migrated
	// first, instead of migrating it.
	KeepSchema bool
	// PgBouncer says that between here and the server is a pooler that gives a
	// connection to each transaction: nothing is prepared, and notifications are
	// replaced by polling. Poolers are found without it; it is for those that hide.
	PgBouncer bool
	// Logger gets what people should know: that notifications do not come through a
	// pooler, and when work in the background begins to fail and recovers.
	// Default slog.Default.
	Logger *slog.Logger
}

func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Schema == "" {
		out.Schema = DefaultSchema
	}
	if out.MaxConns == 0 {
		out.MaxConns = MaxConnsDefault
	}
	if out.StatementTimeout == 0 {
		out.StatementTimeout = 10 * time.Second
	}
	if out.ReadLimit == 0 {
		out.ReadLimit = time.Second
	}
	if out.ConnectTimeout == 0 {
		out.ConnectTimeout = 5 * time.Second
	}
	if out.Logger == nil {
		out.Logger = slog.Default()
	}
	if err := checkSchema(out.Schema); err != nil {
		return out, err
	}
	if out.MaxConns < MaxConnsMin || out.MaxConns > MaxConnsMax {
		return out, fmt.Errorf("MaxConns %d: must be %d to %d: %w", out.MaxConns, MaxConnsMin, MaxConnsMax, store.ErrInvalid)
	}
	for name, d := range map[string]time.Duration{"StatementTimeout": out.StatementTimeout, "ReadLimit": out.ReadLimit,
		"ConnectTimeout": out.ConnectTimeout} {
		if d < time.Millisecond || d > time.Hour {
			return out, fmt.Errorf("%s %s: must be 1ms to 1h: %w", name, d, store.ErrInvalid)
		}
	}
	return out, nil
}

// core is embedded by this name, so that nobody else gets at it past the Store.
type core = sqlstore.Core

// Store is a store.Store in one schema of a PostgreSQL database.
type Store struct {
	*core
	options     Options
	config      *pgxpool.Config
	where       string // for error messages
	pool        *pgxpool.Pool
	fastPool    *pgxpool.Pool  // whose connections have the settings of fast transactions
	texts       sqlstore.Texts // the statements, for the schema
	clock       *clock
	news        *notifier
	followers   *followers
	unnamed     atomic.Bool // nothing is prepared: there is a pooler
	begins      begins
	commits     atomic.Int64
	hot         *hotPath
	intake      *intake
	people      chan struct{} // places of calls that people make
	ids         reservations
	reserved    int64         // ids up to it were taken from ReserveIDs before this store was opened
	drained     chan struct{} // nothing is taken in any more
	deadLetters int64         // keys of advisory locks
	lanes       int64
	folds       int64
	sweeps      int64
	blocked     atomic.Int64 // see inSight
	identity    string       // of the database and schema, as the server knows them

	callbacks callbackIDs
	ending    chan struct{} // says that members of batches have ended; see keep

	closing sync.Once
	closed  chan struct{}
	over    context.Context //nolint:containedctx // ends when Close has waited long enough
	end     context.CancelCauseFunc
	ended   sync.WaitGroup
}

var (
	_ store.Store      = (*Store)(nil)
	_ store.Transactor = (*Store)(nil)
	_ store.TxReserver = (*Store)(nil)

	_ store.BackgroundSweeper = (*Store)(nil)
)

// Open opens the database that a DSN names, a URL or keywords as libpq takes
// them, and brings redrive's schema up to date; it makes the schema when there is
// none. It refuses, and says why: a server older than 15, a replica, an encoding
// other than UTF8, a schema of a newer version, missing rights. A password that
// is in the DSN is in no error and no log.
func Open(ctx context.Context, dsn string, o *Options) (*Store, error) {
	options, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	config, err := configure(dsn, &options)
	if err != nil {
		return nil, err
	}
	s := &Store{options: options, config: config, where: place(config.ConnConfig), closed: make(chan struct{}), drained: make(chan struct{}), ending: make(chan struct{}, 1),
		texts: textsFor(options.Schema), clock: newClock(options.Clock), begins: newBegins(&options), followers: newFollowers()}
	s.over, s.end = context.WithCancelCause(context.Background())
	s.deadLetters, s.lanes, s.folds, s.sweeps = s.lockKey("dead letters"), s.lockKey("lanes"), s.lockKey("folds"), s.lockKey("sweeps")
	s.core = sqlstore.NewCore(sqlstore.DB{Clock: s.clock, Write: s.write, AdminWrite: s.person, BackgroundWrite: s.brief, SignWrite: s.sign,
		Read: s.read, Join: s.join, RetryIndex: true})
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	conn, err := s.dial(ctx)
	if err != nil {
		return err
	}
	found, err := s.prepare(ctx, conn)
	if cerr := conn.Close(ctx); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.where, err)
	}
	config := s.config
	if s.options.PgBouncer || found.pooled {
		s.unnamed.Store(true)
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	config.MaxConns = int32(s.options.shares(s.unnamed.Load()).rest)
	config.AfterConnect = s.ownAndRaised
	s.trust(config, &s.pool)
	if s.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), config); err != nil {
		return fmt.Errorf("%s: %w", s.where, err)
	}
	if s.fastPool, err = s.openFast(ctx, config); err != nil {
		return fmt.Errorf("%s: %w", s.where, err)
	}
	if err := s.first(ctx); err != nil {
		return fmt.Errorf("%s: %w", s.where, err)
	}
	s.news = newNotifier(s)
	s.hot = newHotPath(s)
	s.intake = newIntake(&s.options)
	s.people = make(chan struct{}, max(1, s.options.shares(false).rest/5))
	s.intake.used.Store(s.reserved)
	s.news.hear(s.hot.cursors.Notify)
	s.ended.Go(s.news.listen)
	s.ended.Go(s.news.announce)
	s.ended.Go(s.keep)
	s.ended.Go(s.followAll)
	s.ended.Go(s.resolveAll)
	s.ended.Go(s.takeAll)
	s.ended.Go(s.lookAll)
	return nil
}

// prepare sees to it that the server is fit and that the schema is there.
func (s *Store) prepare(ctx context.Context, conn *pgx.Conn) (found server, err error) {
	limit := s.options.StatementTimeout
	err = asked(ctx, conn, limit, func() error {
		if found, err = examine(ctx, conn); err != nil {
			return err
		}
		return checkRights(ctx, conn, s.options.Schema)
	})
	if err != nil {
		return found, err
	}
	if err := migrateUp(ctx, conn, conn.Config(), s.options.Schema, s.options.KeepSchema); err != nil {
		return found, err
	}
	return found, asked(ctx, conn, limit, func() error {
		s.identity, err = identify(ctx, conn.PgConn(), s.texts)
		return err
	})
}

// first runs the first transaction: it sets the clock, and raises the numbers of
// events where a backup was restored into another server.
func (s *Store) first(ctx context.Context) error {
	return s.transact(ctx, &s.begins.write, func(c *pg.Session) (err error) {
		if _, err := c.Exec(raiseBase); err != nil {
			return err
		}
		newest, opened, err := s.resume(c)
		if err != nil {
			return err
		}
		sqlstore.NoteOpened(s.core, opened, newest)
		s.reserved, err = sqlstore.ReadInt(c, selReserved)
		return err
	})
}

// lockKey is the number of an advisory lock: those of a database are shared by
// all who use it.
func (s *Store) lockKey(name string) int64 { return lockKey(s.options.Schema, name) }

func lockKey(schema, name string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("redrive:" + schema + ":" + name)) // never fails
	return int64(h.Sum64())
}

// Close begins nothing more, waits for what is under way, for up to 2 s, and closes
// all connections. What has not ended by then is given up: it is answered with
// store.ErrUnavailable when it was not written, and with store.ErrUnknown when its
// commit was sent and has no answer for 2 s more. Where the server does not answer
// Close takes about 6 s at most, and 4 s more after a claim whose commit was not
// answered: it tries once to give back what that has taken. It does not wait for
// transactions of callers.
func (s *Store) Close() error {
	s.closing.Do(func() {
		if s.hot != nil {
			_ = s.resolveWithin(context.Background(), s.closeGrace()) // else their leases end
		}
		close(s.closed)
		defer s.end(errClosed)
		defer time.AfterFunc(s.closeGrace(), func() { s.end(errClosed) }).Stop()
		s.ended.Wait()
		if s.pool != nil {
			s.pool.Close()
		}
		if s.fastPool != nil {
			s.fastPool.Close()
		}
	})
	return nil
}

func (s *Store) closeGrace() time.Duration {
	if s.intake == nil { // Open has failed
		return closeGrace
	}
	return s.intake.singles.grace
}

// Schema returns the name of the schema of redrive's tables.
func (s *Store) Schema() string { return s.options.Schema }

// Notify implements store.Worker.
func (s *Store) Notify(ch chan<- struct{}) (stop func()) { return s.news.subscribe(ch) }

// errClosed is the answer of every call after Close.
var errClosed = store.ErrClosed

// keepEvery is how often the clock is compared with the server's, the events are folded,
// and the index of owners is extended.
const keepEvery = time.Second

// untilClosed returns a context that ends when Close begins.
func (s *Store) untilClosed() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-s.closed; cancel() }()
	return ctx, cancel
}

// keep does what has to be done now and then, until the store is closed.
func (s *Store) keep() {
	ctx, cancel := s.untilClosed()
	defer cancel()
	ticker := time.NewTicker(keepEvery)
	defer ticker.Stop()
	keeping := trouble{s: s, what: "the counters are not folded, and reads of them get slower"}
	ending := trouble{s: s, what: "batches whose members have ended get no outcome"}
	var soon <-chan time.Time // when batches are looked at because a member has ended
	indexing := trouble{s: s, what: "the index of owners does not grow, and lists by owner or correlation id get slower"}
	for {
		select {
		case <-s.closed:
			return
		case <-s.ending:
			if soon == nil {
				soon = time.After(endSoon)
			}
			continue
		case <-soon:
			soon = nil
			keeping.see(s.foldAll(ctx))
			ending.see(s.endBatches(ctx))
			continue
		case <-ticker.C:
		}
		keeping.see(s.foldAll(ctx))
		ending.see(s.endBatches(ctx))
		indexing.see(sqlstore.IndexOwners(ctx, s.core, false))
	}
}
