package postgres

import (
	"github.com/redrive/redrive/store/postgres/internal/claims"

	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/internal/testing/crashpoint"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const (
	// tries is how often a transaction is tried when other transactions get in its way.
	tries = 6
	// spreadMin bounds the wait after the first deadlock of a transaction; it doubles.
	spreadMin = 10 * time.Millisecond
	// commitGrace is how much longer than its caller's context a commit is waited
	// for: an answer that is on its way is better than none.
	commitGrace = 2 * time.Second
	// rollbackLimit is how long a roll-back may take before the connection is
	// given up, which rolls back too.
	rollbackLimit = 2 * time.Second
	// idleLimit is how long the server waits for this process inside a
	// transaction. One that is stopped or hangs must not keep its locks.
	idleLimit = 10 * time.Second
)

// begins are the statements that begin transactions. They go to the server in
// one flush, and set what holds for the transaction only: behind a pooler the next
// one is on another connection. The last column of the answer is the server's
// time.
type begins struct{ write, sign, sweep, fold, read, dump beginning }

type beginning struct {
	text  string
	limit time.Duration // of the whole transaction; 0 for no limit
	reads bool          // nothing is written: the end of it cannot be in doubt
	// fast says that the transaction begins with its first statements and ends with
	// its last ones, on a connection that has the settings already.
	fast bool
}

