package postgres

import (
	"github.com/redrive/redrive/store/postgres/internal/claims"

	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A claim whose COMMIT was sent but not answered may have been committed. Its jobs do not
// run then: their leases would end and count as crashes, and after a few such claims the jobs
// would be dead without a run. So the store remembers the jobs of such a claim, finds out
// whether it was committed, and gives its jobs back. Until then it claims nothing more, so the
// number of unconfirmed claims stays small.

var (
	selClaims  = &sqlstore.Query{Name: "selClaims"}
	lockClaims = &sqlstore.Query{Name: "lockClaims"}
	selAlive   = &sqlstore.Query{Name: "selAlive"}
)

// resolve finds out which unconfirmed claims were committed and gives their jobs back. After an
// error nothing may be claimed. Without an error, jobs may be left whose rows another transaction
// has locked.
func (s *Store) resolve(ctx context.Context) error {
	d := s.hot.unconfirmed
	if len(d.List()) == 0 {
		return nil
	}
	select {
	case d.Turn <- struct{}{}:
		defer func() { <-d.Turn }()
	case <-ctx.Done():
		return fmt.Errorf("%w: what an earlier claim has taken is not known yet: its commit was not answered: %w",
			store.ErrUnavailable, context.Cause(ctx))
	}
	all := d.List()
	if len(all) == 0 {
		return nil
	}
	left, err := s.giveBack(ctx, all)
	if err != nil {
		return fmt.Errorf("giving back what an earlier claim has taken, whose commit was not answered: %w", err)
	}
	d.Resolved(len(all), left)
	return nil
}

// giveBack gives back those jobs that the claims have really got. This counts as no crash. It
// returns the jobs for which it has to be tried again.
func (s *Store) giveBack(ctx context.Context, all []claims.Unconfirmed) (left []claims.Unconfirmed, err error) {
	taken, err := s.happened(ctx, all)
	if err != nil || len(taken) == 0 {
		return nil, err
	}
	outcomes, runs := make([]job.Outcome, len(taken)), make([]*sqlstore.Run, len(taken))
	for i, d := range taken {
		runs[i] = d.Run
		outcomes[i] = job.Outcome{ID: d.Run.ID(), Token: d.Run.Token(), Cause: job.Interrupted, To: job.Waiting}
	}
	s.hot.runs.Remember(runs) // so that they are written together
	answers, _, err := s.settleAll(ctx, outcomes)
	if err != nil {
		return nil, err
	}
	for i, own := range answers {
		switch {
		case own == nil, errors.Is(own, errCancelled), errors.Is(own, store.ErrLeaseLost), errors.Is(own, store.ErrNotFound), errors.Is(own, store.ErrConflict):
		default:
			left = append(left, taken[i])
		}
	}
	return left, nil
}

// errClaimCommitted rolls the transaction back that has found jobs to be given back. Otherwise
// the transaction would lock these jobs while its own COMMIT waits, as the claim did.
var errClaimCommitted = errors.New("the claim has happened")

// happened returns the jobs that the claims have got and still have. If there are no such jobs,
// the server has committed a transaction, so it answers again.
func (s *Store) happened(ctx context.Context, all []claims.Unconfirmed) (taken []claims.Unconfirmed, err error) {
	type claim struct {
		token  job.Token
		state  job.State
		holder string
		at     job.Micros
	}
	err = s.fast(ctx, func(t *fastTxn) error {
		taken = nil
		now := make(map[job.ID]claim, len(all))
		see := func(r sqlstore.Row) error {
			now[job.ID(r.Int(0))] = claim{job.Token(r.Int(1)), job.State(r.Int(2)), r.Text(3), job.Micros(r.Int(4))}
			return nil
		}
		ids, open, pids := pg.Ints(len(all)), pg.Ints(0), pg.Ints(len(all))
		for _, d := range all {
			ids.Int(int64(d.Run.ID()))
			pids.Int(int64(d.PID))
		}
		// The living connections are read first: then what a claim of another connection has done
		// is visible to the next statement.
		alive := map[uint32]bool{0: true}
		isAlive := func(r sqlstore.Row) error { alive[uint32(r.Int(0))] = true; return nil }
		err := t.send(pg.Step{Q: selAlive, Args: []any{pids}, Each: isAlive},
			pg.Step{Q: selClaims, Args: []any{ids}, Each: see})
		if err != nil {
			return err
		}
		for _, d := range all {
			if c, ok := now[d.Run.ID()]; ok && c.token < d.Run.Token() && alive[d.PID] {
				open.Int(int64(d.Run.ID()))
			}
		}
		if open.N > 0 {
			err := t.send(limitLocks(s.lockWait()), pg.Step{Q: lockClaims, Args: []any{open}, Each: see})
			if err != nil {
				return err
			}
		}
		for _, d := range all {
			if now[d.Run.ID()] == (claim{d.Run.Token(), job.Running, d.Holder, d.At}) {
				taken = append(taken, d)
			}
		}
		if len(taken) > 0 {
			return errClaimCommitted
		}
		return nil
	})
	if errors.Is(err, errClaimCommitted) {
		err = nil
	}
	return taken, err
}

// resolveAll resolves unconfirmed claims as soon as it can, also while no job is claimed, until
// the store is closed.
func (s *Store) resolveAll() {
	ctx, cancel := s.untilClosed()
	defer cancel()
	giving := trouble{s: s, what: "what a claim has taken whose commit was not answered cannot be given back yet"}
	ticker := time.NewTicker(keepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.closed:
			return
		case <-s.hot.unconfirmed.Wake:
		case <-ticker.C:
		}
		giving.see(s.resolveWithin(ctx, s.options.StatementTimeout)) // the next tick tries again
	}
}

func (s *Store) resolveWithin(ctx context.Context, limit time.Duration) error {
	if len(s.hot.unconfirmed.List()) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return s.resolve(ctx)
}
