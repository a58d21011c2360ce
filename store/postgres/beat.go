package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

const setBeats = `UPDATE redrive_jobs j SET lease_until = $1::bigint FROM unnest($2::bigint[], $3::bigint[]) AS t(id, token)
	WHERE j.id = t.id AND j.token = t.token AND j.state = 3
	RETURNING j.id, j.token, (j.cancel_at IS NOT NULL)::int`

// Heartbeat implements store.Worker.
func (s *Store) Heartbeat(ctx context.Context, b store.Beat) (status []store.RunStatus, err error) {
	if b.Lease <= 0 {
		return nil, fmt.Errorf("lease %s: must be above zero: %w", b.Lease, store.ErrInvalid)
	}
	if len(b.Runs) == 0 {
		return nil, nil
	}
	runs := slices.SortedFunc(slices.Values(b.Runs), func(x, y store.Run) int { return cmp.Compare(x.ID, y.ID) })
	ids, tokens := ints(len(runs)), ints(len(runs))
	for _, r := range runs {
		ids.int(int64(r.ID))
		tokens.int(int64(r.Token))
	}
	held := make(map[store.Run]store.RunStatus, len(runs))
	err = s.fast(ctx, func(t *fastTxn) error {
		clear(held)
		err := t.send(step{name: "setBeats", text: setBeats, args: []any{int64(t.Now().Add(b.Lease)), ids, tokens},
			each: func(r sqlstore.Row) error {
				held[store.Run{ID: job.ID(r.Int(0)), Token: job.Token(r.Int(1))}] = store.RunStatus{Held: true, Cancel: r.Int(2) != 0}
				return nil
			}})
		if err != nil {
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
		return nil
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
