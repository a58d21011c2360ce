package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// breaker ends what a connection is waiting for when a context ends.
type breaker struct {
	mu          sync.Mutex
	conn        *pgconn.PgConn
	over, fired bool
	cut         func() bool
}

// past is a deadline that is over.
var past = time.Unix(1, 0)

// watch begins to watch a context. After it ended, grace has to pass, too.
func watch(ctx context.Context, conn *pgconn.PgConn, grace time.Duration) *breaker {
	b := &breaker{conn: conn}
	b.cut = context.AfterFunc(ctx, func() {
		if grace == 0 {
			b.fire()
		} else {
			time.AfterFunc(grace, b.fire)
		}
	})
	return b
}

func (b *breaker) fire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.fired = true
		_ = b.conn.Conn().SetDeadline(past) // a closed connection waits for nothing
	}
}

// stop ends the watching and reports whether the connection was left alone.
func (b *breaker) stop() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.cut()
	return !b.fired
}
