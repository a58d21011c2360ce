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

// A heartbeat waits for no job: a transaction of the program's own that has called
// CompleteTx holds the row of its run for as long as it is open, and the leases of
// all the others would run out meanwhile.
const (
	// A heartbeat waits for the disk and for no standby: without one, all runs would
	// lose their leases. A fail-over loses the latest extension at most.
	noStandby = `SET LOCAL synchronous_commit = local`
	setBeats  = `WITH free AS MATERIALIZED (
		SELECT j.id FROM unnest($2::bigint[], $3::bigint[]) AS t(id, token) JOIN redrive_jobs j ON j.id BETWEEN t.id AND t.id
		WHERE j.token = t.token AND j.state = 3 FOR UPDATE OF j SKIP LOCKED)
		UPDATE redrive_jobs j SET lease_until = $1::bigint FROM free WHERE j.id BETWEEN free.id AND free.id
		RETURNING j.id, j.token, (j.cancel_at IS NOT NULL)::int`
	// beginRuns is setBeats for runs that begin. It waits for locks, because a run whose row
	// was passed over would begin without the mark.
	beginRuns = `WITH mine AS MATERIALIZED (
		SELECT j.id FROM unnest($2::bigint[], $3::bigint[]) AS t(id, token) JOIN redrive_jobs j ON j.id BETWEEN t.id AND t.id
		WHERE j.token = t.token AND j.state = 3 ORDER BY t.id FOR UPDATE OF j)
		UPDATE redrive_jobs j SET lease_until = $1::bigint, begun = j.token FROM mine WHERE j.id BETWEEN mine.id AND mine.id
		RETURNING j.id, j.token, (j.cancel_at IS NOT NULL)::int`
	// What setBeats has not returned and is there all the same, is held by somebody
	// else, who most likely ends it.
	seeBeats = `SELECT j.id, j.token, (j.cancel_at IS NOT NULL)::int
		FROM unnest($1::bigint[], $2::bigint[]) AS t(id, token) JOIN redrive_jobs j ON j.id BETWEEN t.id AND t.id
		WHERE j.token = t.token AND j.state = 3`
)

// rescueStatements find the runs whose lease is over while others have the graves:
// those whose end does not concern these, and the others. Those whose rows are locked are not rescued:
// somebody is just ending them.
var rescueStatements = map[string]string{
	"selExpiredFirst": expiredRuns + ` AND ` + graveless + rescueOrder,
	"selExpiredLast":  expiredRuns + ` AND NOT ` + graveless + rescueOrder,
}

const (
	expiredRuns = `SELECT ` + sqlstore.RunColumns + ` FROM redrive_jobs WHERE state = 3 AND lease_until <= $1`
	// At its last crash a job dies; one that was brought back and is cancelled has a
	// dead letter.
	graveless   = `(crashes + 1 < coalesce(crash_max, 0) AND (cancel_at IS NULL OR life = 1))`
	rescueOrder = ` ORDER BY lease_until, id LIMIT $2 FOR UPDATE SKIP LOCKED`
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
		extend := step{name: "setBeats", text: setBeats, args: []any{int64(t.Now().Add(b.Lease)), ids, tokens}, each: see}
		if b.Begin {
			extend.name, extend.text = "beginRuns", beginRuns
			if err := t.send(limitLocks(s.lockWait())); err != nil {
				return err
			}
		}
		if err := t.send(step{name: "noStandby", text: noStandby}, extend); err != nil {
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
		return t.send(step{name: "seeBeats", text: seeBeats, args: []any{ids, tokens}, each: see})
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

func runVectors(runs []store.Run) (ids, tokens *vector) {
	ids, tokens = ints(len(runs)), ints(len(runs))
	for _, r := range runs {
		ids.int(int64(r.ID))
		tokens.int(int64(r.Token))
	}
	return ids, tokens
}
