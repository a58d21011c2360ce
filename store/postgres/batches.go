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

// batchDeltas are the changes of the counts of batches that are not folded yet: rows of
// (batch, total, completed, dead, cancelled).
const batchDeltas = `SELECT e.batches[i] AS batch, e.batches[i + 1] AS total, e.batches[i + 2] AS completed, e.batches[i + 3] AS dead,
		e.batches[i + 4] AS cancelled FROM ` + unfolded + ` e, generate_series(1, cardinality(e.batches), 5) AS i`

// countsNow are the sums of the counts of batches that fit a condition.
func countsNow(condition string) string {
	return `SELECT sum(total)::bigint, sum(completed)::bigint, sum(dead)::bigint, sum(cancelled)::bigint, batch FROM (
		SELECT batch, total, completed, dead, cancelled FROM redrive_batch_counts
		UNION ALL ` + batchDeltas + `) c WHERE ` + condition + ` GROUP BY batch`
}

const batchRow = `SELECT id, owner, key, name, attrs, callbacks, state, task, task_at, task_through, drafts, asides, outcome,
	created_at, published_at, ended_at, expires_at, created_by FROM redrive_batches WHERE id = $1`

var batchStatements = map[string]string{
	"takeBatchRow":   batchRow + ` FOR UPDATE`,
	"joinBatchRow":   batchRow + ` FOR SHARE`,
	"selBatchCounts": countsNow(`batch = $1`),
	"severalCounts":  countsNow(`batch = ANY(` + theIDs + `)`),
	"allCounts":      countsNow(`true`),
	"countRunning":   `SELECT count(*) FROM redrive_jobs WHERE lease_until IS NOT NULL AND state = 3 AND batch = $1`,
	"sumRunning":     `SELECT batch, count(*) FROM redrive_jobs WHERE lease_until IS NOT NULL AND state = 3 AND batch > 0 GROUP BY batch`,
	"insDraft": `INSERT INTO redrive_drafts (job, batch, aside, lane, priority, run_at, deadline, correlation, key, attrs, policy,
			terms, long, payload, replaces, created_at)
		SELECT $1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::bigint, $7::bigint, $8::text, $9::text, $10::bytea, $11::bytea,
			$12::bigint, $13::bigint, $14::bytea, $15::bigint, $16::bigint
		WHERE NOT EXISTS (SELECT 1 FROM redrive_jobs WHERE id = $1::bigint) ON CONFLICT (job) DO NOTHING`,
	"selRipe": `SELECT c.batch FROM redrive_batch_counts c WHERE c.ripe = 1 ORDER BY c.batch LIMIT 100`,
	"clearRipe": `UPDATE redrive_batch_counts c SET ripe = 0 FROM (SELECT id FROM redrive_batches WHERE id = $1 FOR UPDATE SKIP LOCKED) b
		WHERE c.batch = b.id AND c.ripe = 1`,
}

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