const serverTime = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`

// millis is a limit as the server takes it; 0 would be no limit.
func millis(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }

func newBegins(o *Options) begins {
	limits := func(statement time.Duration) string {
		return `SET LOCAL search_path = pg_catalog; SELECT set_config('statement_timeout', '` + millis(statement) + `', true),
			set_config('lock_timeout', '0', true),
			set_config('idle_in_transaction_session_timeout', '` + millis(idleLimit) + `', true),
			set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true), `
	}
	write := `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; ` + limits(o.StatementTimeout)
	// A setting of more than on (remote_apply) is kept.
	durable := write + `set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
			ELSE current_setting('synchronous_commit') END, true), ` + replicates + `, ` + serverTime
	return begins{
		write: beginning{text: durable},
		// A sign of life waits for the disk and for no standby: without one, all processes
		// would be silent.
		sign:  beginning{text: write + `set_config('synchronous_commit', 'local', true), false, ` + serverTime},
		sweep: beginning{text: withPins(durable)},
		fold:  beginning{text: write + `set_config('synchronous_commit', 'off', true), ` + serverTime},
		read: beginning{text: `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ` + limits(o.ReadLimit) + serverTime,
			limit: o.ReadLimit, reads: true},
		dump: beginning{text: `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ` + limits(o.StatementTimeout) + serverTime,
			reads: true},
	}
}

// write runs do in a transaction of the shared statements. It implements
// sqlstore.DB's Write.
func (s *Store) write(ctx context.Context, do func(*sqlstore.Txn) error) error {
	return s.writeIn(ctx, &s.begins.write, do)
}

// sign is write for signs of life. It implements sqlstore.DB's SignWrite.
func (s *Store) sign(ctx context.Context, do func(*sqlstore.Txn) error) error {
	return s.writeIn(ctx, &s.begins.sign, do)
}

func (s *Store) writeIn(ctx context.Context, begin *beginning, do func(*sqlstore.Txn) error) error {
	var notice claims.Notice
	err := s.transact(ctx, begin, func(c *pg.Session) error {
		t, err := s.txn(c, true)
		if err != nil {
			return err
		}
		if err := do(t); err != nil {
			return err
		}
		notice = noticeOf(t)
		return t.Flush()
	})
	if err == nil {
		s.news.tell(notice)
	}
	return err
}

// noticeOf is what a transaction of the shared statements means to those who wait.
func noticeOf(t *sqlstore.Txn) (n claims.Notice) {
	if t.WakesMore() {
		return claims.AnyChange
	}
	for _, r := range t.Readied() {
		n.Add(r.Lane, r.Priority, r.At)
	}
	return n
}

// read runs do in a transaction that sees one moment. It implements sqlstore.DB's
// Read.
func (s *Store) read(ctx context.Context, do func(sqlstore.Session) error) error {
	return s.transact(ctx, &s.begins.read, func(c *pg.Session) error { return do(c) })
}

// Dump implements store.Reader. All of it is of one moment, however long it takes.
func (s *Store) Dump(ctx context.Context) (d *store.Dump, err error) {
	err = s.transact(ctx, &s.begins.dump, func(c *pg.Session) error {
		d, err = sqlstore.ReadDump(c, s.clock.Now())
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// foldAll folds what can be folded, and compares the clocks.
func (s *Store) foldAll(ctx context.Context) error {
	for more := true; more; {
		err := s.transact(ctx, &s.begins.fold, func(c *pg.Session) (err error) {
			if err := s.agree(c); err != nil {
				return err
			}
			if s.unnamed.Load() { // a pooler's connections are not seen to change
				if _, err := c.Exec(raiseBase); err != nil {
					return err
				}
			}
			more, err = s.fold(c)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// transact runs do in a transaction and commits it. When others have got in its
// way (a deadlock), or the connection was gone before it began, it is run again.
func (s *Store) transact(ctx context.Context, begin *beginning, do func(*pg.Session) error) error {
	select {
	case <-s.closed:
		return errClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pg.CallLimit,
		fmt.Errorf("no answer from the server for %s: %w", pg.CallLimit, store.ErrUnavailable))
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer context.AfterFunc(s.over, func() { giveUp(errClosed) })()
	for try := 1; ; try++ {
		repeat, err := s.attempt(ctx, begin, do)
		if err == nil {
			return nil
		}
		if !repeat || try == tries || ctx.Err() != nil {
			return err
		}
		if pg.SQLState(err) == pg.StateDeadlock {
			s.spread(ctx, try)
		}
	}
}

// spread waits a little, by chance, before a transaction is run again after a
// deadlock, and longer the more tries there were: those that met do not meet again.
func (s *Store) spread(ctx context.Context, try int) {
	_ = s.wait(ctx, rand.N(spreadMin<<(try-1)))
}

// wait waits, but not beyond the end of the context or of the store.
func (s *Store) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closed:
		return errClosed
	}
}

// attempt runs do in a transaction once. Repeat says that nothing was written and
// that it is worth another try.
func (s *Store) attempt(ctx context.Context, begin *beginning, do func(*pg.Session) error) (repeat bool, err error) {
	pool := s.pool
	if begin.fast {
		pool = s.fastPool
	}
	conn, err := s.acquire(ctx, pool)
	if err != nil {
		return false, err
	}
	c := pg.SessionOf(conn, s.texts, !s.unnamed.Load())
	if begin.limit > 0 { // from now on: waiting for a connection takes no snapshot
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, begin.limit, fmt.Errorf("took longer than %s; ask for less, "+
			"or try again when the server is less busy: %w", begin.limit, store.ErrUnavailable))
		defer cancel()
	}
	b := pg.Watch(ctx, c.Conn, 0)
	defer func() {
		if !b.Stop() || c.Conn.IsClosed() || c.Conn.TxStatus() != 'I' || pg.Stale(err) || errors.Is(err, pg.ErrAnswer) {
			s.discard(conn)
		}
		conn.Release()
	}()
	if begin.fast {
		c.Begun, c.Last = false, nil
	} else if err := s.begin(c, begin.text); err != nil {
		return s.undo(ctx, c, pool, false, err)
	}
	if err := do(c); err != nil {
		return s.undo(ctx, c, pool, !begin.fast || c.Begun, err)
	}
	if !b.Stop() {
		return false, pg.WithContext(ctx, store.ErrUnavailable)
	}
	b = pg.Watch(ctx, c.Conn, commitGrace)
	survived := crashpoint.Span(crashpoint.InCommit)
	if begin.fast {
		err = c.Commit()
	} else {
		err = pg.Commit(c.Conn)
	}
	survived()
	if c.Conn.IsClosed() { // so are the others, most likely
		pool.Reset()
	}
	switch {
	case err == nil:
		s.commits.Add(1)
		if !begin.reads {
			s.followers.wake()
		}
		return false, nil
	case begin.reads:
		return false, pg.AsStoreError(err)
	}
	return pg.Again(err), pg.CommitError(err)
}

// undo ends a transaction that failed before its COMMIT. Begun says that the server
// knows of it. Repeat is that of attempt.
func (s *Store) undo(ctx context.Context, c *pg.Session, pool *pgxpool.Pool, begun bool, err error) (repeat bool, _ error) {
	switch {
	case !begun && c.Conn.IsClosed():
		// It has lain in the pool while the server was restarted; the others have, too.
		pool.Reset()
		return true, pg.WithContext(ctx, pg.AsStoreError(err))
	case !begun && replicaSays(err):
		return false, s.failedOver(err)
	}
	s.rollback(c.Conn)
	return pg.Again(err), pg.WithContext(ctx, pg.AsStoreError(err))
}

// failedOver gives up all connections: the server has become a replica, and new ones
// may lead elsewhere.
func (s *Store) failedOver(err error) error {
	s.pool.Reset()
	s.fastPool.Reset()
	return pg.ReadOnly(err)
}

// replicaSays reports whether an error is a replica's answer to a BEGIN, which may go
// with the first statements of a transaction. The same SQLSTATE from any other of them
// is of a prepared statement.
func replicaSays(err error) bool {
	f, ok := errors.AsType[*pg.Failed](err)
	return ok && f.What == fastBegin.Name && pg.SQLState(err) == pg.StateReplica
}

// begin begins a transaction and tells the clock what the server's says.
func (s *Store) begin(c *pg.Session, begin string) error {
	sent := s.clock.local()
	results, err := c.Conn.Exec(c.Ctx, begin).ReadAll()
	if err != nil {
		return pg.Fail(fastBegin.Name, err)
	}
	received := s.clock.local()
	row := lastRow(results)
	if len(row) < 1 {
		pg.Cut(c.Conn) // its other answers would belong to other statements, too
		return pg.Fail(fastBegin.Name, pg.ErrAnswer)
	}
	at, err := strconv.ParseInt(string(row[len(row)-1]), 10, 64)
	if err != nil {
		return fmt.Errorf("time of the server: %w", err)
	}
	s.clock.sample(sent, received, job.Micros(at))
	c.Standby = len(row) > 1 && string(row[len(row)-2]) == "t" // of replicates, in transactions that write
	return nil
}

// lastRow returns the last row of the last answer, or nil without one.
func lastRow(results []*pgconn.Result) [][]byte {
	if len(results) == 0 {
		return nil
	}
	rows := results[len(results)-1].Rows
	if len(rows) == 0 {
		return nil
	}
	return rows[len(rows)-1]
}

// rollback ends a transaction; a connection on which that fails is found not to
// be idle, and closed.
func (s *Store) rollback(conn *pgconn.PgConn) {
	if conn.IsClosed() || conn.TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), rollbackLimit)
	defer cancel()
	_, _ = conn.Exec(ctx, "ROLLBACK").ReadAll() // see above
}
