package postgres

import (
	"strconv"

	"github.com/redrive/redrive/internal/sqlstore"
	"github.com/redrive/redrive/job"
)

// A row of redrive_events holds, besides the events of a transaction, what it has
// changed in the counters of jobs, in batches and in the figures. So no
// row that others want is written by every commit. Now and then the changes are
// folded into the tables of the counters and figures; readers add up both.
//
// What is folded is what is there to be seen, up to a number; the transactions that
// had a lower one and were under way then are kept beside it (late), and their rows
// are folded when they are there. So a late commit delays only its own row. One folds
// at a time, by a lock that nothing else takes but the sweep of events.

var (
	recordEvents = &sqlstore.Query{Name: "recordEvents"}
	lock         = &sqlstore.Query{Name: "lock"}
	lockLive     = &sqlstore.Query{Name: "lockLive"}
	countLive    = &sqlstore.Query{Name: "countLive"}
	nextSettings = &sqlstore.Query{Name: "nextSettings"}
	selReserved  = &sqlstore.Query{Name: "selReserved"}
	selVersion   = &sqlstore.Query{Name: "selVersion"}
	tryLock      = &sqlstore.Query{Name: "tryLock"}
	foldEvents   = &sqlstore.Query{Name: "foldEvents"}
	raiseBase    = &sqlstore.Query{Name: "raiseBase"}
)

// foldPart adds what the events of part have changed to the counters and batches.
const foldPart = `counters AS (
			INSERT INTO redrive_counters (lane, state, n)
			SELECT d.lane, d.state, sum(d.n) FROM part p, unnest(p.lanes, p.states, p.ns) AS d(lane, state, n)
			GROUP BY d.lane, d.state HAVING sum(d.n) <> 0
			ON CONFLICT (lane, state) DO UPDATE SET n = redrive_counters.n + excluded.n),
		batches AS (
			INSERT INTO redrive_batch_counts AS c (batch, total, completed, dead, cancelled, ripe)
			SELECT p.batches[i], sum(p.batches[i + 1]), sum(p.batches[i + 2]), sum(p.batches[i + 3]), sum(p.batches[i + 4]),
				CASE WHEN sum(p.batches[i + 1]) > 0 AND sum(p.batches[i + 1]) = sum(p.batches[i + 2] + p.batches[i + 3] + p.batches[i + 4]) THEN 1 ELSE 0 END
			FROM part p, generate_series(1, cardinality(p.batches), 5) AS i GROUP BY 1 ORDER BY 1
			ON CONFLICT (batch) DO UPDATE SET total = c.total + excluded.total, completed = c.completed + excluded.completed,
				dead = c.dead + excluded.dead, cancelled = c.cancelled + excluded.cancelled,
				ripe = CASE WHEN c.total + excluded.total > 0 AND c.total + excluded.total = c.completed + excluded.completed
					+ c.dead + excluded.dead + c.cancelled + excluded.cancelled THEN 1 ELSE 0 END)`

// partFigures are the figures of the events of part: for each event, its time, the size
// of its figures, and these. foldFigures adds them to redrive_figures.
const partFigures = `(SELECT string_agg(int8send(at) || int8send(octet_length(figures)) || figures, ''::bytea) FROM part WHERE figures IS NOT NULL)`

// unfolded are the rows whose changes are not folded yet.
const unfolded = `(SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches FROM redrive_events e
		WHERE e.seq > (SELECT value FROM redrive_meta WHERE key = 'folded')
		UNION ALL ` + lateEvents + `)`

// lateEvents are those of unfolded that came to be seen after rows with higher numbers
// were folded.
const lateEvents = `SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches FROM redrive_meta f
		CROSS JOIN LATERAL unnest(f.late) AS l(id) JOIN redrive_events e ON e.seq >= l.id << 20 AND e.seq < (l.id + 1) << 20
		WHERE f.key = 'folded'`

// lastNumber is the last transaction that has a number, before its base: of the
// events that are there, and of those that were folded or indexed, which a backup may lack.
const lastNumber = `SELECT greatest((SELECT max(seq) FROM redrive_events),
		(SELECT max(value) FROM redrive_meta WHERE key IN ('folded', 'owned'))) >> 20`

// numbered is whether the number is there that tells events of transactions: without it
// nobody knows which rows are still to come.
const numbered = `EXISTS (SELECT 1 FROM redrive_meta WHERE key = 'event_base')`

