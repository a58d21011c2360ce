-- The statements of the SQLite store, as SQLite prepares them.
--
-- A line "-- name: X" begins the statement that package internal/sqlstore asks for by the name X. The file of the
-- PostgreSQL store has a statement of the same name with the same columns. ":own" marks a statement that only this
-- store has: the other one has statements of its own that read or write many rows at once. Comment lines below a
-- name belong to the statement. Nothing in the text is replaced.
--
-- ?1, ?2 … are the arguments in the order of the call. +?1 and +column are the same values; the plus keeps SQLite's
-- planner from compiling a statement again for each value, or from an index that would be slower.

-- ----------------------------------------------------------------------------
-- Lanes, queues, numbers and counters
-- ----------------------------------------------------------------------------

-- name: selLanes
SELECT id, queue, kind, deps, gate FROM redrive_lanes ORDER BY id;

-- name: selCounters
SELECT lane, state, n FROM redrive_counters;

-- name: selQueues
SELECT name, mode, workers, lim, rate_n, rate_per FROM redrive_queues ORDER BY name;

-- name: selRates
SELECT scope, arrival FROM redrive_rates;

-- name: selEnded
-- The highest id of a job that has ended or died: ids that are reserved later are above it.
SELECT max(coalesce((SELECT max(job) FROM redrive_done), 0), coalesce((SELECT max(job) FROM redrive_dead), 0));

-- name: selDeaths
-- The number of the newest death, and the hash of the rules of notifications in force.
SELECT max(
  coalesce((SELECT max(death) FROM redrive_dead), 0),
  coalesce((SELECT value FROM redrive_meta WHERE key = 'deaths'), 0)),
  (SELECT hash FROM redrive_rules ORDER BY number DESC LIMIT 1);

-- name: insLane
INSERT INTO redrive_lanes (id, queue, kind, deps) VALUES (?, ?, ?, ?);

-- name: insQueue
INSERT INTO redrive_queues (name) VALUES (?);

-- name: addCounter :own
INSERT INTO redrive_counters (lane, state, n) VALUES (?1, ?2, ?3) ON CONFLICT (lane, state) DO UPDATE SET n = n + ?3;

-- name: setRate
INSERT INTO redrive_rates (scope, arrival) VALUES (?1, ?2) ON CONFLICT (scope) DO UPDATE SET arrival = ?2;

-- name: addNextID
UPDATE redrive_meta SET value = value + ? WHERE key = 'next_id' RETURNING value;

-- name: insEvents :own
INSERT INTO redrive_events (at, n, body) VALUES (?, ?, ?);

-- name: askCancel
UPDATE redrive_jobs SET cancel_at = ?2 WHERE id = ?1 AND state = 3 AND cancel_at IS NULL;

-- name: setQueueRow
UPDATE redrive_queues SET mode = ?2, workers = ?3, lim = ?4, rate_n = ?5, rate_per = ?6 WHERE name = ?1;

-- ----------------------------------------------------------------------------
-- New jobs, keys and terms
-- ----------------------------------------------------------------------------

-- name: insJob
INSERT INTO redrive_jobs (
  id, lane, state, priority, run_at, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at,
  life_at, deadline, owner, correlation, key, batch, attrs, policy, terms, long, payload)
VALUES (?1, ?2, 1, ?3, ?4, 0, 1, 0, 0, 0, 0, 0, ?5, max(?4, ?5), ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?15, ?13, ?14)
ON CONFLICT (id) DO NOTHING;

-- name: insPlainJob
-- insPlainJob inserts a job that has none of the optional columns. It is faster than insJob, because it has
-- fewer bound values, and each of them costs time.
INSERT INTO redrive_jobs (
  id, lane, state, priority, run_at, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at,
  life_at, payload)
VALUES (?1, ?2, 1, ?3, ?4, 0, 1, 0, 0, 0, 0, 0, ?5, max(?4, ?5), ?6)
ON CONFLICT (id) DO NOTHING;

-- name: insBody
INSERT INTO redrive_bodies (job, payload) VALUES (?, ?);

-- name: selKey
SELECT job, digest, until, state, created_at FROM redrive_keys WHERE owner = ? AND kind = ? AND key = ?;

-- name: selProcessed
SELECT job, until, state, result FROM redrive_keys WHERE owner = ?1 AND kind = ?2 AND key = ?3;

-- name: putKey
-- If the key belongs to a job that has ended, ?8 is the created_at value of the key's row; see job.AliveKey.
-- Each job that takes such a key increases created_at. So if two calls have read the same row, only one of
-- them changes the row.
INSERT INTO redrive_keys (owner, kind, key, job, digest, created_at, until)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (owner, kind, key) DO UPDATE SET job = ?4, digest = ?5, created_at = max(?6, redrive_keys.created_at + 1),
    until = ?7, state = NULL, result = NULL
WHERE redrive_keys.until <= ?6 OR redrive_keys.created_at = ?8;

-- name: selTermsID
SELECT id FROM redrive_terms WHERE digest = ?;

-- name: insTerms
INSERT INTO redrive_terms (digest, body) VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING RETURNING id;

-- name: selTerms
SELECT body FROM redrive_terms WHERE id = ?;

-- ----------------------------------------------------------------------------
-- Claims
-- ----------------------------------------------------------------------------

-- name: seekReady :own
-- Each index column before run_at is compared with one value, so SQLite stops at the first row that is due
-- later, and the reader stops when it has enough rows. LIMIT is not a bound value, because SQLite would then
-- compile the statement again for each search. After ANALYZE, SQLite would also compile it again for other
-- bound values; the plus signs before them prevent this.
SELECT run_at, id
FROM redrive_jobs INDEXED BY redrive_ready
WHERE lane = +?1 AND priority = +?2 AND state = +?5 AND state < 3 AND (run_at, id) > (+?3, +?4)
ORDER BY run_at, id;

-- name: selClaim :own
-- The claim reads the row first and updates it afterwards. An UPDATE with RETURNING would copy the row
-- through a temporary table.
SELECT id, token, lane, state, priority, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
    claimed_at, holder, owner, correlation, key, batch, long, crash_max, cancel_at, redrive, terms, released, run_at,
    deadline, attrs, policy, memo, payload
FROM redrive_jobs
WHERE id = ? AND state < 3;

-- name: setClaimed
UPDATE redrive_jobs
SET state = 3, token = ?2, lease_until = ?3, claimed_at = ?4, holder = ?5, crash_max = ?6, terms = ?7
WHERE id = ?1 AND state < 3;

-- name: selBody
SELECT payload FROM redrive_bodies WHERE job = ?;

-- ----------------------------------------------------------------------------
-- Heartbeats and lost leases
-- ----------------------------------------------------------------------------

-- name: setBeat
UPDATE redrive_jobs SET lease_until = ?3 WHERE id = ?1 AND token = ?2 AND state = 3 RETURNING cancel_at;

-- name: setBegun
UPDATE redrive_jobs SET lease_until = ?3, begun = token WHERE id = ?1 AND token = ?2 AND state = 3 RETURNING cancel_at;

-- name: putProgress
INSERT INTO redrive_progress (job, token, at, done, total, note)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (job) DO UPDATE SET token = ?2, at = ?3, done = ?4, total = ?5, note = ?6;

-- name: selExpiredLeases
SELECT id, token, lane, state, priority, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
    claimed_at, holder, owner, correlation, key, batch, long, crash_max, cancel_at, redrive, terms, released
FROM redrive_jobs INDEXED BY redrive_lease
WHERE state = 3 AND lease_until <= ?1
ORDER BY lease_until, id LIMIT ?2;

-- name: selNextLease
SELECT lease_until FROM redrive_jobs INDEXED BY redrive_lease WHERE state = 3 ORDER BY lease_until LIMIT 1;

-- name: setCrashed
UPDATE redrive_jobs
SET state = 1, run_at = ?3, crashes = crashes + 1, lease_until = NULL, cancel_at = NULL
WHERE id = ?1 AND token = ?2 AND state = 3;

-- name: selBegun
SELECT 1 FROM redrive_jobs WHERE id = ? AND begun = token;

-- ----------------------------------------------------------------------------
-- Outcomes
-- ----------------------------------------------------------------------------

-- name: selRun
SELECT id, token, lane, state, priority, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
    claimed_at, holder, owner, correlation, key, batch, long, crash_max, cancel_at, redrive, terms, released
FROM redrive_jobs
WHERE id = ? AND token = ? AND state = 3;

-- name: selAny
SELECT id, token, lane, state, priority, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
    claimed_at, holder, owner, correlation, key, batch, long, crash_max, cancel_at, redrive, terms, released
FROM redrive_jobs
WHERE id = ?;

-- name: delRun
DELETE FROM redrive_jobs WHERE id = ? AND token = ? AND state = 3;

-- name: delJob
DELETE FROM redrive_jobs WHERE id = ? AND token = ?;

-- name: insDone
INSERT INTO redrive_done (
  job, lane, state, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
  claimed_at, finished_at, holder, owner, correlation, key, batch, cost, sends, result)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: insPlainDone
-- insPlainDone is like insDone, but for a job that needs none of the optional columns and has counted nothing
-- but attempts. Each bound value costs time, and most jobs end like this.
INSERT INTO redrive_done (
  job, lane, state, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
  claimed_at, finished_at, holder)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, 0, 0, ?8, ?9, ?10, ?11, ?12);

-- name: insKept
-- insKept is like insDone, but for a job that keeps its attributes and its payload.
INSERT INTO redrive_done (
  job, lane, state, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
  claimed_at, finished_at, holder, owner, correlation, key, batch, cost, sends, result, attrs, payload)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: selKept
-- selKept reads the attributes and the payload that a completed job keeps, before the job's row is deleted.
SELECT j.attrs, coalesce(j.payload, b.payload)
FROM redrive_jobs j
LEFT JOIN redrive_bodies b ON b.job = j.id
WHERE j.id = ?;

-- name: delBody
DELETE FROM redrive_bodies WHERE job = ?;

-- name: setReady
UPDATE redrive_jobs
SET state = ?3, lane = ?4, priority = ?5, run_at = ?6, attempts = ?7, deferrals = ?8, snoozes = ?9, interrupts = ?10,
    memo = coalesce(?11, memo), lease_until = NULL
WHERE id = ?1 AND token = ?2 AND state = 3 AND cancel_at IS NULL;

-- name: insFailure
INSERT INTO redrive_failures (
  job, token, life, attempt, started_at, ended_at, how, class, code, permanent, http, exit, signal, holder,
  correlation, fingerprint, cost, message, user_message, decision, details, stack, stderr, sends, build, stdout)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: insPlainFailure
-- insPlainFailure is like insFailure, but for a failure of a handler in Go without any of the other columns.
INSERT INTO redrive_failures (
  job, token, life, attempt, started_at, ended_at, how, class, code, permanent, http, holder, fingerprint, message,
  user_message, decision, build)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17);

-- name: selCrashed
SELECT 1 FROM redrive_failures WHERE job = ? AND token = ? AND how = 'crash';

-- name: delProgress
DELETE FROM redrive_progress WHERE job = ?;

-- name: setResolved
UPDATE redrive_dead SET status = 2, action = ?2, acted_at = ?3 WHERE job = ?1 AND status = 1;

-- name: insDead
-- The statements use INSERT OR FAIL and UPDATE OR FAIL, because otherwise SQLite keeps a journal of each
-- statement to undo it. Here any error rolls back the whole transaction anyway.
INSERT OR FAIL INTO redrive_dead (
  death, job, status, revived, reason, class, grp, died_at, action, note, acted_at, acted_by, reopen_at, redrive,
  lane, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at, claimed_at,
  holder, deadline, owner, correlation, key, batch, attrs, policy, terms, released, long, payload)
SELECT ?19, id, ?13, 0, ?3, ?4, ?5, ?6, ?14, ?15, ?16, ?17, ?18, redrive, lane, coalesce(own_priority, priority),
    token, life, ?7, ?8, ?9, ?10, ?11, created_at, life_at, claimed_at, holder, deadline, owner, correlation, key,
    batch, attrs, policy, terms, released, long, payload
FROM redrive_jobs
WHERE id = ?1 AND token = ?2 AND state = ?12;

-- name: putDead
-- The INSERT updates an existing row, because a job in its second or a later life may already have a dead
-- letter.
INSERT INTO redrive_dead (
  death, job, status, revived, reason, class, grp, died_at, action, note, acted_at, acted_by, reopen_at, redrive,
  lane, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at, claimed_at,
  holder, deadline, owner, correlation, key, batch, attrs, policy, terms, released, long, payload)
SELECT ?19, id, ?13, 0, ?3, ?4, ?5, ?6, ?14, ?15, ?16, ?17, ?18, redrive, lane, coalesce(own_priority, priority),
    token, life, ?7, ?8, ?9, ?10, ?11, created_at, life_at, claimed_at, holder, deadline, owner, correlation, key,
    batch, attrs, policy, terms, released, long, payload
FROM redrive_jobs
WHERE id = ?1 AND token = ?2 AND state = ?12
ON CONFLICT (job) DO UPDATE SET death = excluded.death, status = excluded.status, revived = 0,
    reason = excluded.reason, class = excluded.class, grp = excluded.grp, died_at = excluded.died_at,
    action = excluded.action, note = excluded.note, acted_at = excluded.acted_at, acted_by = excluded.acted_by,
    reopen_at = excluded.reopen_at, redrive = excluded.redrive, lane = excluded.lane, priority = excluded.priority,
    token = excluded.token, life = excluded.life, attempts = excluded.attempts, crashes = excluded.crashes,
    deferrals = excluded.deferrals, snoozes = excluded.snoozes, interrupts = excluded.interrupts,
    life_at = excluded.life_at, claimed_at = excluded.claimed_at, holder = excluded.holder,
    deadline = excluded.deadline, key = excluded.key, attrs = excluded.attrs, policy = excluded.policy,
    terms = excluded.terms, released = excluded.released, long = excluded.long, payload = excluded.payload;

-- name: selEntry
SELECT lane, reason, class, status, grp FROM redrive_dead WHERE job = ?;

-- name: selGroup
SELECT id, muted, muted_until, muted_for, muted_by, muted_note, CASE
    WHEN resolved_at IS NOT NULL AND regressed_at IS NULL THEN 1 ELSE 0 END, last_at
