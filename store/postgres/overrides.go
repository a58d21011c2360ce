package postgres

import "github.com/redrive/redrive/internal/sqlstore"

// amended are the shared statements in which a part has to be said otherwise: the
// conditions of partial indexes, where SQLite's statement names the index, and the
// locks on rows that are read to be written, which others write, too.
var amended = map[string]struct{ from, to string }{
	"selRun":           {`state = 3`, `state = 3 FOR UPDATE`},
	"selAny":           {`WHERE id = ?`, `WHERE id = ? FOR UPDATE`},
	"selExpiredLeases": {`LIMIT ?2`, `LIMIT ?2 FOR UPDATE SKIP LOCKED`},
	"selNextLease":     {`state = 3`, `state = 3 AND lease_until IS NOT NULL`},
	"selRunning":       {`j.state = 3`, `j.state = 3 AND j.lease_until IS NOT NULL`},

	// A join of the ids with a table could begin with the table. A lateral part looks up each id.
	"severalLive": eachOf("redrive_jobs", "id"),
	"severalDone": eachOf("redrive_done", "job"),
	"severalDead": eachOf("redrive_dead", "job"),
	"severalDied": eachOf("redrive_dead", "death"), "severalListed": eachOf("redrive_dead", "death"), "severalListedJobs": eachOf("redrive_dead", "death"),
	"severalTrends": {`redrive_trends j`, `LATERAL (SELECT * FROM redrive_trends WHERE grp = CAST(i.value AS BIGINT) AND at > ?2 OFFSET 0) j`},
	"severalJobs":   oneOf("redrive_dead", "job"), "severalMessages": oneOf("redrive_dead", "job"), "severalDeadCauses": oneOf("redrive_dead", "job"),
	"pickedLive": withAttrs, "pickedDone": withAttrs, "pickedDead": withAttrs, "pickedEnded": withAttrs,
	"severalLatest": lastFailure(`redrive_failures
		WHERE`),
	"severalCauses": lastFailure(`redrive_failures j
		WHERE`),
}

func lastFailure(from string) struct{ from, to string } {
	return struct{ from, to string }{from, `LATERAL (SELECT * FROM redrive_failures WHERE job = CAST(i.value AS BIGINT) ORDER BY token DESC LIMIT 1) j
		WHERE`}
}

// withAttrs makes the filter of a list look for bytes in the attributes.
var withAttrs = struct{ from, to string }{`instr(j.attrs, ?11) > 0 OR instr(j.attrs, X'5C') > 0`,
	`position(CAST(?11 AS bytea) IN j.attrs) > 0 OR position('\x5c'::bytea IN j.attrs) > 0`}

// oneOf makes a statement for several ids look up each of them in a table.
func oneOf(table, id string) struct{ from, to string } {
	return struct{ from, to string }{table + ` j`, `LATERAL (SELECT * FROM ` + table + ` WHERE ` + id + ` = CAST(i.value AS BIGINT) OFFSET 0) j`}
}

// eachOf makes a statement for several ids look up each of them in a table, and then its lane.
func eachOf(table, id string) struct{ from, to string } {
	return struct{ from, to string }{table + ` j CROSS JOIN redrive_lanes l`,
		`LATERAL (SELECT * FROM ` + table + ` WHERE ` + id + ` = CAST(i.value AS BIGINT) OFFSET 0) j
		CROSS JOIN LATERAL (SELECT * FROM redrive_lanes WHERE id = j.lane OFFSET 0) l`}
}

