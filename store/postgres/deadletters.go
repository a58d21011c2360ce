package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/store"
)

// A transaction of a caller's in which a job has died has the lock on dead letters for as long as
// it is open. What people ask for, and what is done in the background, waits for
// them for a moment, and keeps few connections meanwhile: the others need some, too.

const (
	// peoplePatience is how long a person waits for the lock on dead letters.
	peoplePatience = time.Second
	// backgroundPatience is how long a sweep does, or other work in the background.
	backgroundPatience = 200 * time.Millisecond
)

// person is write for what a person asks for. It implements sqlstore.DB's Person.
func (s *Store) person(ctx context.Context, do func(*sqlstore.Txn) error) error {
	people := s.people
	select {
	case people <- struct{}{}:
		defer func() { <-people }()
	case <-ctx.Done():
		return fmt.Errorf("%w: other calls of people wait for locks: %w", store.ErrUnavailable, context.Cause(ctx))
	case <-s.closed:
		return errClosed
	}
	err := s.writeWithin(ctx, peoplePatience, do)
	if deadLettersTaken(err) {
		return fmt.Errorf("the dead letters are locked by %s, most likely one in which a job has died or a redriven one has ended "+
			"(CompleteTx), and that is still open: commit it or roll it back: %w", s.deadLettersHolder(ctx), store.ErrUnavailable)
	}
	return err
}

// brief is write for work in the background. It implements sqlstore.DB's Brief.
func (s *Store) brief(ctx context.Context, do func(*sqlstore.Txn) error) error {
	return s.writeWithin(ctx, backgroundPatience, do)
}

// writeWithin is write that waits for the lock on dead letters for so long.
func (s *Store) writeWithin(ctx context.Context, wait time.Duration, do func(*sqlstore.Txn) error) error {
	return s.write(ctx, func(t *sqlstore.Txn) error {
		c := t.Session().(*pg.Session)
		t.LockDeadLettersBy(func() error { return s.lockDeadLettersWithin(c, wait) })
		return do(t)
	})
}

// deadLettersTaken reports whether the lock on dead letters were waited for in vain.
func deadLettersTaken(err error) bool { return errors.Is(err, sqlstore.ErrDeadLettersLocked) }

// lockDeadLettersWithin locks the lock on dead letters, or gives up with sqlstore.ErrDeadLettersLocked.
func (s *Store) lockDeadLettersWithin(c *pg.Session, wait time.Duration) error {
	err := c.Send(limitLocks(wait), pg.Step{Q: lock, Args: []any{s.deadLetters}},
		limitLocks(s.options.StatementTimeout))
	if pg.SQLState(err) == pg.StateLockTimeout {
		return fmt.Errorf("%w: %w", sqlstore.ErrDeadLettersLocked, err)
	}
	return err
}

// whoHolds is the server's process that has an advisory lock.
var whoHolds = &sqlstore.Query{Name: "whoHolds"}

// deadLettersHolder describes the transaction that has the lock on dead letters, as far as it can.
func (s *Store) deadLettersHolder(ctx context.Context) string {
	holder := "another transaction"
	_ = s.transact(ctx, &s.begins.read, func(c *pg.Session) error { // it is there to help
		return c.Send(pg.Step{Q: whoHolds, Args: []any{s.deadLetters}, Each: func(r sqlstore.Row) error {
			holder = fmt.Sprintf("a transaction of the server's process %d (application %q, role %q, open for %s)",
				r.Int(0), r.Text(1), r.Text(2), time.Duration(r.Int(3))*time.Second)
			return nil
		}})
	})
	return holder
}
