package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"fmt"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// callbackWait bounds the wait for a connection on which ids are reserved, by who has one already.
const callbackWait = 5 * time.Second

// txn makes a transaction of the shared statements on a session. Own says that it is
// new and the store's own: nothing was written in it yet.
func (s *Store) txn(c sqlstore.Session, own bool) (*sqlstore.Txn, error) {
	cat, terms, err := s.catalog(c, own)
	if err != nil {
		return nil, err
	}
	hooks := s.hooks(c, terms)
	if own {
		hooks.FollowsEnds = func(batches sqlstore.Value) error {
			return c.Rows(selLaterEnds, func(sqlstore.Row) error { return nil }, batches)
		}
	}
	t := sqlstore.NewTxn(c, false, hooks)
	t.Reset(s.clock.Now(), cat)
	return t, nil
}

// catalog returns the lanes and queues for one transaction, and the numbers of terms: those
// that are known, if their version is still the version of the database. The numbers are nil
// if the transaction is a caller's and its version is not known.
func (s *Store) catalog(c sqlstore.Session, own bool) (*sqlstore.Catalog, *termNumbers, error) {
	version, err := sqlstore.ReadInt(c, selVersion) // first: what is read may be newer, not older
	if err == nil && version == 0 {
		err = sqlstore.ErrNoMeta
	}
	if err != nil {
		return nil, nil, err
	}
	known := s.hot.known.Load()
	if known != nil && known.version == version {
		return known.catalog.Borrow(), known.terms, nil
	}
	cat, err := sqlstore.NewCatalog(c)
	if err != nil || !own {
		return cat, nil, err // a caller's transaction may have lanes and terms that no other transaction sees
	}
	fresh := &knownLanes{version, cat, newTermNumbers()}
	s.hot.known.CompareAndSwap(known, fresh)
	return cat.Borrow(), fresh.terms, nil
}

// hooks are how a transaction shares the tables with others. The argument terms has the
// numbers of terms at the version of the transaction.
func (s *Store) hooks(c sqlstore.Session, terms *termNumbers) sqlstore.Hooks {
	return sqlstore.Hooks{
		LockDeadLetters: func() error { return s.lock(c, s.deadLetters) },
		TryLockDeadLetters: func() (bool, error) {
			free, err := sqlstore.ReadInt(c, tryLock, sqlstore.Num(s.deadLetters))
			return free != 0, err
		},
		LockName: func(name string) error { return s.lock(c, s.lockKey(name)) },
		LockJobs: func(ids []job.ID, lockDeadLetters func() error) error {
			var all array
			for _, id := range ids {
				all.add(int64(id))
			}
			var locked, revived int64
			err := c.Rows(lockLive, func(r sqlstore.Row) error {
				locked, revived = r.Int(0), r.Int(1)
				return nil
			}, all.value())
			if err != nil || revived == 0 {
				return err
			}
			if err := lockDeadLetters(); err != nil {
				return err
			}
			// From now on nobody brings dead jobs back. What was brought back before may
			// be locked by somebody who waits for the lock on dead letters.
			live, err := sqlstore.ReadInt(c, countLive, all.value())
			if err == nil && live != locked {
				err = sqlstore.ErrAgain
			}
			return err
		},
		LockLanes: func() error {
			if err := s.lock(c, s.lanes); err != nil {
				return err
			}
			_, err := c.Exec(nextSettings) // processes that cache the lanes must reload them
			return err
		},
		TermsID:     terms.id,
		KeepTermsID: terms.add,
		// The next transaction of each process reads its catalogue again. So a process
		// uses a number only on a server that has the row of that number.
		StoredTerms: func() error {
			_, err := c.Exec(nextSettings)
			return err
		},
		CallbackID: func() (job.ID, error) {
			ctx, cancel := context.WithTimeoutCause(s.over, callbackWait,
				fmt.Errorf("no id for the job of a callback within %s: %w", callbackWait, store.ErrUnavailable))
			defer cancel()
			return s.callbacks.take(ctx, s)
		},
		Columns: func() sqlstore.Columns { return new(pg.Columns) },
		Record: func(t *sqlstore.Txn) error {
			s.memberEnds(t)
			if err := record(t); err != nil {
				return err
			}
			return follow(t)
		},
	}
}

func (s *Store) lock(c sqlstore.Session, key int64) error {
	_, err := c.Exec(lock, sqlstore.Num(key))
	return err
}