FROM redrive_groups
WHERE fingerprint = ?;

-- name: insGroup
INSERT INTO redrive_groups (fingerprint, kind, class, code, message, sample, first_at, last_at, n, pending)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 0, 0)
RETURNING id;

-- name: selCauseOf
SELECT fingerprint FROM redrive_groups WHERE id = (SELECT grp FROM redrive_dead WHERE job = ?);

-- name: addGroup
UPDATE redrive_groups
SET n = n + ?2, pending = pending + ?3, entries = entries + ?4, last_at = CASE WHEN ?2 > 0 THEN ?5 ELSE last_at END,
    retried = retried + ?6, helped = helped + ?7, first_build = coalesce(first_build, ?8),
    last_build = coalesce(?9, last_build), regressed_at = CASE WHEN ?10 THEN ?5 ELSE regressed_at END
WHERE id = ?1;

-- name: setMute
UPDATE redrive_groups SET muted = ?2, muted_until = ?3, muted_for = ?4, muted_by = ?5, muted_note = ?6 WHERE id = ?1;

-- name: addTrend
INSERT INTO redrive_trends (grp, at, n) VALUES (?1, ?2, ?3) ON CONFLICT (grp, at) DO UPDATE SET n = n + ?3;

-- name: addDead
INSERT INTO redrive_dead_counts (lane, reason, class, status, n)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (lane, reason, class, status) DO UPDATE SET n = n + ?5;

-- name: addRedrive
UPDATE redrive_redrives
SET answered = answered + ?2, again = again + ?3, other = other + ?4, completed = completed + ?5, dead = dead + ?6,
    cancelled = cancelled + ?7
WHERE id = ?1;

-- name: setCauses
UPDATE redrive_redrives SET causes = ?2 WHERE id = ?1;

-- ----------------------------------------------------------------------------
-- One job
-- ----------------------------------------------------------------------------

-- name: selLive
SELECT state, token, life FROM redrive_jobs WHERE id = ?;

-- name: selDone
SELECT state, token, life FROM redrive_done INDEXED BY redrive_done_job WHERE job = +? ORDER BY seq DESC LIMIT 1;

-- name: selDead
SELECT 5, token, life FROM redrive_dead WHERE job = ? AND revived = 0;

-- name: selLetterNow
SELECT death, status FROM redrive_dead WHERE job = ?;

-- name: getLive
SELECT j.id, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, j.run_at, j.claimed_at, NULL, j.deadline, j.lease_until, j.cancel_at,
    j.holder, j.owner, j.correlation, j.key, j.batch, NULL, j.attrs, j.policy, j.long, j.payload
FROM redrive_jobs j
JOIN redrive_lanes l ON l.id = j.lane
WHERE j.id = ?;

-- name: getDone
SELECT j.job, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.finished_at, NULL, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, NULL, j.result, j.cost, j.sends, j.attrs, j.payload
FROM redrive_done j
JOIN redrive_lanes l ON l.id = j.lane
WHERE j.job = ?
ORDER BY j.seq DESC LIMIT 1;

-- name: getDead
SELECT j.job, l.kind, l.queue, 5, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.died_at, j.deadline, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, j.reason, j.attrs, j.policy, j.long, j.payload
FROM redrive_dead j
JOIN redrive_lanes l ON l.id = j.lane
WHERE j.job = ? AND j.revived = 0;

-- name: selProgress
SELECT job, token, at, done, total, note FROM redrive_progress WHERE job = ?;

-- name: sumCost
SELECT coalesce(sum(cost), 0), coalesce(sum(sends), 0)
FROM redrive_failures INDEXED BY sqlite_autoindex_redrive_failures_1
WHERE job = ?;

-- name: selFailures
SELECT job, token, life, attempt, started_at, ended_at, how, class, code, permanent, http, exit, signal, holder,
    correlation, fingerprint, cost, message, user_message, decision, details, stack, stderr, sends, build, stdout
FROM redrive_failures
WHERE job = ?
ORDER BY token;

-- name: selCounts
SELECT l.queue, l.kind, c.state, sum(c.n)
FROM redrive_counters c
JOIN redrive_lanes l ON l.id = c.lane
GROUP BY l.queue, l.kind, c.state
HAVING sum(c.n) <> 0
ORDER BY l.queue, l.kind, c.state;

-- name: selCancels
SELECT id, token FROM redrive_jobs INDEXED BY redrive_lease WHERE cancel_at IS NOT NULL AND state = 3 AND holder = ?;

-- name: selEvents
SELECT seq, at, body FROM redrive_events WHERE seq >= ? ORDER BY seq LIMIT ?;

-- name: selRemovedEvents
SELECT cursor, n FROM redrive_swept WHERE what = 'events.through';

-- name: selLastEvent
SELECT seq, n FROM redrive_events ORDER BY seq DESC LIMIT 1;

-- ----------------------------------------------------------------------------
-- Lists of jobs
-- ----------------------------------------------------------------------------

-- name: severalLive
SELECT j.id, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, j.run_at, j.claimed_at, NULL, j.deadline, j.lease_until, j.cancel_at,
    j.holder, j.owner, j.correlation, j.key, j.batch, NULL, j.attrs
FROM json_each(?1) i
CROSS JOIN redrive_jobs j
CROSS JOIN redrive_lanes l
WHERE j.id = CAST(i.value AS BIGINT) AND l.id = j.lane;

-- name: severalDone
SELECT j.job, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.finished_at, NULL, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, NULL, j.attrs
FROM json_each(?1) i
CROSS JOIN redrive_done j
CROSS JOIN redrive_lanes l
WHERE j.job = CAST(i.value AS BIGINT) AND l.id = j.lane
ORDER BY j.seq;

-- name: severalDead
SELECT j.job, l.kind, l.queue, 5, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.died_at, j.deadline, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, j.reason, j.attrs
FROM json_each(?1) i
CROSS JOIN redrive_dead j
CROSS JOIN redrive_lanes l
WHERE j.job = CAST(i.value AS BIGINT) AND j.revived = 0 AND l.id = j.lane;

-- name: severalLatest
SELECT job, token, life, attempt, started_at, ended_at, how, class, code, permanent, http, exit, signal, holder,
    correlation, fingerprint, cost, message, user_message, decision, details, stack, stderr, sends, build, stdout
FROM json_each(?1) i
CROSS JOIN redrive_failures
WHERE job = CAST(i.value AS BIGINT)
    AND token = (SELECT max(f.token) FROM redrive_failures f WHERE f.job = CAST(i.value AS BIGINT));

-- name: selRunning
-- selRunning lists the running jobs. It uses the index of leases, because that index is small.
SELECT j.id, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, j.run_at, j.claimed_at, NULL, j.deadline, j.lease_until, j.cancel_at,
    j.holder, j.owner, j.correlation, j.key, j.batch, NULL, j.attrs
FROM redrive_jobs j INDEXED BY redrive_lease
JOIN redrive_lanes l ON l.id = j.lane
WHERE j.state = 3 AND j.id < ?
ORDER BY j.id DESC LIMIT ?;

-- name: selLiveCause
SELECT class, fingerprint, message FROM redrive_failures WHERE job = ? ORDER BY token DESC LIMIT 1;

-- name: selDeadCause
SELECT d.class, g.fingerprint, f.message
FROM redrive_dead d
LEFT JOIN redrive_groups g ON g.id = d.grp
LEFT JOIN redrive_failures f ON f.job = d.job AND f.token = d.token
WHERE d.job = ?;

-- name: severalCauses
-- severalCauses and severalDeadCauses do the same for many jobs.
SELECT j.job, j.class, j.fingerprint, j.message
FROM json_each(?1) i
CROSS JOIN redrive_failures j
WHERE j.job = CAST(i.value AS BIGINT)
    AND j.token = (SELECT max(f.token) FROM redrive_failures f WHERE f.job = CAST(i.value AS BIGINT));

-- name: severalDeadCauses
SELECT j.job, j.class, g.fingerprint, f.message
FROM json_each(?1) i
CROSS JOIN redrive_dead j
LEFT JOIN redrive_groups g ON g.id = j.grp
LEFT JOIN redrive_failures f ON f.job = j.job AND f.token = j.token
WHERE j.job = CAST(i.value AS BIGINT);

-- name: walkLive
SELECT j.id, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, j.run_at, j.claimed_at, NULL, j.deadline, j.lease_until, j.cancel_at,
    j.holder, j.owner, j.correlation, j.key, j.batch, NULL, j.attrs
FROM redrive_jobs j
JOIN redrive_lanes l ON l.id = j.lane
WHERE j.id < ?
ORDER BY j.id DESC LIMIT ?;

-- name: edgeLive
SELECT e.id, e.id, (SELECT created_at FROM redrive_jobs WHERE id = e.id)
FROM (SELECT id FROM redrive_jobs WHERE id < ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2) e;

-- name: pickedLive
SELECT j.id, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, j.run_at, j.claimed_at, NULL, j.deadline, j.lease_until, j.cancel_at,
    j.holder, j.owner, j.correlation, j.key, j.batch, NULL, j.attrs
FROM redrive_jobs j
JOIN redrive_lanes l ON l.id = j.lane
WHERE j.id < ?1 AND j.id >= ?2 AND (?3 IS NULL OR l.queue = ?3) AND (?4 IS NULL OR l.kind = ?4)
    AND (?5 IS NULL OR j.owner = ?5) AND (?6 IS NULL OR j.holder = ?6) AND abs(coalesce(j.batch, 0)) BETWEEN ?7 AND ?8
    AND j.created_at BETWEEN ?9 AND ?10 AND (?12 > 0 OR instr(j.attrs, ?11) > 0 OR instr(j.attrs, X'5C') > 0)
    AND (
      ?13 IS NULL OR ?13 = (SELECT f.class FROM redrive_failures f WHERE f.job = j.id ORDER BY f.token DESC LIMIT 1))
    AND (
      ?14 IS NULL
      OR ?14 = (SELECT f.fingerprint FROM redrive_failures f WHERE f.job = j.id ORDER BY f.token DESC LIMIT 1))
ORDER BY j.id DESC;

-- name: walkDone
SELECT j.job, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.finished_at, NULL, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, NULL, j.attrs
FROM redrive_done j
JOIN redrive_lanes l ON l.id = j.lane
WHERE j.job < ?
ORDER BY j.job DESC LIMIT ?;

-- name: edgeDone
SELECT e.job, e.job, (SELECT created_at FROM redrive_done WHERE job = e.job LIMIT 1)
FROM (SELECT job FROM redrive_done WHERE job < ?1 ORDER BY job DESC LIMIT 1 OFFSET ?2) e;

-- name: pickedDone
SELECT j.job, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.finished_at, NULL, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, NULL, j.attrs
FROM redrive_done j
JOIN redrive_lanes l ON l.id = j.lane
WHERE j.job < ?1 AND j.job >= ?2 AND (?3 IS NULL OR l.queue = ?3) AND (?4 IS NULL OR l.kind = ?4)
    AND (?5 IS NULL OR j.owner = ?5) AND (?6 IS NULL OR j.holder = ?6) AND abs(coalesce(j.batch, 0)) BETWEEN ?7 AND ?8
    AND j.created_at BETWEEN ?9 AND ?10 AND (?12 > 0 OR instr(j.attrs, ?11) > 0 OR instr(j.attrs, X'5C') > 0)
ORDER BY j.job DESC;

-- name: walkDead
SELECT j.job, l.kind, l.queue, 5, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.died_at, j.deadline, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, j.reason, j.attrs
FROM redrive_dead j
JOIN redrive_lanes l ON l.id = j.lane
WHERE j.job < ? AND j.revived = 0
ORDER BY j.job DESC LIMIT ?;

-- name: edgeDead
SELECT e.job, e.job, (SELECT created_at FROM redrive_dead WHERE job = e.job)
FROM (SELECT job FROM redrive_dead WHERE job < ?1 ORDER BY job DESC LIMIT 1 OFFSET ?2) e;

-- name: pickedDead
SELECT j.job, l.kind, l.queue, 5, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.died_at, j.deadline, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, j.reason, j.attrs
FROM redrive_dead j
JOIN redrive_lanes l ON l.id = j.lane
WHERE j.job < ?1 AND j.job >= ?2 AND j.revived = 0 AND (?3 IS NULL OR l.queue = ?3) AND (?4 IS NULL OR l.kind = ?4)
    AND (?5 IS NULL OR j.owner = ?5) AND (?6 IS NULL OR j.holder = ?6) AND abs(coalesce(j.batch, 0)) BETWEEN ?7 AND ?8
    AND j.created_at BETWEEN ?9 AND ?10 AND (?12 > 0 OR instr(j.attrs, ?11) > 0 OR instr(j.attrs, X'5C') > 0)
    AND (?13 IS NULL OR j.class = ?13)
    AND (?14 IS NULL OR j.grp = (SELECT g.id FROM redrive_groups g WHERE g.fingerprint = ?14))
ORDER BY j.job DESC;

-- name: walkEnded
SELECT j.job, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.finished_at, NULL, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, NULL, j.attrs
FROM redrive_done j
JOIN redrive_lanes l ON l.id = j.lane
WHERE j.seq < ?
ORDER BY j.seq DESC LIMIT ?;

-- name: edgeEnded
SELECT d.seq, d.job, d.finished_at
FROM (SELECT seq FROM redrive_done WHERE seq < ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2) e
JOIN redrive_done d ON d.seq = e.seq;

-- name: pickedEnded
SELECT j.job, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.finished_at, NULL, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, NULL, j.attrs
FROM redrive_done j
JOIN redrive_lanes l ON l.id = j.lane
WHERE j.seq < ?1 AND j.seq >= ?2 AND (?3 IS NULL OR l.queue = ?3) AND (?4 IS NULL OR l.kind = ?4)
    AND (?5 IS NULL OR j.owner = ?5) AND (?6 IS NULL OR j.holder = ?6) AND abs(coalesce(j.batch, 0)) BETWEEN ?7 AND ?8
    AND j.created_at BETWEEN ?9 AND ?10 AND (?12 > 0 OR instr(j.attrs, ?11) > 0 OR instr(j.attrs, X'5C') > 0)
