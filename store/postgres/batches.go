package postgres

import (
	"context"

	"github.com/redrive/redrive/internal/sqlstore"
)

// The counts of a batch are in the rows of events until they are folded, as all counters.
// Folding marks a batch as ripe when its folded counts say that all members have ended. The
// end is decided later, under the lock of the batch's row, by the counts and what is not
// folded yet: a retry may have brought a member back since. Members come from those that have
// ended, or join, only under this lock. So what is seen as ended stays so until the commit.

var (
	selRipe   = &sqlstore.Query{Name: "selRipe"}
	clearRipe = &sqlstore.Query{Name: "clearRipe"}
)

// endBatches writes the outcomes of batches whose members have ended. A batch that a
// caller's transaction has locked is left to the next call.
func (s *Store) endBatches(ctx context.Context) error {
	var ripe []int64
	err := s.read(ctx, func(c sqlstore.Session) error {
		ripe = ripe[:0]
		return c.Rows(selRipe, func(r sqlstore.Row) error { ripe = append(ripe, r.Int(0)); return nil })
	})
	for _, id := range ripe {
		if err == nil {
			err = s.brief(ctx, func(t *sqlstore.Txn) error { return t.EndBatch(id, clearRipe) })
		}
	}
	return err
}

// EvaluateBatches writes the outcomes of all batches whose members have ended. The store
// does it by itself within a second after the last end; tests need not wait for that.
func (s *Store) EvaluateBatches(ctx context.Context) error {
	if err := s.foldAll(ctx); err != nil {
		return err
	}
	return s.endBatches(ctx)
}
