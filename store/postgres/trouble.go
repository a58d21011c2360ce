package postgres

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
)

// trouble reports to people about work in the background, which has no caller whom an error
// could be returned to: once when it begins to fail, or fails for another reason, and
// once when it has recovered. Several goroutines may use it.
type trouble struct {
	s    *Store
	what string // what fails, and what follows from that

	mu   sync.Mutex
	last string // reason of the latest failure; "" if it succeeded
}

// see takes in how the latest try has ended.
func (t *trouble) see(err error) {
	select {
	case <-t.s.closed:
		return
	default:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	ctx, log, why := context.Background(), t.s.options.Logger, gist(err)
	switch {
	case why == t.last:
		return
	case err != nil && t.last != "": // one outage has several reasons: the connection is reset, then it is refused
		log.DebugContext(ctx, "PostgreSQL: "+t.what+", now for another reason; trying again", "database", t.s.where, "error", err)
	case err != nil:
		log.WarnContext(ctx, "PostgreSQL: "+t.what+"; trying again", "database", t.s.where, "error", err)
	default:
		log.InfoContext(ctx, "PostgreSQL: recovered: "+t.what, "database", t.s.where)
	}
	t.last = why
}

// gist is the text of an error without the parts that differ from call to call, such as the local port of a connection.
func gist(err error) string {
	if err == nil {
		return ""
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code + " " + pg.Message
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op + ": " + op.Err.Error()
	}
	return err.Error()
}