ORDER BY j.seq DESC;

-- name: selSeqOf
-- selSeqOf returns the sequence number and the end time of an ended job.
SELECT seq, finished_at FROM redrive_done INDEXED BY redrive_done_job WHERE job = ? ORDER BY seq DESC LIMIT 1;

-- name: selSeqFrom
SELECT seq, finished_at FROM redrive_done WHERE seq >= ? ORDER BY seq LIMIT 1;

-- name: walkSeqs
SELECT seq, finished_at FROM redrive_done WHERE seq >= ? ORDER BY seq LIMIT ?;

-- name: selLastSeq
SELECT max(seq) FROM redrive_done;

-- name: selDeathOf
SELECT death, died_at FROM redrive_dead WHERE job = ?;

-- name: severalDied
SELECT j.job, l.kind, l.queue, 5, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.died_at, j.deadline, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, j.reason, j.attrs
FROM json_each(?1) i
CROSS JOIN redrive_dead j
CROSS JOIN redrive_lanes l
WHERE j.death = CAST(i.value AS BIGINT) AND l.id = j.lane
ORDER BY j.death DESC;

-- name: firstDue
-- firstDue reads, for each lane, priority and state, the due time of the first job that is due at or after
-- ?1. It reads only the queue ?2, the kind ?3 and the state ?4; NULL selects all. A store with an index of
-- retrying jobs reads both states together, as state 1.
WITH priorities(n) AS (VALUES (1), (2), (3), (4)), states(n) AS (VALUES (1), (2))
SELECT l.id, p.n, s.n, (
  SELECT h.run_at
  FROM redrive_jobs h INDEXED BY redrive_ready
  WHERE h.lane = l.id AND h.priority = p.n AND h.state = s.n AND h.state < 3 AND h.run_at >= ?1
  ORDER BY h.run_at LIMIT 1)
FROM redrive_lanes l
CROSS JOIN priorities p
CROSS JOIN states s
WHERE (?4 IS NULL OR s.n = ?4) AND (?2 IS NULL OR l.queue = ?2) AND (?3 IS NULL OR l.kind = ?3);

-- name: listDue
-- listDue reads ids and due times for each number in the JSON array ?4: of the first ?3 jobs that are due
-- after ?1, or at ?1 with an id above ?2. See streamNumber for the numbers.
SELECT i.value, j.id, j.run_at
FROM json_each(?4) i
CROSS JOIN redrive_jobs j
WHERE j.id IN (
  SELECT h.id
  FROM redrive_jobs h INDEXED BY redrive_ready
  WHERE h.lane = CAST(i.value AS INTEGER) / 16 AND h.priority = CAST(i.value AS INTEGER) % 8
      AND h.state = 1 + CAST(i.value AS INTEGER) / 8 % 2 AND h.state < 3 AND (h.run_at, h.id) > (?1, ?2)
  ORDER BY h.run_at, h.id LIMIT ?3);

-- name: retryLanes
-- retryLanes finds the lanes and priorities that may have retrying jobs.
SELECT c.lane, p.n
FROM redrive_counters c
CROSS JOIN (SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) p
WHERE c.state = 2 AND c.n > 0;

-- name: walkDue
SELECT run_at
FROM redrive_jobs INDEXED BY redrive_ready
WHERE lane = ?1 AND priority = ?2 AND state = 2 AND state < 3 AND run_at > ?3 AND run_at <= ?4
ORDER BY run_at;

-- ----------------------------------------------------------------------------
-- Actions on live jobs
-- ----------------------------------------------------------------------------

-- name: pickLive
-- The reader stops when it has enough jobs, or at the end of the set. LIMIT is not a bound value, because
-- SQLite would then compile the statement each time. After ANALYZE, SQLite would also compile it for each
-- value of ?1 without the plus sign.
SELECT id, token, lane, state, priority, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
    claimed_at, holder, owner, correlation, key, batch, long, crash_max, cancel_at, redrive, terms, released, run_at,
    own_priority, policy, attrs
FROM redrive_jobs NOT INDEXED
WHERE id > +?1
ORDER BY id;

-- name: selNewestLive
SELECT id FROM redrive_jobs WHERE id > 0 ORDER BY id DESC LIMIT 1;

-- name: insCancelled :own
-- insCancelled inserts the waiting and retrying jobs with ids from ?1 to ?2 as cancelled. It is for jobs in their
-- first life that no redrive has released.
INSERT INTO redrive_done (
  job, lane, state, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
  claimed_at, finished_at, holder, owner, correlation, key, batch)
SELECT id, lane, 6, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
  claimed_at, ?3, holder, owner, correlation, key, batch
FROM redrive_jobs NOT INDEXED
WHERE id BETWEEN +?1 AND +?2 AND state <> 3
ORDER BY id;

-- name: delCancelled :own
-- delCancelled removes the live rows of the jobs that insCancelled has written.
DELETE FROM redrive_jobs WHERE id BETWEEN +?1 AND +?2 AND state <> 3;

-- name: selOwnedPartsUp
-- selOwnedPartsUp reads, of each run with jobs above the id ?2, the part for the tag ?1.
SELECT r.low, (SELECT o.body FROM redrive_owned o WHERE o.place = r.run * 1024 + (?1 & (r.parts - 1)))
FROM redrive_owned_runs r NOT INDEXED
WHERE r.high > ?2
ORDER BY r.low;

-- name: pickSome
-- pickSome reads jobs by their ids, a JSON array.
SELECT id, token, lane, state, priority, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
    claimed_at, holder, owner, correlation, key, batch, long, crash_max, cancel_at, redrive, terms, released, run_at,
    own_priority, policy, attrs
FROM (SELECT CAST(value AS BIGINT) AS one FROM json_each(?1)) i
CROSS JOIN redrive_jobs
WHERE id = i.one
ORDER BY id;

-- name: selWaits
SELECT run_at, own_priority, policy, payload FROM redrive_jobs WHERE id = ?;

-- name: setWaits
UPDATE redrive_jobs
SET lane = ?3, priority = ?4, own_priority = ?5, run_at = ?6, life_at = ?7
WHERE id = ?1 AND token = ?2 AND state <> 3;

-- ----------------------------------------------------------------------------
-- Dead letters
-- ----------------------------------------------------------------------------

-- name: selDeadLetter
SELECT j.death, j.job, j.life, j.status, j.reason, j.class, f.code, g.fingerprint, f.message, l.kind, l.queue,
    j.owner, j.died_at, j.revived, j.action, j.note, j.acted_at, j.acted_by, CASE
    WHEN j.reopen_at > 1 << 62 THEN g.muted_until ELSE j.reopen_at END, j.redrive, j.correlation, j.batch, j.holder
FROM redrive_dead j
JOIN redrive_lanes l ON l.id = j.lane
LEFT JOIN redrive_groups g ON g.id = j.grp
LEFT JOIN redrive_failures f ON f.job = j.job AND f.token = j.token
WHERE j.job = ?;

-- name: selDeadLetters
SELECT j.death, j.job, j.life, j.status, j.reason, j.class, f.code, g.fingerprint, f.message, l.kind, l.queue,
    j.owner, j.died_at, j.revived, j.action, j.note, j.acted_at, j.acted_by, CASE
    WHEN j.reopen_at > 1 << 62 THEN g.muted_until ELSE j.reopen_at END, j.redrive, j.correlation, j.batch, j.holder
FROM redrive_dead j
JOIN redrive_lanes l ON l.id = j.lane
LEFT JOIN redrive_groups g ON g.id = j.grp
LEFT JOIN redrive_failures f ON f.job = j.job AND f.token = j.token
ORDER BY j.job;

-- name: severalListed
-- severalListed and severalListedJobs read the dead letters with the deaths of a JSON array.
SELECT j.death, j.job, j.life, j.status, j.reason, j.class, f.code, g.fingerprint, f.message, l.kind, l.queue,
    j.owner, j.died_at, j.revived, j.action, j.note, j.acted_at, j.acted_by, CASE
    WHEN j.reopen_at > 1 << 62 THEN g.muted_until ELSE j.reopen_at END, j.redrive, j.correlation, j.batch, j.holder
FROM json_each(?1) i
CROSS JOIN redrive_dead j
CROSS JOIN redrive_lanes l
LEFT JOIN redrive_groups g ON g.id = j.grp
LEFT JOIN redrive_failures f ON f.job = j.job AND f.token = j.token
WHERE j.death = CAST(i.value AS BIGINT) AND l.id = j.lane;

-- name: severalListedJobs
SELECT j.death, j.job, j.life, j.status, j.reason, j.class, f.code, g.fingerprint, f.message, l.kind, l.queue,
    j.owner, j.died_at, j.revived, j.action, j.note, j.acted_at, j.acted_by, CASE
    WHEN j.reopen_at > 1 << 62 THEN g.muted_until ELSE j.reopen_at END, j.redrive, j.correlation, j.batch, j.holder,
    j.job, l.kind, l.queue, 5, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.died_at, j.deadline, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, j.reason, j.attrs, j.policy, coalesce(b.payload, j.payload),
    (SELECT coalesce(sum(cost), 0) FROM redrive_failures WHERE job = j.job),
    (SELECT coalesce(sum(sends), 0) FROM redrive_failures WHERE job = j.job)
FROM json_each(?1) i
CROSS JOIN redrive_dead j
CROSS JOIN redrive_lanes l
LEFT JOIN redrive_groups g ON g.id = j.grp
LEFT JOIN redrive_failures f ON f.job = j.job AND f.token = j.token
LEFT JOIN redrive_bodies b ON b.job = j.job
WHERE j.death = CAST(i.value AS BIGINT) AND l.id = j.lane;

-- name: selDiedAt
SELECT died_at FROM redrive_dead WHERE death = ?;

-- name: selOriginal
SELECT job, at, by, queue, priority, policy, payload FROM redrive_originals WHERE job = ?;

-- name: allOriginals
SELECT job, at, by, queue, priority, policy, payload FROM redrive_originals ORDER BY job;

-- name: selDeadCounts
SELECT lane, reason, class, status, n FROM redrive_dead_counts WHERE n <> 0 ORDER BY lane, reason, class, status;

-- name: selFirstPending
-- selFirstPending looks for a pending dead letter among the oldest dead letters. Most often there is one,
-- because sweeps remove the others.
SELECT died_at
FROM (SELECT death, died_at, status FROM redrive_dead NOT INDEXED ORDER BY death LIMIT 1000) d
WHERE status = 0
ORDER BY death LIMIT 1;

-- name: selOldestPending
-- selOldestPending reads the first pending dead letter of each group by an index. It takes ten times as long
-- as selFirstPending beside 10,000 groups.
SELECT died_at
FROM redrive_dead
WHERE death = (
  SELECT min(first)
  FROM (
    SELECT (
      SELECT death
      FROM redrive_dead INDEXED BY redrive_dead_pending
      WHERE status = 0 AND grp = g.id
      ORDER BY death LIMIT 1) AS first
    FROM redrive_groups g
    WHERE g.pending > 0
    UNION ALL SELECT (
      SELECT death
      FROM redrive_dead INDEXED BY redrive_dead_pending
      WHERE status = 0 AND grp IS NULL
      ORDER BY death LIMIT 1)));

-- name: severalTrends
SELECT j.grp, j.at, j.n
FROM json_each(?1) i
CROSS JOIN redrive_trends j
WHERE j.grp = CAST(i.value AS BIGINT) AND j.at > ?2;

-- name: selLanesOf
SELECT id FROM redrive_lanes WHERE (?1 IS NULL OR queue = ?1) AND (?2 IS NULL OR kind = ?2);

-- name: selDeathFrom
-- selDeathFrom finds the first death whose number is at least the given number.
SELECT death, died_at FROM redrive_dead WHERE death >= ? ORDER BY death LIMIT 1;

-- name: selNewest
SELECT max(death) FROM redrive_dead;

-- name: selSpan
SELECT id, first_at FROM redrive_groups WHERE fingerprint = ?;

-- name: severalJobs
-- severalJobs and severalMessages read, of the dead letters of the jobs in a JSON array, what some filters
-- need of the jobs, and the messages of their failures. They name the indexes: after ANALYZE beside few rows,
-- SQLite would otherwise read whole tables.
SELECT j.job, j.correlation, j.holder, j.attrs
FROM json_each(?1) i
CROSS JOIN redrive_dead j INDEXED BY sqlite_autoindex_redrive_dead_1
WHERE j.job = CAST(i.value AS BIGINT);

-- name: severalMessages
SELECT j.job, f.message
FROM json_each(?1) i
CROSS JOIN redrive_dead j INDEXED BY sqlite_autoindex_redrive_dead_1
CROSS JOIN redrive_failures f INDEXED BY sqlite_autoindex_redrive_failures_1
WHERE j.job = CAST(i.value AS BIGINT) AND f.job = j.job AND f.token = j.token;

-- name: sumDead
-- sumDead adds the numbers of dead letters: all, those of the class ?1, those of the lanes ?2 (a JSON array),
-- and those of this class, these lanes, the reason ?3 and the statuses for which ?4 to ?7 are 1.
SELECT coalesce(sum(n), 0), coalesce(sum(CASE WHEN class = ?1 THEN n ELSE 0 END), 0),
    coalesce(sum(CASE WHEN lane IN (SELECT CAST(value AS BIGINT) FROM json_each(?2) i) THEN n ELSE 0 END), 0),
    coalesce(
      sum(
        CASE WHEN (?1 IS NULL OR class = ?1) AND (
          ?2 IS NULL OR lane IN (SELECT CAST(value AS BIGINT) FROM json_each(?2) i)) AND (?3 IS NULL OR reason = ?3)
        AND CASE status WHEN 0 THEN CAST(?4 AS BIGINT) WHEN 1 THEN ?5 WHEN 2 THEN ?6 ELSE ?7 END = 1 THEN n ELSE 0 END)
      , 0)
FROM redrive_dead_counts;

-- name: allRoute.up
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch, life, priority, long, key,
    died_at
FROM redrive_dead NOT INDEXED
WHERE ?1 IS NULL AND death >= +?2 AND death <= +?3
ORDER BY death;

-- name: allRoute.down
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch
FROM redrive_dead NOT INDEXED
WHERE ?1 IS NULL AND death >= +?2 AND death <= +?3
ORDER BY death DESC;

