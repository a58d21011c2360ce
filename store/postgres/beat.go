package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A heartbeat waits for no job: a transaction of the program's own that has called
// CompleteTx holds the row of its run for as long as it is open, and the leases of
// all the others would run out meanwhile.
var (
	noStandby = &sqlstore.Query{Name: "noStandby"}
	setBeats  = &sqlstore.Query{Name: "setBeats"}
	beginRuns = &sqlstore.Query{Name: "beginRuns"}
	seeBeats  = &sqlstore.Query{Name: "seeBeats"}
)

// Heartbeat implements store.Worker. A run whose row is locked by another
// transaction is held, and its lease stays as it is.
func (s *Store) Heartbeat(ctx context.Context, b store.Beat) (status []store.RunStatus, err error) {
	if b.Lease <= 0 {
		return nil, fmt.Errorf("lease %s: must be above zero: %w", b.Lease, store.ErrInvalid)
	}
	if len(b.Runs) == 0 {
		return nil, nil
	}
	runs := slices.SortedFunc(slices.Values(b.Runs), func(x, y store.Run) int { return cmp.Compare(x.ID, y.ID) })
	held := make(map[store.Run]store.RunStatus, len(runs))
	err = s.fast(ctx, func(t *fastTxn) error {
		clear(held)
		see := func(r sqlstore.Row) error {
			held[store.Run{ID: job.ID(r.Int(0)), Token: job.Token(r.Int(1))}] = store.RunStatus{Held: true, Cancel: r.Int(2) != 0}
			return nil
		}
		ids, tokens := runVectors(runs)
		extend := pg.Step{Q: setBeats, Args: []any{int64(t.Now().Add(b.Lease)), ids, tokens}, Each: see}
		if b.Begin {
			extend.Q = beginRuns
			if err := t.send(limitLocks(s.lockWait())); err != nil {
				return err
			}
		}
		if err := t.send(pg.Step{Q: noStandby}, extend); err != nil {
			return err
		}
		for i := range b.Progress {
			p := &b.Progress[i]
			if !held[store.Run{ID: p.ID, Token: p.Token}].Held {
				continue
			}
			if err := t.Progress(p); err != nil {
				return err
			}
		}
		missing := slices.DeleteFunc(slices.Clone(runs), func(r store.Run) bool { return held[r].Held })
		if len(missing) == 0 || b.Begin {
			return nil
		}
		ids, tokens = runVectors(missing)
		return t.send(pg.Step{Q: seeBeats, Args: []any{ids, tokens}, Each: see})
	})
	if err != nil {
		return nil, err
	}
	status = make([]store.RunStatus, len(b.Runs))
	for i, r := range b.Runs {
		status[i] = held[r]
	}
	return status, nil
}

func runVectors(runs []store.Run) (ids, tokens *pg.Vector) {
	ids, tokens = pg.Ints(len(runs)), pg.Ints(len(runs))
	for _, r := range runs {
		ids.Int(int64(r.ID))
		tokens.Int(int64(r.Token))
	}
	return ids, tokens
}
