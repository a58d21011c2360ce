package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"strconv"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
)

// reservations are the ids that this process was given.
type reservations struct{ last atomic.Int64 }

// ReserveIDs implements store.Producer.
func (s *Store) ReserveIDs(ctx context.Context, n int) (job.ID, error) {
	first, err := s.core.ReserveIDs(ctx, n)
	if err == nil {
		raiseTo(&s.ids.last, int64(first)+int64(n)-1)
	}
	return first, err
}

// raiseTo raises a number to at least n.
func raiseTo(a *atomic.Int64, n int64) {
	for before := a.Load(); n > before && !a.CompareAndSwap(before, n); before = a.Load() {
	}
}

// raise sees to it that numbers that are given out are higher than all that are there.
// A connection that is made anew may lead to another server than the one before: one to
// which a backup was restored while this process went on, so that the numbers of events
// begin anew; or a replica that had not got the last reservations of ids, which others
// would be given again. What the server answers is for the transactions to find out.
func (s *Store) raise(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.PgConn().Exec(ctx, s.texts.Of(raiseBase)).ReadAll()
	if last := s.ids.last.Load(); err == nil && last > 0 {
		_, err = conn.PgConn().ExecParams(ctx, s.texts.Of(raiseIDs), [][]byte{strconv.AppendInt(nil, last, 10)}, nil, nil, nil).Close()
		// Others may have been given them, and used them, before or after that.
		raiseTo(&s.intake.used, last)
	}
	if pg.SQLState(err) != "" && !pg.Broken(err) {
		return nil
	}
	return err
}

var raiseIDs = &sqlstore.Query{Name: "raiseIDs"}