-- name: pendingRoute.up
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch, life, priority, long, key,
    died_at
FROM redrive_dead INDEXED BY redrive_dead_pending
WHERE status = 0 AND grp = +?1 AND death >= +?2 AND death <= +?3
ORDER BY death;

-- name: pendingRoute.down
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch
FROM redrive_dead INDEXED BY redrive_dead_pending
WHERE status = 0 AND grp = +?1 AND death >= +?2 AND death <= +?3
ORDER BY death DESC;

-- name: ownerRoute.up
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch, life, priority, long, key,
    died_at
FROM redrive_dead INDEXED BY redrive_dead_owner
WHERE owner = +?1 AND death >= +?2 AND death <= +?3
ORDER BY death;

-- name: ownerRoute.down
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch
FROM redrive_dead INDEXED BY redrive_dead_owner
WHERE owner = +?1 AND death >= +?2 AND death <= +?3
ORDER BY death DESC;

-- name: classRoute.up
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch, life, priority, long, key,
    died_at
FROM redrive_dead INDEXED BY redrive_dead_class
WHERE class = +?1 AND death >= +?2 AND death <= +?3
ORDER BY death;

-- name: classRoute.down
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch
FROM redrive_dead INDEXED BY redrive_dead_class
WHERE class = +?1 AND death >= +?2 AND death <= +?3
ORDER BY death DESC;

-- name: correlationRoute.up
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch, life, priority, long, key,
    died_at
FROM redrive_dead INDEXED BY redrive_dead_correlated
WHERE correlation = +?1 AND death >= +?2 AND death <= +?3
ORDER BY death;

-- name: correlationRoute.down
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch
FROM redrive_dead INDEXED BY redrive_dead_correlated
WHERE correlation = +?1 AND death >= +?2 AND death <= +?3
ORDER BY death DESC;

-- name: jobRoute.up
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch, life, priority, long, key,
    died_at
FROM redrive_dead
WHERE job = +?1 AND death >= +?2 AND death <= +?3
ORDER BY death;

-- name: jobRoute.down
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch
FROM redrive_dead
WHERE job = +?1 AND death >= +?2 AND death <= +?3
ORDER BY death DESC;

-- name: laneRoute.up
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch, life, priority, long, key,
    died_at
FROM redrive_dead INDEXED BY redrive_dead_lane
WHERE lane = +?1 AND death >= +?2 AND death <= +?3
ORDER BY death;

-- name: laneRoute.down
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch
FROM redrive_dead INDEXED BY redrive_dead_lane
WHERE lane = +?1 AND death >= +?2 AND death <= +?3
ORDER BY death DESC;

-- name: selDeadRow
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch, life, priority, long, key,
    died_at
FROM redrive_dead
WHERE job = ?;

-- name: setStatus
UPDATE OR FAIL redrive_dead
SET status = ?2, action = ?3, note = ?4, acted_at = ?5, acted_by = ?6, reopen_at = ?7
WHERE death = ?1;

-- name: insRetry
-- The comment on insDead says why the statement uses OR FAIL.
INSERT OR FAIL INTO redrive_jobs (
  id, lane, state, priority, run_at, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at,
  life_at, deadline, owner, correlation, key, batch, attrs, policy, terms, released, redrive, own_priority, long,
  payload)
SELECT job, ?3, 1, ?4, ?5, token, life + 1, 0, 0, 0, 0, 0, created_at, ?2, CASE WHEN deadline > ?2 THEN deadline END,
    owner, correlation, key, batch, attrs, policy, terms, CASE WHEN reason = 'manual_review' THEN 1 ELSE released END,
    ?6, ?7, long, payload
FROM redrive_dead
WHERE death = ?1 AND revived = 0;

-- name: setRedriven
-- The dead letter does not keep the policy and payload, because the live job has them again. It keeps the
-- attributes, because filters select by them.
UPDATE OR FAIL redrive_dead
SET status = 1, revived = 1, action = 'retried', note = ?2, acted_at = ?3, acted_by = ?4, reopen_at = NULL,
    redrive = ?5, policy = NULL, long = NULL, payload = NULL
WHERE death = ?1;

-- name: insRetries
-- insRetries does the same as insRetry for a range of deaths whose jobs stay in their lanes. If the priority
-- is NULL, the jobs keep their priorities. ?7 says whether the new priority is for one life only.
INSERT OR FAIL INTO redrive_jobs (
  id, lane, state, priority, run_at, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at,
  life_at, deadline, owner, correlation, key, batch, attrs, policy, terms, released, redrive, own_priority, long,
  payload)
SELECT job, lane, 1, coalesce(?4, priority), ?5, token, life + 1, 0, 0, 0, 0, 0, created_at, ?3, CASE
    WHEN deadline > ?3 THEN deadline END, owner, correlation, key, batch, attrs, policy, terms, CASE
    WHEN reason = 'manual_review' THEN 1 ELSE released END, ?6, CASE WHEN ?7 THEN priority END, long, payload
FROM redrive_dead NOT INDEXED
WHERE death >= +?1 AND death <= +?2 AND revived = 0;

-- name: setRedrivens
UPDATE OR FAIL redrive_dead NOT INDEXED
SET status = 1, revived = 1, action = 'retried', note = ?3, acted_at = ?4, acted_by = ?5, reopen_at = NULL,
    redrive = ?6, policy = NULL, long = NULL, payload = NULL
WHERE death >= +?1 AND death <= +?2 AND revived = 0;

-- name: selOwn
SELECT policy, long, payload FROM redrive_dead WHERE death = ?;

-- name: insOriginal
INSERT INTO redrive_originals AS o (job, at, by, queue, priority, policy, payload)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (job) DO UPDATE SET payload = excluded.payload
WHERE o.payload IS NULL AND excluded.payload IS NOT NULL;

-- name: setPolicy
UPDATE redrive_jobs SET policy = ?2 WHERE id = ?1;

-- name: setJobKey
UPDATE redrive_jobs SET key = ?2 WHERE id = ?1;

-- name: setPayload
UPDATE redrive_jobs SET long = ?2, payload = ?3 WHERE id = ?1;

-- ----------------------------------------------------------------------------
-- Causes and notes
-- ----------------------------------------------------------------------------

-- name: countGroups
SELECT count(*)
FROM redrive_groups
WHERE (?1 IS NULL OR fingerprint = ?1) AND (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR class = ?3)
    AND (?4 = 0 OR pending > 0) AND (?5 IS NULL OR assignee = ?5) AND (?6 IS NULL OR merged = ?6)
    AND (
      ?7 IS NULL OR ?7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
      ELSE 'regressed' END);

-- name: lastGroups
SELECT fingerprint, kind, class, code, message, sample, first_at, last_at, n, entries, pending, muted, muted_until,
    muted_for, id, retried, helped, first_build, last_build, name, assignee, assigned_at, resolved_at, resolved_by,
    regressed_at, merged
FROM redrive_groups
WHERE id IN (
  SELECT id
  FROM redrive_groups
  WHERE (?1 IS NULL OR fingerprint = ?1) AND (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR class = ?3)
      AND (?4 = 0 OR pending > 0) AND (?5 IS NULL OR assignee = ?5) AND (?6 IS NULL OR merged = ?6)
      AND (
        ?7 IS NULL OR ?7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
        ELSE 'regressed' END)
  ORDER BY last_at DESC, fingerprint LIMIT ?8 OFFSET ?9)
ORDER BY last_at DESC, fingerprint;

-- name: largestGroups
SELECT fingerprint, kind, class, code, message, sample, first_at, last_at, n, entries, pending, muted, muted_until,
    muted_for, id, retried, helped, first_build, last_build, name, assignee, assigned_at, resolved_at, resolved_by,
    regressed_at, merged
FROM redrive_groups
WHERE id IN (
  SELECT id
  FROM redrive_groups
  WHERE (?1 IS NULL OR fingerprint = ?1) AND (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR class = ?3)
      AND (?4 = 0 OR pending > 0) AND (?5 IS NULL OR assignee = ?5) AND (?6 IS NULL OR merged = ?6)
      AND (
        ?7 IS NULL OR ?7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
        ELSE 'regressed' END)
  ORDER BY pending DESC, n DESC, fingerprint LIMIT ?8 OFFSET ?9)
ORDER BY pending DESC, n DESC, fingerprint;

-- name: countBySet
-- The statements for Merge return the groups that are in no set, and of each set the selected group with the
-- lowest fingerprint.
SELECT count(*)
FROM redrive_groups g
WHERE (?1 IS NULL OR fingerprint = ?1) AND (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR class = ?3)
    AND (?4 = 0 OR pending > 0) AND (?5 IS NULL OR assignee = ?5) AND (?6 IS NULL OR merged = ?6)
    AND (
      ?7 IS NULL OR ?7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
      ELSE 'regressed' END) AND (
        merged IS NULL OR fingerprint = (
          SELECT min(fingerprint)
          FROM redrive_groups
          WHERE merged = g.merged AND (?1 IS NULL OR fingerprint = ?1) AND (?2 IS NULL OR kind = ?2)
              AND (?3 IS NULL OR class = ?3) AND (?4 = 0 OR pending > 0) AND (?5 IS NULL OR assignee = ?5)
              AND (?6 IS NULL OR merged = ?6) AND (
                ?7 IS NULL OR ?7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
                ELSE 'regressed' END)));

-- name: lastBySet
SELECT fingerprint, kind, class, code, message, sample, first_at, last_at, n, entries, pending, muted, muted_until,
    muted_for, id, retried, helped, first_build, last_build, name, assignee, assigned_at, resolved_at, resolved_by,
    regressed_at, merged
FROM redrive_groups g
WHERE (?1 IS NULL OR fingerprint = ?1) AND (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR class = ?3)
    AND (?4 = 0 OR pending > 0) AND (?5 IS NULL OR assignee = ?5) AND (?6 IS NULL OR merged = ?6)
    AND (
      ?7 IS NULL OR ?7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
      ELSE 'regressed' END) AND (
        merged IS NULL OR fingerprint = (
          SELECT min(fingerprint)
          FROM redrive_groups
          WHERE merged = g.merged AND (?1 IS NULL OR fingerprint = ?1) AND (?2 IS NULL OR kind = ?2)
              AND (?3 IS NULL OR class = ?3) AND (?4 = 0 OR pending > 0) AND (?5 IS NULL OR assignee = ?5)
              AND (?6 IS NULL OR merged = ?6) AND (
                ?7 IS NULL OR ?7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
                ELSE 'regressed' END)))
ORDER BY CASE WHEN merged IS NULL THEN last_at ELSE (
  SELECT max(last_at)
  FROM redrive_groups
  WHERE merged = g.merged AND (?1 IS NULL OR fingerprint = ?1) AND (?2 IS NULL OR kind = ?2)
      AND (?3 IS NULL OR class = ?3) AND (?4 = 0 OR pending > 0) AND (?5 IS NULL OR assignee = ?5)
      AND (?6 IS NULL OR merged = ?6) AND (
        ?7 IS NULL OR ?7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
        ELSE 'regressed' END)) END DESC, fingerprint
LIMIT ?8 OFFSET ?9;

-- name: largestBySet
SELECT fingerprint, kind, class, code, message, sample, first_at, last_at, n, entries, pending, muted, muted_until,
    muted_for, id, retried, helped, first_build, last_build, name, assignee, assigned_at, resolved_at, resolved_by,
    regressed_at, merged
FROM redrive_groups g
WHERE (?1 IS NULL OR fingerprint = ?1) AND (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR class = ?3)
    AND (?4 = 0 OR pending > 0) AND (?5 IS NULL OR assignee = ?5) AND (?6 IS NULL OR merged = ?6)
    AND (
      ?7 IS NULL OR ?7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
      ELSE 'regressed' END) AND (
        merged IS NULL OR fingerprint = (
          SELECT min(fingerprint)
          FROM redrive_groups
          WHERE merged = g.merged AND (?1 IS NULL OR fingerprint = ?1) AND (?2 IS NULL OR kind = ?2)
              AND (?3 IS NULL OR class = ?3) AND (?4 = 0 OR pending > 0) AND (?5 IS NULL OR assignee = ?5)
              AND (?6 IS NULL OR merged = ?6) AND (
                ?7 IS NULL OR ?7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
                ELSE 'regressed' END)))
ORDER BY CASE WHEN merged IS NULL THEN pending ELSE (
  SELECT sum(pending)
  FROM redrive_groups
  WHERE merged = g.merged AND (?1 IS NULL OR fingerprint = ?1) AND (?2 IS NULL OR kind = ?2)
      AND (?3 IS NULL OR class = ?3) AND (?4 = 0 OR pending > 0) AND (?5 IS NULL OR assignee = ?5)
      AND (?6 IS NULL OR merged = ?6) AND (
        ?7 IS NULL OR ?7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
        ELSE 'regressed' END)) END DESC, CASE WHEN merged IS NULL THEN n
    ELSE (
      SELECT sum(n)
      FROM redrive_groups
      WHERE merged = g.merged AND (?1 IS NULL OR fingerprint = ?1) AND (?2 IS NULL OR kind = ?2)
          AND (?3 IS NULL OR class = ?3) AND (?4 = 0 OR pending > 0) AND (?5 IS NULL OR assignee = ?5)
          AND (?6 IS NULL OR merged = ?6) AND (
            ?7 IS NULL OR ?7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
            ELSE 'regressed' END)) END DESC, fingerprint
LIMIT ?8 OFFSET ?9;

-- name: setGroups
SELECT fingerprint, kind, class, code, message, sample, first_at, last_at, n, entries, pending, muted, muted_until,
    muted_for, id, retried, helped, first_build, last_build, name, assignee, assigned_at, resolved_at, resolved_by,
    regressed_at, merged
FROM redrive_groups
WHERE merged = ?6 AND (?1 IS NULL OR fingerprint = ?1) AND (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR class = ?3)
    AND (?4 = 0 OR pending > 0) AND (?5 IS NULL OR assignee = ?5) AND (?6 IS NULL OR merged = ?6)
    AND (
      ?7 IS NULL OR ?7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
      ELSE 'regressed' END)
ORDER BY fingerprint;

