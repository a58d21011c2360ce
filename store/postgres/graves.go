package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/store"
)

// A transaction of a caller's in which a job has died has the graves for as long as
// it is open. What people ask for, and what is done in the background, waits for
// them for a moment, and keeps few connections meanwhile: the others need some, too.

const (
	// peoplePatience is how long a person waits for the graves.
	peoplePatience = time.Second
	// gravesPatience is how long a sweep does, or other work in the background.
	gravesPatience = 200 * time.Millisecond
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
	if gravesTaken(err) {
		return fmt.Errorf("the dead letters are locked by %s, most likely one in which a job has died or a redriven one has ended "+
			"(CompleteTx), and that is still open: commit it or roll it back: %w", s.gravesHolder(ctx), store.ErrUnavailable)
	}
	return err
}

// brief is write for work in the background. It implements sqlstore.DB's Brief.
func (s *Store) brief(ctx context.Context, do func(*sqlstore.Txn) error) error {
	return s.writeWithin(ctx, gravesPatience, do)
}

// writeWithin is write that waits for the graves for so long.
func (s *Store) writeWithin(ctx context.Context, wait time.Duration, do func(*sqlstore.Txn) error) error {
	return s.write(ctx, func(t *sqlstore.Txn) error {
		c := t.Session().(*session)
		t.LockDeadLettersBy(func() error { return s.gravesWithin(c, wait) })
		return do(t)
	})
}

// gravesTaken reports whether the graves were waited for in vain.
func gravesTaken(err error) bool { return errors.Is(err, sqlstore.ErrDeadLettersLocked) }

// gravesWithin locks the graves, or gives up with sqlstore.ErrDeadLettersLocked.
func (s *Store) gravesWithin(c *session, wait time.Duration) error {
	err := c.send(limitLocks(wait), step{q: lock, args: []any{s.graves}},
		limitLocks(s.options.StatementTimeout))
	if sqlstate(err) == stateLockTimeout {
		return fmt.Errorf("%w: %w", sqlstore.ErrDeadLettersLocked, err)
	}
	return err
}

// whoHolds is the server's process that has an advisory lock.
var whoHolds = &sqlstore.Query{Name: "whoHolds"}

// gravesHolder describes the transaction that has the graves, as far as it can.
func (s *Store) gravesHolder(ctx context.Context) string {
	holder := "another transaction"
	_ = s.transact(ctx, &s.begins.read, func(c *session) error { // it is there to help
		return c.send(step{q: whoHolds, args: []any{s.graves}, each: func(r sqlstore.Row) error {
			holder = fmt.Sprintf("a transaction of the server's process %d (application %q, role %q, open for %s)",
				r.Int(0), r.Text(1), r.Text(2), time.Duration(r.Int(3))*time.Second)
			return nil
		}})
	})
	return holder
}
