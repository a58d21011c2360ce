package postgres

import (
	"github.com/redrive/redrive/store/postgres/internal/claims"

	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"cmp"
	"context"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/store"
)

// A sweep removes as many rows as are made, so it has statements of its own that
// remove many at a time, in transactions that hold nothing that others want:
//
//	jobs that have ended, failure records, keys    no lock of others
//	events, batches                                the lock of folding
//	dead letters and what goes with them           the lock on dead letters
//
// The sweeps of all processes take turns, by a lock that nothing else waits for.
// What others hold is left to a later sweep, and so are the dead letters while an
// open transaction has the lock on dead letters.

// Sweep implements store.Keeper. Its parts are transactions of their own: after an error,
// it returns what the parts before have removed.
func (s *Store) Sweep(ctx context.Context, keep store.Retention, limit int) (swept store.Swept, err error) {
	if err := sqlstore.CheckSweep(keep, limit); err != nil {
		return swept, err
	}
	indexed := sqlstore.KeepOwners(ctx, s.core, keep)
	for _, part := range [...]sqlstore.SweepPart{sqlstore.SweepEnds, sqlstore.SweepEvents, sqlstore.SweepDeadLetters} {
		if part == sqlstore.SweepEvents {
			if err := s.beforeEvents(ctx, keep); err != nil {
				return swept, err
			}
			indexed = cmp.Or(indexed, sqlstore.IndexOwners(ctx, s.core, true))
		}
		some, err := s.sweep(ctx, part, keep, limit)
		switch {
		case part == sqlstore.SweepDeadLetters && deadLettersTaken(err):
			some.More = true // another time
		case err != nil:
			return swept, err
		}
		add(&swept, &some)
	}
	return swept, indexed
}

// beforeEvents prepares the removal of events and figures. Events are removed when they can
// be read and their changes are folded in, and figures when they are folded.
func (s *Store) beforeEvents(ctx context.Context, keep store.Retention) error {
	if keep.Events > 0 {
		if err := s.inSight(ctx, s.clock.Now().Add(-keep.Events)); err != nil {
			return err
		}
	}
	return s.foldAll(ctx)
}

// SweepsInBackground implements store.BackgroundSweeper.
func (*Store) SweepsInBackground() bool { return true }

func add(sum, part *store.Swept) {
	sum.Completed += part.Completed
	sum.Failures += part.Failures
	sum.Dead += part.Dead
	sum.Pending += part.Pending
	sum.Events += part.Events
	sum.Keys += part.Keys
	sum.Batches += part.Batches
	sum.Reopened += part.Reopened
	sum.More = sum.More || part.More
}

// sweep does a part of a sweep.
func (s *Store) sweep(ctx context.Context, part sqlstore.SweepPart, keep store.Retention, limit int) (swept store.Swept, err error) {
	wakes := false
	err = s.transact(ctx, &s.begins.sweep, func(c *pg.Session) error {
		if err := s.lock(c, s.sweeps); err != nil {
			return err
		}
		if part == sqlstore.SweepEvents {
			if err := s.lock(c, s.folds); err != nil {
				return err
			}
		}
		cat, terms, err := s.catalog(c, true)
		if err != nil {
			return err
		}
		hooks := s.hooks(c, terms)
		hooks.LockDeadLetters = func() error { return s.lockDeadLettersWithin(c, backgroundPatience) }
		hooks.Remover = remover{c}
		t := sqlstore.NewTxn(c, false, hooks)
		t.Reset(s.clock.Now(), cat)
		if swept, err = t.Sweep(keep, limit, part); err != nil {
			return err
		}
		wakes = t.Wakes()
		return t.Flush()
	})
	if err == nil && wakes {
		s.news.tell(claims.AnyChange)
	}
	return swept, err
}