-- name: allGroups
SELECT fingerprint, kind, class, code, message, sample, first_at, last_at, n, entries, pending, muted, muted_until,
    muted_for, id, retried, helped, first_build, last_build, name, assignee, assigned_at, resolved_at, resolved_by,
    regressed_at, merged
FROM redrive_groups
ORDER BY fingerprint;

-- name: anyOlder
-- anyOlder and selOlder read groups whose fingerprint has another version. They run only when a group is
-- made, and selOlder only if there are such groups.
SELECT 1 FROM redrive_groups WHERE substr(fingerprint, 1, 2) <> ?1 LIMIT 1;

-- name: selOlder
SELECT fingerprint, kind, class, code, message, sample, first_at, last_at, n, entries, pending, muted, muted_until,
    muted_for, id, retried, helped, first_build, last_build, name, assignee, assigned_at, resolved_at, resolved_by,
    regressed_at, merged, muted_by, muted_note
FROM redrive_groups
WHERE substr(fingerprint, 1, 2) <> ?1 AND kind = ?2
    AND (muted = 1 OR name IS NOT NULL OR assignee IS NOT NULL OR resolved_at IS NOT NULL OR merged IS NOT NULL)
ORDER BY last_at DESC, fingerprint;

-- name: takeOver
UPDATE redrive_groups
SET muted = ?2, muted_until = ?3, muted_for = ?4, muted_by = ?5, muted_note = ?6, name = ?7, assignee = ?8,
    assigned_at = ?9, resolved_at = ?10, resolved_by = ?11, regressed_at = ?12, merged = ?13
WHERE id = ?1;

-- name: selGroupRow
SELECT fingerprint, kind, class, code, message, sample, first_at, last_at, n, entries, pending, muted, muted_until,
    muted_for, id, retried, helped, first_build, last_build, name, assignee, assigned_at, resolved_at, resolved_by,
    regressed_at, merged
FROM redrive_groups
WHERE fingerprint = ?;

-- name: setGroupRow
UPDATE redrive_groups
SET name = ?2, assignee = ?3, assigned_at = ?4, resolved_at = ?5, resolved_by = ?6, regressed_at = ?7
WHERE fingerprint = ?1;

-- name: setMerged
UPDATE redrive_groups SET merged = ?2 WHERE fingerprint = ?1;

-- name: countMerged
SELECT count(*) FROM redrive_groups WHERE merged = +?;

-- name: selNoted
-- selNoted finds the job to which a note belongs. If the job is not live and has not ended, it finds the dead
-- letter of the job.
SELECT l.kind, l.queue, p.owner
FROM (
  SELECT 1 AS place, 0 AS seq, lane, owner FROM redrive_jobs WHERE id = ?1
  UNION ALL SELECT 2, seq, lane, owner FROM redrive_done INDEXED BY redrive_done_job WHERE job = +?1
  UNION ALL SELECT 3, 0, lane, owner FROM redrive_dead WHERE job = ?1) p
JOIN redrive_lanes l ON l.id = p.lane
ORDER BY p.place, p.seq DESC LIMIT 1;

-- name: countJobNotes
SELECT count(*) FROM redrive_notes WHERE job = ?;

-- name: countGroupNotes
SELECT count(*) FROM redrive_notes WHERE grp = ?;

-- name: nextNote
INSERT INTO redrive_meta (key, value)
VALUES ('notes', 1)
ON CONFLICT (key) DO UPDATE SET value = value + 1
RETURNING value;

-- name: insNote
INSERT INTO redrive_notes (id, at, by, what, job, grp, token, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: notesOfJob
-- A job or a group has at most store.NotesMax notes, so these statements read few rows.
SELECT id, at, by, what, job, grp, token, text FROM redrive_notes WHERE job = ?2 AND id < ?1 ORDER BY id DESC LIMIT ?3;

-- name: notesOfGroup
SELECT id, at, by, what, job, grp, token, text FROM redrive_notes WHERE grp = ?2 AND id < ?1 ORDER BY id DESC LIMIT ?3;

-- name: notesOfKind
SELECT id, at, by, what, job, grp, token, text
FROM redrive_notes
WHERE what = ?2 AND id < ?1
ORDER BY id DESC LIMIT ?3;

-- name: newestNotes
SELECT id, at, by, what, job, grp, token, text FROM redrive_notes WHERE id < ?1 ORDER BY id DESC LIMIT ?2;

-- name: allNotes
SELECT id, at, by, what, job, grp, token, text FROM redrive_notes ORDER BY id;

-- name: walkNotes
-- walkNotes returns for each note whether its job, the job's dead letter, or its group exists. Labels stay.
SELECT n.id, CASE WHEN n.what = 'label' THEN 1 WHEN n.job IS NULL THEN EXISTS (SELECT 1 FROM redrive_groups g WHERE g.fingerprint = n.grp)
    ELSE EXISTS (SELECT 1 FROM redrive_jobs j WHERE j.id = n.job) OR EXISTS (
      SELECT 1 FROM redrive_done d INDEXED BY redrive_done_job WHERE d.job = n.job) OR EXISTS (
      SELECT 1 FROM redrive_dead d WHERE d.job = n.job) END
FROM redrive_notes n
WHERE n.id > +?
ORDER BY n.id;

-- name: delNotes
DELETE FROM redrive_notes WHERE id IN (SELECT CAST(i.value AS BIGINT) FROM json_each(?1) i);

-- ----------------------------------------------------------------------------
-- Redrives
-- ----------------------------------------------------------------------------

-- name: insRedrive
INSERT INTO redrive_redrives (spec, policy, state, by, reason, created_at, last_at, key)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7)
RETURNING id;

-- name: selRedrive
SELECT id, spec, policy, state, resume, why, by, reason, created_at, ended_at, cursor, last_at, base, causes,
    released, answered, again, completed, dead, cancelled, audited, key, refused, refused_why, other
FROM redrive_redrives
WHERE id = ?;

-- name: keyRedrive
SELECT id, spec, policy, state, resume, why, by, reason, created_at, ended_at, cursor, last_at, base, causes,
    released, answered, again, completed, dead, cancelled, audited, key, refused, refused_why, other
FROM redrive_redrives
WHERE key = ?;

-- name: lastRedrive
SELECT id, spec, policy, state, resume, why, by, reason, created_at, ended_at, cursor, last_at, base, causes,
    released, answered, again, completed, dead, cancelled, audited, key, refused, refused_why, other
FROM redrive_redrives
ORDER BY id DESC LIMIT ?;

-- name: allRedrives
SELECT id, spec, policy, state, resume, why, by, reason, created_at, ended_at, cursor, last_at, base, causes,
    released, answered, again, completed, dead, cancelled, audited, key, refused, refused_why, other
FROM redrive_redrives
ORDER BY id;

-- name: selActive
SELECT id, spec, policy, state, resume, why, by, reason, created_at, ended_at, cursor, last_at, base, causes,
    released, answered, again, completed, dead, cancelled, audited, key, refused, refused_why, other
FROM redrive_redrives INDEXED BY redrive_redrives_active
WHERE ended_at IS NULL
ORDER BY id;

-- name: setRedrive
-- setRedrive does not change the counts of ended jobs. Only the outcomes of jobs change these counts; see
-- addRedrive.
UPDATE redrive_redrives
SET state = ?2, resume = ?3, why = ?4, ended_at = ?5, cursor = ?6, last_at = ?7, base = ?8, causes = ?9,
    released = ?10, audited = ?11, refused = ?12, refused_why = ?13
WHERE id = ?1;

-- ----------------------------------------------------------------------------
-- Policies, schedules and processes
-- ----------------------------------------------------------------------------

-- name: selRules
SELECT number, hash, at, by, body FROM redrive_rules ORDER BY number DESC LIMIT 1;

-- name: selRulesHash
SELECT hash FROM redrive_rules ORDER BY number DESC LIMIT 1;

-- name: allRules
SELECT number, hash, at, by, body FROM redrive_rules ORDER BY number;

-- name: insRules
INSERT INTO redrive_rules (number, hash, at, by, body) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: selDeadAttrs
SELECT attrs FROM redrive_dead WHERE job = ?1;

-- name: selWindow
SELECT body FROM redrive_windows WHERE scope = ?1 AND target = ?2;

-- name: ofWindows
SELECT body FROM redrive_windows WHERE scope = ?1 ORDER BY target;

-- name: dueWindows
SELECT body FROM redrive_windows WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2;

-- name: nextWindow
SELECT due_at FROM redrive_windows WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1;

-- name: allWindows
SELECT w.scope, w.target, w.body, i.body
FROM redrive_windows w LEFT JOIN redrive_window_items i ON i.scope = w.scope AND i.target = w.target
ORDER BY w.scope, w.target, i.n;

-- name: putWindow
INSERT INTO redrive_windows (scope, target, due_at, body) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (scope, target) DO UPDATE SET due_at = excluded.due_at, body = excluded.body;

-- name: delWindow
DELETE FROM redrive_windows WHERE scope = ?1 AND target = ?2;

-- name: selItems
SELECT body FROM redrive_window_items WHERE scope = ?1 AND target = ?2 ORDER BY n;

-- name: insItem
INSERT INTO redrive_window_items (scope, target, n, body) VALUES (?1, ?2, ?3, ?4);

-- name: delItems
DELETE FROM redrive_window_items WHERE scope = ?1 AND target = ?2;

-- name: insPolicy
INSERT INTO redrive_policies (hash, name, at, by, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT (hash) DO NOTHING;

-- name: selPolicy
SELECT hash, name, at, by, body FROM redrive_policies WHERE hash = ?;

-- name: selInForce
-- The policy in force is the policy that was published last. redrive_meta has the number of the audit row of
-- that publication.
SELECT a.target FROM redrive_meta m JOIN redrive_audit a ON a.seq = m.value WHERE m.key = 'policy';

-- name: setInForce
INSERT INTO redrive_meta (key, value)
VALUES ('policy', (SELECT max(seq) FROM redrive_audit))
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: listPolicies
SELECT hash, name, at, by FROM redrive_policies ORDER BY at DESC, hash LIMIT ?;

-- name: selSchedule
SELECT name, slot, at, job, expression, paused, set_at FROM redrive_schedules WHERE name = ?;

-- name: allSchedules
SELECT name, slot, at, job, expression, paused, set_at FROM redrive_schedules ORDER BY name;

-- name: countSchedules
-- The table has at most store.CronsMax rows.
SELECT count(*) FROM redrive_schedules;

-- name: putSchedule
-- The WHERE keeps the stored slot if that slot is later than the new slot.
INSERT INTO redrive_schedules (name, slot, at, job, expression)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (name) DO UPDATE SET slot = ?2, at = ?3, job = ?4, expression = ?5
WHERE slot < ?2;

-- name: setSchedule
-- The statement stores slot 0 for a schedule that is paused before its first slot.
INSERT INTO redrive_schedules (name, slot, at, job, expression, paused, set_at)
VALUES (?1, 0, 0, 0, '', ?2, ?3)
ON CONFLICT (name) DO UPDATE SET paused = ?2, set_at = ?3;

-- name: setProcess
-- setProcess records that a known process is alive. It changes no row if the process is new or was marked as
-- silent.
UPDATE redrive_processes
SET seen_at = ?3, policy = ?4, slots = ?5, running = ?6, sick = ?7
WHERE name = ?1 AND instance = ?2 AND silent = 0
RETURNING quiet;

-- name: putProcess
INSERT INTO redrive_processes (
  name, instance, what, host, pid, version, build, policy, started_at, seen_at, queues, kinds, slots, running, sick)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10, ?11, ?12, ?13, ?14)
ON CONFLICT (name, instance) DO UPDATE SET policy = ?8, seen_at = ?9, slots = ?12, running = ?13, sick = ?14,
    silent = 0
RETURNING quiet;

-- name: delProcess
DELETE FROM redrive_processes WHERE name = ?1 AND instance = ?2;

-- name: countProcesses
-- The table has at most store.ProcessesMax rows.
SELECT count(*) FROM redrive_processes;

-- name: allProcesses
SELECT name, instance, what, host, pid, version, coalesce(build, ''), policy, started_at, seen_at, queues, kinds,
    slots, running, quiet, silent, coalesce(sick, '')
FROM redrive_processes
ORDER BY name, instance;

-- name: selSilent
-- selSilent finds processes that have not reported since the time ?1 and whose rows have to be changed. Such
-- a row has to be marked as silent if it is not marked yet. It has to be removed if the last report came
-- before the time ?2, or if the process has the name ?3, which is the name of the calling process.
SELECT name, instance
FROM redrive_processes
WHERE seen_at <= ?1 AND (silent = 0 OR seen_at <= ?2 OR name = ?3)
ORDER BY name, instance;

-- name: setSilent
UPDATE redrive_processes SET silent = 1 WHERE name = ?1 AND instance = ?2 AND silent = 0 AND seen_at <= ?3;

-- name: delSilent
DELETE FROM redrive_processes WHERE name = ?1 AND instance = ?2 AND silent = 1 AND seen_at <= ?3;

-- name: selNamed
SELECT count(*) FROM redrive_processes WHERE name = ?1;

-- name: quietNamed
UPDATE redrive_processes SET quiet = ?2 WHERE name = ?1 AND quiet <> ?2;

-- ----------------------------------------------------------------------------
-- Access, requests and audit
-- ----------------------------------------------------------------------------

-- name: selAccess
SELECT id, version, name, hash, old_hash, old_until, roles, owner, kinds, queues, delegate, expires_at, revoked_at,
    created_at, created_by, rotated_at, used_at
FROM redrive_access
WHERE id = ?;

-- name: allAccess
-- The table has at most store.KeysMax rows.
SELECT id, version, name, hash, old_hash, old_until, roles, owner, kinds, queues, delegate, expires_at, revoked_at,
    created_at, created_by, rotated_at, used_at
FROM redrive_access
ORDER BY id;

-- name: countAccess
SELECT count(*) FROM redrive_access;

-- name: insKey
INSERT INTO redrive_access (
  id, version, name, hash, old_hash, old_until, roles, owner, kinds, queues, delegate, expires_at, revoked_at,
  created_at, created_by, rotated_at, used_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL);