// overrides are the shared statements that PostgreSQL needs in other words than
// translate finds, by their names. Tables are named without the schema.
var overrides = map[string]string{
	// Numbers without gaps, in the order of commits: the row that counts them is
	// locked until the end of the transaction.
	"insAudit": `WITH number AS (UPDATE redrive_meta SET value = value + 1 WHERE key = 'audit' RETURNING value)
		INSERT INTO redrive_audit (seq, at, actor, action, target, reason, before, after, via, owner)
		SELECT value, $1, $2, $3, $4, $5, $6, $7, $8, $9 FROM number`,
	"insRedrive": `WITH number AS (UPDATE redrive_meta SET value = value + 1 WHERE key = 'redrives' RETURNING value)
		INSERT INTO redrive_redrives (id, spec, policy, state, by, reason, created_at, last_at, key)
		SELECT value, $1, $2, $3, $4, $5, $6, $6, $7 FROM number RETURNING id`,

	// The order begins with the column of the index. So the planner cannot choose to walk
	// over the primary key, which would take long for somebody who has done little.
	"walkAuditActor": `SELECT seq, at, actor, action, target, reason, before, after, via, owner FROM redrive_audit
		WHERE actor >= $1 AND (actor, seq) < ($1, $2) ORDER BY actor DESC, seq DESC`,
	"walkAuditTarget": `SELECT seq, at, actor, action, target, reason, before, after, via, owner FROM redrive_audit
		WHERE target = $1 AND substr(target, 1, 256) >= substr($1, 1, 256)
		AND (substr(target, 1, 256), seq) < (substr($1, 1, 256), $2) ORDER BY substr(target, 1, 256) DESC, seq DESC`,

	// Counters and figures are what is folded, and what later events have changed.
	"selCounters": `SELECT lane, state, sum(n) FROM ` + countersNow + ` GROUP BY lane, state`,
	"selCounts": `SELECT l.queue, l.kind, c.state, sum(c.n) FROM ` + countersNow + `
		JOIN redrive_lanes l ON l.id = c.lane GROUP BY l.queue, l.kind, c.state HAVING sum(c.n) <> 0
		ORDER BY l.queue, l.kind, c.state`,
	"walkFigures": `SELECT at, lane, body FROM redrive_figures WHERE unit = $1 AND at >= $2 AND at < $3` + unfoldedFigures,
	"laneFigures": `SELECT f.at, f.lane, f.body FROM generate_series($2::bigint, $3::bigint - 1, $4::bigint) t(at)
		CROSS JOIN LATERAL (SELECT at, lane, body FROM redrive_figures WHERE unit = $1 AND at = t.at
		AND lane = ANY (ARRAY(SELECT value::bigint FROM json_array_elements_text($5::text::json) i(value))) OFFSET 0) f` + unfoldedFigures,
	"allFigures": `SELECT at, lane, body, unit FROM redrive_figures
		UNION ALL SELECT e.at, -1, e.figures, 0 FROM ` + unfolded + ` e WHERE e.figures IS NOT NULL`,

	// A join of the ids with the table could begin with the table. A lateral part looks up each id.
	"pickSome": `SELECT ` + sqlstore.PickColumns + ` FROM ` + eachID + `
		CROSS JOIN LATERAL (SELECT * FROM redrive_jobs WHERE id = i.value::bigint OFFSET 0) j ORDER BY id`,

	// The index of ready jobs has no state: waiting and retrying jobs are read together.
	"firstDue": `WITH priorities(n) AS (VALUES (1), (2), (3), (4)) SELECT l.id, p.n, 1,
		(SELECT h.run_at FROM redrive_jobs h WHERE h.lane = l.id AND h.priority = p.n AND h.state < 3
			AND h.run_at >= $1 ORDER BY h.run_at LIMIT 1)
		FROM redrive_lanes l CROSS JOIN priorities p
		WHERE ($4::bigint IS NULL OR $4::bigint < 3) AND ($2::text IS NULL OR l.queue = $2) AND ($3::text IS NULL OR l.kind = $3)`,
	// The first jobs of lanes and priorities; SQLite has no LATERAL.
	"listDue": `SELECT i.value::bigint, j.id, j.run_at FROM json_array_elements_text($4::text::json) i(value)
		CROSS JOIN LATERAL (
			SELECT h.id, h.run_at FROM redrive_jobs h WHERE h.lane = i.value::bigint / 16 AND h.priority = i.value::bigint % 8 AND h.state < 3
			AND (h.run_at, h.id) > ($1::bigint, $2::bigint) ORDER BY h.run_at, h.id LIMIT $3::bigint) j`,
	"countDue": `SELECT i, (SELECT count(*) FROM (SELECT 1 FROM redrive_jobs WHERE state = 2
		AND run_at > CASE i WHEN 0 THEN -9223372036854775807 ELSE $1::bigint + (i - 1) * 60000000 END
		AND run_at <= $1::bigint + i * 60000000 LIMIT 1000) r) FROM generate_series(0, $2::bigint) i ORDER BY i`,
	"selHeads": `WITH priorities(n) AS (VALUES (1), (2), (3), (4)) SELECT l.queue, l.kind,
		(SELECT run_at FROM redrive_jobs WHERE lane = l.id AND priority = p.n AND state < 3 ORDER BY run_at LIMIT 1),
		(SELECT run_at FROM redrive_jobs WHERE lane = l.id AND priority = p.n AND state < 3 AND run_at > $1 ORDER BY run_at LIMIT 1)
		FROM redrive_lanes l CROSS JOIN priorities p`,

	// Events are read up to the oldest transaction that may still write some, and
	// removed when they are folded.
	"selEvents": `SELECT seq, at, body FROM redrive_events WHERE seq >= $1 AND n > 0 AND seq < (SELECT
		(pg_snapshot_xmin(pg_current_snapshot())::text::bigint + value) << 20 FROM redrive_meta WHERE key = 'event_base')
		ORDER BY seq LIMIT $2`,
	"walkUnindexed": `SELECT seq, at, n, body FROM redrive_events WHERE seq > $1 AND n > 0 AND seq < ` + inSightUntil + ` ORDER BY seq`,
	"selLastEvent":  `SELECT seq, n FROM redrive_events WHERE n > 0 AND seq < ` + inSightUntil + ` ORDER BY seq DESC LIMIT 1`,
	"allEvents":     `SELECT seq, at, body FROM redrive_events WHERE n > 0 ORDER BY seq`,
	// Those that are not folded yet are folded as they go. Nobody else folds
	// meanwhile: whoever does so has the lock of folding.
	"delEvents": `WITH gone AS (
			DELETE FROM redrive_events WHERE seq <= $1 RETURNING seq, at, lanes, states, ns, figures, batches),
		part AS (SELECT g.* FROM gone g JOIN redrive_meta f ON f.key = 'folded' WHERE g.seq > f.value OR g.seq >> 20 = ANY (f.late)),
		` + foldPart + `
		SELECT ` + partFigures,
}

