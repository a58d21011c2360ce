package postgres

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
)

// The counts of a batch are in the rows of events until they are folded, as all counters.
// Folding marks a batch as ripe when its folded counts say that all members have ended. The
// end is decided later, under the lock of the batch's row, by the counts and what is not
// folded yet: a retry may have brought a member back since. Members come from those that have
// ended, or join, only under this lock. So what is seen as ended stays so until the commit.

var (
	selRipe            = &sqlstore.Query{Name: "selRipe"}
	selLaterEnds       = &sqlstore.Query{Name: "selLaterEnds"}
	clearRipe          = &sqlstore.Query{Name: "clearRipe"}
	selManyBatchCounts = &sqlstore.Query{Name: "selManyBatchCounts"}
)

// endSoon is how long after the end of a member this process folds and looks for batches that
// have ended. Others look each second, in case this process is killed.
const endSoon = 250 * time.Millisecond

// endsMembers reports whether members of batches end in a transaction.
func endsMembers(t *sqlstore.Txn) (some bool) {
	t.Batches(func(_, _, completed, dead, cancelled int64) {
		some = some || completed > 0 || dead > 0 || cancelled > 0
	})
	return some
}

// memberEnds makes keep look for the ends of batches soon.
func (s *Store) memberEnds(t *sqlstore.Txn) {
	if !endsMembers(t) {
		return
	}
	select {
	case s.ending <- struct{}{}:
	default:
	}
}

// endBatches writes the outcomes of batches whose members have ended, as many in a transaction as
// there are at most in an answer of selRipe. A batch that a caller's transaction has locked is left to
// the next call.
func (s *Store) endBatches(ctx context.Context) error {
	for after := int64(0); ; {
		var ripe []int64
		err := s.read(ctx, func(c sqlstore.Session) error {
			ripe = ripe[:0]
			return c.Rows(selRipe, func(r sqlstore.Row) error { ripe = append(ripe, r.Int(0)); return nil }, sqlstore.Num(after))
		})
		if err != nil || len(ripe) == 0 {
			return err
		}
		if err := s.callbacks.fill(ctx, s); err != nil {
			return err
		}
		if err := s.endThese(ctx, ripe); err != nil {
			return err
		}
		after = ripe[len(ripe)-1]
	}
}

// endThese writes outcomes in one transaction. If it fails because of one batch, the others must not
// wait: then each gets a transaction.
func (s *Store) endThese(ctx context.Context, ids []int64) error {
	var all array
	for _, id := range ids {
		all.add(id)
	}
	err := s.brief(ctx, func(t *sqlstore.Txn) error { return t.EndBatches(all.value(), clearRipe, selManyBatchCounts) })
	if err == nil || len(ids) == 1 || ctx.Err() != nil {
		return err
	}
	err = nil
	for i := range ids {
		err = cmp.Or(err, s.endThese(ctx, ids[i:i+1]))
	}
	return err
}

// callbackIDs are ids for the jobs of callbacks. They are reserved in a transaction of their own,
// before: the row of ids would stay locked in the transaction that ends a batch, which may be a
// caller's, and everybody who enqueues would wait for its end.
type callbackIDs struct {
	mu         sync.Mutex
	next, last job.ID // the next one, and the one after the last; equal without any
}

// callbackBlock is how many ids are reserved at a time. Those of a process that ends are not used.
const callbackBlock = 256

// fill sees to it that some are there.
func (c *callbackIDs) fill(ctx context.Context, s *Store) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next != c.last {
		return nil
	}
	first, err := s.ReserveIDs(ctx, callbackBlock)
	if err == nil {
		c.next, c.last = first, first+callbackBlock
	}
	return err
}

// take returns an id.
func (c *callbackIDs) take(ctx context.Context, s *Store) (job.ID, error) {
	for {
		c.mu.Lock()
		if id := c.next; id != c.last {
			c.next++
			c.mu.Unlock()
			return id, nil
		}
		c.mu.Unlock()
		if err := c.fill(ctx, s); err != nil {
			return 0, err
		}
	}
}

// EvaluateBatches writes the outcomes of all batches whose members have ended. The store
// does it by itself within a second after the last end; tests need not wait for that.
func (s *Store) EvaluateBatches(ctx context.Context) error {
	folded, ended := s.foldAndEnd(ctx)
	return errors.Join(folded, ended)
}

// foldAndEnd folds and then writes outcomes. One call of a process does so at a time, so that when it
// returns no other call is in the middle of either.
func (s *Store) foldAndEnd(ctx context.Context) (folded, ended error) {
	s.evaluating.Lock()
	defer s.evaluating.Unlock()
	return s.foldAll(ctx), s.endBatches(ctx)
}