-- name: setKey
-- setKey replaces a key of the version before.
UPDATE redrive_access
SET version = ?2, name = ?3, hash = ?4, old_hash = ?5, old_until = ?6, roles = ?7, owner = ?8, kinds = ?9,
    queues = ?10, delegate = ?11, expires_at = ?12, revoked_at = ?13, rotated_at = ?14
WHERE id = ?1 AND version = ?2 - 1 AND revoked_at IS NULL;

-- name: delAccess
DELETE FROM redrive_access WHERE id = ? AND version = ?;

-- name: setUsed
UPDATE redrive_access SET used_at = ?2 WHERE id = ?1 AND (used_at IS NULL OR used_at <= ?3);

-- name: insSecret
-- insSecret inserts no row if the secret exists.
INSERT INTO redrive_secrets (name, secret) VALUES (?, ?) ON CONFLICT (name) DO NOTHING;

-- name: selSecret
SELECT secret FROM redrive_secrets WHERE name = ?;

-- name: allSecrets
SELECT name FROM redrive_secrets ORDER BY name;

-- name: selEndpoint
SELECT name, settings, secret, old_secret FROM redrive_endpoints WHERE name = ?;

-- name: allEndpoints
-- The table has at most store.EndpointsMax rows.
SELECT name, settings, secret, old_secret FROM redrive_endpoints ORDER BY name;

-- name: countEndpoints
SELECT count(*) FROM redrive_endpoints;

-- name: insEndpoint
INSERT INTO redrive_endpoints (name, settings, secret, old_secret) VALUES (?, ?, ?, ?);

-- name: setEndpoint
UPDATE redrive_endpoints SET settings = ?2, secret = ?3, old_secret = ?4 WHERE name = ?1;

-- name: delEndpoint
DELETE FROM redrive_endpoints WHERE name = ?;

-- name: selRequest
SELECT scope, key, digest, at, first, n, through, status, body FROM redrive_requests WHERE scope = ? AND key = ?;

-- name: insRequest
-- insRequest inserts no row if another transaction has inserted the same request in the meantime.
INSERT INTO redrive_requests (scope, key, digest, at, first, n, through)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (scope, key) DO NOTHING;

-- name: setAnswer
UPDATE redrive_requests SET status = ?3, body = ?4 WHERE scope = ?1 AND key = ?2 AND status IS NULL;

-- name: delRequest
DELETE FROM redrive_requests WHERE scope = ? AND key = ? AND at <= ?;

-- name: allRequests
SELECT scope, key, digest, at, first, n, through, status, body FROM redrive_requests ORDER BY scope, key;

-- name: sweepRequests
DELETE FROM redrive_requests WHERE at <= +?;

-- name: insAudit
INSERT INTO redrive_audit (at, actor, action, target, reason, before, after, via, owner)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: selAudit
SELECT seq, at, actor, action, target, reason, before, after, via, owner
FROM redrive_audit
WHERE seq > ?
ORDER BY seq LIMIT ?;

-- name: selAuditFrom
SELECT seq, at FROM redrive_audit WHERE seq >= ? ORDER BY seq LIMIT 1;

-- name: selAuditLast
SELECT max(seq) FROM redrive_audit;

-- name: walkAudit
-- These statements read the audit rows below a sequence number, the newest first. Targets can be long, so the
-- index has only their first 256 characters.
SELECT seq, at, actor, action, target, reason, before, after, via, owner
FROM redrive_audit
WHERE seq < ?
ORDER BY seq DESC;

-- name: walkAuditActor
SELECT seq, at, actor, action, target, reason, before, after, via, owner
FROM redrive_audit INDEXED BY redrive_audit_actor
WHERE actor = +?1 AND seq < +?2
ORDER BY seq DESC;

-- name: walkAuditTarget
SELECT seq, at, actor, action, target, reason, before, after, via, owner
FROM redrive_audit INDEXED BY redrive_audit_target
WHERE target = +?1 AND substr(target, 1, 256) = substr(?1, 1, 256) AND seq < +?2
ORDER BY seq DESC;

-- ----------------------------------------------------------------------------
-- Figures
-- ----------------------------------------------------------------------------

-- name: selFigures :own
SELECT body FROM redrive_figures WHERE unit = ? AND at = ? AND lane = ?;

-- name: putFigures :own
INSERT INTO redrive_figures (unit, at, lane, body)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (unit, at, lane) DO UPDATE SET body = ?4;

-- name: walkFigures
SELECT at, lane, body FROM redrive_figures WHERE unit = ?1 AND at >= ?2 AND at < ?3;

-- name: laneFigures
-- laneFigures reads the rows of a few lanes, whose numbers are a JSON array. It looks up each row by its key,
-- because the table has the rows of all lanes together for each minute.
WITH RECURSIVE times(at) AS (VALUES (?2) UNION ALL SELECT at + ?4 FROM times WHERE at + ?4 < ?3)
SELECT f.at, f.lane, f.body
FROM times t
CROSS JOIN json_each(?5) i
CROSS JOIN redrive_figures f
WHERE f.unit = ?1 AND f.at = t.at AND f.lane = i.value;

-- name: allFigures
SELECT at, lane, body, unit FROM redrive_figures ORDER BY unit, at, lane;

-- name: nextFigures
SELECT at FROM redrive_figures WHERE unit = ?1 AND at > +?2 ORDER BY at LIMIT 1;

-- name: delFigures
DELETE FROM redrive_figures WHERE unit = ?1 AND at <= +?2;

-- name: selHeads
WITH priorities(n) AS (VALUES (1), (2), (3), (4)), states(s) AS (VALUES (1), (2))
SELECT l.queue, l.kind, (
  SELECT run_at
  FROM redrive_jobs INDEXED BY redrive_ready
  WHERE lane = l.id AND priority = p.n AND state = s.s AND state < 3
  ORDER BY run_at LIMIT 1), (
    SELECT run_at
    FROM redrive_jobs INDEXED BY redrive_ready
    WHERE lane = l.id AND priority = p.n AND state = s.s AND state < 3 AND run_at > ?1
    ORDER BY run_at LIMIT 1)
FROM redrive_lanes l
CROSS JOIN priorities p
CROSS JOIN states s;

-- ----------------------------------------------------------------------------
-- Streams
-- ----------------------------------------------------------------------------

-- name: selPosition
SELECT stream, cluster, topic_id, part, topic, next, first, reached, moved_at, read, taken, existing, revived, dead, own,
    others, processed, empty, replayed
FROM redrive_positions
WHERE stream = ?1 AND cluster = ?2 AND topic_id = ?3 AND part = ?4;

-- name: selPositions
-- The table has at most store.PositionsMax rows a stream; '' selects all.
SELECT stream, cluster, topic_id, part, topic, next, first, reached, moved_at, read, taken, existing, revived, dead, own,
    others, processed, empty, replayed
FROM redrive_positions
WHERE ?1 = '' OR stream = ?1
ORDER BY stream, topic, cluster, topic_id, part;

-- name: countPositions
SELECT count(*) FROM redrive_positions WHERE stream = ?1;

-- name: insPosition
INSERT INTO redrive_positions (stream, cluster, topic_id, part, topic, next, first, reached, moved_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?6, ?7)
ON CONFLICT (stream, cluster, topic_id, part) DO NOTHING;

-- name: setPosition
UPDATE redrive_positions
SET next = ?5, reached = ?6, moved_at = ?7, read = ?8, taken = ?9, existing = ?10, revived = ?11, dead = ?12, own = ?13,
    others = ?14, processed = ?15, empty = ?16, replayed = ?17
WHERE stream = ?1 AND cluster = ?2 AND topic_id = ?3 AND part = ?4;

-- name: recountPositions
SELECT stream, cluster, topic_id, part, topic, next, first, reached, moved_at, read, taken, existing, revived, dead, own,
    others, processed, empty, replayed
FROM redrive_positions
WHERE read <> taken + existing + revived + dead + own + others + processed + empty
ORDER BY stream, topic, cluster, topic_id, part;

-- name: selStream
SELECT name, mode, reason, by, at FROM redrive_streams WHERE name = ?1;

-- name: allStreams
-- The table has at most store.StreamsMax rows.
SELECT name, mode, reason, by, at FROM redrive_streams ORDER BY name;

-- name: countStreams
SELECT count(*) FROM redrive_streams;

-- name: insStream
INSERT INTO redrive_streams (name, mode) VALUES (?1, 0) ON CONFLICT (name) DO NOTHING;

-- name: setStream
UPDATE redrive_streams SET mode = ?2, reason = ?3, by = ?4, at = ?5 WHERE name = ?1;

-- name: putReport
INSERT INTO redrive_stream_reports (stream, process, at, body) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (stream, process) DO UPDATE SET at = ?3, body = ?4;

-- name: delReport
DELETE FROM redrive_stream_reports WHERE stream = ?1 AND process = ?2;

-- name: delReports
-- The table has a row for each process and stream.
DELETE FROM redrive_stream_reports WHERE at <= ?1;

-- name: selReports
SELECT stream, process, at, body
FROM redrive_stream_reports
WHERE ?1 = '' OR stream = ?1
ORDER BY stream, process;

-- name: selSink
SELECT stream, sink, seq, idx, holder, token, until, failed_at, error
FROM redrive_sinks
WHERE stream = ?1 AND sink = ?2;

-- name: selSinks
-- The table has at most store.SinksMax rows a stream; '' selects all.
SELECT stream, sink, seq, idx, holder, token, until, failed_at, error
FROM redrive_sinks
WHERE ?1 = '' OR stream = ?1
ORDER BY stream, sink;

-- name: countSinks
SELECT count(*) FROM redrive_sinks WHERE stream = ?1;

-- name: insSink
INSERT INTO redrive_sinks (stream, sink, seq, idx, holder, token, until) VALUES (?1, ?2, 0, 0, '', 0, 0)
ON CONFLICT (stream, sink) DO NOTHING;

-- name: setSink
UPDATE redrive_sinks SET seq = ?3, idx = ?4, holder = ?5, token = ?6, until = ?7, failed_at = ?8, error = ?9
WHERE stream = ?1 AND sink = ?2;

-- ----------------------------------------------------------------------------
-- Marks
-- ----------------------------------------------------------------------------

-- name: selMark
SELECT key, holder, token, until, done_at, forget_at, job, summary
FROM redrive_marks
WHERE key = ?1;

-- name: allMarks
SELECT key, holder, token, until, done_at, forget_at, job, summary
FROM redrive_marks
ORDER BY key;

-- name: insMark
INSERT INTO redrive_marks (key, holder, token, until) VALUES (?1, '', 0, 0)
ON CONFLICT (key) DO NOTHING;

-- name: setMark
UPDATE redrive_marks SET holder = ?2, token = ?3, until = ?4, done_at = ?5, forget_at = ?6, job = ?7, summary = ?8
WHERE key = ?1;

-- name: delMark
DELETE FROM redrive_marks WHERE key = ?1;

-- name: delMarks
DELETE FROM redrive_marks
WHERE key IN (SELECT key FROM redrive_marks WHERE forget_at <= ?1 ORDER BY forget_at, key LIMIT ?2);

-- ----------------------------------------------------------------------------
-- The index of owners
-- ----------------------------------------------------------------------------

-- name: selOwnedMark
SELECT value FROM redrive_meta WHERE key = 'owned';

-- name: walkUnindexed
-- walkUnindexed reads the events that the index of owners still lacks, up to the last commit that is final:
-- no earlier commit can become visible later.
SELECT seq, at, n, body FROM redrive_events WHERE seq > ? ORDER BY seq;

-- name: selUnindexed
-- selUnindexed reads all events that are not in the index of owners yet.
SELECT seq, at, body
FROM redrive_events
WHERE seq > (SELECT value FROM redrive_meta WHERE key = 'owned')
ORDER BY seq LIMIT ?;

-- name: countUnindexed
SELECT count(*), coalesce(sum(n), 0)
FROM (
  SELECT n FROM redrive_events WHERE seq > (SELECT value FROM redrive_meta WHERE key = 'owned') ORDER BY seq LIMIT ?);

-- name: selOwnedParts
-- selOwnedParts reads the part for the tag ?1 of each run that has jobs with ids below ?2.
SELECT r.high, r.at, (SELECT o.body FROM redrive_owned o WHERE o.place = r.run * 1024 + (?1 & (r.parts - 1)))
FROM redrive_owned_runs r
WHERE r.low < ?2
ORDER BY r.high DESC;

-- name: selOwnedRuns
SELECT run, low, high, n, parts, at, checked_at FROM redrive_owned_runs ORDER BY run;

-- name: selLastRun
SELECT max(run) FROM redrive_owned_runs;

-- name: selOwnedRun
SELECT body FROM redrive_owned WHERE place >= ?1 AND place < ?2 ORDER BY place;

-- name: setOwnedMark
UPDATE redrive_meta SET value = ?2 WHERE key = 'owned' AND value = ?1;

-- name: insOwnedRun
INSERT INTO redrive_owned_runs (run, low, high, n, parts, at, checked_at) VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: insOwned
INSERT INTO redrive_owned (place, body) VALUES (?, ?);

-- name: delOwnedRun
DELETE FROM redrive_owned_runs WHERE run = ?;

-- name: delOwned
DELETE FROM redrive_owned WHERE place >= ?1 AND place < ?2;

-- name: liveBetween
SELECT id FROM redrive_jobs WHERE id >= ?1 AND id <= ?2 ORDER BY id;

-- name: liveIDs
SELECT (SELECT id FROM redrive_jobs WHERE id = CAST(i.value AS BIGINT)) FROM json_each(?1) i;

-- name: doneBetween
SELECT job FROM redrive_done INDEXED BY redrive_done_job WHERE job >= ?1 AND job <= ?2 ORDER BY job;

-- name: doneIDs
SELECT (SELECT max(job) FROM redrive_done INDEXED BY redrive_done_job WHERE job = CAST(i.value AS BIGINT))
FROM json_each(?1) i;

-- name: deadBetween
SELECT job FROM redrive_dead WHERE job >= ?1 AND job <= ?2 ORDER BY job;

-- name: deadIDs
SELECT (SELECT job FROM redrive_dead WHERE job = CAST(i.value AS BIGINT)) FROM json_each(?1) i;

-- name: selNextID
SELECT value FROM redrive_meta WHERE key = 'next_id';