// besideOthers are the statements that are asked only where there are other writers:
// in SQLite's words there are none.
var besideOthers = map[string]string{
	"selLaneOfRun": `SELECT lane FROM redrive_jobs WHERE id = $1 AND token = $2 AND state = 3`,
	"selLastDeath": `SELECT greatest(coalesce((SELECT max(death) FROM redrive_dead), 0),
		coalesce((SELECT value FROM redrive_meta WHERE key = 'deaths'), 0)),
		(SELECT died_at FROM redrive_dead ORDER BY death DESC LIMIT 1)`,
	"pickAgain": `SELECT x.*, ` + overtaken + ` FROM (SELECT ` + sqlstore.PickColumns + `, ` + `j.` + writtenBy + `
		FROM redrive_jobs j WHERE j.id = ANY(` + theIDs + `)) x`,
	"moveCancelled": `WITH d AS (
		DELETE FROM redrive_jobs j WHERE j.id = ANY(` + theIDs + `) AND j.state <> 3
		RETURNING j.id, j.lane, j.priority, j.token, j.life, j.attempts, j.crashes, j.deferrals, j.snoozes, j.interrupts,
			j.created_at, j.life_at, j.claimed_at, j.holder, j.owner, j.correlation, j.key, j.batch)
		INSERT INTO redrive_done (job, lane, state, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts,
			created_at, life_at, claimed_at, finished_at, holder, owner, correlation, key, batch)
		SELECT id, lane, 6, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts,
			created_at, life_at, claimed_at, $2::bigint, holder, owner, correlation, key, batch FROM d ORDER BY id`,
	"delCancelledBodies": `DELETE FROM redrive_bodies WHERE job = ANY(` + theIDs + `)`,
	"walkRetries": `SELECT ` + sqlstore.ListLive + ` FROM redrive_jobs j JOIN redrive_lanes l ON l.id = j.lane
		WHERE j.state = 2 AND j.run_at > $1 ORDER BY j.run_at, j.id LIMIT $2`,
	"walkRetriesAt": `SELECT ` + sqlstore.ListLive + ` FROM redrive_jobs j JOIN redrive_lanes l ON l.id = j.lane
		WHERE j.state = 2 AND j.run_at = $1 AND j.id > $2 ORDER BY j.id LIMIT $3`,
	"selPlace": `SELECT state, token, life FROM (SELECT 1 AS place, state, token, life FROM redrive_jobs WHERE id = $1
		UNION ALL SELECT 2, state, token, life FROM (SELECT state, token, life FROM redrive_done WHERE job = $1 ORDER BY seq DESC LIMIT 1) d
		UNION ALL SELECT 3, 5, token, life FROM redrive_dead WHERE job = $1 AND revived = 0) p ORDER BY place LIMIT 1`,
}

// unfoldedFigures adds the figures of events that are not folded yet to a statement that reads
// figures from the time $2 until $3.
const unfoldedFigures = ` UNION ALL SELECT e.at, -1, e.figures FROM ` + unfolded + ` e WHERE e.figures IS NOT NULL AND e.at >= $2 AND e.at < $3`

// theIDs are the ids of a JSON array as an array of PostgreSQL.
const theIDs = `translate($1::text, '[]', '{}')::bigint[]`

// eachID are the ids of a JSON array, each a row of i.
const eachID = `json_array_elements_text($1::text::json) i(value)`

// countersNow are the counters of jobs: rows of (lane, state, n), several of one
// lane and state.
const countersNow = `(SELECT lane, state, n FROM redrive_counters
		UNION ALL SELECT d.lane, d.state, d.n FROM ` + unfolded + ` e, unnest(e.lanes, e.states, e.ns) AS d(lane, state, n)) c`

// ownText is the text of a statement that is this package's own, or that is a
// shared one in other words; "" is neither.
func ownText(name string) string {
	for _, texts := range []map[string]string{overrides, besideOthers, eventStatements, rescueStatements, joinStatements, batchStatements, sightStatements, followStatements} {
		if text, ok := texts[name]; ok {
			return text
		}
	}
	return ""
}
