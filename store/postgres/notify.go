package postgres

import (
	"github.com/redrive/redrive/store/postgres/internal/claims"

	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// announceEvery is the least time between two notifications of a process. The
	// first one after a pause goes out at once; notices meanwhile are sent together.
	announceEvery = 5 * time.Millisecond
	// A connection that is lost is made again after a wait that doubles.
	reconnectMin = 100 * time.Millisecond
	reconnectMax = 5 * time.Second
	// quietMax is how long nothing may be heard before the listener asks whether
	// the server is there at all.
	quietMax = 15 * time.Second
	// answerLimit bounds what the listener and the announcer wait for.
	answerLimit = 5 * time.Second
	// probeLimit is how long a notification to oneself may take.
	probeLimit = 2 * time.Second
	// pollEvery is how often the server is asked where notifications do not arrive.
	pollEvery = 100 * time.Millisecond
)

// notifier tells what commits mean: those of this process to the engine here at
// once, and to other processes by NOTIFY; those of others to the engine here.
// Notifications go out on a connection of their own, some at a time, because each
// waits for a lock that all commits with one share.
type notifier struct {
	s       *Store
	channel string
	sender  string // of this process: it does not listen to itself

	mu        sync.Mutex
	subs      map[int]chan<- struct{}
	listeners map[int]func(claims.Notice)
	next      int
	pending   claims.Notice
	due       chan struct{} // something is pending
}

// anyone is the sender of a caller's own transaction: nobody knows when it will
// commit, so every process wants to hear of it.
const anyone = "0"

func newNotifier(s *Store) *notifier {
	return &notifier{s: s, channel: channel(s.options.Schema), sender: strings.ToLower(rand.Text()[:12]),
		subs: make(map[int]chan<- struct{}), listeners: make(map[int]func(claims.Notice)), due: make(chan struct{}, 1)}
}

func channel(schema string) string { return "redrive_" + schema }

// subscribe has ch notice, without ever waiting for it, that there is news.
func (r *notifier) subscribe(ch chan<- struct{}) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.next
	r.next++
	r.subs[id] = ch
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.subs, id)
	}
}

// hear has f called with all news, of this process and others. It must not
// block or call the notifier.
func (r *notifier) hear(f func(claims.Notice)) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.next
	r.next++
	r.listeners[id] = f
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.listeners, id)
	}
}

// tell spreads what a commit of this process means.
func (r *notifier) tell(n claims.Notice) {
	if n.Empty() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spread(n)
	r.pending.Merge(n)
	select {
	case r.due <- struct{}{}:
	default:
	}
}

// heard spreads what others have notice.
func (r *notifier) heard(n claims.Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spread(n)
}