-- name: liveOwners
SELECT id, owner, correlation
FROM redrive_jobs
WHERE id >= ?1 AND id < ?2 AND (owner IS NOT NULL OR correlation IS NOT NULL);

-- name: doneOwners
SELECT job, owner, correlation
FROM redrive_done INDEXED BY redrive_done_job
WHERE job >= ?1 AND job < ?2 AND (owner IS NOT NULL OR correlation IS NOT NULL);

-- name: deadOwners
SELECT job, owner, correlation
FROM redrive_dead INDEXED BY sqlite_autoindex_redrive_dead_1
WHERE job >= ?1 AND job < ?2 AND (owner IS NOT NULL OR correlation IS NOT NULL);

-- ----------------------------------------------------------------------------
-- Sweeps
-- ----------------------------------------------------------------------------

-- name: selSwept
-- the table has only a few rows
SELECT what, n, since, cursor FROM redrive_swept;

-- name: putSwept
INSERT INTO redrive_swept (what, n, since, cursor)
VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (what) DO UPDATE SET n = ?2, since = ?3, cursor = ?4;

-- name: selOldEvents :own
SELECT seq, at, n FROM redrive_events WHERE seq < (SELECT max(seq) FROM redrive_events) ORDER BY seq;

-- name: delEvents :own
DELETE FROM redrive_events WHERE seq <= +?;

-- name: selOldKeys :own
SELECT owner, kind, key
FROM redrive_keys INDEXED BY redrive_keys_until
WHERE until <= +?
ORDER BY until, owner, kind, key;

-- name: delKey :own
DELETE FROM redrive_keys WHERE owner = ? AND kind = ? AND key = ? AND until <= +?;

-- name: selEndedJobs :own
-- The statement starts at the oldest row, and the reader stops when it has enough rows. The newest row is
-- removed only when no other row is left, so SQLite then begins to number the rows at 1 again.
SELECT d.seq, d.job, d.lane, d.state, d.finished_at, d.owner, d.key, d.batch,
    CASE WHEN d.key IS NOT NULL AND d.state = 4 THEN substr(d.result, 1, 257) END
FROM redrive_done d
ORDER BY d.seq;

-- name: delDone
DELETE FROM redrive_done WHERE seq = ?;

-- name: anyOriginal
SELECT EXISTS (SELECT 1 FROM redrive_originals);

-- name: delAltered
-- A job's original values stay as long as the job has a dead letter.
DELETE FROM redrive_originals WHERE job = ?1 AND NOT EXISTS (SELECT 1 FROM redrive_dead WHERE job = ?1);

-- name: delAlive
DELETE FROM redrive_keys WHERE owner = ? AND kind = ? AND key = ? AND job = ?;

-- name: setKeyState
UPDATE redrive_keys SET state = ?5 WHERE owner = ?1 AND kind = ?2 AND key = ?3 AND job = ?4;

-- name: setKeyResult
UPDATE redrive_keys SET result = ?5 WHERE owner = ?1 AND kind = ?2 AND key = ?3 AND job = ?4;

-- name: walkFailures :own
SELECT f.job, f.token, f.ended_at > +?3 OR EXISTS (SELECT 1 FROM redrive_jobs WHERE id = f.job)
    OR EXISTS (SELECT 1 FROM redrive_dead WHERE job = f.job)
FROM redrive_failures f
WHERE (f.job, f.token) >= (+?1, +?2)
ORDER BY f.job, f.token;

-- name: delFailure
DELETE FROM redrive_failures WHERE job = ? AND token = ?;

-- name: walkLetters
SELECT death, job, lane, reason, class, status, grp, owner, key, life, revived, long, died_at, acted_at, reopen_at, batch
FROM redrive_dead
WHERE death > +?
ORDER BY death;

-- name: delDead
DELETE FROM redrive_dead WHERE death = ? AND job = ? AND status <> 1;

-- name: delFailures
DELETE FROM redrive_failures INDEXED BY sqlite_autoindex_redrive_failures_1 WHERE job = +?;

-- name: delOriginal
DELETE FROM redrive_originals WHERE job = ?;

-- name: selMuted
SELECT 1 FROM redrive_groups WHERE id = ?1 AND muted <> 0 AND (muted_until IS NULL OR muted_until > ?2);

-- name: setDeaths
INSERT INTO redrive_meta (key, value) VALUES ('deaths', ?1) ON CONFLICT (key) DO UPDATE SET value = ?1;

-- name: selEmptyGroups
SELECT id, fingerprint
FROM redrive_groups INDEXED BY redrive_groups_empty
WHERE entries = 0 AND last_at <= +? AND muted = 0
ORDER BY last_at;

-- name: delGroup
DELETE FROM redrive_groups WHERE id = ? AND entries = 0 AND muted = 0;

-- name: delTrends
DELETE FROM redrive_trends WHERE grp = +?;

-- name: selMuteOver
SELECT id, fingerprint
FROM redrive_groups INDEXED BY redrive_groups_muted
WHERE muted = 1 AND muted_until <= +?
ORDER BY muted_until;

-- name: nextMark
-- Each value of reopen_at is returned once, even if many dead letters have that value.
SELECT reopen_at FROM redrive_dead INDEXED BY redrive_dead_reopen WHERE reopen_at > +? ORDER BY reopen_at LIMIT 1;

-- name: selMarked
SELECT death FROM redrive_dead INDEXED BY redrive_dead_reopen WHERE reopen_at = +? ORDER BY death;

-- name: selDue
SELECT death FROM redrive_dead INDEXED BY redrive_dead_reopen WHERE reopen_at <= +? ORDER BY reopen_at, death;

-- name: selLetter
SELECT death, job, lane, reason, class, status, grp, owner, key, life, revived, long, died_at, acted_at, reopen_at, batch
FROM redrive_dead
WHERE death = ?;

-- name: setReopen
UPDATE redrive_dead
SET status = 0, action = ?2, note = NULL, acted_at = ?3, acted_by = ?4, reopen_at = NULL
WHERE death = ?1 AND status = 3;

-- name: delOldMinutes
DELETE FROM redrive_trends WHERE grp = 0 AND at <= +?;

-- name: walkTrends
SELECT grp, at FROM redrive_trends WHERE grp >= +? ORDER BY grp, at;

-- name: delTrend
DELETE FROM redrive_trends WHERE grp = ? AND at = ?;

-- ----------------------------------------------------------------------------
-- Dump
-- ----------------------------------------------------------------------------

-- name: allLive
SELECT j.id, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, j.run_at, j.claimed_at, NULL, j.deadline, j.lease_until, j.cancel_at,
    j.holder, j.owner, j.correlation, j.key, j.batch, NULL, j.attrs, j.policy, coalesce(j.payload, b.payload)
FROM redrive_jobs j
JOIN redrive_lanes l ON l.id = j.lane
LEFT JOIN redrive_bodies b ON b.job = j.id
ORDER BY j.id;

-- name: allDone
SELECT j.job, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.finished_at, NULL, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, NULL, j.result, j.cost, j.sends, j.attrs, j.payload
FROM redrive_done j
JOIN redrive_lanes l ON l.id = j.lane
ORDER BY j.job, j.seq;

-- name: allDead
SELECT j.job, l.kind, l.queue, 5, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.died_at, j.deadline, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, j.reason, j.attrs, j.policy, coalesce(j.payload, b.payload)
FROM redrive_dead j
JOIN redrive_lanes l ON l.id = j.lane
LEFT JOIN redrive_bodies b ON b.job = j.job
WHERE j.revived = 0
ORDER BY j.job;

-- name: allFailures
SELECT job, token, life, attempt, started_at, ended_at, how, class, code, permanent, http, exit, signal, holder,
    correlation, fingerprint, cost, message, user_message, decision, details, stack, stderr, sends, build, stdout
FROM redrive_failures
ORDER BY job, token;

-- name: allKeys
SELECT owner, kind, key, job, until, result FROM redrive_keys ORDER BY job, owner, kind, key;

-- name: allProgress
SELECT job, token, at, done, total, note FROM redrive_progress;

-- name: allEvents
SELECT seq, at, body FROM redrive_events ORDER BY seq;

-- name: allPolicies
SELECT hash, name, at, by, body FROM redrive_policies ORDER BY hash;

-- name: allTerms
SELECT j.job, t.body, j.released
FROM (
  SELECT id AS job, terms, released FROM redrive_jobs WHERE terms IS NOT NULL OR released IS NOT NULL
  UNION ALL SELECT job, terms, released
  FROM redrive_dead
  WHERE revived = 0 AND (terms IS NOT NULL OR released IS NOT NULL)) AS j
LEFT JOIN redrive_terms t ON t.id = j.terms
ORDER BY j.job;

-- name: allBegun
SELECT id, token FROM redrive_jobs WHERE state = 3 AND begun = token ORDER BY id;

-- name: auditRows
SELECT seq, at, actor, action, target, reason, before, after, via, owner FROM redrive_audit ORDER BY seq;

-- ----------------------------------------------------------------------------
-- Doctor
-- ----------------------------------------------------------------------------

-- name: recount
-- Jobs in their tables, and what the counters say.
SELECT l.queue, l.kind, l.deps, x.state, sum(x.n), sum(x.kept)
FROM (
  SELECT lane, state, count(*) AS n, 0 AS kept FROM redrive_jobs GROUP BY 1, 2
  UNION ALL SELECT lane, state, count(*), 0 FROM redrive_done GROUP BY 1, 2
  UNION ALL SELECT lane, 5, count(*), 0 FROM redrive_dead WHERE revived = 0 GROUP BY 1
  UNION ALL SELECT lane, state, 0, n FROM redrive_counters) x
JOIN redrive_lanes l ON l.id = x.lane
GROUP BY l.id, x.state;

-- name: recountGroups
-- Groups whose counters are wrong.
SELECT g.fingerprint, g.pending, count(d.job) FILTER (WHERE d.status = 0), g.entries, count(d.job)
FROM redrive_groups g
LEFT JOIN redrive_dead d ON d.grp = g.id
GROUP BY g.id
HAVING g.pending <> count(d.job) FILTER (WHERE d.status = 0) OR g.entries <> count(d.job);

-- name: recountDead
-- Wrong counters of dead letters.
SELECT l.queue, l.kind, x.reason, x.class, x.status, sum(x.kept), sum(x.n)
FROM (
  SELECT lane, reason, coalesce(class, '') AS class, status, 1 AS n, 0 AS kept FROM redrive_dead
  UNION ALL SELECT lane, reason, class, status, 0, n FROM redrive_dead_counts) x
JOIN redrive_lanes l ON l.id = x.lane
GROUP BY l.id, x.reason, x.class, x.status
HAVING sum(x.kept) <> sum(x.n);

-- name: recountBatches
-- Wrong counts of batches: drafts, those that are aside, live members, outcomes; first as kept, then as there are.
SELECT x.batch, sum(x.drafts), sum(x.n_drafts), sum(x.asides), sum(x.n_asides), sum(x.live), sum(x.n_live),
  sum(x.outcomes), sum(x.n_outcomes)
FROM (
  SELECT id AS batch, drafts, 0 AS n_drafts, asides, 0 AS n_asides, 0 AS live, 0 AS n_live, outcome AS outcomes,
    0 AS n_outcomes
  FROM redrive_batches
  UNION ALL SELECT batch, 0, 1 - aside, 0, aside, 0, 0, 0, 0 FROM redrive_drafts
  UNION ALL SELECT batch, 0, 0, 0, 0, total - completed - dead - cancelled, 0, 0, 0 FROM redrive_batch_counts
  UNION ALL SELECT batch, 0, 0, 0, 0, 0, 1, 0, 0 FROM redrive_jobs WHERE batch > 0
  UNION ALL SELECT batch, 0, 0, 0, 0, 0, 0, 0, 1 FROM redrive_outcomes) x
GROUP BY x.batch
HAVING sum(x.drafts) <> sum(x.n_drafts) OR sum(x.asides) <> sum(x.n_asides) OR sum(x.live) <> sum(x.n_live)
  OR sum(x.outcomes) <> sum(x.n_outcomes)
ORDER BY x.batch;

-- name: selOldest
-- The oldest ready job of each lane, priority and state, also in closed lanes and paused queues.
SELECT j.id, l.queue, l.kind, j.run_at, coalesce(q.mode, 0), l.gate
FROM redrive_lanes l
JOIN (SELECT 1 AS p UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4)
JOIN (SELECT 1 AS s UNION ALL SELECT 2)
JOIN redrive_jobs j ON j.id = (
  SELECT id
  FROM redrive_jobs INDEXED BY redrive_ready
  WHERE lane = l.id AND priority = p AND state = s AND state < 3
  ORDER BY run_at LIMIT 1)
LEFT JOIN redrive_queues q ON q.name = l.queue
WHERE j.run_at <= ?1
ORDER BY j.run_at, j.id;

-- name: selOverdue
SELECT count(*), min(lease_until) FROM redrive_jobs INDEXED BY redrive_lease WHERE state = 3 AND lease_until <= ?1;

-- name: selProcesses
SELECT name, instance, what, host, pid, version, coalesce(build, ''), policy, started_at, seen_at, queues, kinds,
    slots, running, quiet, silent, coalesce(sick, '')
FROM redrive_processes
ORDER BY name, instance;

-- name: selNewestDeaths
-- The LIMIT is store.DeathsMax.
SELECT died_at FROM redrive_dead ORDER BY death DESC LIMIT 1000;

-- name: countDeadNotices
-- The pending dead letters of the queue of notices.
SELECT CAST(coalesce(sum(d.n), 0) AS bigint) FROM redrive_dead_counts d JOIN redrive_lanes l ON l.id = d.lane
WHERE l.queue = 'redrive.notify' AND d.status = 0;

-- name: selClasses
SELECT coalesce(class, ''), count(*), CAST(sum(pending) AS bigint),
    CAST(sum(CASE WHEN assignee IS NULL THEN 1 ELSE 0 END) AS bigint),
    CAST(sum(CASE WHEN assignee IS NULL THEN pending ELSE 0 END) AS bigint)
FROM redrive_groups
WHERE pending > 0
GROUP BY coalesce(class, '')
ORDER BY 1;