// eventStatements are the statements of this file and the locks of hooks.
var eventStatements = map[string]string{
	"selReserved": `SELECT value - 1 FROM redrive_meta WHERE key = 'next_id'`,
	"selVersion":  `SELECT value FROM redrive_meta WHERE key = 'settings'`,
	// The step is random: two servers that continue from the same version after a fail-over
	// do not come to the same one.
	"nextSettings": `UPDATE redrive_meta SET value = value + 1 + (random() * 1000000)::bigint WHERE key = 'settings'`,
	"recordEvents": `INSERT INTO redrive_events (seq, at, n, body, lanes, states, ns, figures, batches)
		SELECT (x.id << 20) + (SELECT count(*) FROM redrive_events WHERE seq >= x.id << 20 AND seq < (x.id + 1) << 20),
			$1, $2, $3, $4::text::bigint[], $5::text::smallint[], $6::text::bigint[], $7, $8::text::bigint[]
		FROM (SELECT pg_current_xact_id()::text::bigint + value AS id FROM redrive_meta WHERE key = 'event_base') x`,
	"lock":      `SELECT pg_advisory_xact_lock($1)`,
	"lockLive":  `SELECT count(*), count(*) FILTER (WHERE life > 1 AND state < 3) FROM (SELECT life, state FROM redrive_jobs WHERE id = ANY($1::text::bigint[]) ORDER BY id FOR UPDATE) l`,
	"countLive": `SELECT count(*) FROM redrive_jobs WHERE id = ANY($1::text::bigint[])`,
	"tryLock":   `SELECT pg_try_advisory_xact_lock($1)`,
	// Of a transaction that is under way no row is seen, and of another one all.
	"foldEvents": `WITH part AS MATERIALIZED (` + lateEvents + ` AND ` + numbered + `
			UNION ALL (SELECT seq, at, lanes, states, ns, figures, batches FROM redrive_events
				WHERE seq > (SELECT value FROM redrive_meta WHERE key = 'folded') AND ` + numbered + ` ORDER BY seq LIMIT $1)),
		` + foldPart + `,
		until AS (SELECT greatest(value, (SELECT max(seq) FROM part)) AS seq FROM redrive_meta WHERE key = 'folded')
		UPDATE redrive_meta SET value = (SELECT seq FROM until), late = ARRAY(
			SELECT u.id FROM (SELECT x::text::bigint + (SELECT value FROM redrive_meta WHERE key = 'event_base') AS id
				FROM pg_snapshot_xip(pg_current_snapshot()) AS x) u WHERE u.id <= (SELECT seq >> 20 FROM until))
		WHERE key = 'folded' AND EXISTS (SELECT 1 FROM part) RETURNING (SELECT count(*) FROM part), ` + partFigures,
	// The ids of transactions begin anew where a backup is restored into another
	// server; the numbers of events go on, see raise.
	"raiseBase": `UPDATE redrive_meta SET value = (` + lastNumber + `) + 1
		- pg_snapshot_xmax(pg_current_snapshot())::text::bigint
		WHERE key = 'event_base' AND value + pg_snapshot_xmax(pg_current_snapshot())::text::bigint
		<= (` + lastNumber + `)`,
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
	var batches array
	t.Batches(func(id, total, completed, dead, cancelled int64) {
		for _, n := range [...]int64{id, total, completed, dead, cancelled} {
			batches.add(n)
		}
	})
	events, figures := t.Events(), sqlstore.Value{}
	if packed := t.AppendFigures(nil); packed != nil {
		figures = sqlstore.Value{Kind: sqlstore.IsBlob, B: packed}
	}
	if events.Len() == 0 && len(lanes) == 0 && len(batches) == 0 && figures.B == nil {
		return nil
	}
	n, err := t.Session().Exec(recordEvents, sqlstore.Num(t.Now()), sqlstore.Num(events.Len()),
		sqlstore.Value{Kind: sqlstore.IsBlob, B: events.Bytes()}, lanes.value(), states.value(), ns.value(), figures,
		batches.value())
	if err == nil && n == 0 {
		err = sqlstore.ErrNoMeta
	}
	return err
}

// recordFast is recordEvents for a transaction that writes one row for sure.
const recordFast = `INSERT INTO redrive_events (seq, at, n, body, lanes, states, ns, figures, batches)
	SELECT (pg_current_xact_id()::text::bigint + value) << 20, $1::bigint, $2::bigint, $3::bytea, $4::bigint[],
		$5::bigint[]::smallint[], $6::bigint[], $7::bytea, $8::bigint[]
	FROM redrive_meta WHERE key = 'event_base'`

// recordStep is record as a step, none when there is nothing to write.
func recordStep(t *sqlstore.Txn) []step {
	lanes, states, ns := ints(8), ints(8), ints(8)
	t.Deltas(func(lane int64, state job.State, n int64) {
		lanes.int(lane)
		states.int(int64(state))
		ns.int(n)
	})
	batches := ints(0)
	t.Batches(func(id, total, completed, dead, cancelled int64) {
		for _, n := range [...]int64{id, total, completed, dead, cancelled} {
			batches.int(n)
		}
	})
	events, figures := t.Events(), t.AppendFigures(nil)
	if events.Len() == 0 && lanes.n == 0 && batches.n == 0 && figures == nil {
		return nil
	}
	args := []any{int64(t.Now()), int64(events.Len()), events.Bytes(), lanes, states, ns, nil, nil}
	if figures != nil {
		args[6] = figures
	}
	if batches.n > 0 {
		args[7] = batches
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
func (s *Store) fold(c *session) (more bool, err error) {
	got, err := sqlstore.ReadInt(c, tryLock, sqlstore.Num(s.folds))
	if err != nil || got == 0 {
		return false, err
	}
	var n int64
	var figures []byte
	err = c.Rows(foldEvents, func(r sqlstore.Row) error { n, figures = r.Int(0), r.Blob(1); return nil }, sqlstore.Num(foldMax))
	if err == nil {
		err = foldFigures(c, figures)
	}
	return n >= foldMax, err
}
