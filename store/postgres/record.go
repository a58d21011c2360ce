package postgres

import (
	"strconv"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// A row of redrive_events holds, besides the events of a transaction, what it has
// changed in the counters of jobs and in the figures of the hour. So no row that
// others want is written by every commit. Now and then the changes are folded
// into the tables of the counters and figures; readers add up both.

var (
	recordEvents = &sqlstore.Query{Name: "recordEvents"}
	lock         = &sqlstore.Query{Name: "lock"}
	lockLive     = &sqlstore.Query{Name: "lockLive"}
	countLive    = &sqlstore.Query{Name: "countLive"}
	nextSettings = &sqlstore.Query{Name: "nextSettings"}
	selReserved  = &sqlstore.Query{Name: "selReserved"}
	foldLock     = &sqlstore.Query{Name: "foldLock"}
	foldEvents   = &sqlstore.Query{Name: "foldEvents"}
	raiseBase    = &sqlstore.Query{Name: "raiseBase"}
)

// foldPart adds what the events of part have changed to the counters and figures.
const foldPart = `counters AS (
			INSERT INTO redrive_counters (lane, state, n)
			SELECT d.lane, d.state, sum(d.n) FROM part p, unnest(p.lanes, p.states, p.ns) AS d(lane, state, n)
			GROUP BY d.lane, d.state HAVING sum(d.n) <> 0
			ON CONFLICT (lane, state) DO UPDATE SET n = redrive_counters.n + excluded.n),
		hours AS (
			INSERT INTO redrive_hours (at, completed, recovered, dead, exhausted, retries, retry_cost)
			SELECT at - at % 3600000000, sum(hour[1]), sum(hour[2]), sum(hour[3]), sum(hour[4]), sum(hour[5]), sum(hour[6])
			FROM part WHERE hour IS NOT NULL GROUP BY 1
			ON CONFLICT (at) DO UPDATE SET completed = redrive_hours.completed + excluded.completed,
				recovered = redrive_hours.recovered + excluded.recovered, dead = redrive_hours.dead + excluded.dead,
				exhausted = redrive_hours.exhausted + excluded.exhausted, retries = redrive_hours.retries + excluded.retries,
				retry_cost = redrive_hours.retry_cost + excluded.retry_cost)`

// eventStatements are the statements of this file, and the lock that all need.
var eventStatements = map[string]string{
	"selReserved":  `SELECT value - 1 FROM redrive_meta WHERE key = 'next_id'`,
	"nextSettings": `UPDATE redrive_meta SET value = value + 1 WHERE key = 'settings'`,
	"recordEvents": `INSERT INTO redrive_events (seq, at, n, body, lanes, states, ns, hour)
		SELECT (x.id << 20) + (SELECT count(*) FROM redrive_events WHERE seq >= x.id << 20 AND seq < (x.id + 1) << 20),
			$1, $2, $3, $4::text::bigint[], $5::text::smallint[], $6::text::bigint[], $7::text::bigint[]
		FROM (SELECT pg_current_xact_id()::text::bigint + value AS id FROM redrive_meta WHERE key = 'event_base') x`,
	"lock":      `SELECT pg_advisory_xact_lock($1)`,
	"lockLive":  `SELECT count(*) FROM (SELECT 1 FROM redrive_jobs WHERE id = ANY($1::text::bigint[]) ORDER BY id FOR UPDATE) l`,
	"countLive": `SELECT count(*) FROM redrive_jobs WHERE id = ANY($1::text::bigint[])`,
	"selGraves": `SELECT greatest(coalesce((SELECT max(death) FROM redrive_dead), 0),
		coalesce((SELECT value FROM redrive_meta WHERE key = 'deaths'), 0)),
		(SELECT died_at FROM redrive_dead ORDER BY death DESC LIMIT 1)`,
	"selPlace": `SELECT state, token FROM (SELECT 1 AS place, state, token FROM redrive_jobs WHERE id = $1
		UNION ALL SELECT 2, state, token FROM (SELECT state, token FROM redrive_done WHERE job = $1 ORDER BY seq DESC LIMIT 1) d
		UNION ALL SELECT 3, 5, token FROM redrive_dead WHERE job = $1 AND revived = 0) p ORDER BY place LIMIT 1`,
	"foldLock": `SELECT pg_try_advisory_xact_lock($1)`,
	// What is below the oldest transaction under way gets no more rows.
	"foldEvents": `WITH part AS MATERIALIZED (
			SELECT seq, at, lanes, states, ns, hour FROM redrive_events
			WHERE seq > (SELECT value FROM redrive_meta WHERE key = 'folded')
			AND seq < (SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::bigint + value) << 20
				FROM redrive_meta WHERE key = 'event_base')
			ORDER BY seq LIMIT $1),
		` + foldPart + `
		UPDATE redrive_meta SET value = (SELECT max(seq) FROM part) WHERE key = 'folded' AND EXISTS (SELECT 1 FROM part)`,
	// The ids of transactions begin anew where a backup is restored into another
	// server; the numbers of events go on.
	"raiseBase": `UPDATE redrive_meta SET value = (SELECT max(seq) >> 20 FROM redrive_events) + 1
		- pg_snapshot_xmax(pg_current_snapshot())::text::bigint
		WHERE key = 'event_base' AND value + pg_snapshot_xmax(pg_current_snapshot())::text::bigint
		<= (SELECT max(seq) >> 20 FROM redrive_events)`,
}

// record writes the events of a transaction and what it has changed in counters
// and figures. It is the last statement of the transaction.
func record(t *sqlstore.Txn) error {
	var lanes, states, ns array
	t.Deltas(func(lane int64, state job.State, n int64) {
		lanes.add(lane)
		states.add(int64(state))
		ns.add(n)
	})
	events, hour := t.Events(), t.Hour()
	if events.Len() == 0 && len(lanes) == 0 && hour == (store.Hour{}) {
		return nil
	}
	var hours array
	if hour != (store.Hour{}) {
		for _, n := range []int64{hour.Completed, hour.Recovered, hour.Dead, hour.Exhausted, hour.Retries, hour.RetryCost} {
			hours.add(n)
		}
	}
	_, err := t.Session().Exec(recordEvents, sqlstore.Num(t.Now()), sqlstore.Num(events.Len()),
		sqlstore.Value{Kind: sqlstore.IsBlob, B: events.Bytes()}, lanes.value(), states.value(), ns.value(), hours.value())
	return err
}

// recordFast is recordEvents for a transaction that writes one row for sure.
const recordFast = `INSERT INTO redrive_events (seq, at, n, body, lanes, states, ns, hour)
	SELECT (pg_current_xact_id()::text::bigint + value) << 20, $1::bigint, $2::bigint, $3::bytea, $4::bigint[],
		$5::bigint[]::smallint[], $6::bigint[], $7::bigint[]
	FROM redrive_meta WHERE key = 'event_base'`

// recordStep is record as a step, none when there is nothing to write.
func recordStep(t *sqlstore.Txn) []step {
	lanes, states, ns := ints(8), ints(8), ints(8)
	t.Deltas(func(lane int64, state job.State, n int64) {
		lanes.int(lane)
		states.int(int64(state))
		ns.int(n)
	})
	events, h := t.Events(), t.Hour()
	if events.Len() == 0 && lanes.n == 0 && h == (store.Hour{}) {
		return nil
	}
	args := []any{int64(t.Now()), int64(events.Len()), events.Bytes(), lanes, states, ns, nil}
	if h != (store.Hour{}) {
		hour := ints(6)
		for _, n := range [...]int64{h.Completed, h.Recovered, h.Dead, h.Exhausted, h.Retries, h.RetryCost} {
			hour.int(n)
		}
		args[6] = hour
	}
	return []step{{name: "recordFast", text: recordFast, args: args}}
}

// array is an array of numbers in PostgreSQL's text form, while it is written.
type array []byte

func (a *array) add(n int64) {
	if len(*a) == 0 {
		*a = append(*a, '{')
	} else {
		*a = append(*a, ',')
	}
	*a = strconv.AppendInt(*a, n, 10)
}

// value returns the array, NULL when nothing was added.
func (a array) value() sqlstore.Value {
	if len(a) == 0 {
		return sqlstore.Value{}
	}
	return sqlstore.Value{Kind: sqlstore.IsText, S: string(a) + "}"}
}

// foldMax bounds the rows that are folded at a time.
const foldMax = 20_000

// fold folds the changes of earlier transactions in, unless another process is
// at it. It reports whether there may be more.
func (s *Store) fold(c sqlstore.Session) (more bool, err error) {
	got, err := sqlstore.ReadInt(c, foldLock, sqlstore.Num(s.graves))
	if err != nil || got == 0 {
		return false, err
	}
	n, err := c.Exec(foldEvents, sqlstore.Num(foldMax))
	return n > 0, err
}