func (r *notifier) spread(n claims.Notice) {
	for _, f := range r.listeners {
		f(n)
	}
	for _, ch := range r.subs {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

func (r *notifier) take() claims.Notice {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.pending
	r.pending = claims.Notice{}
	return n
}

// announce sends notices to the other processes, until the store is closed.
func (r *notifier) announce() {
	var conn *pgx.Conn
	defer func() { r.closeConn(conn) }()
	wait := reconnectMin
	telling := trouble{s: r.s, what: "other processes get no notifications, and find new jobs when they poll"}
	for {
		closing := false
		select {
		case <-r.due:
		case <-r.s.closed:
			closing = true // the last notices
		}
		n := r.take()
		if n.Empty() {
			if closing {
				return
			}
			continue
		}
		err := r.send(&conn, n)
		telling.see(err)
		switch {
		case closing:
			return // others find it when they look
		case err == nil:
			wait = reconnectMin
			r.pause(announceEvery)
		default:
			r.closeConn(conn)
			conn = nil
			r.mu.Lock()
			r.pending.Merge(n)
			r.mu.Unlock()
			r.pause(wait)
			wait = min(2*wait, reconnectMax)
			select {
			case r.due <- struct{}{}:
			default:
			}
		}
	}
}

// send sends one notification. It need not survive a crash of the server, after
// which everybody looks anyway; so it waits for no disk.
func (r *notifier) send(conn **pgx.Conn, n claims.Notice) (err error) {
	ctx, cancel := context.WithTimeout(r.s.over, answerLimit)
	defer cancel()
	if *conn == nil {
		if *conn, err = r.s.dialOwn(ctx); err != nil {
			return err
		}
	}
	// One statement is a transaction. The text is made of letters, digits and signs
	// without a quote.
	return (*conn).PgConn().Exec(ctx, `SELECT pg_catalog.set_config('synchronous_commit', 'off', true), pg_catalog.pg_notify('`+
		r.channel+`', '`+n.Text(r.sender)+`')`).Close()
}

// listen hears what other processes tell, until the store is closed. Whenever it
// begins to listen, something may have been missed.
func (r *notifier) listen() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.s.ended.Go(func() {
		select {
		case <-r.s.closed:
			cancel()
		case <-ctx.Done():
		}
	})
	wait := reconnectMin
	hearing := trouble{s: r.s, what: "notifications of other processes do not arrive, and their jobs are found by polling"}
	for ctx.Err() == nil {
		heard, err := r.listenOnce(ctx, &hearing)
		if errors.Is(err, errDeaf) {
			r.s.options.Logger.WarnContext(ctx, "notifications of PostgreSQL do not arrive through the pooler: polling instead; "+
				"for a faster pick-up give redrive a DSN of the server itself, or a pool in session mode",
				"database", r.s.where, "poll", pollEvery)
			r.poll(ctx)
			return
		}
		hearing.see(err)
		if heard {
			wait = reconnectMin
		}
		r.pause(wait)
		wait = min(2*wait, reconnectMax)
	}
}

// errDeaf says that notifications do not arrive.
var errDeaf = errors.New("notifications do not arrive")

// listenOnce listens on one connection until that is lost.
func (r *notifier) listenOnce(ctx context.Context, hearing *trouble) (heard bool, err error) {
	conn, err := r.connect(ctx)
	if err != nil {
		return false, err
	}
	defer r.closeConn(conn)
	if r.s.unnamed.Load() {
		if err := r.probe(ctx, conn); err != nil {
			return false, err
		}
	}
	hearing.see(nil)
	r.heard(claims.AnyChange)
	for {
		n, err := r.wait(ctx, conn)
		if err != nil {
			return true, err
		}
		if n == "" {
			continue
		}
		if sender, what, err := claims.ParseNotice(n); err != nil {
			r.heard(claims.AnyChange) // of a newer version
		} else if sender != r.sender {
			r.heard(what)
		}
	}
}

// connect returns a connection that listens.
func (r *notifier) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	conn, err := r.s.dialOwn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+r.channel, pgx.QueryExecModeSimpleProtocol); err != nil {
		r.closeConn(conn)
		return nil, err
	}
	return conn, nil
}

// wait returns the text of the next notification, or "" when the server was asked
// whether it is there, and is.
func (r *notifier) wait(ctx context.Context, conn *pgx.Conn) (string, error) {
	quiet, cancel := context.WithTimeout(ctx, quietMax)
	defer cancel()
	n, err := conn.WaitForNotification(quiet)
	if err == nil {
		return n.Payload, nil
	}
	if ctx.Err() != nil || quiet.Err() == nil || conn.IsClosed() {
		return "", err
	}
	ask, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	_, err = conn.Exec(ask, "SELECT 1", pgx.QueryExecModeSimpleProtocol)
	return "", err
}

// probe sends a notification to itself: where a pooler gives each transaction
// another connection, it does not arrive.
func (r *notifier) probe(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	probe := "probe-" + r.sender + "|"
	if _, err := r.s.pool.Exec(ctx, "SELECT pg_catalog.pg_notify('"+r.channel+"', '"+probe+"')", pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		switch {
		case err == nil && n.Payload == probe:
			return nil
		case err != nil && ctx.Err() != nil && !conn.IsClosed():
			return errDeaf
		case err != nil:
			return err
		}
	}
}

// poll asks the server again and again whether there were transactions.
func (r *notifier) poll(ctx context.Context) {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	r.heard(claims.AnyChange)
	polling := trouble{s: r.s, what: "notifications of other processes do not arrive, and their jobs are found by polling"}
	seen := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now, err := r.moment(ctx)
		polling.see(err)
		if err == nil && now != seen {
			seen = now
			r.heard(claims.AnyChange)
		}
	}
}

// moment returns what is another after each transaction.
func (r *notifier) moment(ctx context.Context) (now string, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	err = r.s.pool.QueryRow(ctx, "SELECT pg_catalog.pg_current_snapshot()::text", pgx.QueryExecModeSimpleProtocol).Scan(&now)
	return now, err
}

// pause waits, but not beyond the end of the store.
func (r *notifier) pause(d time.Duration) {
	_ = r.s.wait(context.Background(), d)
}

// closeConn closes a connection, which may be lost.
func (r *notifier) closeConn(conn *pgx.Conn) {
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
	defer cancel()
	_ = conn.Close(ctx) // there is nothing left to say on it
}
