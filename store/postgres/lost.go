package postgres

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/redrive/redrive/store"
)

// A firewall that restarts, or an address that moves, forgets connections: what is
// sent on them is answered by nobody, not even with an error, while the server takes
// new ones. So nothing here waits for an answer for long, and where one did not come
// the connections that lie in the pool are not trusted either.

const (
	// unheard is how long the other machine may take to confirm what was sent before
	// the system ends a connection; less than the lease of a run. Where the system
	// cannot be set so (all but Linux), the limits of calls and keepAlive remain.
	unheard = 15 * time.Second
	// pingIdle is how long a connection may have lain in its pool to be used without
	// a look whether it still leads to the server.
	pingIdle = time.Second
	// pingLimit is how long such a look may take; it is one message and its answer.
	pingLimit = 2 * time.Second
	// answerGrace is how much longer than the server's own limit for a statement the
	// transaction of a group of callers is waited for.
	answerGrace = 2 * time.Second
)

// keepAlive asks the other machine for a sign of life while it is silent, as during a
// long statement: it is given up after about 15 s, too.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3}

// dialer opens the sockets of connections.
func dialer(limit time.Duration) pgconn.DialFunc {
	return (&net.Dialer{Timeout: limit, KeepAliveConfig: keepAlive, Control: endUnheard}).DialContext
}

// trust has a pool look at connections that have lain idle. When one does not answer,
// those that lie beside it are given up with it: tried one after the other, each would
// take as long. What is given up makes room for a new one at once, without a goodbye.
func (s *Store) trust(config *pgxpool.Config, pool **pgxpool.Pool) {
	config.BeforeClose = func(conn *pgx.Conn) {
		if conn.IsClosed() { // and waits for the server
			_ = conn.PgConn().Conn().Close()
		}
	}
	config.ShouldPing = func(ctx context.Context, p pgxpool.ShouldPingParams) bool {
		if p.IdleDuration < pingIdle {
			return false
		}
		begun := s.clock.local()
		limited, cancel := context.WithTimeout(ctx, pingLimit)
		defer cancel()
		if p.Conn.Ping(limited) == nil {
			return false
		}
		if ctx.Err() == nil || s.clock.local().Sub(begun) > pingLimit/4 {
			(*pool).Reset()
		}
		return true // which finds it closed
	}
}

// untilGone returns the context of a transaction for several callers: it ends when all
// of them have gone, or when the server should have answered.
func (s *Store) untilGone(group []*enqueueCall) (context.Context, context.CancelFunc) {
	limit := s.options.StatementTimeout + answerGrace
	ctx, cancel := context.WithTimeoutCause(context.Background(), limit,
		fmt.Errorf("no answer from the server for %s: %w", limit, store.ErrUnavailable))
	var mu sync.Mutex
	stop, i, over := func() bool { return false }, 0, false
	var next func()
	next = func() { // waits for one of them at a time
		mu.Lock()
		defer mu.Unlock()
		for i < len(group) && group[i].ctx.Err() != nil {
			i++
		}
		switch {
		case over:
		case i == len(group):
			cancel()
		default:
			stop = context.AfterFunc(group[i].ctx, next)
		}
	}
	next()
	return ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		over, i = true, len(group)
		stop()
		cancel()
	}
}