-- name: selOldestEnded
SELECT finished_at FROM redrive_done ORDER BY seq LIMIT 1;

-- name: selOldestEvent
-- The newest row is left out, because retention never removes it.
SELECT at FROM redrive_events WHERE seq < (SELECT max(seq) FROM redrive_events) ORDER BY seq LIMIT 1;

-- ----------------------------------------------------------------------------
-- Server, transactions and locks
-- ----------------------------------------------------------------------------

-- name: beginRead :own
BEGIN DEFERRED;

-- name: beginTx :own
BEGIN IMMEDIATE;

-- name: commitTx :own
COMMIT;

-- name: releaseTo :own
RELEASE redrive_join;

-- name: rollbackTo :own
ROLLBACK TO redrive_join;

-- name: rollbackTx :own
ROLLBACK;

-- name: savepoint :own
SAVEPOINT redrive_join;

-- name: selFile :own
SELECT file FROM pragma_database_list WHERE name = 'main';

-- name: selFree :own
PRAGMA freelist_count;

-- name: selIntegrity :own
-- It reports at most 20 damages.
PRAGMA integrity_check(20);

-- name: selLastAt :own
SELECT at FROM redrive_events ORDER BY seq DESC LIMIT 1;

-- name: selPages :own
PRAGMA page_count;

-- name: selSynchronous :own
PRAGMA synchronous;

-- name: selVersion :own
PRAGMA data_version;

-- ----------------------------------------------------------------------------
-- Batches
-- ----------------------------------------------------------------------------

-- name: takeBatchRow
SELECT id, owner, key, name, attrs, callbacks, state, task, task_at, task_through, drafts, asides, outcome,
  created_at, published_at, ended_at, expires_at, created_by FROM redrive_batches WHERE id = ?;

-- name: joinBatchRow
SELECT id, owner, key, name, attrs, callbacks, state, task, task_at, task_through, drafts, asides, outcome,
  created_at, published_at, ended_at, expires_at, created_by FROM redrive_batches WHERE id = ?1;

-- name: selBatchKey
SELECT id FROM redrive_batches WHERE owner = ? AND key = ?;

-- name: selBatchCounts
SELECT total, completed, dead, cancelled FROM redrive_batch_counts WHERE batch = ?1;

-- name: addBatchCounts :own
INSERT INTO redrive_batch_counts (batch, total, completed, dead, cancelled) VALUES (?1, ?2, ?3, ?4, ?5)
  ON CONFLICT (batch) DO UPDATE SET total = total + ?2, completed = completed + ?3, dead = dead + ?4, cancelled = cancelled + ?5
  RETURNING total, completed, dead, cancelled;

-- name: setBatchRow
UPDATE redrive_batches SET state = ?2, task = ?3, task_at = ?4, task_through = ?5, drafts = ?6,
  asides = ?7, outcome = ?8, published_at = ?9, ended_at = ?10, expires_at = ?11 WHERE id = ?1;

-- name: insOutcome
INSERT INTO redrive_outcomes (batch, n, state, at, total, completed, dead, cancelled)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: nextBatch
UPDATE redrive_meta SET value = value + 1 WHERE key = 'batches' RETURNING value;

-- name: insBatch
INSERT INTO redrive_batches (id, owner, key, name, attrs, callbacks, state, created_at, expires_at, created_by)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8, ?9);

-- name: insDraft
INSERT INTO redrive_drafts (job, batch, aside, lane, priority, run_at, deadline, correlation, key, attrs, policy,
  terms, long, payload, replaces, created_at)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16
  WHERE NOT EXISTS (SELECT 1 FROM redrive_jobs WHERE id = ?1) ON CONFLICT (job) DO NOTHING;

-- name: selDraft
SELECT batch FROM redrive_drafts WHERE job = ?;

-- name: moveMemberKey
UPDATE redrive_keys SET job = ?3, state = NULL WHERE owner = ?1 AND kind = '' AND key = ?2 AND job = ?4;

-- name: growSpan
UPDATE redrive_spans SET last = ?3 WHERE batch = ?1 AND first = (SELECT s.first FROM redrive_spans s
  WHERE s.batch = ?1 AND s.first < ?2 ORDER BY s.first DESC LIMIT 1) AND last >= ?2 - 1;

-- name: insSpan
INSERT INTO redrive_spans (batch, first, last) VALUES (?1, ?2, ?3)
  ON CONFLICT (batch, first) DO UPDATE SET last = max(redrive_spans.last, ?3);

-- name: firstDrafts
SELECT job, lane, priority, run_at, correlation, aside, replaces, key, long FROM redrive_drafts
  WHERE batch = ?1 ORDER BY job LIMIT ?2;

-- name: insPublished
INSERT INTO redrive_jobs (id, lane, state, priority, run_at, token, life,
  attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
  deadline, owner, correlation, key, batch, attrs, policy, terms, long, payload)
  SELECT job, lane, 1, priority, coalesce(run_at, ?3), 0, 1, 0, 0, 0, 0, 0, ?3, max(coalesce(run_at, 0), ?3),
  deadline, ?4, correlation, key, CASE aside WHEN 1 THEN -batch ELSE batch END, attrs, policy, terms, long, payload
  FROM redrive_drafts WHERE batch = ?1 AND job <= ?2 ORDER BY job;

-- name: delPublished
DELETE FROM redrive_drafts WHERE batch = ?1 AND job <= ?2;

-- name: selDraftOf
SELECT job, lane, priority, run_at, correlation, aside, replaces, key, long FROM redrive_drafts
  WHERE job = ?1 AND batch = ?2;

-- name: delDraft
DELETE FROM redrive_drafts WHERE job = ?1 AND batch = ?2;

-- name: delKeyOf
DELETE FROM redrive_keys WHERE owner = ?1 AND kind = '' AND key = ?2 AND job = ?3;

-- name: giveKeyBack
UPDATE redrive_keys SET job = ?3, state = 6 WHERE owner = ?1 AND kind = '' AND key = ?2 AND job = ?4;

-- name: setReplaced
UPDATE redrive_done INDEXED BY redrive_done_job SET batch = -batch WHERE job = ?1 AND state = 6 AND batch > 0;

-- name: walkBatches
SELECT id, state, task, drafts, asides, ended_at, expires_at, created_at FROM redrive_batches NOT INDEXED WHERE id > +?1 ORDER BY id;

-- name: lockOldBatch
SELECT id FROM redrive_batches WHERE id = ?1;

-- name: hasMembers
SELECT EXISTS (SELECT 1 FROM redrive_dead INDEXED BY redrive_dead_batch WHERE batch = ?1)
  OR EXISTS (SELECT 1 FROM redrive_dead INDEXED BY redrive_dead_batch WHERE batch = -?1)
  OR EXISTS (SELECT 1 FROM redrive_spans s CROSS JOIN redrive_jobs j WHERE s.batch = ?1 AND j.id BETWEEN s.first AND s.last AND abs(j.batch) = ?1)
  OR EXISTS (SELECT 1 FROM redrive_spans s CROSS JOIN redrive_done d INDEXED BY redrive_done_job WHERE s.batch = ?1
    AND d.job BETWEEN s.first AND s.last AND abs(d.batch) = ?1);

-- name: delMemberKeys
DELETE FROM redrive_keys WHERE owner = ?1 AND kind = '' AND key IN
  (SELECT key FROM redrive_keys WHERE owner = ?1 AND kind = '' ORDER BY key LIMIT ?2);

-- name: delBatch
DELETE FROM redrive_batches WHERE id = ?1;

-- name: delSpans
DELETE FROM redrive_spans WHERE batch = ?1;

-- name: delCounts
DELETE FROM redrive_batch_counts WHERE batch = ?1;

-- name: delOutcomes
DELETE FROM redrive_outcomes WHERE batch = ?1;

-- name: walkMembers
SELECT id, token, lane, state, priority, life, attempts, crashes, deferrals, snoozes, interrupts,
  created_at, life_at, claimed_at, holder, owner, correlation, key, batch, long, crash_max, cancel_at, redrive, terms, released, run_at, own_priority, policy, attrs FROM (SELECT first, last FROM redrive_spans
  WHERE batch = ?1 AND last > +?2) s CROSS JOIN redrive_jobs j WHERE j.id BETWEEN s.first AND s.last
  AND j.id > +?2 AND (j.batch = ?1 OR j.batch = -?1) ORDER BY s.first, j.id;

-- name: batchRoute.up
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch, life, priority, long, key, died_at FROM redrive_dead INDEXED BY redrive_dead_batch
    WHERE batch = +?1 AND death >= +?2 AND death <= +?3 ORDER BY death;

-- name: readBatchRow
SELECT id, owner, key, name, attrs, callbacks, state, task, task_at, task_through, drafts, asides, outcome,
  created_at, published_at, ended_at, expires_at, created_by FROM redrive_batches WHERE id = +?1;

-- name: selDueBatches
SELECT id FROM redrive_batches WHERE state BETWEEN 3 AND 5 AND expires_at IS NOT NULL AND expires_at <= ?1 ORDER BY expires_at, id LIMIT 500;

-- name: selNextExpires
SELECT min(expires_at) FROM redrive_batches INDEXED BY redrive_batches_expires WHERE state BETWEEN 3 AND 5 AND expires_at IS NOT NULL;

-- name: selTasks
SELECT id FROM redrive_batches WHERE task > 0 ORDER BY id;

-- name: countRunning
SELECT count(*) FROM redrive_jobs INDEXED BY redrive_lease WHERE state = 3 AND batch = ?1;

-- name: sumRunning
SELECT batch, count(*) FROM redrive_jobs INDEXED BY redrive_lease WHERE state = 3 AND batch > 0 GROUP BY batch;

-- name: listBatches
SELECT id, owner, key, name, attrs, callbacks, state, task, task_at, task_through, drafts, asides, outcome,
  created_at, published_at, ended_at, expires_at, created_by FROM redrive_batches WHERE id < +?1 ORDER BY id DESC;

-- name: ofOwner
SELECT id, owner, key, name, attrs, callbacks, state, task, task_at, task_through, drafts, asides, outcome,
  created_at, published_at, ended_at, expires_at, created_by FROM redrive_batches INDEXED BY redrive_batches_owner
  WHERE owner = +?2 AND owner <> '' AND id < +?1 ORDER BY id DESC;

-- name: ofState
SELECT id, owner, key, name, attrs, callbacks, state, task, task_at, task_through, drafts, asides, outcome,
  created_at, published_at, ended_at, expires_at, created_by FROM redrive_batches INDEXED BY redrive_batches_state
  WHERE state = +?2 AND id < +?1 ORDER BY id DESC;

-- name: severalCounts
SELECT total, completed, dead, cancelled, batch FROM json_each(?1) i CROSS JOIN redrive_batch_counts
  WHERE batch = CAST(i.value AS BIGINT);

-- name: selOutcomes
SELECT n, state, at, total, completed, dead, cancelled, batch FROM redrive_outcomes
  WHERE batch = ?1 AND n > ?2 ORDER BY n LIMIT ?3;

-- name: rangeDrafts
SELECT d.job, l.kind, l.queue, d.priority, d.created_at, d.run_at, d.deadline, b.owner, d.correlation, d.key, d.batch, d.aside, d.replaces FROM redrive_drafts d JOIN redrive_lanes l ON l.id = d.lane JOIN redrive_batches b ON b.id = d.batch WHERE d.job BETWEEN ?1 AND ?2 AND d.batch = ?3 ORDER BY d.job;

-- name: rangeLive
SELECT j.id, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals,
  j.snoozes, j.interrupts, j.created_at, j.life_at, j.run_at, j.claimed_at, NULL, j.deadline, j.lease_until,
  j.cancel_at, j.holder, j.owner, j.correlation, j.key, j.batch, NULL, j.attrs FROM redrive_jobs j JOIN redrive_lanes l ON l.id = j.lane WHERE j.id BETWEEN ?1 AND ?2 AND (j.batch = ?3 OR j.batch = -?3) ORDER BY j.id;

-- name: rangeDone
SELECT j.job, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals,
  j.snoozes, j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.finished_at, NULL, NULL,
  NULL, j.holder, j.owner, j.correlation, j.key, j.batch, NULL, j.attrs FROM redrive_done j JOIN redrive_lanes l ON l.id = j.lane WHERE j.job BETWEEN ?1 AND ?2 AND (j.batch = ?3 OR j.batch = -?3) ORDER BY j.job;

-- name: rangeDead
SELECT j.job, l.kind, l.queue, 5, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals,
  j.snoozes, j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.died_at, j.deadline, NULL,
  NULL, j.holder, j.owner, j.correlation, j.key, j.batch, j.reason, j.attrs FROM redrive_dead j INDEXED BY sqlite_autoindex_redrive_dead_1
  JOIN redrive_lanes l ON l.id = j.lane WHERE j.job BETWEEN ?1 AND ?2 AND j.revived = 0 AND (j.batch = ?3 OR j.batch = -?3) ORDER BY j.job;

-- name: selSpans
SELECT first, last FROM redrive_spans WHERE batch = ?1 AND last > +?2 ORDER BY first;

-- name: selMemberKey
SELECT job FROM redrive_keys WHERE owner = ?1 AND kind = '' AND key = ?2;

-- name: batchRoute.down
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch FROM redrive_dead INDEXED BY redrive_dead_batch
    WHERE batch = +?1 AND death >= +?2 AND death <= +?3 ORDER BY death DESC;

-- name: allOutcomes
SELECT n, state, at, total, completed, dead, cancelled, batch FROM redrive_outcomes ORDER BY batch, n;

-- name: allBatches
SELECT id, owner, key, name, attrs, callbacks, state, task, task_at, task_through, drafts, asides, outcome,
  created_at, published_at, ended_at, expires_at, created_by FROM redrive_batches ORDER BY id;

-- name: allCounts
SELECT total, completed, dead, cancelled, batch FROM redrive_batch_counts;

-- name: allDrafts
SELECT d.job, l.kind, l.queue, d.priority, d.created_at, d.run_at, d.deadline, b.owner, d.correlation, d.key, d.batch, d.aside, d.replaces FROM redrive_drafts d JOIN redrive_lanes l ON l.id = d.lane JOIN redrive_batches b ON b.id = d.batch ORDER BY d.job;
