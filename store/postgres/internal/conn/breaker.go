package conn

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Breaker ends what a connection is waiting for when a context ends.
type Breaker struct {
	mu          sync.Mutex
	conn        *pgconn.PgConn
	over, fired bool
	cut         func() bool
}

// Past is a deadline that is over.
var Past = time.Unix(1, 0)

// Watch begins to watch a context. After it ended, grace has to pass, too.
func Watch(ctx context.Context, conn *pgconn.PgConn, grace time.Duration) *Breaker {
	b := &Breaker{conn: conn}
	b.cut = context.AfterFunc(ctx, func() {
		if grace == 0 {
			b.fire()
		} else {
			time.AfterFunc(grace, b.fire)
		}
	})
	return b
}

func (b *Breaker) fire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.fired = true
		_ = b.conn.Conn().SetDeadline(Past) // a closed connection waits for nothing
	}
}

// Stop ends the watching and reports whether the connection was left alone.
func (b *Breaker) Stop() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.cut()
	return !b.fired
}
