-- The statements of the PostgreSQL store, as they are sent. Only the schema is put in: redrive is the default one,
-- and another one replaces it before each table, in quotes. So every statement can be copied into psql:
--
--   PREPARE q AS …;  EXPLAIN EXECUTE q (1, 2);
--
-- A line "-- name: X" begins the statement that is asked for by the name X. Comment lines below it belong to it. Marks:
--
--   (none)      package internal/sqlstore asks for it. The file of the SQLite store has a statement of the same name
--               with the same columns.
--   :own        only this store has it: it reads or writes many rows at once, or it is about other writers.
--   :overtaken  the last column says whether a later transaction has written the row: see order.go.
--
-- $1, $2 … are the arguments in the order of the call. An OFFSET 0 keeps the planner from pulling a subquery up: each
-- id is then looked up by the index, whatever the statistics say.

-- ----------------------------------------------------------------------------
-- Lanes, queues, numbers and counters
-- ----------------------------------------------------------------------------

-- name: selLanes
SELECT id, queue, kind, deps, gate FROM redrive.redrive_lanes ORDER BY id;

-- name: selCounters
-- Counters are what is folded, and what later events have changed.
SELECT lane, state, sum(n) AS n
FROM (
  SELECT lane, state, n FROM redrive.redrive_counters
  UNION ALL SELECT d.lane, d.state, d.n
  FROM (
    SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches
    FROM redrive.redrive_events e
    WHERE e.seq > (SELECT value FROM redrive.redrive_meta WHERE key = 'folded')
    UNION ALL SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches
    FROM redrive.redrive_meta f
    CROSS JOIN LATERAL unnest(f.late) AS l(id)
    JOIN redrive.redrive_events e ON e.seq >= l.id << 20 AND e.seq < (l.id + 1) << 20
    WHERE f.key = 'folded') e, unnest(e.lanes, e.states, e.ns) AS d(lane, state, n)) c
GROUP BY lane, state;

-- name: selQueues
SELECT name, mode, workers, lim, rate_n, rate_per FROM redrive.redrive_queues ORDER BY name;

-- name: selRates
SELECT scope, arrival FROM redrive.redrive_rates;

-- name: selEnded
-- The highest id of a job that has ended or died: ids that are reserved later are above it.
SELECT greatest(
  coalesce((SELECT max(job) FROM redrive.redrive_done), 0), coalesce((SELECT max(job) FROM redrive.redrive_dead), 0));

-- name: selDeaths
-- The number of the newest death, and the hash of the rules of notifications in force.
SELECT greatest(
  coalesce((SELECT max(death) FROM redrive.redrive_dead), 0),
  coalesce((SELECT value FROM redrive.redrive_meta WHERE key = 'deaths'), 0)),
  (SELECT hash FROM redrive.redrive_rules ORDER BY number DESC LIMIT 1);

-- name: insLane
INSERT INTO redrive.redrive_lanes (id, queue, kind, deps) VALUES ($1, $2, $3, $4);

-- name: insQueue
INSERT INTO redrive.redrive_queues (name) VALUES ($1);

-- name: setRate
INSERT INTO redrive.redrive_rates (scope, arrival) VALUES ($1, $2) ON CONFLICT (scope) DO UPDATE SET arrival = $2;

-- name: selLaneOfRun :own
-- The lane of a run, without a lock.
SELECT lane FROM redrive.redrive_jobs WHERE id = $1 AND token = $2 AND state = 3;

-- name: addNextID
UPDATE redrive.redrive_meta SET value = value + $1 WHERE key = 'next_id' RETURNING value;

-- name: selLastDeath :own
-- The number and the time of the last death.
SELECT greatest(
  coalesce((SELECT max(death) FROM redrive.redrive_dead), 0),
  coalesce((SELECT value FROM redrive.redrive_meta WHERE key = 'deaths'), 0)),
    (SELECT died_at FROM redrive.redrive_dead ORDER BY death DESC LIMIT 1);

-- name: askCancel
UPDATE redrive.redrive_jobs SET cancel_at = $2 WHERE id = $1 AND state = 3 AND cancel_at IS NULL;

-- name: setQueueRow
UPDATE redrive.redrive_queues SET mode = $2, workers = $3, lim = $4, rate_n = $5, rate_per = $6 WHERE name = $1;

-- name: selVersion :own
SELECT value FROM redrive.redrive_meta WHERE key = 'settings';

-- name: nextSettings :own
-- The step is random: two servers that continue from the same version after a fail-over do not come to the
-- same one.
UPDATE redrive.redrive_meta SET value = value + 1 + (random() * 1000000)::bigint WHERE key = 'settings';

-- name: selSettings :own
-- The version of lanes and queues, the server's time, and whether commits wait for standbys. It needs the row
-- that events need, too: these are written with the commit, which is too late to find that they are not.
SELECT value, (date_part('epoch', clock_timestamp()) * 1000000)::bigint,
    current_setting('synchronous_standby_names') <> ''
FROM redrive.redrive_meta
WHERE key = 'settings' AND EXISTS (SELECT 1 FROM redrive.redrive_meta WHERE key = 'event_base');

-- name: selReserved :own
SELECT value - 1 FROM redrive.redrive_meta WHERE key = 'next_id';

-- name: raiseIDs :own
-- $1 is the last id that this process was given.
UPDATE redrive.redrive_meta SET value = $1::bigint + 1 WHERE key = 'next_id' AND value <= $1::bigint;

-- ----------------------------------------------------------------------------
-- New jobs, keys and terms
-- ----------------------------------------------------------------------------

-- name: insJob
INSERT INTO redrive.redrive_jobs (
  id, lane, state, priority, run_at, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at,
  life_at, deadline, owner, correlation, key, batch, attrs, policy, terms, long, payload)
VALUES (
  $1, $2, 1, $3, $4, 0, 1, 0, 0, 0, 0, 0, $5, greatest($4::bigint, $5::bigint), $6, $7, $8, $9, $10, $11, $12, $15,
  $13, $14)
ON CONFLICT (id) DO NOTHING;

-- name: insPlainJob
-- insPlainJob inserts a job that has none of the optional columns.
INSERT INTO redrive.redrive_jobs (
  id, lane, state, priority, run_at, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at,
  life_at, payload)
VALUES ($1, $2, 1, $3, $4, 0, 1, 0, 0, 0, 0, 0, $5, greatest($4::bigint, $5::bigint), $6)
ON CONFLICT (id) DO NOTHING;

-- name: insBody
INSERT INTO redrive.redrive_bodies (job, payload) VALUES ($1, $2);

-- name: selKey
SELECT job, digest, until, state, created_at FROM redrive.redrive_keys WHERE owner = $1 AND kind = $2 AND key = $3;

-- name: selProcessed
SELECT job, until, state, result FROM redrive.redrive_keys WHERE owner = $1 AND kind = $2 AND key = $3;

-- name: putKey
-- If the key belongs to a job that has ended, $8 is the created_at value of the key's row; see job.AliveKey.
-- Each job that takes such a key increases created_at. So if two calls have read the same row, only one of
-- them changes the row.
INSERT INTO redrive.redrive_keys (owner, kind, key, job, digest, created_at, until)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (owner, kind, key) DO UPDATE SET job = $4, digest = $5,
    created_at = greatest($6::bigint, redrive_keys.created_at + 1), until = $7, state = NULL, result = NULL
WHERE redrive_keys.until <= $6 OR redrive_keys.created_at = $8;

-- name: selTermsID
SELECT id FROM redrive.redrive_terms WHERE digest = $1;

-- name: insTerms
INSERT INTO redrive.redrive_terms (digest, body) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING RETURNING id;

-- name: selTerms
SELECT body FROM redrive.redrive_terms WHERE id = $1;

-- name: insertJobs :own
-- The jobs of many calls.
INSERT INTO redrive.redrive_jobs (
  id, lane, state, priority, run_at, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at,
  life_at, deadline, owner, correlation, key, batch, attrs, policy, long, payload, terms)
SELECT t.id, t.lane, 1, t.priority, t.run_at, 0, 1, 0, 0, 0, 0, 0, $1::bigint, greatest(t.run_at, $1::bigint),
    t.deadline, t.owner, t.correlation, t.key, t.batch, t.attrs, t.policy, t.long, t.payload, t.terms
FROM unnest(
  $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[],
  $10::bigint[], $11::bytea[], $12::bytea[], $13::bigint[], $14::bytea[], $15::bigint[]) AS t(
  id, lane, priority, run_at, deadline, owner, correlation, key, batch, attrs, policy, long, payload, terms)
ON CONFLICT (id) DO NOTHING;

-- name: insertManyJobs :own
-- insertJobs for the shared statements, which ask which id was taken.
INSERT INTO redrive.redrive_jobs (
  id, lane, state, priority, run_at, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at,
  life_at, deadline, owner, correlation, key, batch, attrs, policy, long, payload, terms)
SELECT t.id, t.lane, 1, t.priority, t.run_at, 0, 1, 0, 0, 0, 0, 0, $1::bigint, greatest(t.run_at, $1::bigint),
    t.deadline, t.owner, t.correlation, t.key, t.batch, t.attrs, t.policy, t.long, t.payload, t.terms
FROM unnest(
  $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[],
  $10::bigint[], $11::bytea[], $12::bytea[], $13::bigint[], $14::bytea[], $15::bigint[]) AS t(
  id, lane, priority, run_at, deadline, owner, correlation, key, batch, attrs, policy, long, payload, terms)
ON CONFLICT (id) DO NOTHING
RETURNING id;

-- name: insertDrafts :own
-- insDraft for many members of the batch $1.
INSERT INTO redrive.redrive_drafts (
  job, batch, aside, lane, priority, run_at, deadline, correlation, key, attrs, policy, terms, long, payload, replaces,
  created_at)
SELECT t.job, $1::bigint, t.aside, t.lane, t.priority, t.run_at, t.deadline, t.correlation, t.key, t.attrs, t.policy,
  t.terms, t.long, t.payload, t.replaces, $2::bigint
FROM unnest(
  $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[], $10::text[],
  $11::bytea[], $12::bytea[], $13::bigint[], $14::bigint[], $15::bytea[], $16::bigint[]) AS t(
  job, aside, lane, priority, run_at, deadline, correlation, key, attrs, policy, terms, long, payload, replaces)
WHERE (SELECT 1 FROM redrive.redrive_jobs j WHERE j.id = t.job) IS NULL
ON CONFLICT (job) DO NOTHING
RETURNING job;

-- name: insertBodies :own
INSERT INTO redrive.redrive_bodies (job, payload) SELECT * FROM unnest($1::bigint[], $2::bytea[]);

-- name: reserveKeys :own
-- A key whose time is over is free. What is returned is taken by this statement; of the others nobody knows
-- more yet. The order of the arguments keeps two transactions from waiting for each other. A key that is known is not
-- locked, so that others who ask for it do not wait.
INSERT INTO redrive.redrive_keys (owner, kind, key, job, digest, created_at, until)
SELECT t.owner, t.kind, t.key, t.job, t.digest, $1::bigint, t.until
FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bytea[], $7::bigint[]) AS t(
  owner, kind, key, job, digest, until)
WHERE (
  SELECT 1 FROM redrive.redrive_keys k
  WHERE k.owner = t.owner AND k.kind = t.kind AND k.key = t.key AND (k.until IS NULL OR k.until > $1::bigint)) IS NULL
ON CONFLICT (owner, kind, key) DO UPDATE SET job = excluded.job, digest = excluded.digest,
    created_at = excluded.created_at, until = excluded.until, state = NULL, result = NULL
WHERE redrive_keys.until <= $1::bigint
RETURNING job;

-- name: seeManyKeys :own
-- The keys of many jobs that are there: the place of each in the arguments, its job, the job's state, the state that the
-- key has of a job that was removed, and whether the job is a draft.
SELECT t.n, k.job, k.digest, p.state, k.state, k.created_at, k.until, d.job IS NOT NULL
FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS t(owner, kind, key, n)
CROSS JOIN LATERAL (
  SELECT job, digest, state, created_at, until FROM redrive.redrive_keys
  WHERE owner = t.owner AND kind = t.kind AND key = t.key OFFSET 0) k
LEFT JOIN LATERAL (SELECT job FROM redrive.redrive_drafts WHERE job = k.job OFFSET 0) d ON true
LEFT JOIN LATERAL (
  SELECT state FROM (
    SELECT 1 AS place, state FROM redrive.redrive_jobs WHERE id = k.job
    UNION ALL SELECT 2, state
    FROM (SELECT state FROM redrive.redrive_done WHERE job = k.job ORDER BY seq DESC LIMIT 1) e
    UNION ALL SELECT 3, 5 FROM redrive.redrive_dead WHERE job = k.job AND revived = 0) a
  ORDER BY place LIMIT 1) p ON true;

-- name: seeManyIDs :own
-- Which ids are those of jobs or drafts: the state of the job, or the batch of the draft.
SELECT t.id, p.state, d.batch
FROM unnest($1::bigint[]) AS t(id)
LEFT JOIN LATERAL (SELECT job, batch FROM redrive.redrive_drafts WHERE job = t.id OFFSET 0) d ON true
LEFT JOIN LATERAL (
  SELECT state FROM (
    SELECT 1 AS place, state FROM redrive.redrive_jobs WHERE id = t.id
    UNION ALL SELECT 2, state
    FROM (SELECT state FROM redrive.redrive_done WHERE job = t.id ORDER BY seq DESC LIMIT 1) e
    UNION ALL SELECT 3, 5 FROM redrive.redrive_dead WHERE job = t.id AND revived = 0) a
  ORDER BY place LIMIT 1) p ON true
WHERE p.state IS NOT NULL OR d.job IS NOT NULL;

-- name: takeEnded :own
-- Takes keys whose jobs have ended and hold them no longer. $8 are the values of created_at that were read; see putKey.
UPDATE redrive.redrive_keys k
SET job = t.job, digest = t.digest, created_at = greatest($1::bigint, k.created_at + 1), until = t.until, state = NULL,
    result = NULL
FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bytea[], $7::bigint[], $8::bigint[]) AS t(
  owner, kind, key, job, digest, until, seen)
WHERE k.owner = t.owner AND k.kind = t.kind AND k.key = t.key AND k.created_at = t.seen
RETURNING t.job;

-- name: joinBatches :own
-- The batches that the jobs of a group name, and whether a later transaction has written their rows. Others can
-- join them at the same time, but nobody can end them.
SELECT x.*, ((written - (SELECT pg_current_xact_id()::text::bigint)) & 4294967295) BETWEEN 1 AND 65536 + (
  SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint - pg_current_xact_id()::text::bigint)
FROM (
  SELECT id, state, task, expires_at, xmin::text::bigint AS written
  FROM redrive.redrive_batches
  WHERE id = ANY ($1::bigint[]) ORDER BY id FOR SHARE) x;

-- name: growSpans :own
-- Does what growSpan and insSpan do for many spans.
WITH new AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n(batch, first, last)), grown AS (
  UPDATE redrive.redrive_spans s SET last = greatest(s.last, g.last)
  FROM (
    SELECT n.batch, n.first, n.last, p.first AS before
    FROM new n
    CROSS JOIN LATERAL (
      SELECT b.first, b.last FROM redrive.redrive_spans b
      WHERE b.batch = n.batch AND b.first < n.first ORDER BY b.first DESC LIMIT 1) p
    WHERE p.last >= n.first - 1
    OFFSET 0) g
  WHERE s.batch = g.batch AND s.first = g.before AND s.last >= g.first - 1
  RETURNING g.batch, g.first)
INSERT INTO redrive.redrive_spans (batch, first, last)
SELECT batch, first, last FROM new n
WHERE NOT EXISTS (SELECT 1 FROM grown g WHERE g.batch = n.batch AND g.first = n.first)
ON CONFLICT (batch, first) DO UPDATE SET last = greatest(redrive_spans.last, excluded.last);

-- name: waitShortly :own
-- A whole group of calls does not wait for a transaction that is open and holds a key.
SET LOCAL lock_timeout = '50ms';

-- name: selManyEnded :own
-- Jobs of repeated calls that have ended meanwhile.
SELECT job FROM redrive.redrive_done WHERE job = ANY($1::bigint[])
UNION ALL SELECT job FROM redrive.redrive_dead WHERE job = ANY($1::bigint[]);

-- ----------------------------------------------------------------------------
-- Claims
-- ----------------------------------------------------------------------------

-- name: selBody
SELECT payload FROM redrive.redrive_bodies WHERE job = $1;

-- name: readyJobs :own
-- The first jobs of places (lane, priority), from (low, after) on, at most "most" of each and $7 of all. They
-- are locked; what others have locked is passed over. Every column of the index before run_at is fixed for
-- each place, so jobs that are due later are never walked. The last columns are the size of a long payload
-- and whether a later transaction has written the row.
SELECT j.*, CASE
    WHEN j.long = 1 THEN (SELECT octet_length(b.payload) FROM redrive.redrive_bodies b WHERE b.job = j.id) END,
    ((written - (SELECT pg_current_xact_id()::text::bigint)) & 4294967295) BETWEEN 1 AND 65536 + (
      SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint - pg_current_xact_id()::text::bigint)
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS h(
  lane, priority, low, after, most)
CROSS JOIN LATERAL (
  SELECT id, token, lane, state, priority, life, attempts, crashes, deferrals, snoozes, interrupts, created_at,
      life_at, claimed_at, holder, owner, correlation, key, batch, long, crash_max, cancel_at, redrive, terms,
      released, run_at, deadline, attrs, policy, memo, payload, xmin::text::bigint AS written
  FROM redrive.redrive_jobs
  WHERE lane = h.lane AND priority = h.priority AND state < 3 AND run_at <= $6::bigint
      AND (run_at, id) > (h.low, h.after)
  ORDER BY run_at, id LIMIT h.most FOR UPDATE SKIP LOCKED) j
LIMIT $7::bigint;

-- name: laterJobs :own
-- When the next job of each place is due after $3.
SELECT h.lane, h.priority, j.run_at, j.id
FROM unnest($1::bigint[], $2::bigint[]) AS h(lane, priority)
CROSS JOIN LATERAL (
  SELECT run_at, id
  FROM redrive.redrive_jobs
  WHERE lane = h.lane AND priority = h.priority AND state < 3 AND run_at > $3::bigint
  ORDER BY run_at, id LIMIT 1) j;

-- name: claimJobs :own
-- The rows are locked. Their state is not asked for, because that is what redrive_ready is of: the server has
-- been seen to look for the ids in all of it. Here and in the other statements with arrays of ids, BETWEEN is
-- an equality that no join can sort by. With one, the server walks over all of redrive_jobs_pkey if the table
-- is empty when it plans, and the plan is kept while the table grows.
UPDATE redrive.redrive_jobs j
SET state = 3, token = t.token, lease_until = $1::bigint, claimed_at = $2::bigint, holder = $3::text,
    crash_max = t.crash_max, terms = t.terms
FROM unnest($4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[]) AS t(id, token, crash_max, terms)
WHERE j.id BETWEEN t.id AND t.id AND j.token = t.token - 1;

-- name: setClaimed
UPDATE redrive.redrive_jobs
SET state = 3, token = $2, lease_until = $3, claimed_at = $4, holder = $5, crash_max = $6, terms = $7
WHERE id = $1 AND token = $2 - 1;

-- name: longPayloads :own
SELECT job, payload FROM redrive.redrive_bodies WHERE job = ANY($1::bigint[]);

-- name: skippedJobs :own
-- Whether a place has jobs that are due and that the claim has not seen. Those that this transaction has
-- claimed are running by then.
SELECT EXISTS (
  SELECT 1
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS h(lane, priority, low)
  CROSS JOIN LATERAL (
    SELECT 1
    FROM redrive.redrive_jobs
    WHERE lane = h.lane AND priority = h.priority AND state < 3 AND run_at <= $4::bigint
        AND (run_at, id) > (h.low, $5::bigint)
    ORDER BY run_at, id LIMIT 1) j)::int;

-- name: freeHeads :own
-- The first job of each place that is due and that no transaction under way holds. No job is locked to find
-- out: a claim would pass over it. Of the number of who holds it the row has the lower half; under way are
-- those that the snapshot names, and those that came after it.
SELECT h.lane, h.priority, j.run_at
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS h(lane, priority, low)
CROSS JOIN LATERAL (
  SELECT run_at
  FROM redrive.redrive_jobs
  WHERE lane = h.lane AND priority = h.priority AND state < 3 AND run_at <= $4::bigint
      AND (run_at, id) > (h.low, $5::bigint) AND xmax::text::bigint <> ALL (
        ARRAY(SELECT x::text::bigint & 4294967295 FROM pg_snapshot_xip(pg_current_snapshot()) AS x))
      AND (xmax::text::bigint - (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint)) & 4294967295 >= 65536
  ORDER BY run_at, id LIMIT 1) j;

-- name: selAlive :own
-- Those of the server's processes that are still there.
SELECT pid::bigint FROM pg_stat_activity WHERE pid = ANY($1::bigint[]::integer[]);

-- name: selClaims :own
-- What the jobs of a claim look like now.
SELECT j.id, j.token, j.state, j.holder, j.claimed_at FROM redrive.redrive_jobs j WHERE j.id = ANY($1::bigint[]);

-- name: lockClaims :own
-- Waits for the end of the claim, which holds its jobs as long as it is not over.
SELECT j.id, j.token, j.state, j.holder, j.claimed_at
FROM redrive.redrive_jobs j
WHERE j.id = ANY($1::bigint[])
ORDER BY j.id FOR UPDATE;

-- ----------------------------------------------------------------------------
-- Heartbeats and lost leases
-- ----------------------------------------------------------------------------

-- name: setBeat
UPDATE redrive.redrive_jobs SET lease_until = $3 WHERE id = $1 AND token = $2 AND state = 3 RETURNING cancel_at;

-- name: setBegun
UPDATE redrive.redrive_jobs
SET lease_until = $3, begun = token
WHERE id = $1 AND token = $2 AND state = 3
RETURNING cancel_at;

-- name: putProgress
INSERT INTO redrive.redrive_progress (job, token, at, done, total, note)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (job) DO UPDATE SET token = $2, at = $3, done = $4, total = $5, note = $6;

-- name: selExpiredLeases
SELECT id, token, lane, state, priority, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
    claimed_at, holder, owner, correlation, key, batch, long, crash_max, cancel_at, redrive, terms, released
FROM redrive.redrive_jobs
WHERE state = 3 AND lease_until <= $1
ORDER BY lease_until, id LIMIT $2 FOR UPDATE SKIP LOCKED;

-- name: selExpiredFirst :own
-- Runs whose lease is over and whose end needs no lock on dead letters. At its last crash a job dies; one
-- that was retried and is cancelled has a dead letter. Rows that are locked are not rescued: somebody is just
-- ending them.
SELECT id, token, lane, state, priority, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
    claimed_at, holder, owner, correlation, key, batch, long, crash_max, cancel_at, redrive, terms, released
FROM redrive.redrive_jobs
WHERE state = 3 AND lease_until <= $1 AND (crashes + 1 < coalesce(crash_max, 0) AND (cancel_at IS NULL OR life = 1))
ORDER BY lease_until, id LIMIT $2 FOR UPDATE SKIP LOCKED;

-- name: selExpiredLast :own
-- The other runs whose lease is over.
SELECT id, token, lane, state, priority, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
    claimed_at, holder, owner, correlation, key, batch, long, crash_max, cancel_at, redrive, terms, released
FROM redrive.redrive_jobs
WHERE state = 3 AND lease_until <= $1
    AND NOT (crashes + 1 < coalesce(crash_max, 0) AND (cancel_at IS NULL OR life = 1))
ORDER BY lease_until, id LIMIT $2 FOR UPDATE SKIP LOCKED;

-- name: selNextLease
SELECT lease_until FROM redrive.redrive_jobs WHERE state = 3 AND lease_until IS NOT NULL ORDER BY lease_until LIMIT 1;

-- name: setCrashed
UPDATE redrive.redrive_jobs
SET state = 1, run_at = $3, crashes = crashes + 1, lease_until = NULL, cancel_at = NULL
WHERE id = $1 AND token = $2 AND state = 3;

-- name: selBegun
SELECT 1 FROM redrive.redrive_jobs WHERE id = $1 AND begun = token;

-- name: noStandby :own
-- A heartbeat waits for the disk and for no standby: without one, all runs would lose their leases. A
-- fail-over loses the latest extension at most.
SET LOCAL synchronous_commit = local;

-- name: setBeats :own
-- Extends the leases of runs whose rows nobody else holds.
WITH free AS MATERIALIZED (
  SELECT j.id
  FROM unnest($2::bigint[], $3::bigint[]) AS t(id, token)
  JOIN redrive.redrive_jobs j ON j.id BETWEEN t.id AND t.id
  WHERE j.token = t.token AND j.state = 3 FOR UPDATE OF j SKIP LOCKED)
UPDATE redrive.redrive_jobs j
SET lease_until = $1::bigint
FROM free
WHERE j.id BETWEEN free.id AND free.id
RETURNING j.id, j.token, (j.cancel_at IS NOT NULL)::int;

-- name: beginRuns :own
-- setBeats for runs that begin. It waits for locks, because a run whose row was passed over would begin
-- without the mark.
WITH mine AS MATERIALIZED (
  SELECT j.id
  FROM unnest($2::bigint[], $3::bigint[]) AS t(id, token)
  JOIN redrive.redrive_jobs j ON j.id BETWEEN t.id AND t.id
  WHERE j.token = t.token AND j.state = 3
  ORDER BY t.id FOR UPDATE OF j)
UPDATE redrive.redrive_jobs j
SET lease_until = $1::bigint, begun = j.token
FROM mine
WHERE j.id BETWEEN mine.id AND mine.id
RETURNING j.id, j.token, (j.cancel_at IS NOT NULL)::int;

-- name: seeBeats :own
-- What setBeats has not returned and is there all the same, is held by somebody else, who most likely ends
-- it.
SELECT j.id, j.token, (j.cancel_at IS NOT NULL)::int
FROM unnest($1::bigint[], $2::bigint[]) AS t(id, token)
JOIN redrive.redrive_jobs j ON j.id BETWEEN t.id AND t.id
WHERE j.token = t.token AND j.state = 3;

-- ----------------------------------------------------------------------------
-- Outcomes
-- ----------------------------------------------------------------------------

-- name: selRun
SELECT id, token, lane, state, priority, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
    claimed_at, holder, owner, correlation, key, batch, long, crash_max, cancel_at, redrive, terms, released
FROM redrive.redrive_jobs
WHERE id = $1 AND token = $2 AND state = 3 FOR UPDATE;

-- name: selAny :overtaken
SELECT x.*, ((written - (SELECT pg_current_xact_id()::text::bigint)) & 4294967295) BETWEEN 1 AND 65536 + (
  SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint - pg_current_xact_id()::text::bigint)
FROM (
  SELECT id, token, lane, state, priority, life, attempts, crashes, deferrals, snoozes, interrupts, created_at,
      life_at, claimed_at, holder, owner, correlation, key, batch, long, crash_max, cancel_at, redrive, terms,
      released, xmin::text::bigint AS written
  FROM redrive.redrive_jobs
  WHERE id = $1 FOR UPDATE) x;

-- name: delRun
DELETE FROM redrive.redrive_jobs WHERE id = $1 AND token = $2 AND state = 3;

-- name: delJob
DELETE FROM redrive.redrive_jobs WHERE id = $1 AND token = $2;

-- name: insDone
INSERT INTO redrive.redrive_done (
  job, lane, state, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
  claimed_at, finished_at, holder, owner, correlation, key, batch, cost, sends, result)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23);

-- name: insPlainDone
-- insPlainDone is like insDone, but for a job that needs none of the optional columns and has counted nothing
-- but attempts. Each bound value costs time, and most jobs end like this.
INSERT INTO redrive.redrive_done (
  job, lane, state, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
  claimed_at, finished_at, holder)
VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, 0, 0, $8, $9, $10, $11, $12);

-- name: insKept
-- insKept is like insDone, but for a job that keeps its attributes and its payload.
INSERT INTO redrive.redrive_done (
  job, lane, state, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
  claimed_at, finished_at, holder, owner, correlation, key, batch, cost, sends, result, attrs, payload)
VALUES (
  $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25);

-- name: selKept
-- selKept reads the attributes and the payload that a completed job keeps, before the job's row is deleted.
SELECT j.attrs, coalesce(j.payload, b.payload)
FROM redrive.redrive_jobs j
LEFT JOIN redrive.redrive_bodies b ON b.job = j.id
WHERE j.id = $1;

-- name: delBody
DELETE FROM redrive.redrive_bodies WHERE job = $1;

-- name: setReady
UPDATE redrive.redrive_jobs
SET state = $3, lane = $4, priority = $5, run_at = $6, attempts = $7, deferrals = $8, snoozes = $9, interrupts = $10,
    memo = coalesce($11, memo), lease_until = NULL
WHERE id = $1 AND token = $2 AND state = 3 AND cancel_at IS NULL;

-- name: insFailure
INSERT INTO redrive.redrive_failures (
  job, token, life, attempt, started_at, ended_at, how, class, code, permanent, http, exit, signal, holder,
  correlation, fingerprint, cost, message, user_message, decision, details, stack, stderr, sends, build, stdout)
VALUES (
  $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25,
  $26);

-- name: insPlainFailure
-- insPlainFailure is like insFailure, but for a failure of a handler in Go without any of the other columns.
INSERT INTO redrive.redrive_failures (
  job, token, life, attempt, started_at, ended_at, how, class, code, permanent, http, holder, fingerprint, message,
  user_message, decision, build)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17);

-- name: selCrashed
SELECT 1 FROM redrive.redrive_failures WHERE job = $1 AND token = $2 AND how = 'crash';

-- name: delProgress
DELETE FROM redrive.redrive_progress WHERE job = $1;

-- name: setResolved
UPDATE redrive.redrive_dead SET status = 2, action = $2, acted_at = $3 WHERE job = $1 AND status = 1;

-- name: insDead
INSERT INTO redrive.redrive_dead (
  death, job, status, revived, reason, class, grp, died_at, action, note, acted_at, acted_by, reopen_at, redrive,
  lane, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at, claimed_at,
  holder, deadline, owner, correlation, key, batch, attrs, policy, terms, released, long, payload)
SELECT $19, id, $13, 0, $3, $4, $5, $6, $14, $15, $16, $17, $18, redrive, lane, coalesce(own_priority, priority),
    token, life, $7, $8, $9, $10, $11, created_at, life_at, claimed_at, holder, deadline, owner, correlation, key,
    batch, attrs, policy, terms, released, long, payload
FROM redrive.redrive_jobs
WHERE id = $1 AND token = $2 AND state = $12;

-- name: putDead
-- The INSERT updates an existing row, because a job in its second or a later life may already have a dead
-- letter.
INSERT INTO redrive.redrive_dead (
  death, job, status, revived, reason, class, grp, died_at, action, note, acted_at, acted_by, reopen_at, redrive,
  lane, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at, claimed_at,
  holder, deadline, owner, correlation, key, batch, attrs, policy, terms, released, long, payload)
SELECT $19, id, $13, 0, $3, $4, $5, $6, $14, $15, $16, $17, $18, redrive, lane, coalesce(own_priority, priority),
    token, life, $7, $8, $9, $10, $11, created_at, life_at, claimed_at, holder, deadline, owner, correlation, key,
    batch, attrs, policy, terms, released, long, payload
FROM redrive.redrive_jobs
WHERE id = $1 AND token = $2 AND state = $12
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
SELECT lane, reason, class, status, grp FROM redrive.redrive_dead WHERE job = $1;

-- name: selGroup
SELECT id, muted, muted_until, muted_for, muted_by, muted_note, CASE
    WHEN resolved_at IS NOT NULL AND regressed_at IS NULL THEN 1 ELSE 0 END, last_at
FROM redrive.redrive_groups
WHERE fingerprint = $1;

-- name: insGroup
INSERT INTO redrive.redrive_groups (fingerprint, kind, class, code, message, sample, first_at, last_at, n, pending)
VALUES ($1, $2, $3, $4, $5, $6, $7, $7, 0, 0)
RETURNING id;

-- name: selCauseOf
SELECT fingerprint FROM redrive.redrive_groups WHERE id = (SELECT grp FROM redrive.redrive_dead WHERE job = $1);

-- name: addGroup
UPDATE redrive.redrive_groups
SET n = n + $2, pending = pending + $3, entries = entries + $4, last_at = CASE WHEN $2 > 0 THEN $5 ELSE last_at END,
    retried = retried + $6, helped = helped + $7, first_build = coalesce(first_build, $8),
    last_build = coalesce($9, last_build), regressed_at = CASE WHEN $10::bigint <> 0 THEN $5 ELSE regressed_at END
WHERE id = $1;

-- name: setMute
UPDATE redrive.redrive_groups
SET muted = $2, muted_until = $3, muted_for = $4, muted_by = $5, muted_note = $6
WHERE id = $1;

-- name: addTrend
INSERT INTO redrive.redrive_trends (grp, at, n)
VALUES ($1, $2, $3)
ON CONFLICT (grp, at) DO UPDATE SET n = redrive_trends.n + $3;

-- name: addDead
INSERT INTO redrive.redrive_dead_counts (lane, reason, class, status, n)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (lane, reason, class, status) DO UPDATE SET n = redrive_dead_counts.n + $5;

-- name: addRedrive
UPDATE redrive.redrive_redrives
SET answered = answered + $2, again = again + $3, other = other + $4, completed = completed + $5, dead = dead + $6,
    cancelled = cancelled + $7
WHERE id = $1;

-- name: setCauses
UPDATE redrive.redrive_redrives SET causes = $2 WHERE id = $1;

-- name: lockLimit :own
-- How long the next statements of the transaction wait for a lock, in milliseconds.
SELECT set_config('lock_timeout', $1::text, true);

-- name: lockRunning :own
SELECT j.id, j.token
FROM redrive.redrive_jobs j
WHERE j.id = ANY($1::bigint[]) AND j.state = 3
ORDER BY j.id FOR UPDATE;

-- name: lockDying :own
-- Locks the jobs that die, in the order of their ids.
SELECT j.id
FROM unnest($1::bigint[], $2::bigint[]) AS t(id, token)
JOIN redrive.redrive_jobs j ON j.id BETWEEN t.id AND t.id
WHERE j.token = t.token AND j.state = 3 FOR UPDATE OF j;

-- name: lockFree :own
-- What is running and not returned is held by somebody else.
SELECT j.id
FROM redrive.redrive_jobs j
WHERE j.id = ANY($1::bigint[]) AND j.state = 3
ORDER BY j.id FOR UPDATE SKIP LOCKED;

-- name: seeRuns :own
SELECT id FROM redrive.redrive_jobs WHERE id = ANY($1::bigint[]) AND state = 3;

-- name: closeJobs :own
-- Moves plain runs that have completed their jobs.
WITH d AS (
  DELETE FROM redrive.redrive_jobs j
  USING unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[]) AS t(
    id, token, cost, sends, result)
  WHERE j.id BETWEEN t.id AND t.id AND j.token = t.token AND j.state = 3
  RETURNING j.id, j.lane, j.priority, j.token, j.life, j.attempts, j.crashes, j.deferrals, j.snoozes, j.interrupts,
      j.created_at, j.life_at, j.claimed_at, j.holder, j.owner, j.correlation, j.key, j.batch, t.cost, t.sends,
      t.result)
INSERT INTO redrive.redrive_done (
  job, lane, state, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
  claimed_at, finished_at, holder, owner, correlation, key, batch, cost, sends, result)
SELECT id, lane, 4, priority, token, life, attempts + 1, crashes, deferrals, snoozes, interrupts, created_at, life_at,
    claimed_at, $1::bigint, holder, owner, correlation, key, batch, cost, sends, result
FROM d
RETURNING job;

-- name: closeKept :own
-- closeJobs for jobs some of which keep their attributes and payloads.
WITH d AS (
  DELETE FROM redrive.redrive_jobs j
  USING unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bigint[]) AS t(
    id, token, cost, sends, result, keep)
  WHERE j.id BETWEEN t.id AND t.id AND j.token = t.token AND j.state = 3
  RETURNING j.id, j.lane, j.priority, j.token, j.life, j.attempts, j.crashes, j.deferrals, j.snoozes, j.interrupts,
      j.created_at, j.life_at, j.claimed_at, j.holder, j.owner, j.correlation, j.key, j.batch, t.cost, t.sends,
      t.result, CASE WHEN t.keep = 1 THEN j.attrs END AS attrs, CASE
      WHEN t.keep = 1 THEN coalesce(
        j.payload, (SELECT b.payload FROM redrive.redrive_bodies b WHERE b.job BETWEEN j.id AND j.id)) END AS payload)
INSERT INTO redrive.redrive_done (
  job, lane, state, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
  claimed_at, finished_at, holder, owner, correlation, key, batch, cost, sends, result, attrs, payload)
SELECT id, lane, 4, priority, token, life, attempts + 1, crashes, deferrals, snoozes, interrupts, created_at, life_at,
    claimed_at, $1::bigint, holder, owner, correlation, key, batch, cost, sends, result, attrs, payload
FROM d
RETURNING job;

-- name: postponeJobs :own
-- Puts plain runs back into their lanes.
UPDATE redrive.redrive_jobs j
SET state = t.state, priority = coalesce(t.priority, j.priority), run_at = t.run_at, attempts = t.attempts,
    deferrals = t.deferrals, snoozes = t.snoozes, interrupts = t.interrupts, memo = coalesce(t.memo, j.memo),
    lease_until = NULL
FROM unnest(
  $1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
  $9::bigint[], $10::bytea[]) AS t(
  id, token, state, priority, run_at, attempts, deferrals, snoozes, interrupts, memo)
WHERE j.id BETWEEN t.id AND t.id AND j.token = t.token AND j.state = 3 AND j.cancel_at IS NULL
RETURNING j.id;

-- name: buryJobs :own
-- Moves plain runs whose jobs die. The columns are those of insDead.
WITH d AS (
  DELETE FROM redrive.redrive_jobs j
  USING unnest(
    $1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
    $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::text[], $15::text[], $16::bigint[],
    $17::text[], $18::bigint[], $19::bigint[]) AS t(
    id, token, reason, class, grp, died_at, attempts, crashes, deferrals, snoozes, interrupts, state, status, action,
    note, acted_at, acted_by, reopen_at, death)
  WHERE j.id BETWEEN t.id AND t.id AND j.token = t.token AND j.state = t.state
  RETURNING t.*, j.redrive, j.lane, coalesce(j.own_priority, j.priority) AS priority, j.life, j.created_at, j.life_at,
      j.claimed_at, j.holder, j.deadline, j.owner, j.correlation, j.key, j.batch, j.attrs, j.policy, j.terms,
      j.released, j.long, j.payload)
INSERT INTO redrive.redrive_dead (
  death, job, status, revived, reason, class, grp, died_at, action, note, acted_at, acted_by, reopen_at, redrive,
  lane, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at, claimed_at,
  holder, deadline, owner, correlation, key, batch, attrs, policy, terms, released, long, payload)
SELECT death, id, status, 0, reason, class, grp, died_at, action, note, acted_at, acted_by, reopen_at, redrive, lane,
    priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at, claimed_at, holder,
    deadline, owner, correlation, key, batch, attrs, policy, terms, released, long, payload
FROM d;

-- name: keepFailures :own
-- The columns are those of insFailure.
INSERT INTO redrive.redrive_failures (
  job, token, life, attempt, started_at, ended_at, how, class, code, permanent, http, exit, signal, holder,
  correlation, fingerprint, cost, message, user_message, decision, details, stack, stderr, sends, build, stdout)
SELECT *
FROM unnest(
  $1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[],
  $9::text[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[], $14::text[], $15::text[], $16::text[],
  $17::bigint[], $18::text[], $19::text[], $20::bytea[], $21::bytea[], $22::text[], $23::bytea[], $24::bigint[],
  $25::text[], $26::bytea[]);

-- name: delBodies :own
DELETE FROM redrive.redrive_bodies WHERE job = ANY($1::bigint[]);

-- name: delManyProgress :own
DELETE FROM redrive.redrive_progress WHERE job = ANY($1::bigint[]);

-- ----------------------------------------------------------------------------
-- One job
-- ----------------------------------------------------------------------------

-- name: selLive
SELECT state, token, life FROM redrive.redrive_jobs WHERE id = $1;

-- name: selDone
SELECT state, token, life FROM redrive.redrive_done WHERE job = $1 ORDER BY seq DESC LIMIT 1;

-- name: selDead
SELECT 5, token, life FROM redrive.redrive_dead WHERE job = $1 AND revived = 0;

-- name: selLetterNow
SELECT death, status FROM redrive.redrive_dead WHERE job = $1;

-- name: selPlace :own
-- selPlace searches all three tables for a job in one statement. With two statements, another writer could
-- move the job between them.
SELECT state, token, life
FROM (
  SELECT 1 AS place, state, token, life FROM redrive.redrive_jobs WHERE id = $1
  UNION ALL SELECT 2, state, token, life
  FROM (SELECT state, token, life FROM redrive.redrive_done WHERE job = $1 ORDER BY seq DESC LIMIT 1) d
  UNION ALL SELECT 3, 5, token, life FROM redrive.redrive_dead WHERE job = $1 AND revived = 0) p
ORDER BY place LIMIT 1;

-- name: getLive
SELECT j.id, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, j.run_at, j.claimed_at, NULL, j.deadline, j.lease_until, j.cancel_at,
    j.holder, j.owner, j.correlation, j.key, j.batch, NULL, j.attrs, j.policy, j.long, j.payload
FROM redrive.redrive_jobs j
JOIN redrive.redrive_lanes l ON l.id = j.lane
WHERE j.id = $1;

-- name: getDone
SELECT j.job, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.finished_at, NULL, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, NULL, j.result, j.cost, j.sends, j.attrs, j.payload
FROM redrive.redrive_done j
JOIN redrive.redrive_lanes l ON l.id = j.lane
WHERE j.job = $1
ORDER BY j.seq DESC LIMIT 1;

-- name: getDead
SELECT j.job, l.kind, l.queue, 5, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.died_at, j.deadline, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, j.reason, j.attrs, j.policy, j.long, j.payload
FROM redrive.redrive_dead j
JOIN redrive.redrive_lanes l ON l.id = j.lane
WHERE j.job = $1 AND j.revived = 0;

-- name: selProgress
SELECT job, token, at, done, total, note FROM redrive.redrive_progress WHERE job = $1;

-- name: sumCost
SELECT coalesce(sum(cost), 0), coalesce(sum(sends), 0) FROM redrive.redrive_failures WHERE job = $1;

-- name: selFailures
SELECT job, token, life, attempt, started_at, ended_at, how, class, code, permanent, http, exit, signal, holder,
    correlation, fingerprint, cost, message, user_message, decision, details, stack, stderr, sends, build, stdout
FROM redrive.redrive_failures
WHERE job = $1
ORDER BY token;

-- name: selCounts
SELECT l.queue, l.kind, c.state, sum(c.n)
FROM (
  SELECT lane, state, n FROM redrive.redrive_counters
  UNION ALL SELECT d.lane, d.state, d.n
  FROM (
    SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches
    FROM redrive.redrive_events e
    WHERE e.seq > (SELECT value FROM redrive.redrive_meta WHERE key = 'folded')
    UNION ALL SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches
    FROM redrive.redrive_meta f
    CROSS JOIN LATERAL unnest(f.late) AS l(id)
    JOIN redrive.redrive_events e ON e.seq >= l.id << 20 AND e.seq < (l.id + 1) << 20
    WHERE f.key = 'folded') e, unnest(e.lanes, e.states, e.ns) AS d(lane, state, n)) c
JOIN redrive.redrive_lanes l ON l.id = c.lane
GROUP BY l.queue, l.kind, c.state
HAVING sum(c.n) <> 0
ORDER BY l.queue, l.kind, c.state;

-- name: selCancels
SELECT id, token FROM redrive.redrive_jobs WHERE cancel_at IS NOT NULL AND state = 3 AND holder = $1;

-- name: selEvents
-- Events are read up to the oldest transaction that may still write some.
SELECT seq, at, body
FROM redrive.redrive_events
WHERE seq >= $1 AND n > 0 AND seq < (
  SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::bigint + value) << 20
  FROM redrive.redrive_meta
  WHERE key = 'event_base')
ORDER BY seq LIMIT $2;

-- name: selRemovedEvents
SELECT cursor, n FROM redrive.redrive_swept WHERE what = 'events.through';

-- name: selLastEvent
SELECT seq, n
FROM redrive.redrive_events
WHERE n > 0 AND seq < (
  SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::bigint + value) << 20
  FROM redrive.redrive_meta
  WHERE key = 'event_base')
ORDER BY seq DESC LIMIT 1;

-- ----------------------------------------------------------------------------
-- Lists of jobs
-- ----------------------------------------------------------------------------

-- name: severalLive
SELECT j.id, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, j.run_at, j.claimed_at, NULL, j.deadline, j.lease_until, j.cancel_at,
    j.holder, j.owner, j.correlation, j.key, j.batch, NULL, j.attrs
FROM json_array_elements_text($1::text::json) i(value)
CROSS JOIN LATERAL (SELECT * FROM redrive.redrive_jobs WHERE id = CAST(i.value AS BIGINT) OFFSET 0) j
CROSS JOIN LATERAL (SELECT * FROM redrive.redrive_lanes WHERE id = j.lane OFFSET 0) l
WHERE j.id = CAST(i.value AS BIGINT) AND l.id = j.lane;

-- name: severalDone
SELECT j.job, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.finished_at, NULL, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, NULL, j.attrs
FROM json_array_elements_text($1::text::json) i(value)
CROSS JOIN LATERAL (SELECT * FROM redrive.redrive_done WHERE job = CAST(i.value AS BIGINT) OFFSET 0) j
CROSS JOIN LATERAL (SELECT * FROM redrive.redrive_lanes WHERE id = j.lane OFFSET 0) l
WHERE j.job = CAST(i.value AS BIGINT) AND l.id = j.lane
ORDER BY j.seq;

-- name: severalDead
SELECT j.job, l.kind, l.queue, 5, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.died_at, j.deadline, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, j.reason, j.attrs
FROM json_array_elements_text($1::text::json) i(value)
CROSS JOIN LATERAL (SELECT * FROM redrive.redrive_dead WHERE job = CAST(i.value AS BIGINT) OFFSET 0) j
CROSS JOIN LATERAL (SELECT * FROM redrive.redrive_lanes WHERE id = j.lane OFFSET 0) l
WHERE j.job = CAST(i.value AS BIGINT) AND j.revived = 0 AND l.id = j.lane;

-- name: severalLatest
SELECT job, token, life, attempt, started_at, ended_at, how, class, code, permanent, http, exit, signal, holder,
    correlation, fingerprint, cost, message, user_message, decision, details, stack, stderr, sends, build, stdout
FROM json_array_elements_text($1::text::json) i(value)
CROSS JOIN LATERAL (
  SELECT * FROM redrive.redrive_failures WHERE job = CAST(i.value AS BIGINT) ORDER BY token DESC LIMIT 1) j
WHERE job = CAST(i.value AS BIGINT)
    AND token = (SELECT max(f.token) FROM redrive.redrive_failures f WHERE f.job = CAST(i.value AS BIGINT));

-- name: selRunning
-- selRunning lists the running jobs. It uses the index of leases, because that index is small.
SELECT j.id, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, j.run_at, j.claimed_at, NULL, j.deadline, j.lease_until, j.cancel_at,
    j.holder, j.owner, j.correlation, j.key, j.batch, NULL, j.attrs
FROM redrive.redrive_jobs j
JOIN redrive.redrive_lanes l ON l.id = j.lane
WHERE j.state = 3 AND j.lease_until IS NOT NULL AND j.id < $1
ORDER BY j.id DESC LIMIT $2;

-- name: selLiveCause
SELECT class, fingerprint, message FROM redrive.redrive_failures WHERE job = $1 ORDER BY token DESC LIMIT 1;

-- name: selDeadCause
SELECT d.class, g.fingerprint, f.message
FROM redrive.redrive_dead d
LEFT JOIN redrive.redrive_groups g ON g.id = d.grp
LEFT JOIN redrive.redrive_failures f ON f.job = d.job AND f.token = d.token
WHERE d.job = $1;

-- name: severalCauses
-- severalCauses and severalDeadCauses do the same for many jobs.
SELECT j.job, j.class, j.fingerprint, j.message
FROM json_array_elements_text($1::text::json) i(value)
CROSS JOIN LATERAL (
  SELECT * FROM redrive.redrive_failures WHERE job = CAST(i.value AS BIGINT) ORDER BY token DESC LIMIT 1) j
WHERE j.job = CAST(i.value AS BIGINT)
    AND j.token = (SELECT max(f.token) FROM redrive.redrive_failures f WHERE f.job = CAST(i.value AS BIGINT));

-- name: severalDeadCauses
SELECT j.job, j.class, g.fingerprint, f.message
FROM json_array_elements_text($1::text::json) i(value)
CROSS JOIN LATERAL (SELECT * FROM redrive.redrive_dead WHERE job = CAST(i.value AS BIGINT) OFFSET 0) j
LEFT JOIN redrive.redrive_groups g ON g.id = j.grp
LEFT JOIN redrive.redrive_failures f ON f.job = j.job AND f.token = j.token
WHERE j.job = CAST(i.value AS BIGINT);

-- name: walkLive
SELECT j.id, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, j.run_at, j.claimed_at, NULL, j.deadline, j.lease_until, j.cancel_at,
    j.holder, j.owner, j.correlation, j.key, j.batch, NULL, j.attrs
FROM redrive.redrive_jobs j
JOIN redrive.redrive_lanes l ON l.id = j.lane
WHERE j.id < $1
ORDER BY j.id DESC LIMIT $2;

-- name: edgeLive
SELECT e.id, e.id, (SELECT created_at FROM redrive.redrive_jobs WHERE id = e.id)
FROM (SELECT id FROM redrive.redrive_jobs WHERE id < $1 ORDER BY id DESC LIMIT 1 OFFSET $2) e;

-- name: pickedLive
SELECT j.id, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, j.run_at, j.claimed_at, NULL, j.deadline, j.lease_until, j.cancel_at,
    j.holder, j.owner, j.correlation, j.key, j.batch, NULL, j.attrs
FROM redrive.redrive_jobs j
JOIN redrive.redrive_lanes l ON l.id = j.lane
WHERE j.id < $1 AND j.id >= $2 AND ($3::text IS NULL OR l.queue = $3) AND ($4::text IS NULL OR l.kind = $4)
    AND ($5::text IS NULL OR j.owner = $5) AND ($6::text IS NULL OR j.holder = $6)
    AND abs(coalesce(j.batch, 0)) BETWEEN $7 AND $8 AND j.created_at BETWEEN $9 AND $10
    AND ($12 > 0 OR position(CAST($11 AS bytea) IN j.attrs) > 0 OR position('\x5c'::bytea IN j.attrs) > 0)
    AND (
      $13::text IS NULL
      OR $13 = (SELECT f.class FROM redrive.redrive_failures f WHERE f.job = j.id ORDER BY f.token DESC LIMIT 1))
    AND (
      $14::text IS NULL
      OR $14 = (SELECT f.fingerprint FROM redrive.redrive_failures f WHERE f.job = j.id ORDER BY f.token DESC LIMIT 1))
ORDER BY j.id DESC;

-- name: walkDone
SELECT j.job, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.finished_at, NULL, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, NULL, j.attrs
FROM redrive.redrive_done j
JOIN redrive.redrive_lanes l ON l.id = j.lane
WHERE j.job < $1
ORDER BY j.job DESC LIMIT $2;

-- name: edgeDone
SELECT e.job, e.job, (SELECT created_at FROM redrive.redrive_done WHERE job = e.job LIMIT 1)
FROM (SELECT job FROM redrive.redrive_done WHERE job < $1 ORDER BY job DESC LIMIT 1 OFFSET $2) e;

-- name: pickedDone
SELECT j.job, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.finished_at, NULL, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, NULL, j.attrs
FROM redrive.redrive_done j
JOIN redrive.redrive_lanes l ON l.id = j.lane
WHERE j.job < $1 AND j.job >= $2 AND ($3::text IS NULL OR l.queue = $3) AND ($4::text IS NULL OR l.kind = $4)
    AND ($5::text IS NULL OR j.owner = $5) AND ($6::text IS NULL OR j.holder = $6)
    AND abs(coalesce(j.batch, 0)) BETWEEN $7 AND $8 AND j.created_at BETWEEN $9 AND $10
    AND ($12 > 0 OR position(CAST($11 AS bytea) IN j.attrs) > 0 OR position('\x5c'::bytea IN j.attrs) > 0)
ORDER BY j.job DESC;

-- name: walkDead
SELECT j.job, l.kind, l.queue, 5, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.died_at, j.deadline, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, j.reason, j.attrs
FROM redrive.redrive_dead j
JOIN redrive.redrive_lanes l ON l.id = j.lane
WHERE j.job < $1 AND j.revived = 0
ORDER BY j.job DESC LIMIT $2;

-- name: edgeDead
SELECT e.job, e.job, (SELECT created_at FROM redrive.redrive_dead WHERE job = e.job)
FROM (SELECT job FROM redrive.redrive_dead WHERE job < $1 ORDER BY job DESC LIMIT 1 OFFSET $2) e;

-- name: pickedDead
SELECT j.job, l.kind, l.queue, 5, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.died_at, j.deadline, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, j.reason, j.attrs
FROM redrive.redrive_dead j
JOIN redrive.redrive_lanes l ON l.id = j.lane
WHERE j.job < $1 AND j.job >= $2 AND j.revived = 0 AND ($3::text IS NULL OR l.queue = $3)
    AND ($4::text IS NULL OR l.kind = $4) AND ($5::text IS NULL OR j.owner = $5)
    AND ($6::text IS NULL OR j.holder = $6) AND abs(coalesce(j.batch, 0)) BETWEEN $7 AND $8
    AND j.created_at BETWEEN $9 AND $10
    AND ($12 > 0 OR position(CAST($11 AS bytea) IN j.attrs) > 0 OR position('\x5c'::bytea IN j.attrs) > 0)
    AND ($13::text IS NULL OR j.class = $13)
    AND ($14::text IS NULL OR j.grp = (SELECT g.id FROM redrive.redrive_groups g WHERE g.fingerprint = $14))
ORDER BY j.job DESC;

-- name: walkEnded
SELECT j.job, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.finished_at, NULL, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, NULL, j.attrs
FROM redrive.redrive_done j
JOIN redrive.redrive_lanes l ON l.id = j.lane
WHERE j.seq < $1
ORDER BY j.seq DESC LIMIT $2;

-- name: edgeEnded
SELECT d.seq, d.job, d.finished_at
FROM (SELECT seq FROM redrive.redrive_done WHERE seq < $1 ORDER BY seq DESC LIMIT 1 OFFSET $2) e
JOIN redrive.redrive_done d ON d.seq = e.seq;

-- name: pickedEnded
SELECT j.job, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.finished_at, NULL, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, NULL, j.attrs
FROM redrive.redrive_done j
JOIN redrive.redrive_lanes l ON l.id = j.lane
WHERE j.seq < $1 AND j.seq >= $2 AND ($3::text IS NULL OR l.queue = $3) AND ($4::text IS NULL OR l.kind = $4)
    AND ($5::text IS NULL OR j.owner = $5) AND ($6::text IS NULL OR j.holder = $6)
    AND abs(coalesce(j.batch, 0)) BETWEEN $7 AND $8 AND j.created_at BETWEEN $9 AND $10
    AND ($12 > 0 OR position(CAST($11 AS bytea) IN j.attrs) > 0 OR position('\x5c'::bytea IN j.attrs) > 0)
ORDER BY j.seq DESC;

-- name: walkRetries :own
-- walkRetries reads the retrying jobs that are due after a time, and walkRetriesAt those that are due at that
-- time.
SELECT j.id, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, j.run_at, j.claimed_at, NULL, j.deadline, j.lease_until, j.cancel_at,
    j.holder, j.owner, j.correlation, j.key, j.batch, NULL, j.attrs
FROM redrive.redrive_jobs j
JOIN redrive.redrive_lanes l ON l.id = j.lane
WHERE j.state = 2 AND j.run_at > $1
ORDER BY j.run_at, j.id LIMIT $2;

-- name: walkRetriesAt :own
SELECT j.id, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, j.run_at, j.claimed_at, NULL, j.deadline, j.lease_until, j.cancel_at,
    j.holder, j.owner, j.correlation, j.key, j.batch, NULL, j.attrs
FROM redrive.redrive_jobs j
JOIN redrive.redrive_lanes l ON l.id = j.lane
WHERE j.state = 2 AND j.run_at = $1 AND j.id > $2
ORDER BY j.id LIMIT $3;

-- name: selSeqOf
-- selSeqOf returns the sequence number and the end time of an ended job.
SELECT seq, finished_at FROM redrive.redrive_done WHERE job = $1 ORDER BY seq DESC LIMIT 1;

-- name: selSeqFrom
SELECT seq, finished_at FROM redrive.redrive_done WHERE seq >= $1 ORDER BY seq LIMIT 1;

-- name: walkSeqs
SELECT seq, finished_at FROM redrive.redrive_done WHERE seq >= $1 ORDER BY seq LIMIT $2;

-- name: selLastSeq
SELECT max(seq) FROM redrive.redrive_done;

-- name: selDeathOf
SELECT death, died_at FROM redrive.redrive_dead WHERE job = $1;

-- name: severalDied
SELECT j.job, l.kind, l.queue, 5, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.died_at, j.deadline, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, j.reason, j.attrs
FROM json_array_elements_text($1::text::json) i(value)
CROSS JOIN LATERAL (SELECT * FROM redrive.redrive_dead WHERE death = CAST(i.value AS BIGINT) OFFSET 0) j
CROSS JOIN LATERAL (SELECT * FROM redrive.redrive_lanes WHERE id = j.lane OFFSET 0) l
WHERE j.death = CAST(i.value AS BIGINT) AND l.id = j.lane
ORDER BY j.death DESC;

-- name: firstDue
-- firstDue reads, for each lane and priority, the due time of the first job that is due at or after $1. It
-- reads only the queue $2, the kind $3 and the state $4; NULL selects all. The index of ready jobs has no
-- state: waiting and retrying jobs are read together, as state 1.
WITH priorities(n) AS (VALUES (1), (2), (3), (4))
SELECT l.id, p.n, 1, (
  SELECT h.run_at
  FROM redrive.redrive_jobs h
  WHERE h.lane = l.id AND h.priority = p.n AND h.state < 3 AND h.run_at >= $1
  ORDER BY h.run_at LIMIT 1)
FROM redrive.redrive_lanes l
CROSS JOIN priorities p
WHERE ($4::bigint IS NULL OR $4::bigint < 3) AND ($2::text IS NULL OR l.queue = $2)
    AND ($3::text IS NULL OR l.kind = $3);

-- name: listDue
-- listDue reads ids and due times for each number in the JSON array $4: of the first $3 jobs that are due
-- after $1, or at $1 with an id above $2. See streamNumber for the numbers.
SELECT i.value::bigint, j.id, j.run_at
FROM json_array_elements_text($4::text::json) i(value)
CROSS JOIN LATERAL (
  SELECT h.id, h.run_at
  FROM redrive.redrive_jobs h
  WHERE h.lane = i.value::bigint / 16 AND h.priority = i.value::bigint % 8 AND h.state < 3
      AND (h.run_at, h.id) > ($1::bigint, $2::bigint)
  ORDER BY h.run_at, h.id LIMIT $3::bigint) j;

-- name: countDue :own
-- countDue counts retries by the minute in which they are due, by the index redrive_retry. Each row has a minute
-- and the count of this minute, at most store.DueCountMax. $1 is the present time, and $2 is the number of minutes.
-- Minute 0 has everything that is due by now; minutes 1 to $2 follow.
SELECT i, (
    SELECT count(*)
    FROM (
      SELECT 1
      FROM redrive.redrive_jobs
      WHERE state = 2
          AND run_at > CASE i WHEN 0 THEN -9223372036854775807 ELSE $1::bigint + (i - 1) * 60000000 END
          AND run_at <= $1::bigint + i * 60000000
      LIMIT 1000) r)
FROM generate_series(0, $2::bigint) i
ORDER BY i;

-- name: retryLanes
-- retryLanes finds the lanes and priorities that may have retrying jobs.
SELECT c.lane, p.n
FROM redrive.redrive_counters c
CROSS JOIN (SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) p
WHERE c.state = 2 AND c.n > 0;

-- name: walkDue
SELECT run_at
FROM redrive.redrive_jobs
WHERE lane = $1 AND priority = $2 AND state = 2 AND state < 3 AND run_at > $3 AND run_at <= $4
ORDER BY run_at;

-- ----------------------------------------------------------------------------
-- Actions on live jobs
-- ----------------------------------------------------------------------------

-- name: pickLive
-- The reader stops when it has enough jobs, or at the end of the set.
SELECT id, token, lane, state, priority, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
    claimed_at, holder, owner, correlation, key, batch, long, crash_max, cancel_at, redrive, terms, released, run_at,
    own_priority, policy, attrs
FROM redrive.redrive_jobs
WHERE id > $1
ORDER BY id;

-- name: selNewestLive
SELECT id FROM redrive.redrive_jobs WHERE id > 0 ORDER BY id DESC LIMIT 1;

-- name: pickAgain :own :overtaken
-- Reads jobs again after they were locked.
SELECT x.*, ((written - (SELECT pg_current_xact_id()::text::bigint)) & 4294967295) BETWEEN 1 AND 65536 + (
  SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint - pg_current_xact_id()::text::bigint)
FROM (
  SELECT id, token, lane, state, priority, life, attempts, crashes, deferrals, snoozes, interrupts, created_at,
      life_at, claimed_at, holder, owner, correlation, key, batch, long, crash_max, cancel_at, redrive, terms,
      released, run_at, own_priority, policy, attrs, j.xmin::text::bigint AS written
  FROM redrive.redrive_jobs j
  WHERE j.id = ANY(translate($1::text, '[]', '{}')::bigint[])) x;

-- name: moveCancelled :own
-- Does what insCancelled does for many jobs, and removes the rows of the live jobs.
WITH d AS (
  DELETE FROM redrive.redrive_jobs j
  WHERE j.id = ANY(translate($1::text, '[]', '{}')::bigint[]) AND j.state <> 3
  RETURNING j.id, j.lane, j.priority, j.token, j.life, j.attempts, j.crashes, j.deferrals, j.snoozes, j.interrupts,
      j.created_at, j.life_at, j.claimed_at, j.holder, j.owner, j.correlation, j.key, j.batch)
INSERT INTO redrive.redrive_done (
  job, lane, state, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
  claimed_at, finished_at, holder, owner, correlation, key, batch)
SELECT id, lane, 6, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
    claimed_at, $2::bigint, holder, owner, correlation, key, batch
FROM d
ORDER BY id;

-- name: delCancelledBodies :own
-- Removes the payloads of the jobs that moveCancelled has moved.
DELETE FROM redrive.redrive_bodies WHERE job = ANY(translate($1::text, '[]', '{}')::bigint[]);

-- name: selOwnedPartsUp
-- selOwnedPartsUp reads, of each run with jobs above the id $2, the part for the tag $1.
SELECT r.low, (SELECT o.body FROM redrive.redrive_owned o WHERE o.place = r.run * 1024 + ($1 & (r.parts - 1)))
FROM redrive.redrive_owned_runs r
WHERE r.high > $2
ORDER BY r.low;

-- name: pickSome
-- pickSome reads jobs by their ids, a JSON array.
SELECT id, token, lane, state, priority, life, attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
    claimed_at, holder, owner, correlation, key, batch, long, crash_max, cancel_at, redrive, terms, released, run_at,
    own_priority, policy, attrs
FROM json_array_elements_text($1::text::json) i(value)
CROSS JOIN LATERAL (SELECT * FROM redrive.redrive_jobs WHERE id = i.value::bigint OFFSET 0) j
ORDER BY id;

-- name: selWaits
SELECT run_at, own_priority, policy, payload FROM redrive.redrive_jobs WHERE id = $1;

-- name: setWaits
UPDATE redrive.redrive_jobs
SET lane = $3, priority = $4, own_priority = $5, run_at = $6, life_at = $7
WHERE id = $1 AND token = $2 AND state <> 3;

-- name: lockLive :own
-- Locks live jobs in the order of their ids. Returned are their number, and how many of them were retried.
SELECT count(*), count(*) FILTER (WHERE life > 1 AND state < 3)
FROM (SELECT life, state FROM redrive.redrive_jobs WHERE id = ANY($1::text::bigint[]) ORDER BY id FOR UPDATE) l;

-- name: countLive :own
SELECT count(*) FROM redrive.redrive_jobs WHERE id = ANY($1::text::bigint[]);

-- ----------------------------------------------------------------------------
-- Dead letters
-- ----------------------------------------------------------------------------

-- name: selDeadLetter
SELECT j.death, j.job, j.life, j.status, j.reason, j.class, f.code, g.fingerprint, f.message, l.kind, l.queue,
    j.owner, j.died_at, j.revived, j.action, j.note, j.acted_at, j.acted_by, CASE
    WHEN j.reopen_at > 4611686018427387904 THEN g.muted_until ELSE j.reopen_at END, j.redrive, j.correlation, j.batch,
    j.holder
FROM redrive.redrive_dead j
JOIN redrive.redrive_lanes l ON l.id = j.lane
LEFT JOIN redrive.redrive_groups g ON g.id = j.grp
LEFT JOIN redrive.redrive_failures f ON f.job = j.job AND f.token = j.token
WHERE j.job = $1;

-- name: selDeadLetters
SELECT j.death, j.job, j.life, j.status, j.reason, j.class, f.code, g.fingerprint, f.message, l.kind, l.queue,
    j.owner, j.died_at, j.revived, j.action, j.note, j.acted_at, j.acted_by, CASE
    WHEN j.reopen_at > 4611686018427387904 THEN g.muted_until ELSE j.reopen_at END, j.redrive, j.correlation, j.batch,
    j.holder
FROM redrive.redrive_dead j
JOIN redrive.redrive_lanes l ON l.id = j.lane
LEFT JOIN redrive.redrive_groups g ON g.id = j.grp
LEFT JOIN redrive.redrive_failures f ON f.job = j.job AND f.token = j.token
ORDER BY j.job;

-- name: severalListed
-- severalListed and severalListedJobs read the dead letters with the deaths of a JSON array.
SELECT j.death, j.job, j.life, j.status, j.reason, j.class, f.code, g.fingerprint, f.message, l.kind, l.queue,
    j.owner, j.died_at, j.revived, j.action, j.note, j.acted_at, j.acted_by, CASE
    WHEN j.reopen_at > 4611686018427387904 THEN g.muted_until ELSE j.reopen_at END, j.redrive, j.correlation, j.batch,
    j.holder
FROM json_array_elements_text($1::text::json) i(value)
CROSS JOIN LATERAL (SELECT * FROM redrive.redrive_dead WHERE death = CAST(i.value AS BIGINT) OFFSET 0) j
CROSS JOIN LATERAL (SELECT * FROM redrive.redrive_lanes WHERE id = j.lane OFFSET 0) l
LEFT JOIN redrive.redrive_groups g ON g.id = j.grp
LEFT JOIN redrive.redrive_failures f ON f.job = j.job AND f.token = j.token
WHERE j.death = CAST(i.value AS BIGINT) AND l.id = j.lane;

-- name: severalListedJobs
SELECT j.death, j.job, j.life, j.status, j.reason, j.class, f.code, g.fingerprint, f.message, l.kind, l.queue,
    j.owner, j.died_at, j.revived, j.action, j.note, j.acted_at, j.acted_by, CASE
    WHEN j.reopen_at > 4611686018427387904 THEN g.muted_until ELSE j.reopen_at END, j.redrive, j.correlation, j.batch,
    j.holder, j.job, l.kind, l.queue, 5, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.died_at, j.deadline, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, j.reason, j.attrs, j.policy, coalesce(b.payload, j.payload),
    (SELECT coalesce(sum(cost), 0) FROM redrive.redrive_failures WHERE job = j.job),
    (SELECT coalesce(sum(sends), 0) FROM redrive.redrive_failures WHERE job = j.job)
FROM json_array_elements_text($1::text::json) i(value)
CROSS JOIN LATERAL (SELECT * FROM redrive.redrive_dead WHERE death = CAST(i.value AS BIGINT) OFFSET 0) j
CROSS JOIN LATERAL (SELECT * FROM redrive.redrive_lanes WHERE id = j.lane OFFSET 0) l
LEFT JOIN redrive.redrive_groups g ON g.id = j.grp
LEFT JOIN redrive.redrive_failures f ON f.job = j.job AND f.token = j.token
LEFT JOIN redrive.redrive_bodies b ON b.job = j.job
WHERE j.death = CAST(i.value AS BIGINT) AND l.id = j.lane;

-- name: selDiedAt
SELECT died_at FROM redrive.redrive_dead WHERE death = $1;

-- name: selOriginal
SELECT job, at, by, queue, priority, policy, payload FROM redrive.redrive_originals WHERE job = $1;

-- name: allOriginals
SELECT job, at, by, queue, priority, policy, payload FROM redrive.redrive_originals ORDER BY job;

-- name: selDeadCounts
SELECT lane, reason, class, status, n
FROM redrive.redrive_dead_counts
WHERE n <> 0
ORDER BY lane, reason, class, status;

-- name: selFirstPending
-- selFirstPending looks for a pending dead letter among the oldest dead letters. Most often there is one,
-- because sweeps remove the others.
SELECT died_at
FROM (SELECT death, died_at, status FROM redrive.redrive_dead ORDER BY death LIMIT 1000) d
WHERE status = 0
ORDER BY death LIMIT 1;

-- name: selOldestPending
-- selOldestPending reads the first pending dead letter of each group by an index. It takes ten times as long
-- as selFirstPending beside 10,000 groups.
SELECT died_at
FROM redrive.redrive_dead
WHERE death = (
  SELECT min(first)
  FROM (
    SELECT (SELECT death FROM redrive.redrive_dead WHERE status = 0 AND grp = g.id ORDER BY death LIMIT 1) AS first
    FROM redrive.redrive_groups g
    WHERE g.pending > 0
    UNION ALL SELECT (SELECT death FROM redrive.redrive_dead WHERE status = 0 AND grp IS NULL ORDER BY death LIMIT 1))
      AS part1);

-- name: severalTrends
SELECT j.grp, j.at, j.n
FROM json_array_elements_text($1::text::json) i(value)
CROSS JOIN LATERAL (SELECT * FROM redrive.redrive_trends WHERE grp = CAST(i.value AS BIGINT) AND at > $2 OFFSET 0) j
WHERE j.grp = CAST(i.value AS BIGINT) AND j.at > $2;

-- name: selLanesOf
SELECT id FROM redrive.redrive_lanes WHERE ($1::text IS NULL OR queue = $1) AND ($2::text IS NULL OR kind = $2);

-- name: selDeathFrom
-- selDeathFrom finds the first death whose number is at least the given number.
SELECT death, died_at FROM redrive.redrive_dead WHERE death >= $1 ORDER BY death LIMIT 1;

-- name: selNewest
SELECT max(death) FROM redrive.redrive_dead;

-- name: selSpan
SELECT id, first_at FROM redrive.redrive_groups WHERE fingerprint = $1;

-- name: severalJobs
-- severalJobs and severalMessages read, of the dead letters of the jobs in a JSON array, what some filters
-- need of the jobs, and the messages of their failures. Each id is looked up by a lateral part: a join could
-- begin with the table.
SELECT j.job, j.correlation, j.holder, j.attrs
FROM json_array_elements_text($1::text::json) i(value)
CROSS JOIN LATERAL (SELECT * FROM redrive.redrive_dead WHERE job = CAST(i.value AS BIGINT) OFFSET 0) j
WHERE j.job = CAST(i.value AS BIGINT);

-- name: severalMessages
SELECT j.job, f.message
FROM json_array_elements_text($1::text::json) i(value)
CROSS JOIN LATERAL (SELECT * FROM redrive.redrive_dead WHERE job = CAST(i.value AS BIGINT) OFFSET 0) j
CROSS JOIN redrive.redrive_failures f
WHERE j.job = CAST(i.value AS BIGINT) AND f.job = j.job AND f.token = j.token;

-- name: sumDead
-- sumDead adds the numbers of dead letters: all, those of the class $1, those of the lanes $2 (a JSON array),
-- and those of this class, these lanes, the reason $3 and the statuses for which $4 to $7 are 1.
SELECT coalesce(sum(n), 0), coalesce(sum(CASE WHEN class = $1 THEN n ELSE 0 END), 0),
    coalesce(
      sum(
        CASE WHEN lane IN (SELECT CAST(value AS BIGINT) FROM json_array_elements_text($2::text::json) i(value)) THEN n
        ELSE 0 END), 0), coalesce(
          sum(
            CASE WHEN ($1::text IS NULL OR class = $1) AND (
              $2::text IS NULL
              OR lane IN (SELECT CAST(value AS BIGINT) FROM json_array_elements_text($2::text::json) i(value))) AND (
              $3::text IS NULL OR reason = $3) AND CASE status WHEN 0 THEN CAST($4 AS BIGINT) WHEN 1 THEN $5 WHEN 2
            THEN $6 ELSE $7 END = 1 THEN n ELSE 0 END), 0)
FROM redrive.redrive_dead_counts;

-- name: allRoute.up
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch, life, priority, long, key,
    died_at
FROM redrive.redrive_dead
WHERE $1::text IS NULL AND death >= $2 AND death <= $3
ORDER BY death;

-- name: allRoute.down
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch
FROM redrive.redrive_dead
WHERE $1::text IS NULL AND death >= $2 AND death <= $3
ORDER BY death DESC;

-- name: pendingRoute.up
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch, life, priority, long, key,
    died_at
FROM redrive.redrive_dead
WHERE status = 0 AND grp = $1 AND death >= $2 AND death <= $3
ORDER BY death;

-- name: pendingRoute.down
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch
FROM redrive.redrive_dead
WHERE status = 0 AND grp = $1 AND death >= $2 AND death <= $3
ORDER BY death DESC;

-- name: ownerRoute.up
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch, life, priority, long, key,
    died_at
FROM redrive.redrive_dead
WHERE owner = $1 AND death >= $2 AND death <= $3
ORDER BY death;

-- name: ownerRoute.down
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch
FROM redrive.redrive_dead
WHERE owner = $1 AND death >= $2 AND death <= $3
ORDER BY death DESC;

-- name: classRoute.up
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch, life, priority, long, key,
    died_at
FROM redrive.redrive_dead
WHERE class = $1 AND death >= $2 AND death <= $3
ORDER BY death;

-- name: classRoute.down
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch
FROM redrive.redrive_dead
WHERE class = $1 AND death >= $2 AND death <= $3
ORDER BY death DESC;

-- name: correlationRoute.up
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch, life, priority, long, key,
    died_at
FROM redrive.redrive_dead
WHERE correlation = $1 AND death >= $2 AND death <= $3
ORDER BY death;

-- name: correlationRoute.down
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch
FROM redrive.redrive_dead
WHERE correlation = $1 AND death >= $2 AND death <= $3
ORDER BY death DESC;

-- name: jobRoute.up
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch, life, priority, long, key,
    died_at
FROM redrive.redrive_dead
WHERE job = $1 AND death >= $2 AND death <= $3
ORDER BY death;

-- name: jobRoute.down
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch
FROM redrive.redrive_dead
WHERE job = $1 AND death >= $2 AND death <= $3
ORDER BY death DESC;

-- name: laneRoute.up
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch, life, priority, long, key,
    died_at
FROM redrive.redrive_dead
WHERE lane = $1 AND death >= $2 AND death <= $3
ORDER BY death;

-- name: laneRoute.down
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch
FROM redrive.redrive_dead
WHERE lane = $1 AND death >= $2 AND death <= $3
ORDER BY death DESC;

-- name: selDeadRow
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch, life, priority, long, key,
    died_at
FROM redrive.redrive_dead
WHERE job = $1;

-- name: setStatus
UPDATE redrive.redrive_dead
SET status = $2, action = $3, note = $4, acted_at = $5, acted_by = $6, reopen_at = $7
WHERE death = $1;

-- name: insRetry
INSERT INTO redrive.redrive_jobs (
  id, lane, state, priority, run_at, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at,
  life_at, deadline, owner, correlation, key, batch, attrs, policy, terms, released, redrive, own_priority, long,
  payload)
SELECT job, $3, 1, $4, $5, token, life + 1, 0, 0, 0, 0, 0, created_at, $2, CASE WHEN deadline > $2 THEN deadline END,
    owner, correlation, key, batch, attrs, policy, terms, CASE WHEN reason = 'manual_review' THEN 1 ELSE released END,
    $6, $7, long, payload
FROM redrive.redrive_dead
WHERE death = $1 AND revived = 0;

-- name: setRedriven
-- The dead letter does not keep the policy and payload, because the live job has them again. It keeps the
-- attributes, because filters select by them.
UPDATE redrive.redrive_dead
SET status = 1, revived = 1, action = 'retried', note = $2, acted_at = $3, acted_by = $4, reopen_at = NULL,
    redrive = $5, policy = NULL, long = NULL, payload = NULL
WHERE death = $1;

-- name: insRetries
-- insRetries does the same as insRetry for a range of deaths whose jobs stay in their lanes. If the priority
-- is NULL, the jobs keep their priorities. $7 says whether the new priority is for one life only.
INSERT INTO redrive.redrive_jobs (
  id, lane, state, priority, run_at, token, life, attempts, crashes, deferrals, snoozes, interrupts, created_at,
  life_at, deadline, owner, correlation, key, batch, attrs, policy, terms, released, redrive, own_priority, long,
  payload)
SELECT job, lane, 1, coalesce($4, priority), $5, token, life + 1, 0, 0, 0, 0, 0, created_at, $3, CASE
    WHEN deadline > $3 THEN deadline END, owner, correlation, key, batch, attrs, policy, terms, CASE
    WHEN reason = 'manual_review' THEN 1 ELSE released END, $6, CASE WHEN $7::bigint <> 0 THEN priority END, long,
    payload
FROM redrive.redrive_dead
WHERE death >= $1 AND death <= $2 AND revived = 0;

-- name: setRedrivens
UPDATE redrive.redrive_dead
SET status = 1, revived = 1, action = 'retried', note = $3, acted_at = $4, acted_by = $5, reopen_at = NULL,
    redrive = $6, policy = NULL, long = NULL, payload = NULL
WHERE death >= $1 AND death <= $2 AND revived = 0;

-- name: selOwn
SELECT policy, long, payload FROM redrive.redrive_dead WHERE death = $1;

-- name: insOriginal
INSERT INTO redrive.redrive_originals AS o (job, at, by, queue, priority, policy, payload)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (job) DO UPDATE SET payload = excluded.payload
WHERE o.payload IS NULL AND excluded.payload IS NOT NULL;

-- name: setPolicy
UPDATE redrive.redrive_jobs SET policy = $2 WHERE id = $1;

-- name: setJobKey
UPDATE redrive.redrive_jobs SET key = $2 WHERE id = $1;

-- name: setPayload
UPDATE redrive.redrive_jobs SET long = $2, payload = $3 WHERE id = $1;

-- ----------------------------------------------------------------------------
-- Causes and notes
-- ----------------------------------------------------------------------------

-- name: countGroups
SELECT count(*)
FROM redrive.redrive_groups
WHERE ($1::text IS NULL OR fingerprint = $1) AND ($2::text IS NULL OR kind = $2) AND ($3::text IS NULL OR class = $3)
    AND ($4 = 0 OR pending > 0) AND ($5::text IS NULL OR assignee = $5) AND ($6::text IS NULL OR merged = $6)
    AND (
      $7::text IS NULL OR $7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
      ELSE 'regressed' END);

-- name: lastGroups
SELECT fingerprint, kind, class, code, message, sample, first_at, last_at, n, entries, pending, muted, muted_until,
    muted_for, id, retried, helped, first_build, last_build, name, assignee, assigned_at, resolved_at, resolved_by,
    regressed_at, merged
FROM redrive.redrive_groups
WHERE id IN (
  SELECT id
  FROM redrive.redrive_groups
  WHERE ($1::text IS NULL OR fingerprint = $1) AND ($2::text IS NULL OR kind = $2)
      AND ($3::text IS NULL OR class = $3) AND ($4 = 0 OR pending > 0) AND ($5::text IS NULL OR assignee = $5)
      AND ($6::text IS NULL OR merged = $6) AND (
        $7::text IS NULL OR $7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
        ELSE 'regressed' END)
  ORDER BY last_at DESC, fingerprint LIMIT $8 OFFSET $9)
ORDER BY last_at DESC, fingerprint;

-- name: largestGroups
SELECT fingerprint, kind, class, code, message, sample, first_at, last_at, n, entries, pending, muted, muted_until,
    muted_for, id, retried, helped, first_build, last_build, name, assignee, assigned_at, resolved_at, resolved_by,
    regressed_at, merged
FROM redrive.redrive_groups
WHERE id IN (
  SELECT id
  FROM redrive.redrive_groups
  WHERE ($1::text IS NULL OR fingerprint = $1) AND ($2::text IS NULL OR kind = $2)
      AND ($3::text IS NULL OR class = $3) AND ($4 = 0 OR pending > 0) AND ($5::text IS NULL OR assignee = $5)
      AND ($6::text IS NULL OR merged = $6) AND (
        $7::text IS NULL OR $7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
        ELSE 'regressed' END)
  ORDER BY pending DESC, n DESC, fingerprint LIMIT $8 OFFSET $9)
ORDER BY pending DESC, n DESC, fingerprint;

-- name: countBySet
-- The statements for Merge return the groups that are in no set, and of each set the selected group with the
-- lowest fingerprint.
SELECT count(*)
FROM redrive.redrive_groups g
WHERE ($1::text IS NULL OR fingerprint = $1) AND ($2::text IS NULL OR kind = $2) AND ($3::text IS NULL OR class = $3)
    AND ($4 = 0 OR pending > 0) AND ($5::text IS NULL OR assignee = $5) AND ($6::text IS NULL OR merged = $6)
    AND (
      $7::text IS NULL OR $7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
      ELSE 'regressed' END) AND (
        merged IS NULL OR fingerprint = (
          SELECT min(fingerprint)
          FROM redrive.redrive_groups
          WHERE merged = g.merged AND ($1::text IS NULL OR fingerprint = $1) AND ($2::text IS NULL OR kind = $2)
              AND ($3::text IS NULL OR class = $3) AND ($4 = 0 OR pending > 0) AND ($5::text IS NULL OR assignee = $5)
              AND ($6::text IS NULL OR merged = $6) AND (
                $7::text IS NULL OR $7 = CASE WHEN resolved_at IS NULL THEN 'open'
                WHEN regressed_at IS NULL THEN 'resolved' ELSE 'regressed' END)));

-- name: lastBySet
SELECT fingerprint, kind, class, code, message, sample, first_at, last_at, n, entries, pending, muted, muted_until,
    muted_for, id, retried, helped, first_build, last_build, name, assignee, assigned_at, resolved_at, resolved_by,
    regressed_at, merged
FROM redrive.redrive_groups g
WHERE ($1::text IS NULL OR fingerprint = $1) AND ($2::text IS NULL OR kind = $2) AND ($3::text IS NULL OR class = $3)
    AND ($4 = 0 OR pending > 0) AND ($5::text IS NULL OR assignee = $5) AND ($6::text IS NULL OR merged = $6)
    AND (
      $7::text IS NULL OR $7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
      ELSE 'regressed' END) AND (
        merged IS NULL OR fingerprint = (
          SELECT min(fingerprint)
          FROM redrive.redrive_groups
          WHERE merged = g.merged AND ($1::text IS NULL OR fingerprint = $1) AND ($2::text IS NULL OR kind = $2)
              AND ($3::text IS NULL OR class = $3) AND ($4 = 0 OR pending > 0) AND ($5::text IS NULL OR assignee = $5)
              AND ($6::text IS NULL OR merged = $6) AND (
                $7::text IS NULL OR $7 = CASE WHEN resolved_at IS NULL THEN 'open'
                WHEN regressed_at IS NULL THEN 'resolved' ELSE 'regressed' END)))
ORDER BY CASE WHEN merged IS NULL THEN last_at ELSE (
  SELECT max(last_at)
  FROM redrive.redrive_groups
  WHERE merged = g.merged AND ($1::text IS NULL OR fingerprint = $1) AND ($2::text IS NULL OR kind = $2)
      AND ($3::text IS NULL OR class = $3) AND ($4 = 0 OR pending > 0) AND ($5::text IS NULL OR assignee = $5)
      AND ($6::text IS NULL OR merged = $6) AND (
        $7::text IS NULL OR $7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
        ELSE 'regressed' END)) END DESC, fingerprint
LIMIT $8 OFFSET $9;

-- name: largestBySet
SELECT fingerprint, kind, class, code, message, sample, first_at, last_at, n, entries, pending, muted, muted_until,
    muted_for, id, retried, helped, first_build, last_build, name, assignee, assigned_at, resolved_at, resolved_by,
    regressed_at, merged
FROM redrive.redrive_groups g
WHERE ($1::text IS NULL OR fingerprint = $1) AND ($2::text IS NULL OR kind = $2) AND ($3::text IS NULL OR class = $3)
    AND ($4 = 0 OR pending > 0) AND ($5::text IS NULL OR assignee = $5) AND ($6::text IS NULL OR merged = $6)
    AND (
      $7::text IS NULL OR $7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
      ELSE 'regressed' END) AND (
        merged IS NULL OR fingerprint = (
          SELECT min(fingerprint)
          FROM redrive.redrive_groups
          WHERE merged = g.merged AND ($1::text IS NULL OR fingerprint = $1) AND ($2::text IS NULL OR kind = $2)
              AND ($3::text IS NULL OR class = $3) AND ($4 = 0 OR pending > 0) AND ($5::text IS NULL OR assignee = $5)
              AND ($6::text IS NULL OR merged = $6) AND (
                $7::text IS NULL OR $7 = CASE WHEN resolved_at IS NULL THEN 'open'
                WHEN regressed_at IS NULL THEN 'resolved' ELSE 'regressed' END)))
ORDER BY CASE WHEN merged IS NULL THEN pending ELSE (
  SELECT sum(pending)
  FROM redrive.redrive_groups
  WHERE merged = g.merged AND ($1::text IS NULL OR fingerprint = $1) AND ($2::text IS NULL OR kind = $2)
      AND ($3::text IS NULL OR class = $3) AND ($4 = 0 OR pending > 0) AND ($5::text IS NULL OR assignee = $5)
      AND ($6::text IS NULL OR merged = $6) AND (
        $7::text IS NULL OR $7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
        ELSE 'regressed' END)) END DESC, CASE WHEN merged IS NULL THEN n
    ELSE (
      SELECT sum(n)
      FROM redrive.redrive_groups
      WHERE merged = g.merged AND ($1::text IS NULL OR fingerprint = $1) AND ($2::text IS NULL OR kind = $2)
          AND ($3::text IS NULL OR class = $3) AND ($4 = 0 OR pending > 0) AND ($5::text IS NULL OR assignee = $5)
          AND ($6::text IS NULL OR merged = $6) AND (
            $7::text IS NULL OR $7 = CASE WHEN resolved_at IS NULL THEN 'open'
            WHEN regressed_at IS NULL THEN 'resolved' ELSE 'regressed' END)) END DESC, fingerprint
LIMIT $8 OFFSET $9;

-- name: setGroups
SELECT fingerprint, kind, class, code, message, sample, first_at, last_at, n, entries, pending, muted, muted_until,
    muted_for, id, retried, helped, first_build, last_build, name, assignee, assigned_at, resolved_at, resolved_by,
    regressed_at, merged
FROM redrive.redrive_groups
WHERE merged = $6 AND ($1::text IS NULL OR fingerprint = $1) AND ($2::text IS NULL OR kind = $2)
    AND ($3::text IS NULL OR class = $3) AND ($4 = 0 OR pending > 0) AND ($5::text IS NULL OR assignee = $5)
    AND ($6::text IS NULL OR merged = $6) AND (
      $7::text IS NULL OR $7 = CASE WHEN resolved_at IS NULL THEN 'open' WHEN regressed_at IS NULL THEN 'resolved'
      ELSE 'regressed' END)
ORDER BY fingerprint;

-- name: allGroups
SELECT fingerprint, kind, class, code, message, sample, first_at, last_at, n, entries, pending, muted, muted_until,
    muted_for, id, retried, helped, first_build, last_build, name, assignee, assigned_at, resolved_at, resolved_by,
    regressed_at, merged
FROM redrive.redrive_groups
ORDER BY fingerprint;

-- name: anyOlder
-- anyOlder and selOlder read groups whose fingerprint has another version. They run only when a group is
-- made, and selOlder only if there are such groups.
SELECT 1 FROM redrive.redrive_groups WHERE substr(fingerprint, 1, 2) <> $1 LIMIT 1;

-- name: selOlder
SELECT fingerprint, kind, class, code, message, sample, first_at, last_at, n, entries, pending, muted, muted_until,
    muted_for, id, retried, helped, first_build, last_build, name, assignee, assigned_at, resolved_at, resolved_by,
    regressed_at, merged, muted_by, muted_note
FROM redrive.redrive_groups
WHERE substr(fingerprint, 1, 2) <> $1 AND kind = $2
    AND (muted = 1 OR name IS NOT NULL OR assignee IS NOT NULL OR resolved_at IS NOT NULL OR merged IS NOT NULL)
ORDER BY last_at DESC, fingerprint;

-- name: takeOver
UPDATE redrive.redrive_groups
SET muted = $2, muted_until = $3, muted_for = $4, muted_by = $5, muted_note = $6, name = $7, assignee = $8,
    assigned_at = $9, resolved_at = $10, resolved_by = $11, regressed_at = $12, merged = $13
WHERE id = $1;

-- name: selGroupRow
SELECT fingerprint, kind, class, code, message, sample, first_at, last_at, n, entries, pending, muted, muted_until,
    muted_for, id, retried, helped, first_build, last_build, name, assignee, assigned_at, resolved_at, resolved_by,
    regressed_at, merged
FROM redrive.redrive_groups
WHERE fingerprint = $1;

-- name: setGroupRow
UPDATE redrive.redrive_groups
SET name = $2, assignee = $3, assigned_at = $4, resolved_at = $5, resolved_by = $6, regressed_at = $7
WHERE fingerprint = $1;

-- name: setMerged
UPDATE redrive.redrive_groups SET merged = $2 WHERE fingerprint = $1;

-- name: countMerged
SELECT count(*) FROM redrive.redrive_groups WHERE merged = $1;

-- name: selNoted
-- selNoted finds the job to which a note belongs. If the job is not live and has not ended, it finds the dead
-- letter of the job.
SELECT l.kind, l.queue, p.owner
FROM (
  SELECT 1 AS place, 0 AS seq, lane, owner FROM redrive.redrive_jobs WHERE id = $1
  UNION ALL SELECT 2, seq, lane, owner FROM redrive.redrive_done WHERE job = $1
  UNION ALL SELECT 3, 0, lane, owner FROM redrive.redrive_dead WHERE job = $1) p
JOIN redrive.redrive_lanes l ON l.id = p.lane
ORDER BY p.place, p.seq DESC LIMIT 1;

-- name: countJobNotes
SELECT count(*) FROM redrive.redrive_notes WHERE job = $1;

-- name: countGroupNotes
SELECT count(*) FROM redrive.redrive_notes WHERE grp = $1;

-- name: nextNote
INSERT INTO redrive.redrive_meta (key, value)
VALUES ('notes', 1)
ON CONFLICT (key) DO UPDATE SET value = redrive_meta.value + 1
RETURNING value;

-- name: insNote
INSERT INTO redrive.redrive_notes (id, at, by, what, job, grp, token, text) VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: notesOfJob
-- A job or a group has at most store.NotesMax notes, so these statements read few rows.
SELECT id, at, by, what, job, grp, token, text
FROM redrive.redrive_notes
WHERE job = $2 AND id < $1
ORDER BY id DESC LIMIT $3;

-- name: notesOfGroup
SELECT id, at, by, what, job, grp, token, text
FROM redrive.redrive_notes
WHERE grp = $2 AND id < $1
ORDER BY id DESC LIMIT $3;

-- name: notesOfKind
SELECT id, at, by, what, job, grp, token, text
FROM redrive.redrive_notes
WHERE what = $2 AND id < $1
ORDER BY id DESC LIMIT $3;

-- name: newestNotes
SELECT id, at, by, what, job, grp, token, text FROM redrive.redrive_notes WHERE id < $1 ORDER BY id DESC LIMIT $2;

-- name: allNotes
SELECT id, at, by, what, job, grp, token, text FROM redrive.redrive_notes ORDER BY id;

-- name: walkNotes
-- walkNotes returns for each note whether its job, the job's dead letter, or its group exists. Labels stay.
SELECT n.id, CASE WHEN n.what = 'label' THEN TRUE WHEN n.job IS NULL THEN EXISTS (SELECT 1 FROM redrive.redrive_groups g WHERE g.fingerprint = n.grp)
    ELSE EXISTS (SELECT 1 FROM redrive.redrive_jobs j WHERE j.id = n.job) OR EXISTS (
      SELECT 1 FROM redrive.redrive_done d WHERE d.job = n.job) OR EXISTS (
      SELECT 1 FROM redrive.redrive_dead d WHERE d.job = n.job) END
FROM redrive.redrive_notes n
WHERE n.id > $1
ORDER BY n.id;

-- name: delNotes
DELETE FROM redrive.redrive_notes
WHERE id IN (SELECT CAST(i.value AS BIGINT) FROM json_array_elements_text($1::text::json) i(value));

-- ----------------------------------------------------------------------------
-- Redrives
-- ----------------------------------------------------------------------------

-- name: insRedrive
-- The number is taken like that of insAudit.
WITH number AS (UPDATE redrive.redrive_meta SET value = value + 1 WHERE key = 'redrives' RETURNING value)
INSERT INTO redrive.redrive_redrives (id, spec, policy, state, by, reason, created_at, last_at, key)
SELECT value, $1, $2, $3, $4, $5, $6, $6, $7
FROM number
RETURNING id;

-- name: selRedrive
SELECT id, spec, policy, state, resume, why, by, reason, created_at, ended_at, cursor, last_at, base, causes,
    released, answered, again, completed, dead, cancelled, audited, key, refused, refused_why, other
FROM redrive.redrive_redrives
WHERE id = $1;

-- name: keyRedrive
SELECT id, spec, policy, state, resume, why, by, reason, created_at, ended_at, cursor, last_at, base, causes,
    released, answered, again, completed, dead, cancelled, audited, key, refused, refused_why, other
FROM redrive.redrive_redrives
WHERE key = $1;

-- name: lastRedrive
SELECT id, spec, policy, state, resume, why, by, reason, created_at, ended_at, cursor, last_at, base, causes,
    released, answered, again, completed, dead, cancelled, audited, key, refused, refused_why, other
FROM redrive.redrive_redrives
ORDER BY id DESC LIMIT $1;

-- name: allRedrives
SELECT id, spec, policy, state, resume, why, by, reason, created_at, ended_at, cursor, last_at, base, causes,
    released, answered, again, completed, dead, cancelled, audited, key, refused, refused_why, other
FROM redrive.redrive_redrives
ORDER BY id;

-- name: selActive
SELECT id, spec, policy, state, resume, why, by, reason, created_at, ended_at, cursor, last_at, base, causes,
    released, answered, again, completed, dead, cancelled, audited, key, refused, refused_why, other
FROM redrive.redrive_redrives
WHERE ended_at IS NULL
ORDER BY id;

-- name: setRedrive
-- setRedrive does not change the counts of ended jobs. Only the outcomes of jobs change these counts; see
-- addRedrive.
UPDATE redrive.redrive_redrives
SET state = $2, resume = $3, why = $4, ended_at = $5, cursor = $6, last_at = $7, base = $8, causes = $9,
    released = $10, audited = $11, refused = $12, refused_why = $13
WHERE id = $1;

-- ----------------------------------------------------------------------------
-- Policies, schedules and processes
-- ----------------------------------------------------------------------------

-- name: selRules
SELECT number, hash, at, by, body FROM redrive.redrive_rules ORDER BY number DESC LIMIT 1;

-- name: selRulesHash
SELECT hash FROM redrive.redrive_rules ORDER BY number DESC LIMIT 1;

-- name: allRules
SELECT number, hash, at, by, body FROM redrive.redrive_rules ORDER BY number;

-- name: insRules
INSERT INTO redrive.redrive_rules (number, hash, at, by, body) VALUES ($1, $2, $3, $4, $5);

-- name: selDeadAttrs
SELECT attrs FROM redrive.redrive_dead WHERE job = $1;

-- name: selWindow
SELECT body FROM redrive.redrive_windows WHERE scope = $1 AND target = $2;

-- name: ofWindows
SELECT body FROM redrive.redrive_windows WHERE scope = $1 ORDER BY target;

-- name: dueWindows
SELECT body FROM redrive.redrive_windows WHERE due_at <= $1 ORDER BY due_at LIMIT $2;

-- name: nextWindow
SELECT due_at FROM redrive.redrive_windows WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1;

-- name: allWindows
SELECT w.scope, w.target, w.body, i.body
FROM redrive.redrive_windows w LEFT JOIN redrive.redrive_window_items i ON i.scope = w.scope AND i.target = w.target
ORDER BY w.scope, w.target, i.n;

-- name: putWindow
INSERT INTO redrive.redrive_windows (scope, target, due_at, body) VALUES ($1, $2, $3, $4)
ON CONFLICT (scope, target) DO UPDATE SET due_at = excluded.due_at, body = excluded.body;

-- name: delWindow
DELETE FROM redrive.redrive_windows WHERE scope = $1 AND target = $2;

-- name: selItems
SELECT body FROM redrive.redrive_window_items WHERE scope = $1 AND target = $2 ORDER BY n;

-- name: insItem
INSERT INTO redrive.redrive_window_items (scope, target, n, body) VALUES ($1, $2, $3, $4);

-- name: delItems
DELETE FROM redrive.redrive_window_items WHERE scope = $1 AND target = $2;

-- name: insPolicy
INSERT INTO redrive.redrive_policies (hash, name, at, by, body)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (hash) DO NOTHING;

-- name: selPolicy
SELECT hash, name, at, by, body FROM redrive.redrive_policies WHERE hash = $1;

-- name: selInForce
-- The policy in force is the policy that was published last. redrive_meta has the number of the audit row of
-- that publication.
SELECT a.target FROM redrive.redrive_meta m JOIN redrive.redrive_audit a ON a.seq = m.value WHERE m.key = 'policy';

-- name: setInForce
INSERT INTO redrive.redrive_meta (key, value)
VALUES ('policy', (SELECT max(seq) FROM redrive.redrive_audit))
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: listPolicies
SELECT hash, name, at, by FROM redrive.redrive_policies ORDER BY at DESC, hash LIMIT $1;

-- name: selSchedule
SELECT name, slot, at, job, expression, paused, set_at FROM redrive.redrive_schedules WHERE name = $1;

-- name: allSchedules
SELECT name, slot, at, job, expression, paused, set_at FROM redrive.redrive_schedules ORDER BY name;

-- name: countSchedules
-- The table has at most store.CronsMax rows.
SELECT count(*) FROM redrive.redrive_schedules;

-- name: putSchedule
-- The WHERE keeps the stored slot if that slot is later than the new slot.
INSERT INTO redrive.redrive_schedules (name, slot, at, job, expression)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (name) DO UPDATE SET slot = $2, at = $3, job = $4, expression = $5
WHERE redrive_schedules.slot < $2;

-- name: setSchedule
-- The statement stores slot 0 for a schedule that is paused before its first slot.
INSERT INTO redrive.redrive_schedules (name, slot, at, job, expression, paused, set_at)
VALUES ($1, 0, 0, 0, '', $2, $3)
ON CONFLICT (name) DO UPDATE SET paused = $2, set_at = $3;

-- name: setProcess
-- setProcess records that a known process is alive. It changes no row if the process is new or was marked as
-- silent.
UPDATE redrive.redrive_processes
SET seen_at = $3, policy = $4, slots = $5, running = $6, sick = $7
WHERE name = $1 AND instance = $2 AND silent = 0
RETURNING quiet;

-- name: putProcess
INSERT INTO redrive.redrive_processes (
  name, instance, what, host, pid, version, build, policy, started_at, seen_at, queues, kinds, slots, running, sick)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10, $11, $12, $13, $14)
ON CONFLICT (name, instance) DO UPDATE SET policy = $8, seen_at = $9, slots = $12, running = $13, sick = $14,
    silent = 0
RETURNING quiet;

-- name: delProcess
DELETE FROM redrive.redrive_processes WHERE name = $1 AND instance = $2;

-- name: countProcesses
-- The table has at most store.ProcessesMax rows.
SELECT count(*) FROM redrive.redrive_processes;

-- name: allProcesses
SELECT name, instance, what, host, pid, version, coalesce(build, ''), policy, started_at, seen_at, queues, kinds,
    slots, running, quiet, silent, coalesce(sick, '')
FROM redrive.redrive_processes
ORDER BY name, instance;

-- name: selSilent
-- selSilent finds processes that have not reported since the time $1 and whose rows have to be changed. Such
-- a row has to be marked as silent if it is not marked yet. It has to be removed if the last report came
-- before the time $2, or if the process has the name $3, which is the name of the calling process.
SELECT name, instance
FROM redrive.redrive_processes
WHERE seen_at <= $1 AND (silent = 0 OR seen_at <= $2 OR name = $3)
ORDER BY name, instance;

-- name: setSilent
UPDATE redrive.redrive_processes SET silent = 1 WHERE name = $1 AND instance = $2 AND silent = 0 AND seen_at <= $3;

-- name: delSilent
DELETE FROM redrive.redrive_processes WHERE name = $1 AND instance = $2 AND silent = 1 AND seen_at <= $3;

-- name: selNamed
SELECT count(*) FROM redrive.redrive_processes WHERE name = $1;

-- name: quietNamed
UPDATE redrive.redrive_processes SET quiet = $2 WHERE name = $1 AND quiet <> $2;

-- ----------------------------------------------------------------------------
-- Access, requests and audit
-- ----------------------------------------------------------------------------

-- name: selAccess
SELECT id, version, name, hash, old_hash, old_until, roles, owner, kinds, queues, delegate, expires_at, revoked_at,
    created_at, created_by, rotated_at, used_at
FROM redrive.redrive_access
WHERE id = $1;

-- name: allAccess
-- The table has at most store.KeysMax rows.
SELECT id, version, name, hash, old_hash, old_until, roles, owner, kinds, queues, delegate, expires_at, revoked_at,
    created_at, created_by, rotated_at, used_at
FROM redrive.redrive_access
ORDER BY id;

-- name: countAccess
SELECT count(*) FROM redrive.redrive_access;

-- name: insKey
INSERT INTO redrive.redrive_access (
  id, version, name, hash, old_hash, old_until, roles, owner, kinds, queues, delegate, expires_at, revoked_at,
  created_at, created_by, rotated_at, used_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, NULL);

-- name: setKey
-- setKey replaces a key of the version before.
UPDATE redrive.redrive_access
SET version = $2, name = $3, hash = $4, old_hash = $5, old_until = $6, roles = $7, owner = $8, kinds = $9,
    queues = $10, delegate = $11, expires_at = $12, revoked_at = $13, rotated_at = $14
WHERE id = $1 AND version = $2 - 1 AND revoked_at IS NULL;

-- name: delAccess
DELETE FROM redrive.redrive_access WHERE id = $1 AND version = $2;

-- name: setUsed
UPDATE redrive.redrive_access SET used_at = $2 WHERE id = $1 AND (used_at IS NULL OR used_at <= $3);

-- name: insSecret
-- insSecret inserts no row if the secret exists.
INSERT INTO redrive.redrive_secrets (name, secret) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING;

-- name: selSecret
SELECT secret FROM redrive.redrive_secrets WHERE name = $1;

-- name: allSecrets
SELECT name FROM redrive.redrive_secrets ORDER BY name;

-- name: selEndpoint
SELECT name, settings, secret, old_secret FROM redrive.redrive_endpoints WHERE name = $1;

-- name: allEndpoints
-- The table has at most store.EndpointsMax rows.
SELECT name, settings, secret, old_secret FROM redrive.redrive_endpoints ORDER BY name;

-- name: countEndpoints
SELECT count(*) FROM redrive.redrive_endpoints;

-- name: insEndpoint
INSERT INTO redrive.redrive_endpoints (name, settings, secret, old_secret) VALUES ($1, $2, $3, $4);

-- name: setEndpoint
UPDATE redrive.redrive_endpoints SET settings = $2, secret = $3, old_secret = $4 WHERE name = $1;

-- name: delEndpoint
DELETE FROM redrive.redrive_endpoints WHERE name = $1;

-- name: selRequest
SELECT scope, key, digest, at, first, n, through, status, body
FROM redrive.redrive_requests
WHERE scope = $1 AND key = $2;

-- name: insRequest
-- insRequest inserts no row if another transaction has inserted the same request in the meantime.
INSERT INTO redrive.redrive_requests (scope, key, digest, at, first, n, through)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (scope, key) DO NOTHING;

-- name: setAnswer
UPDATE redrive.redrive_requests SET status = $3, body = $4 WHERE scope = $1 AND key = $2 AND status IS NULL;

-- name: delRequest
DELETE FROM redrive.redrive_requests WHERE scope = $1 AND key = $2 AND at <= $3;

-- name: allRequests
SELECT scope, key, digest, at, first, n, through, status, body FROM redrive.redrive_requests ORDER BY scope, key;

-- name: sweepRequests
DELETE FROM redrive.redrive_requests WHERE at <= $1;

-- name: insAudit
-- Numbers without gaps, in the order of commits: the row that counts them is locked until the end of the
-- transaction.
WITH number AS (UPDATE redrive.redrive_meta SET value = value + 1 WHERE key = 'audit' RETURNING value)
INSERT INTO redrive.redrive_audit (seq, at, actor, action, target, reason, before, after, via, owner)
SELECT value, $1, $2, $3, $4, $5, $6, $7, $8, $9
FROM number;

-- name: selAudit
SELECT seq, at, actor, action, target, reason, before, after, via, owner
FROM redrive.redrive_audit
WHERE seq > $1
ORDER BY seq LIMIT $2;

-- name: selAuditFrom
SELECT seq, at FROM redrive.redrive_audit WHERE seq >= $1 ORDER BY seq LIMIT 1;

-- name: selAuditLast
SELECT max(seq) FROM redrive.redrive_audit;

-- name: walkAudit
-- These statements read the audit rows below a sequence number, the newest first. Targets can be long, so the
-- index has only their first 256 characters.
SELECT seq, at, actor, action, target, reason, before, after, via, owner
FROM redrive.redrive_audit
WHERE seq < $1
ORDER BY seq DESC;

-- name: walkAuditActor
-- The order begins with the column of the index. So the planner cannot choose to walk over the primary key,
-- which would take long for somebody who has done little.
SELECT seq, at, actor, action, target, reason, before, after, via, owner
FROM redrive.redrive_audit
WHERE actor >= $1 AND (actor, seq) < ($1, $2)
ORDER BY actor DESC, seq DESC;

-- name: walkAuditTarget
SELECT seq, at, actor, action, target, reason, before, after, via, owner
FROM redrive.redrive_audit
WHERE target = $1 AND substr(target, 1, 256) >= substr($1, 1, 256)
    AND (substr(target, 1, 256), seq) < (substr($1, 1, 256), $2)
ORDER BY substr(target, 1, 256) DESC, seq DESC;

-- ----------------------------------------------------------------------------
-- Events
-- ----------------------------------------------------------------------------

-- name: recordEvents :own
-- The row of a transaction in redrive_events: its events, and what it has changed in counters, figures and
-- batches. Its number is that of the transaction.
INSERT INTO redrive.redrive_events (seq, at, n, body, lanes, states, ns, figures, batches)
SELECT (x.id << 20) + (
  SELECT count(*) FROM redrive.redrive_events WHERE seq >= x.id << 20 AND seq < (x.id + 1) << 20), $1, $2, $3,
    $4::text::bigint[], $5::text::smallint[], $6::text::bigint[], $7, $8::text::bigint[]
FROM (SELECT pg_current_xact_id()::text::bigint + value AS id FROM redrive.redrive_meta WHERE key = 'event_base') x;

-- name: recordFast :own
-- recordEvents for a transaction that writes one row for sure.
INSERT INTO redrive.redrive_events (seq, at, n, body, lanes, states, ns, figures, batches)
SELECT (pg_current_xact_id()::text::bigint + value) << 20, $1::bigint, $2::bigint, $3::bytea, $4::bigint[],
    $5::bigint[]::smallint[], $6::bigint[], $7::bytea, $8::bigint[]
FROM redrive.redrive_meta
WHERE key = 'event_base';

-- name: foldEvents :own
-- Adds what up to $1 rows of events have changed to counters and batches, and returns their figures. Of a
-- transaction that is under way no row is seen, and of another one all; those under way are kept in the
-- column late, and their rows are folded when they are there.
WITH part AS MATERIALIZED (
  SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches
  FROM redrive.redrive_meta f
  CROSS JOIN LATERAL unnest(f.late) AS l(id)
  JOIN redrive.redrive_events e ON e.seq >= l.id << 20 AND e.seq < (l.id + 1) << 20
  WHERE f.key = 'folded' AND EXISTS (SELECT 1 FROM redrive.redrive_meta WHERE key = 'event_base')
  UNION ALL (
    SELECT seq, at, lanes, states, ns, figures, batches
    FROM redrive.redrive_events
    WHERE seq > (SELECT value FROM redrive.redrive_meta WHERE key = 'folded')
        AND EXISTS (SELECT 1 FROM redrive.redrive_meta WHERE key = 'event_base')
    ORDER BY seq LIMIT $1)), counters AS (
      INSERT INTO redrive.redrive_counters (lane, state, n)
      SELECT d.lane, d.state, sum(d.n)
      FROM part p, unnest(p.lanes, p.states, p.ns) AS d(lane, state, n)
      GROUP BY d.lane, d.state
      HAVING sum(d.n) <> 0
      ON CONFLICT (lane, state) DO UPDATE SET n = redrive_counters.n + excluded.n),
    batches AS (
      INSERT INTO redrive.redrive_batch_counts AS c (batch, total, completed, dead, cancelled, ripe)
      SELECT p.batches[i], sum(p.batches[i + 1]), sum(p.batches[i + 2]), sum(p.batches[i + 3]), sum(p.batches[i + 4]),
        CASE WHEN sum(p.batches[i + 1]) > 0
          AND sum(p.batches[i + 1]) = sum(p.batches[i + 2] + p.batches[i + 3] + p.batches[i + 4]) THEN 1 ELSE 0 END
      FROM part p, generate_series(1, cardinality(p.batches), 5) AS i
      GROUP BY 1
      ORDER BY 1
      ON CONFLICT (batch) DO UPDATE SET total = c.total + excluded.total, completed = c.completed + excluded.completed,
          dead = c.dead + excluded.dead, cancelled = c.cancelled + excluded.cancelled,
          ripe = CASE WHEN c.total + excluded.total > 0 AND c.total + excluded.total = c.completed + excluded.completed
            + c.dead + excluded.dead + c.cancelled + excluded.cancelled THEN 1 ELSE 0 END),
    until AS (
      SELECT greatest(value, (SELECT max(seq) FROM part)) AS seq FROM redrive.redrive_meta WHERE key = 'folded')
UPDATE redrive.redrive_meta
SET value = (SELECT seq FROM until), late = ARRAY(
  SELECT u.id
  FROM (
    SELECT x::text::bigint + (SELECT value FROM redrive.redrive_meta WHERE key = 'event_base') AS id
    FROM pg_snapshot_xip(pg_current_snapshot()) AS x) u
  WHERE u.id <= (SELECT seq >> 20 FROM until))
WHERE key = 'folded' AND EXISTS (SELECT 1 FROM part)
RETURNING (SELECT count(*) FROM part), (
  SELECT string_agg(int8send(at) || int8send(octet_length(figures)) || figures, ''::bytea)
  FROM part
  WHERE figures IS NOT NULL);

-- name: raiseBase :own
-- The ids of transactions begin anew where a backup is restored into another server. The numbers of events go
-- on: after the last event that is there, and after those that were folded or indexed, which a backup may
-- lack.
UPDATE redrive.redrive_meta
SET value = (
  SELECT greatest(
    (SELECT max(seq) FROM redrive.redrive_events),
    (SELECT max(value) FROM redrive.redrive_meta WHERE key IN ('folded', 'owned'))) >> 20) + 1 - pg_snapshot_xmax(
  pg_current_snapshot())::text::bigint
WHERE key = 'event_base' AND value + pg_snapshot_xmax(pg_current_snapshot())::text::bigint <= (
  SELECT greatest(
    (SELECT max(seq) FROM redrive.redrive_events),
    (SELECT max(value) FROM redrive.redrive_meta WHERE key IN ('folded', 'owned'))) >> 20);

-- name: selNewestEvents :own
-- The number of the last row of events, whether or not it can be read yet.
SELECT coalesce(max(seq), 0) FROM redrive.redrive_events;

-- name: selHiddenEvents :own
-- The number below which all events can be read, if the first one above it is not after $1 and is of $2 or
-- earlier.
SELECT b.seq
FROM (
  SELECT (
    SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::bigint + value) << 20
    FROM redrive.redrive_meta
    WHERE key = 'event_base') AS seq) b
WHERE (SELECT at FROM redrive.redrive_events WHERE n > 0 AND seq >= b.seq AND seq <= $1 ORDER BY seq LIMIT 1) <= $2;

-- name: selInSight :own
-- The newest events that can be read.
SELECT seq
FROM redrive.redrive_events
WHERE n > 0 AND seq < (
  SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::bigint + value) << 20
  FROM redrive.redrive_meta
  WHERE key = 'event_base')
ORDER BY seq DESC LIMIT 1;

-- name: follow :own
-- Writes a record to the log of the server and nothing else, so that the commit waits until the standbys have
-- all before it. It takes no right.
SELECT pg_catalog.pg_logical_emit_message(true, 'redrive'::text, ''::text);

-- name: followTx :own
-- follow where commits wait for standbys.
SELECT pg_catalog.pg_logical_emit_message(true, 'redrive'::text, ''::text)
WHERE current_setting('synchronous_standby_names') <> '';

-- ----------------------------------------------------------------------------
-- Figures
-- ----------------------------------------------------------------------------

-- name: walkFigures
-- Figures are what is folded, and those of later events, with lane -1.
SELECT at, lane, body FROM redrive.redrive_figures WHERE unit = $1 AND at >= $2 AND at < $3
UNION ALL SELECT e.at, -1, e.figures
FROM (
  SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches
  FROM redrive.redrive_events e
  WHERE e.seq > (SELECT value FROM redrive.redrive_meta WHERE key = 'folded')
  UNION ALL SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches
  FROM redrive.redrive_meta f
  CROSS JOIN LATERAL unnest(f.late) AS l(id)
  JOIN redrive.redrive_events e ON e.seq >= l.id << 20 AND e.seq < (l.id + 1) << 20
  WHERE f.key = 'folded') e
WHERE e.figures IS NOT NULL AND e.at >= $2 AND e.at < $3;

-- name: laneFigures
-- laneFigures reads the rows of a few lanes, whose numbers are a JSON array. It looks up each row by its key,
-- because the table has the rows of all lanes together for each minute.
SELECT f.at, f.lane, f.body
FROM generate_series($2::bigint, $3::bigint - 1, $4::bigint) t(at)
CROSS JOIN LATERAL (
  SELECT at, lane, body
  FROM redrive.redrive_figures
  WHERE unit = $1 AND at = t.at
      AND lane = ANY (ARRAY(SELECT value::bigint FROM json_array_elements_text($5::text::json) i(value))) OFFSET 0) f
UNION ALL SELECT e.at, -1, e.figures
FROM (
  SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches
  FROM redrive.redrive_events e
  WHERE e.seq > (SELECT value FROM redrive.redrive_meta WHERE key = 'folded')
  UNION ALL SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches
  FROM redrive.redrive_meta f
  CROSS JOIN LATERAL unnest(f.late) AS l(id)
  JOIN redrive.redrive_events e ON e.seq >= l.id << 20 AND e.seq < (l.id + 1) << 20
  WHERE f.key = 'folded') e
WHERE e.figures IS NOT NULL AND e.at >= $2 AND e.at < $3;

-- name: allFigures
SELECT at, lane, body, unit FROM redrive.redrive_figures
UNION ALL SELECT e.at, -1, e.figures, 0
FROM (
  SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches
  FROM redrive.redrive_events e
  WHERE e.seq > (SELECT value FROM redrive.redrive_meta WHERE key = 'folded')
  UNION ALL SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches
  FROM redrive.redrive_meta f
  CROSS JOIN LATERAL unnest(f.late) AS l(id)
  JOIN redrive.redrive_events e ON e.seq >= l.id << 20 AND e.seq < (l.id + 1) << 20
  WHERE f.key = 'folded') e
WHERE e.figures IS NOT NULL;

-- name: nextFigures
SELECT at FROM redrive.redrive_figures WHERE unit = $1 AND at > $2 ORDER BY at LIMIT 1;

-- name: delFigures
DELETE FROM redrive.redrive_figures WHERE unit = $1 AND at <= $2;

-- name: selHeads
WITH priorities(n) AS (VALUES (1), (2), (3), (4))
SELECT l.queue, l.kind, (
  SELECT run_at FROM redrive.redrive_jobs WHERE lane = l.id AND priority = p.n AND state < 3 ORDER BY run_at LIMIT 1),
    (
      SELECT run_at
      FROM redrive.redrive_jobs
      WHERE lane = l.id AND priority = p.n AND state < 3 AND run_at > $1
      ORDER BY run_at LIMIT 1)
FROM redrive.redrive_lanes l
CROSS JOIN priorities p;

-- name: selManyFigures :own
-- The rows of figures for keys (unit, at, lane).
SELECT f.unit, f.at, f.lane, f.body
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS k(unit, at, lane)
JOIN redrive.redrive_figures f ON f.unit = k.unit AND f.at = k.at AND f.lane = k.lane;

-- name: putManyFigures :own
INSERT INTO redrive.redrive_figures (unit, at, lane, body)
SELECT *
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[])
ON CONFLICT (unit, at, lane) DO UPDATE SET body = excluded.body;

-- ----------------------------------------------------------------------------
-- Streams
-- ----------------------------------------------------------------------------

-- name: selPosition
SELECT stream, cluster, topic_id, part, topic, next, first, reached, moved_at, read, taken, existing, revived, dead, own,
    others, processed, empty, replayed
FROM redrive.redrive_positions
WHERE stream = $1 AND cluster = $2 AND topic_id = $3 AND part = $4
FOR UPDATE;

-- name: selPositions
-- The table has at most store.PositionsMax rows a stream; '' selects all.
SELECT stream, cluster, topic_id, part, topic, next, first, reached, moved_at, read, taken, existing, revived, dead, own,
    others, processed, empty, replayed
FROM redrive.redrive_positions
WHERE $1 = '' OR stream = $1
ORDER BY stream, topic, cluster, topic_id, part;

-- name: countPositions
SELECT count(*) FROM redrive.redrive_positions WHERE stream = $1;

-- name: insPosition
INSERT INTO redrive.redrive_positions (stream, cluster, topic_id, part, topic, next, first, reached, moved_at)
VALUES ($1, $2, $3, $4, $5, $6, $6, $6, $7)
ON CONFLICT (stream, cluster, topic_id, part) DO NOTHING;

-- name: setPosition
UPDATE redrive.redrive_positions
SET next = $5, reached = $6, moved_at = $7, read = $8, taken = $9, existing = $10, revived = $11, dead = $12, own = $13,
    others = $14, processed = $15, empty = $16, replayed = $17
WHERE stream = $1 AND cluster = $2 AND topic_id = $3 AND part = $4;

-- name: recountPositions
SELECT stream, cluster, topic_id, part, topic, next, first, reached, moved_at, read, taken, existing, revived, dead, own,
    others, processed, empty, replayed
FROM redrive.redrive_positions
WHERE read <> taken + existing + revived + dead + own + others + processed + empty
ORDER BY stream, topic, cluster, topic_id, part;

-- name: selStream
SELECT name, mode, reason, by, at FROM redrive.redrive_streams WHERE name = $1;

-- name: allStreams
-- The table has at most store.StreamsMax rows.
SELECT name, mode, reason, by, at FROM redrive.redrive_streams ORDER BY name;

-- name: countStreams
SELECT count(*) FROM redrive.redrive_streams;

-- name: insStream
INSERT INTO redrive.redrive_streams (name, mode) VALUES ($1, 0) ON CONFLICT (name) DO NOTHING;

-- name: setStream
UPDATE redrive.redrive_streams SET mode = $2, reason = $3, by = $4, at = $5 WHERE name = $1;

-- name: putReport
INSERT INTO redrive.redrive_stream_reports (stream, process, at, body) VALUES ($1, $2, $3, $4)
ON CONFLICT (stream, process) DO UPDATE SET at = $3, body = $4;

-- name: delReport
DELETE FROM redrive.redrive_stream_reports WHERE stream = $1 AND process = $2;

-- name: delReports
-- The table has a row for each process and stream.
DELETE FROM redrive.redrive_stream_reports WHERE at <= $1;

-- name: selReports
SELECT stream, process, at, body
FROM redrive.redrive_stream_reports
WHERE $1 = '' OR stream = $1
ORDER BY stream, process;

-- name: selSink
SELECT stream, sink, seq, idx, holder, token, until, failed_at, error
FROM redrive.redrive_sinks
WHERE stream = $1 AND sink = $2
FOR UPDATE;

-- name: selSinks
-- The table has at most store.SinksMax rows a stream; '' selects all.
SELECT stream, sink, seq, idx, holder, token, until, failed_at, error
FROM redrive.redrive_sinks
WHERE $1 = '' OR stream = $1
ORDER BY stream, sink;

-- name: countSinks
SELECT count(*) FROM redrive.redrive_sinks WHERE stream = $1;

-- name: insSink
INSERT INTO redrive.redrive_sinks (stream, sink, seq, idx, holder, token, until) VALUES ($1, $2, 0, 0, '', 0, 0)
ON CONFLICT (stream, sink) DO NOTHING;

-- name: setSink
UPDATE redrive.redrive_sinks SET seq = $3, idx = $4, holder = $5, token = $6, until = $7, failed_at = $8, error = $9
WHERE stream = $1 AND sink = $2;

-- ----------------------------------------------------------------------------
-- Marks
-- ----------------------------------------------------------------------------

-- name: selMark
SELECT key, holder, token, until, done_at, forget_at, job, summary
FROM redrive.redrive_marks
WHERE key = $1
FOR UPDATE;

-- name: allMarks
SELECT key, holder, token, until, done_at, forget_at, job, summary
FROM redrive.redrive_marks
ORDER BY key;

-- name: insMark
INSERT INTO redrive.redrive_marks (key, holder, token, until) VALUES ($1, '', 0, 0)
ON CONFLICT (key) DO NOTHING;

-- name: setMark
UPDATE redrive.redrive_marks SET holder = $2, token = $3, until = $4, done_at = $5, forget_at = $6, job = $7, summary = $8
WHERE key = $1;

-- name: delMark
DELETE FROM redrive.redrive_marks WHERE key = $1;

-- name: delMarks
DELETE FROM redrive.redrive_marks
WHERE key IN (SELECT key FROM redrive.redrive_marks WHERE forget_at <= $1 ORDER BY forget_at, key LIMIT $2
	FOR UPDATE SKIP LOCKED);

-- ----------------------------------------------------------------------------
-- The index of owners
-- ----------------------------------------------------------------------------

-- name: selOwnedMark
SELECT value FROM redrive.redrive_meta WHERE key = 'owned';

-- name: walkUnindexed
-- walkUnindexed reads the events that the index of owners still lacks, up to the last commit that is final:
-- no earlier commit can become visible later.
SELECT seq, at, n, body
FROM redrive.redrive_events
WHERE seq > $1 AND n > 0 AND seq < (
  SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::bigint + value) << 20
  FROM redrive.redrive_meta
  WHERE key = 'event_base')
ORDER BY seq;

-- name: selUnindexed
-- selUnindexed reads all events that are not in the index of owners yet.
SELECT seq, at, body
FROM redrive.redrive_events
WHERE seq > (SELECT value FROM redrive.redrive_meta WHERE key = 'owned')
ORDER BY seq LIMIT $1;

-- name: countUnindexed
SELECT count(*), coalesce(sum(n), 0)
FROM (
  SELECT n
  FROM redrive.redrive_events
  WHERE seq > (SELECT value FROM redrive.redrive_meta WHERE key = 'owned')
  ORDER BY seq LIMIT $1) AS part1;

-- name: selOwnedParts
-- selOwnedParts reads the part for the tag $1 of each run that has jobs with ids below $2.
SELECT r.high, r.at, (SELECT o.body FROM redrive.redrive_owned o WHERE o.place = r.run * 1024 + ($1 & (r.parts - 1)))
FROM redrive.redrive_owned_runs r
WHERE r.low < $2
ORDER BY r.high DESC;

-- name: selOwnedRuns
SELECT run, low, high, n, parts, at, checked_at FROM redrive.redrive_owned_runs ORDER BY run;

-- name: selLastRun
SELECT max(run) FROM redrive.redrive_owned_runs;

-- name: selOwnedRun
SELECT body FROM redrive.redrive_owned WHERE place >= $1 AND place < $2 ORDER BY place;

-- name: setOwnedMark
UPDATE redrive.redrive_meta SET value = $2 WHERE key = 'owned' AND value = $1;

-- name: insOwnedRun
INSERT INTO redrive.redrive_owned_runs (run, low, high, n, parts, at, checked_at) VALUES ($1, $2, $3, $4, $5, $6, $7);

-- name: insOwned
INSERT INTO redrive.redrive_owned (place, body) VALUES ($1, $2);

-- name: delOwnedRun
DELETE FROM redrive.redrive_owned_runs WHERE run = $1;

-- name: delOwned
DELETE FROM redrive.redrive_owned WHERE place >= $1 AND place < $2;

-- name: liveBetween
SELECT id FROM redrive.redrive_jobs WHERE id >= $1 AND id <= $2 ORDER BY id;

-- name: liveIDs
SELECT (SELECT id FROM redrive.redrive_jobs WHERE id = CAST(i.value AS BIGINT))
FROM json_array_elements_text($1::text::json) i(value);

-- name: doneBetween
SELECT job FROM redrive.redrive_done WHERE job >= $1 AND job <= $2 ORDER BY job;

-- name: doneIDs
SELECT (SELECT max(job) FROM redrive.redrive_done WHERE job = CAST(i.value AS BIGINT))
FROM json_array_elements_text($1::text::json) i(value);

-- name: deadBetween
SELECT job FROM redrive.redrive_dead WHERE job >= $1 AND job <= $2 ORDER BY job;

-- name: deadIDs
SELECT (SELECT job FROM redrive.redrive_dead WHERE job = CAST(i.value AS BIGINT))
FROM json_array_elements_text($1::text::json) i(value);

-- name: selNextID
SELECT value FROM redrive.redrive_meta WHERE key = 'next_id';

-- name: liveOwners
SELECT id, owner, correlation
FROM redrive.redrive_jobs
WHERE id >= $1 AND id < $2 AND (owner IS NOT NULL OR correlation IS NOT NULL);

-- name: doneOwners
SELECT job, owner, correlation
FROM redrive.redrive_done
WHERE job >= $1 AND job < $2 AND (owner IS NOT NULL OR correlation IS NOT NULL);

-- name: deadOwners
SELECT job, owner, correlation
FROM redrive.redrive_dead
WHERE job >= $1 AND job < $2 AND (owner IS NOT NULL OR correlation IS NOT NULL);

-- ----------------------------------------------------------------------------
-- Sweeps
-- ----------------------------------------------------------------------------

-- name: selSwept
-- the table has only a few rows
SELECT what, n, since, cursor FROM redrive.redrive_swept;

-- name: putSwept
INSERT INTO redrive.redrive_swept (what, n, since, cursor)
VALUES ($1, $2, $3, $4)
ON CONFLICT (what) DO UPDATE SET n = $2, since = $3, cursor = $4;

-- name: delDone
DELETE FROM redrive.redrive_done WHERE seq = $1;

-- name: anyOriginal
SELECT EXISTS (SELECT 1 FROM redrive.redrive_originals);

-- name: delAltered
-- A job's original values stay as long as the job has a dead letter.
DELETE FROM redrive.redrive_originals
WHERE job = $1 AND NOT EXISTS (SELECT 1 FROM redrive.redrive_dead WHERE job = $1);

-- name: delAlive
DELETE FROM redrive.redrive_keys WHERE owner = $1 AND kind = $2 AND key = $3 AND job = $4;

-- name: setKeyState
UPDATE redrive.redrive_keys SET state = $5 WHERE owner = $1 AND kind = $2 AND key = $3 AND job = $4;

-- name: setKeyResult
UPDATE redrive.redrive_keys SET result = $5 WHERE owner = $1 AND kind = $2 AND key = $3 AND job = $4;

-- name: delFailure
DELETE FROM redrive.redrive_failures WHERE job = $1 AND token = $2;

-- name: walkLetters
SELECT death, job, lane, reason, class, status, grp, owner, key, life, revived, long, died_at, acted_at, reopen_at, batch
FROM redrive.redrive_dead
WHERE death > $1
ORDER BY death;

-- name: delDead
DELETE FROM redrive.redrive_dead WHERE death = $1 AND job = $2 AND status <> 1;

-- name: delFailures
DELETE FROM redrive.redrive_failures WHERE job = $1;

-- name: delOriginal
DELETE FROM redrive.redrive_originals WHERE job = $1;

-- name: selMuted
SELECT 1 FROM redrive.redrive_groups WHERE id = $1 AND muted <> 0 AND (muted_until IS NULL OR muted_until > $2);

-- name: setDeaths
INSERT INTO redrive.redrive_meta (key, value) VALUES ('deaths', $1) ON CONFLICT (key) DO UPDATE SET value = $1;

-- name: selEmptyGroups
SELECT id, fingerprint FROM redrive.redrive_groups WHERE entries = 0 AND last_at <= $1 AND muted = 0 ORDER BY last_at;

-- name: delGroup
DELETE FROM redrive.redrive_groups WHERE id = $1 AND entries = 0 AND muted = 0;

-- name: delTrends
DELETE FROM redrive.redrive_trends WHERE grp = $1;

-- name: selMuteOver
SELECT id, fingerprint FROM redrive.redrive_groups WHERE muted = 1 AND muted_until <= $1 ORDER BY muted_until;

-- name: nextMark
-- Each value of reopen_at is returned once, even if many dead letters have that value.
SELECT reopen_at FROM redrive.redrive_dead WHERE reopen_at > $1 ORDER BY reopen_at LIMIT 1;

-- name: selMarked
SELECT death FROM redrive.redrive_dead WHERE reopen_at = $1 ORDER BY death;

-- name: selDue
SELECT death FROM redrive.redrive_dead WHERE reopen_at <= $1 ORDER BY reopen_at, death;

-- name: selLetter
SELECT death, job, lane, reason, class, status, grp, owner, key, life, revived, long, died_at, acted_at, reopen_at, batch
FROM redrive.redrive_dead
WHERE death = $1;

-- name: setReopen
UPDATE redrive.redrive_dead
SET status = 0, action = $2, note = NULL, acted_at = $3, acted_by = $4, reopen_at = NULL
WHERE death = $1 AND status = 3;

-- name: delOldMinutes
DELETE FROM redrive.redrive_trends WHERE grp = 0 AND at <= $1;

-- name: walkTrends
SELECT grp, at FROM redrive.redrive_trends WHERE grp >= $1 ORDER BY grp, at;

-- name: delTrend
DELETE FROM redrive.redrive_trends WHERE grp = $1 AND at = $2;

-- name: sweepDone :own
-- Removes up to $2 jobs that have ended by $1, with their keys, progress and original values. Keys that
-- another transaction has locked stay, and their jobs with them.
WITH part AS MATERIALIZED (
  SELECT ctid AS place, seq, job, lane, state, finished_at, owner, key, batch,
      CASE WHEN key IS NOT NULL AND state = 4 THEN nullif(substring(result FROM 1 FOR 257), ''::bytea) END AS result
  FROM redrive.redrive_done
  ORDER BY seq LIMIT $2::bigint + 1), old AS MATERIALIZED (
    SELECT *
    FROM part
    WHERE seq < coalesce((SELECT min(seq) FROM part WHERE finished_at > $1::bigint), 9223372036854775807)
    ORDER BY seq), due AS MATERIALIZED (SELECT * FROM old ORDER BY seq LIMIT $2::bigint),
    keyed AS MATERIALIZED (
      SELECT d.seq, d.state, d.job, d.result, k.owner, k.kind, k.key
      FROM due d
      JOIN redrive.redrive_lanes l ON l.id = d.lane
      JOIN redrive.redrive_keys k ON k.owner = coalesce(d.owner, '') AND k.kind = l.kind AND k.key = d.key
      WHERE d.key IS NOT NULL AND (d.state <> 4 OR d.result IS NOT NULL OR starts_with(d.key, 'unique:alive:')) AND k.job = d.job
      UNION ALL SELECT d.seq, d.state, d.job, NULL, k.owner, k.kind, k.key
      FROM due d
      JOIN redrive.redrive_keys k ON k.owner = abs(d.batch)::text AND k.kind = '' AND k.key = d.key
      WHERE d.batch IS NOT NULL AND d.key IS NOT NULL AND d.state <> 4 AND k.job = d.job),
    free AS MATERIALIZED (
      SELECT d.seq, d.state, d.job, d.result, k.owner, k.kind, k.key
      FROM keyed d
      JOIN redrive.redrive_keys k ON k.owner = d.owner AND k.kind = d.kind AND k.key = d.key
          AND k.job = d.job FOR UPDATE OF k SKIP LOCKED), gone AS (
            DELETE FROM redrive.redrive_done
            WHERE ctid = ANY (
              ARRAY(SELECT place FROM due WHERE seq NOT IN (SELECT seq FROM keyed) OR seq IN (SELECT seq FROM free)))
            RETURNING job, lane, state), marked AS (
              UPDATE redrive.redrive_keys k
              SET state = nullif(f.state, 4), result = f.result
              FROM free f
              WHERE k.owner = f.owner AND k.kind = f.kind AND k.key = f.key AND k.job = f.job
                  AND NOT starts_with(f.key, 'unique:alive:')),
    freed AS (
      DELETE FROM redrive.redrive_keys k
      USING free f
      WHERE k.owner = f.owner AND k.kind = f.kind AND k.key = f.key AND k.job = f.job
          AND starts_with(f.key, 'unique:alive:')),
    cleared AS (DELETE FROM redrive.redrive_progress WHERE job = ANY (ARRAY(SELECT job FROM gone))),
    altered AS (
      DELETE FROM redrive.redrive_originals o
      WHERE o.job = ANY (ARRAY(SELECT job FROM gone))
          AND NOT EXISTS (SELECT 1 FROM redrive.redrive_dead d WHERE d.job = o.job OFFSET 0))
SELECT lane, state, count(*), (SELECT count(*) FROM old) > $2::bigint
FROM gone
GROUP BY lane, state
ORDER BY lane, state;

-- name: sweepFailures :own
-- Removes failures of jobs that are no more, from ($2, $3) on. Each job is looked up: not joined.
WITH part AS MATERIALIZED (
  SELECT ctid AS place, job, token, ended_at
  FROM redrive.redrive_failures
  WHERE (job, token) >= ($2::bigint, $3::bigint)
  ORDER BY job, token LIMIT $4::bigint + 1),
    looked AS MATERIALIZED (SELECT * FROM part ORDER BY job, token LIMIT $4::bigint),
    gone AS (
      DELETE FROM redrive.redrive_failures
      WHERE ctid = ANY (
        ARRAY(
          SELECT place
          FROM looked f
          WHERE f.ended_at <= $1::bigint
              AND NOT EXISTS (SELECT 1 FROM redrive.redrive_jobs j WHERE j.id = f.job OFFSET 0)
              AND NOT EXISTS (SELECT 1 FROM redrive.redrive_dead d WHERE d.job = f.job OFFSET 0)))
      RETURNING 1)
SELECT (SELECT count(*) FROM gone), (SELECT job FROM part ORDER BY job, token OFFSET $4::bigint),
    (SELECT token FROM part ORDER BY job, token OFFSET $4::bigint);

-- name: sweepKeys :own
WITH over AS MATERIALIZED (
  SELECT owner, kind, key
  FROM redrive.redrive_keys
  WHERE until <= $1::bigint
  ORDER BY until, owner, kind, key LIMIT $2::bigint + 1 FOR UPDATE SKIP LOCKED),
    gone AS (
      DELETE FROM redrive.redrive_keys k
      USING (SELECT * FROM over LIMIT $2::bigint) o
      WHERE k.owner = o.owner AND k.kind = o.kind AND k.key = o.key AND k.until <= $1::bigint
      RETURNING 1)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM over) > $2::bigint;

-- name: sweepEvents :own
-- The last of up to $2 rows of events that may be removed: older than $1, folded, readable, and in the index
-- of owners.
WITH part AS MATERIALIZED (
  SELECT seq, at, n FROM redrive.redrive_events WHERE n > 0 ORDER BY seq LIMIT $2::bigint + 1),
    old AS MATERIALIZED (
      SELECT seq, n
      FROM part
      WHERE seq < least(
        (SELECT min(seq) FROM part WHERE at > $1::bigint),
        (SELECT seq FROM redrive.redrive_events WHERE n > 0 ORDER BY seq DESC LIMIT 1),
        (
          SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::bigint + value) << 20
          FROM redrive.redrive_meta
          WHERE key = 'event_base'), (SELECT value + 1 FROM redrive.redrive_meta WHERE key = 'owned'))
      ORDER BY seq)
SELECT o.seq, (SELECT least(count(*), $2::bigint) FROM old), (SELECT count(*) FROM old) > $2::bigint, o.n
FROM (SELECT seq, n FROM old ORDER BY seq LIMIT $2::bigint) o
ORDER BY o.seq DESC LIMIT 1;

-- name: dropEvents :own
-- Events that are not folded yet are folded as they go. Nobody else folds meanwhile: for that a transaction needs the
-- lock of folding.
WITH gone AS (
  DELETE FROM redrive.redrive_events WHERE seq <= $1 RETURNING seq, at, lanes, states, ns, figures, batches),
    part AS (
      SELECT g.*
      FROM gone g
      JOIN redrive.redrive_meta f ON f.key = 'folded'
      WHERE g.seq > f.value OR g.seq >> 20 = ANY (f.late)), counters AS (
        INSERT INTO redrive.redrive_counters (lane, state, n)
        SELECT d.lane, d.state, sum(d.n)
        FROM part p, unnest(p.lanes, p.states, p.ns) AS d(lane, state, n)
        GROUP BY d.lane, d.state
        HAVING sum(d.n) <> 0
        ON CONFLICT (lane, state) DO UPDATE SET n = redrive_counters.n + excluded.n),
    batches AS (
      INSERT INTO redrive.redrive_batch_counts AS c (batch, total, completed, dead, cancelled, ripe)
      SELECT p.batches[i], sum(p.batches[i + 1]), sum(p.batches[i + 2]), sum(p.batches[i + 3]), sum(p.batches[i + 4]),
        CASE WHEN sum(p.batches[i + 1]) > 0
          AND sum(p.batches[i + 1]) = sum(p.batches[i + 2] + p.batches[i + 3] + p.batches[i + 4]) THEN 1 ELSE 0 END
      FROM part p, generate_series(1, cardinality(p.batches), 5) AS i
      GROUP BY 1
      ORDER BY 1
      ON CONFLICT (batch) DO UPDATE SET total = c.total + excluded.total, completed = c.completed + excluded.completed,
          dead = c.dead + excluded.dead, cancelled = c.cancelled + excluded.cancelled,
          ripe = CASE WHEN c.total + excluded.total > 0 AND c.total + excluded.total = c.completed + excluded.completed
            + c.dead + excluded.dead + c.cancelled + excluded.cancelled THEN 1 ELSE 0 END)
SELECT (
  SELECT string_agg(int8send(at) || int8send(octet_length(figures)) || figures, ''::bytea)
  FROM part
  WHERE figures IS NOT NULL);

-- name: lockKeys :own
SELECT t.job
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS t(owner, kind, key, job)
JOIN redrive.redrive_keys k ON k.owner = t.owner AND k.kind = t.kind AND k.key = t.key AND k.job = t.job
ORDER BY k.owner, k.kind, k.key FOR UPDATE OF k SKIP LOCKED;

-- name: seeKeys :own
SELECT t.job
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS t(owner, kind, key, job)
JOIN redrive.redrive_keys k ON k.owner = t.owner AND k.kind = t.kind AND k.key = t.key AND k.job = t.job;

-- name: markKeys :own
UPDATE redrive.redrive_keys k
SET state = 5
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS t(owner, kind, key, job)
WHERE k.owner = t.owner AND k.kind = t.kind AND k.key = t.key AND k.job = t.job
    AND NOT starts_with(k.key, 'unique:alive:');

-- name: dropKeys :own
DELETE FROM redrive.redrive_keys k
USING unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS t(owner, kind, key, job)
WHERE k.owner = t.owner AND k.kind = t.kind AND k.key = t.key AND k.job = t.job
    AND starts_with(k.key, 'unique:alive:');

-- name: countFailures :own
SELECT job, count(*) FROM redrive.redrive_failures WHERE job = ANY ($1::bigint[]) GROUP BY job;

-- name: dropLetters :own
DELETE FROM redrive.redrive_dead d
USING unnest($1::bigint[], $2::bigint[]) AS t(death, job)
WHERE d.death = t.death AND d.job = t.job AND d.status <> 1;

-- name: dropFailures :own
DELETE FROM redrive.redrive_failures WHERE job = ANY ($1::bigint[]);

-- name: dropOriginals :own
DELETE FROM redrive.redrive_originals WHERE job = ANY ($1::bigint[]);

-- name: dropGroups :own
DELETE FROM redrive.redrive_groups WHERE id = ANY ($1::bigint[]) AND entries = 0 AND muted = 0;

-- name: dropTrends :own
DELETE FROM redrive.redrive_trends WHERE grp = ANY ($1::bigint[]);

-- name: dropHours :own
DELETE FROM redrive.redrive_trends r
USING unnest($1::bigint[], $2::bigint[]) AS t(grp, at)
WHERE r.grp = t.grp AND r.at = t.at;

-- ----------------------------------------------------------------------------
-- Dump
-- ----------------------------------------------------------------------------

-- name: allLive
SELECT j.id, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, j.run_at, j.claimed_at, NULL, j.deadline, j.lease_until, j.cancel_at,
    j.holder, j.owner, j.correlation, j.key, j.batch, NULL, j.attrs, j.policy, coalesce(j.payload, b.payload)
FROM redrive.redrive_jobs j
JOIN redrive.redrive_lanes l ON l.id = j.lane
LEFT JOIN redrive.redrive_bodies b ON b.job = j.id
ORDER BY j.id;

-- name: allDone
SELECT j.job, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.finished_at, NULL, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, NULL, j.result, j.cost, j.sends, j.attrs, j.payload
FROM redrive.redrive_done j
JOIN redrive.redrive_lanes l ON l.id = j.lane
ORDER BY j.job, j.seq;

-- name: allDead
SELECT j.job, l.kind, l.queue, 5, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals, j.snoozes,
    j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.died_at, j.deadline, NULL, NULL, j.holder, j.owner,
    j.correlation, j.key, j.batch, j.reason, j.attrs, j.policy, coalesce(j.payload, b.payload)
FROM redrive.redrive_dead j
JOIN redrive.redrive_lanes l ON l.id = j.lane
LEFT JOIN redrive.redrive_bodies b ON b.job = j.job
WHERE j.revived = 0
ORDER BY j.job;

-- name: allFailures
SELECT job, token, life, attempt, started_at, ended_at, how, class, code, permanent, http, exit, signal, holder,
    correlation, fingerprint, cost, message, user_message, decision, details, stack, stderr, sends, build, stdout
FROM redrive.redrive_failures
ORDER BY job, token;

-- name: allKeys
SELECT owner, kind, key, job, until, result FROM redrive.redrive_keys ORDER BY job, owner, kind, key;

-- name: allProgress
SELECT job, token, at, done, total, note FROM redrive.redrive_progress;

-- name: allEvents
SELECT seq, at, body FROM redrive.redrive_events WHERE n > 0 ORDER BY seq;

-- name: allPolicies
SELECT hash, name, at, by, body FROM redrive.redrive_policies ORDER BY hash;

-- name: allTerms
SELECT j.job, t.body, j.released
FROM (
  SELECT id AS job, terms, released FROM redrive.redrive_jobs WHERE terms IS NOT NULL OR released IS NOT NULL
  UNION ALL SELECT job, terms, released
  FROM redrive.redrive_dead
  WHERE revived = 0 AND (terms IS NOT NULL OR released IS NOT NULL)) AS j
LEFT JOIN redrive.redrive_terms t ON t.id = j.terms
ORDER BY j.job;

-- name: allBegun
SELECT id, token FROM redrive.redrive_jobs WHERE state = 3 AND begun = token ORDER BY id;

-- name: auditRows
SELECT seq, at, actor, action, target, reason, before, after, via, owner FROM redrive.redrive_audit ORDER BY seq;

-- ----------------------------------------------------------------------------
-- Doctor
-- ----------------------------------------------------------------------------

-- name: recount
-- Jobs in their tables, and what the counters say.
SELECT l.queue, l.kind, l.deps, x.state, sum(x.n), sum(x.kept)
FROM (
  SELECT lane, state, count(*) AS n, 0 AS kept FROM redrive.redrive_jobs GROUP BY 1, 2
  UNION ALL SELECT lane, state, count(*), 0 FROM redrive.redrive_done GROUP BY 1, 2
  UNION ALL SELECT lane, 5, count(*), 0 FROM redrive.redrive_dead WHERE revived = 0 GROUP BY 1
  UNION ALL SELECT lane, state, 0, n
  FROM (
    SELECT lane, state, n FROM redrive.redrive_counters
    UNION ALL SELECT d.lane, d.state, d.n
    FROM (
      SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches
      FROM redrive.redrive_events e
      WHERE e.seq > (SELECT value FROM redrive.redrive_meta WHERE key = 'folded')
      UNION ALL SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches
      FROM redrive.redrive_meta f
      CROSS JOIN LATERAL unnest(f.late) AS l(id)
      JOIN redrive.redrive_events e ON e.seq >= l.id << 20 AND e.seq < (l.id + 1) << 20
      WHERE f.key = 'folded') e, unnest(e.lanes, e.states, e.ns) AS d(lane, state, n)) c) x
JOIN redrive.redrive_lanes l ON l.id = x.lane
GROUP BY l.id, x.state;

-- name: recountGroups
-- Groups whose counters are wrong.
SELECT g.fingerprint, g.pending, count(d.job) FILTER (WHERE d.status = 0), g.entries, count(d.job)
FROM redrive.redrive_groups g
LEFT JOIN redrive.redrive_dead d ON d.grp = g.id
GROUP BY g.id
HAVING g.pending <> count(d.job) FILTER (WHERE d.status = 0) OR g.entries <> count(d.job);

-- name: recountDead
-- Wrong counters of dead letters.
SELECT l.queue, l.kind, x.reason, x.class, x.status, sum(x.kept), sum(x.n)
FROM (
  SELECT lane, reason, coalesce(class, '') AS class, status, 1 AS n, 0 AS kept FROM redrive.redrive_dead
  UNION ALL SELECT lane, reason, class, status, 0, n FROM redrive.redrive_dead_counts) x
JOIN redrive.redrive_lanes l ON l.id = x.lane
GROUP BY l.id, x.reason, x.class, x.status
HAVING sum(x.kept) <> sum(x.n);

-- name: recountBatches
-- Wrong counts of batches: drafts, those that are aside, live members, outcomes; first as kept, then as there are.
SELECT x.batch, sum(x.drafts)::bigint, sum(x.n_drafts)::bigint, sum(x.asides)::bigint, sum(x.n_asides)::bigint,
  sum(x.live)::bigint, sum(x.n_live)::bigint, sum(x.outcomes)::bigint, sum(x.n_outcomes)::bigint
FROM (
  SELECT id AS batch, drafts, 0 AS n_drafts, asides, 0 AS n_asides, 0 AS live, 0 AS n_live, outcome AS outcomes,
    0 AS n_outcomes
  FROM redrive.redrive_batches
  UNION ALL SELECT batch, 0, 1 - aside, 0, aside, 0, 0, 0, 0 FROM redrive.redrive_drafts
  UNION ALL SELECT batch, 0, 0, 0, 0, total - completed - dead - cancelled, 0, 0, 0 FROM redrive.redrive_batch_counts
  UNION ALL SELECT e.batches[i], 0, 0, 0, 0, e.batches[i + 1] - e.batches[i + 2] - e.batches[i + 3] - e.batches[i + 4],
    0, 0, 0
  FROM (
    SELECT e.batches FROM redrive.redrive_events e
    WHERE e.seq > (SELECT value FROM redrive.redrive_meta WHERE key = 'folded')
    UNION ALL SELECT e.batches
    FROM redrive.redrive_meta f
    CROSS JOIN LATERAL unnest(f.late) AS l(id)
    JOIN redrive.redrive_events e ON e.seq >= l.id << 20 AND e.seq < (l.id + 1) << 20
    WHERE f.key = 'folded') e, generate_series(1, cardinality(e.batches), 5) AS i
  UNION ALL SELECT batch, 0, 0, 0, 0, 0, 1, 0, 0 FROM redrive.redrive_jobs WHERE batch > 0
  UNION ALL SELECT batch, 0, 0, 0, 0, 0, 0, 0, 1 FROM redrive.redrive_outcomes) x
GROUP BY x.batch
HAVING sum(x.drafts) <> sum(x.n_drafts) OR sum(x.asides) <> sum(x.n_asides) OR sum(x.live) <> sum(x.n_live)
  OR sum(x.outcomes) <> sum(x.n_outcomes)
ORDER BY x.batch;

-- name: selOldest
-- The first job of each lane and priority, which the index of ready jobs has at hand; gates and pauses are
-- not looked at.
SELECT j.id, l.queue, l.kind, j.run_at, coalesce(q.mode, 0), l.gate
FROM redrive.redrive_lanes l
CROSS JOIN generate_series(1, 4) p
CROSS JOIN LATERAL (
  SELECT id, run_at
  FROM redrive.redrive_jobs
  WHERE lane = l.id AND priority = p AND state < 3
  ORDER BY run_at, id LIMIT 1) j
LEFT JOIN redrive.redrive_queues q ON q.name = l.queue
WHERE j.run_at <= $1::bigint
ORDER BY j.run_at, j.id;

-- name: selOverdue
SELECT count(*), min(lease_until) FROM redrive.redrive_jobs WHERE lease_until <= $1::bigint AND state = 3;

-- name: selProcesses
SELECT name, instance, what, host, pid, version, coalesce(build, ''), policy, started_at, seen_at, queues, kinds,
    slots, running, quiet, silent, coalesce(sick, '')
FROM redrive.redrive_processes
ORDER BY name, instance;

-- name: selNewestDeaths
-- The LIMIT is store.DeathsMax.
SELECT died_at FROM redrive.redrive_dead ORDER BY death DESC LIMIT 1000;

-- name: countDeadNotices
-- The pending dead letters of the queue of notices.
SELECT CAST(coalesce(sum(d.n), 0) AS bigint) FROM redrive.redrive_dead_counts d JOIN redrive.redrive_lanes l ON l.id = d.lane
WHERE l.queue = 'redrive.notify' AND d.status = 0;

-- name: selClasses
SELECT coalesce(class, ''), count(*), CAST(sum(pending) AS bigint),
    CAST(sum(CASE WHEN assignee IS NULL THEN 1 ELSE 0 END) AS bigint),
    CAST(sum(CASE WHEN assignee IS NULL THEN pending ELSE 0 END) AS bigint)
FROM redrive.redrive_groups
WHERE pending > 0
GROUP BY coalesce(class, '')
ORDER BY 1;

-- name: selOldestEnded
SELECT finished_at FROM redrive.redrive_done ORDER BY seq LIMIT 1;

-- name: selOldestEvent
-- Rows without events are left out: retention does not count them.
SELECT at
FROM redrive.redrive_events
WHERE n > 0 AND seq < (SELECT max(seq) FROM redrive.redrive_events)
ORDER BY seq LIMIT 1;

-- name: selNow :own
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- name: selFoldLag :own
-- The time of the oldest events that are not folded yet.
SELECT coalesce(min(e.at), 0)
FROM (
  SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches
  FROM redrive.redrive_events e
  WHERE e.seq > (SELECT value FROM redrive.redrive_meta WHERE key = 'folded')
  UNION ALL SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches
  FROM redrive.redrive_meta f
  CROSS JOIN LATERAL unnest(f.late) AS l(id)
  JOIN redrive.redrive_events e ON e.seq >= l.id << 20 AND e.seq < (l.id + 1) << 20
  WHERE f.key = 'folded') e;

-- name: countUnfolded :own
SELECT count(*)
FROM (
  SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches
  FROM redrive.redrive_events e
  WHERE e.seq > (SELECT value FROM redrive.redrive_meta WHERE key = 'folded')
  UNION ALL SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches
  FROM redrive.redrive_meta f
  CROSS JOIN LATERAL unnest(f.late) AS l(id)
  JOIN redrive.redrive_events e ON e.seq >= l.id << 20 AND e.seq < (l.id + 1) << 20
  WHERE f.key = 'folded') e;

-- name: countConnections :own
SELECT count(*),
    current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint
FROM pg_stat_activity
WHERE backend_type = 'client backend';

-- name: listTables :own
SELECT relname, pg_total_relation_size(relid), n_live_tup, n_dead_tup
FROM pg_stat_user_tables
WHERE schemaname = $1 AND relname LIKE 'redrive\_%'
ORDER BY 2 DESC, 1;

-- name: listTransactions :own
-- Transactions that may hold others up.
SELECT pid, coalesce(application_name, ''), coalesce(state, ''), backend_xid IS NOT NULL,
    (extract(epoch FROM clock_timestamp() - xact_start) * 1000000)::bigint, coalesce(datname, '')
FROM pg_stat_activity
WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL)
    AND backend_type = 'client backend'
ORDER BY xact_start;

-- name: listPrepared :own
-- Transactions that were prepared and forgotten: they belong to no process, and outlive a restart of the
-- server.
SELECT gid, coalesce(owner::text, ''), coalesce(database::text, ''),
    (extract(epoch FROM clock_timestamp() - prepared) * 1000000)::bigint
FROM pg_prepared_xacts
ORDER BY prepared;

-- name: countHidden :own
-- Commits that cannot be read as events yet, and the time of the oldest of them before now.
SELECT count(*), coalesce((extract(epoch FROM clock_timestamp()) * 1000000)::bigint - min(at), 0)
FROM redrive.redrive_events
WHERE seq >= (
  SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::bigint + value) << 20
  FROM redrive.redrive_meta
  WHERE key = 'event_base');

-- name: selSettingsOf :own
SELECT name, setting
FROM pg_settings
WHERE name IN (
  'server_version', 'fsync', 'synchronous_commit', 'full_page_writes', 'wal_level', 'max_connections',
  'synchronous_standby_names', 'autovacuum', 'shared_buffers', 'max_wal_size', 'idle_in_transaction_session_timeout',
  'default_transaction_isolation')
ORDER BY name;

-- name: selDirectory :own
-- The directory of the table of jobs. PostgreSQL has no statement that reports the free space of a file
-- system, and shows the directory of its data only to members of pg_read_all_settings.
SELECT pg_backend_pid(), coalesce(
  nullif(pg_tablespace_location(CASE c.reltablespace WHEN 0 THEN d.dattablespace ELSE c.reltablespace END), ''),
  (SELECT setting FROM pg_settings WHERE name = 'data_directory'), '')
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_database d ON d.datname = current_database()
WHERE n.nspname = $1 AND c.relname = 'redrive_jobs';

-- ----------------------------------------------------------------------------
-- Server, transactions and locks
-- ----------------------------------------------------------------------------

-- name: begin :own
-- The first statement of a transaction for many jobs. Others begin with settings, see transact.go.
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;

-- name: commit :own
COMMIT;

-- name: selServer :own
-- The server's version, whether it is a replica, its encoding, and the process that answers.
SELECT current_setting('server_version_num')::bigint, pg_is_in_recovery()::int::bigint,
    current_setting('server_encoding'), pg_backend_pid()::bigint;

-- name: selRights :own
-- A table that the user may not read and write.
SELECT c.relname, current_user
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname LIKE 'redrive\_%' AND c.relname <> 'redrive_migrations'
    AND NOT (
      has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
      AND has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE')
      AND has_table_privilege(c.oid, 'DELETE'))
ORDER BY c.relname LIMIT 1;

-- name: selIdentity :own
-- A schema of one database is distinguished from all others by the names and by a number that was drawn when its
-- tables were made.
SELECT current_database() || '/' || (SELECT value FROM redrive.redrive_meta WHERE key = 'identity');

-- name: selStored :own
-- The time of the latest events, and the time that processes have agreed on.
SELECT coalesce(max(at), 0), coalesce((SELECT value FROM redrive.redrive_meta WHERE key = 'clock'), 0)
FROM (SELECT at FROM redrive.redrive_events ORDER BY seq DESC LIMIT 100) e;

-- name: selClock :own
SELECT value FROM redrive.redrive_meta WHERE key = 'clock';

-- name: setClock :own
-- No process stays behind the time that is stored here.
INSERT INTO redrive.redrive_meta (key, value)
VALUES ('clock', $1::bigint)
ON CONFLICT (key) DO UPDATE SET value = greatest(redrive_meta.value, excluded.value)
RETURNING value;

-- name: lock :own
SELECT pg_advisory_xact_lock($1);

-- name: tryLock :own
SELECT pg_try_advisory_xact_lock($1);

-- name: whoHolds :own
-- The server's process that has an advisory lock.
SELECT a.pid::bigint, coalesce(a.application_name, ''), coalesce(a.usename, ''),
    coalesce(extract(epoch FROM clock_timestamp() - a.xact_start), 0)::bigint
FROM pg_locks l
JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND l.objsubid = 1
    AND l.classid = (($1::bigint >> 32) & 4294967295)::oid AND l.objid = ($1::bigint & 4294967295)::oid
    AND a.pid <> pg_backend_pid();

-- name: selTx :own
-- What kind of transaction it is. From here to setPath it has the search_path pg_catalog.
SELECT pg_catalog.current_database(), pg_catalog.to_regclass($1) IS NOT NULL,
    pg_catalog.current_setting('transaction_isolation'), pg_catalog.current_setting('transaction_read_only'),
    pg_catalog.current_setting('synchronous_commit'), pg_catalog.pg_backend_pid()::bigint,
    pg_catalog.pg_client_encoding(), pg_catalog.current_setting('search_path'),
    pg_catalog.set_config('search_path', 'pg_catalog', true);

-- name: setPath :own
SELECT set_config('search_path', $1, true);

-- name: selOurs :own
-- selIdentity inside of a transaction of the caller.
SELECT current_database() || '/' || value FROM redrive.redrive_meta WHERE key = 'identity';

-- name: keepSync :own
SELECT set_config('synchronous_commit', 'on', true);

-- name: notifyTx :own
SELECT pg_notify($1, $2);

-- ----------------------------------------------------------------------------
-- Batches
-- ----------------------------------------------------------------------------

-- name: takeBatchRow :overtaken
SELECT x.*, ((written - (SELECT pg_current_xact_id()::text::bigint)) & 4294967295) BETWEEN 1 AND 65536 + (
  SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint - pg_current_xact_id()::text::bigint)
FROM (
  SELECT id, owner, key, name, attrs, callbacks, state, task, task_at, task_through, drafts, asides, outcome,
      created_at, published_at, ended_at, expires_at, created_by, xmin::text::bigint AS written
  FROM redrive.redrive_batches
  WHERE id = $1 FOR UPDATE) x;

-- name: joinBatchRow :overtaken
SELECT x.*, ((written - (SELECT pg_current_xact_id()::text::bigint)) & 4294967295) BETWEEN 1 AND 65536 + (
  SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint - pg_current_xact_id()::text::bigint)
FROM (
  SELECT id, owner, key, name, attrs, callbacks, state, task, task_at, task_through, drafts, asides, outcome,
      created_at, published_at, ended_at, expires_at, created_by, xmin::text::bigint AS written
  FROM redrive.redrive_batches
  WHERE id = $1 FOR SHARE) x;

-- name: selBatchKey
SELECT id FROM redrive.redrive_batches WHERE owner = $1 AND key = $2;

-- name: selBatchCounts
SELECT coalesce(sum(total), 0)::bigint AS total, coalesce(sum(completed), 0)::bigint AS completed, coalesce(sum(dead), 0)::bigint AS dead, coalesce(sum(cancelled), 0)::bigint AS cancelled FROM (
  SELECT batch, total, completed, dead, cancelled FROM redrive.redrive_batch_counts
  UNION ALL SELECT e.batches[i] AS batch, e.batches[i + 1] AS total, e.batches[i + 2] AS completed, e.batches[i + 3] AS dead,
  e.batches[i + 4] AS cancelled FROM (SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches FROM redrive.redrive_events e
  WHERE e.seq > (SELECT value FROM redrive.redrive_meta WHERE key = 'folded')
  UNION ALL SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches FROM redrive.redrive_meta f
  CROSS JOIN LATERAL unnest(f.late) AS l(id) JOIN redrive.redrive_events e ON e.seq >= l.id << 20 AND e.seq < (l.id + 1) << 20
  WHERE f.key = 'folded') e, generate_series(1, cardinality(e.batches), 5) AS i) c WHERE batch = $1;

-- name: setBatchRow
UPDATE redrive.redrive_batches SET state = $2, task = $3, task_at = $4, task_through = $5, drafts = $6,
  asides = $7, outcome = $8, published_at = $9, ended_at = $10, expires_at = $11 WHERE id = $1;

-- name: insOutcome
INSERT INTO redrive.redrive_outcomes (batch, n, state, at, total, completed, dead, cancelled)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: nextBatch
UPDATE redrive.redrive_meta SET value = value + 1 WHERE key = 'batches' RETURNING value;

-- name: insBatch
INSERT INTO redrive.redrive_batches (id, owner, key, name, attrs, callbacks, state, created_at, expires_at, created_by)
  VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $8, $9);

-- name: insDraft
INSERT INTO redrive.redrive_drafts (job, batch, aside, lane, priority, run_at, deadline, correlation, key, attrs, policy,
    terms, long, payload, replaces, created_at)
  SELECT $1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::bigint, $7::bigint, $8::text, $9::text, $10::bytea, $11::bytea,
    $12::bigint, $13::bigint, $14::bytea, $15::bigint, $16::bigint
  WHERE NOT EXISTS (SELECT 1 FROM redrive.redrive_jobs WHERE id = $1::bigint) ON CONFLICT (job) DO NOTHING;

-- name: selDraft
SELECT batch FROM redrive.redrive_drafts WHERE job = $1;

-- name: moveMemberKey
UPDATE redrive.redrive_keys SET job = $3, state = NULL WHERE owner = $1 AND kind = '' AND key = $2 AND job = $4;

-- name: growSpan
UPDATE redrive.redrive_spans SET last = $3 WHERE batch = $1 AND first = (SELECT s.first FROM redrive.redrive_spans s
  WHERE s.batch = $1 AND s.first < $2 ORDER BY s.first DESC LIMIT 1) AND last >= $2 - 1;

-- name: insSpan
INSERT INTO redrive.redrive_spans (batch, first, last) VALUES ($1, $2, $3)
  ON CONFLICT (batch, first) DO UPDATE SET last = greatest(redrive_spans.last, $3::bigint);

-- name: firstDrafts
SELECT job, lane, priority, run_at, correlation, aside, replaces, key, long FROM redrive.redrive_drafts
  WHERE batch = $1 ORDER BY job LIMIT $2;

-- name: insPublished
INSERT INTO redrive.redrive_jobs (id, lane, state, priority, run_at, token, life,
  attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at,
  deadline, owner, correlation, key, batch, attrs, policy, terms, long, payload)
  SELECT job, lane, 1, priority, coalesce(run_at, $3), 0, 1, 0, 0, 0, 0, 0, $3, greatest(coalesce(run_at, 0), $3::bigint),
  deadline, $4, correlation, key, CASE aside WHEN 1 THEN -batch ELSE batch END, attrs, policy, terms, long, payload
  FROM redrive.redrive_drafts WHERE batch = $1 AND job <= $2 ORDER BY job;

-- name: delPublished
DELETE FROM redrive.redrive_drafts WHERE batch = $1 AND job <= $2;

-- name: selDraftOf
SELECT job, lane, priority, run_at, correlation, aside, replaces, key, long FROM redrive.redrive_drafts
  WHERE job = $1 AND batch = $2;

-- name: delDraft
DELETE FROM redrive.redrive_drafts WHERE job = $1 AND batch = $2;

-- name: delKeyOf
DELETE FROM redrive.redrive_keys WHERE owner = $1 AND kind = '' AND key = $2 AND job = $3;

-- name: giveKeyBack
UPDATE redrive.redrive_keys SET job = $3, state = 6 WHERE owner = $1 AND kind = '' AND key = $2 AND job = $4;

-- name: setReplaced
UPDATE redrive.redrive_done  SET batch = -batch WHERE job = $1 AND state = 6 AND batch > 0;

-- name: walkBatches
SELECT id, state, task, drafts, asides, ended_at, expires_at, created_at FROM redrive.redrive_batches WHERE id > $1 ORDER BY id;

-- name: lockOldBatch
-- A batch that somebody else has locked, or that has changed since it was read, is left to a later sweep.
SELECT id FROM redrive.redrive_batches WHERE id = $1 AND state BETWEEN 3 AND 6 AND task = 0 AND drafts = 0 AND asides = 0 FOR UPDATE SKIP LOCKED;

-- name: hasMembers
SELECT (CASE WHEN EXISTS (SELECT 1 FROM redrive.redrive_dead WHERE batch = $1)
  OR EXISTS (SELECT 1 FROM redrive.redrive_dead WHERE batch = -$1)
  OR EXISTS (SELECT 1 FROM redrive.redrive_spans s CROSS JOIN redrive.redrive_jobs j WHERE s.batch = $1 AND j.id BETWEEN s.first AND s.last AND abs(j.batch) = $1)
  OR EXISTS (SELECT 1 FROM redrive.redrive_spans s CROSS JOIN redrive.redrive_done d WHERE s.batch = $1
    AND d.job BETWEEN s.first AND s.last AND abs(d.batch) = $1) THEN 1 ELSE 0 END)::bigint AS members;

-- name: delMemberKeys
DELETE FROM redrive.redrive_keys WHERE owner = $1 AND kind = '' AND key IN
  (SELECT key FROM redrive.redrive_keys WHERE owner = $1 AND kind = '' ORDER BY key LIMIT $2);

-- name: delBatch
DELETE FROM redrive.redrive_batches WHERE id = $1;

-- name: delSpans
DELETE FROM redrive.redrive_spans WHERE batch = $1;

-- name: delCounts
DELETE FROM redrive.redrive_batch_counts WHERE batch = $1;

-- name: delOutcomes
DELETE FROM redrive.redrive_outcomes WHERE batch = $1;

-- name: walkMembers
SELECT id, token, lane, state, priority, life, attempts, crashes, deferrals, snoozes, interrupts,
  created_at, life_at, claimed_at, holder, owner, correlation, key, batch, long, crash_max, cancel_at, redrive, terms, released, run_at, own_priority, policy, attrs FROM (SELECT first, last FROM redrive.redrive_spans
  WHERE batch = $1 AND last > $2) s CROSS JOIN redrive.redrive_jobs j WHERE j.id BETWEEN s.first AND s.last
  AND j.id > $2 AND (j.batch = $1 OR j.batch = -$1) ORDER BY s.first, j.id;

-- name: batchRoute.up
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch, life, priority, long, key, died_at FROM redrive.redrive_dead 
    WHERE batch = $1 AND death >= $2 AND death <= $3 ORDER BY death;

-- name: readBatchRow
SELECT id, owner, key, name, attrs, callbacks, state, task, task_at, task_through, drafts, asides, outcome,
  created_at, published_at, ended_at, expires_at, created_by FROM redrive.redrive_batches WHERE id = $1;

-- name: selDueBatches
SELECT id FROM redrive.redrive_batches WHERE state BETWEEN 3 AND 5 AND expires_at IS NOT NULL AND expires_at <= $1 ORDER BY expires_at, id LIMIT 500;

-- name: selNextExpires
SELECT min(expires_at) FROM redrive.redrive_batches  WHERE state BETWEEN 3 AND 5 AND expires_at IS NOT NULL;

-- name: selTasks
SELECT id FROM redrive.redrive_batches WHERE task > 0 ORDER BY id;

-- name: countRunning
SELECT count(*) FROM redrive.redrive_jobs WHERE lease_until IS NOT NULL AND state = 3 AND batch = $1;

-- name: sumRunning
SELECT batch, count(*) FROM redrive.redrive_jobs WHERE lease_until IS NOT NULL AND state = 3 AND batch > 0 GROUP BY batch;

-- name: listBatches
SELECT id, owner, key, name, attrs, callbacks, state, task, task_at, task_through, drafts, asides, outcome,
  created_at, published_at, ended_at, expires_at, created_by FROM redrive.redrive_batches WHERE id < $1 ORDER BY id DESC;

-- name: ofOwner
SELECT id, owner, key, name, attrs, callbacks, state, task, task_at, task_through, drafts, asides, outcome,
  created_at, published_at, ended_at, expires_at, created_by FROM redrive.redrive_batches 
  WHERE owner = $2 AND owner <> '' AND id < $1 ORDER BY id DESC;

-- name: ofState
SELECT id, owner, key, name, attrs, callbacks, state, task, task_at, task_through, drafts, asides, outcome,
  created_at, published_at, ended_at, expires_at, created_by FROM redrive.redrive_batches 
  WHERE state = $2 AND id < $1 ORDER BY id DESC;

-- name: severalCounts
SELECT sum(total)::bigint AS total, sum(completed)::bigint AS completed, sum(dead)::bigint AS dead, sum(cancelled)::bigint AS cancelled, batch FROM (
  SELECT batch, total, completed, dead, cancelled FROM redrive.redrive_batch_counts
  UNION ALL SELECT e.batches[i] AS batch, e.batches[i + 1] AS total, e.batches[i + 2] AS completed, e.batches[i + 3] AS dead,
  e.batches[i + 4] AS cancelled FROM (SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches FROM redrive.redrive_events e
  WHERE e.seq > (SELECT value FROM redrive.redrive_meta WHERE key = 'folded')
  UNION ALL SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches FROM redrive.redrive_meta f
  CROSS JOIN LATERAL unnest(f.late) AS l(id) JOIN redrive.redrive_events e ON e.seq >= l.id << 20 AND e.seq < (l.id + 1) << 20
  WHERE f.key = 'folded') e, generate_series(1, cardinality(e.batches), 5) AS i) c WHERE batch = ANY(translate($1::text, '[]', '{}')::bigint[]) GROUP BY batch;

-- name: selOutcomes
SELECT n, state, at, total, completed, dead, cancelled, batch FROM redrive.redrive_outcomes
  WHERE batch = $1 AND n > $2 ORDER BY n LIMIT $3;

-- name: rangeDrafts
SELECT d.job, l.kind, l.queue, d.priority, d.created_at, d.run_at, d.deadline, b.owner, d.correlation, d.key, d.batch, d.aside, d.replaces FROM redrive.redrive_drafts d JOIN redrive.redrive_lanes l ON l.id = d.lane JOIN redrive.redrive_batches b ON b.id = d.batch WHERE d.job BETWEEN $1 AND $2 AND d.batch = $3 ORDER BY d.job;

-- name: rangeLive
SELECT j.id, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals,
  j.snoozes, j.interrupts, j.created_at, j.life_at, j.run_at, j.claimed_at, NULL, j.deadline, j.lease_until,
  j.cancel_at, j.holder, j.owner, j.correlation, j.key, j.batch, NULL, j.attrs FROM redrive.redrive_jobs j JOIN redrive.redrive_lanes l ON l.id = j.lane WHERE j.id BETWEEN $1 AND $2 AND (j.batch = $3 OR j.batch = -$3) ORDER BY j.id;

-- name: rangeDone
SELECT j.job, l.kind, l.queue, j.state, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals,
  j.snoozes, j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.finished_at, NULL, NULL,
  NULL, j.holder, j.owner, j.correlation, j.key, j.batch, NULL, j.attrs FROM redrive.redrive_done j JOIN redrive.redrive_lanes l ON l.id = j.lane WHERE j.job BETWEEN $1 AND $2 AND (j.batch = $3 OR j.batch = -$3) ORDER BY j.job;

-- name: rangeDead
SELECT j.job, l.kind, l.queue, 5, j.priority, j.life, j.token, j.attempts, j.crashes, j.deferrals,
  j.snoozes, j.interrupts, j.created_at, j.life_at, NULL, j.claimed_at, j.died_at, j.deadline, NULL,
  NULL, j.holder, j.owner, j.correlation, j.key, j.batch, j.reason, j.attrs FROM redrive.redrive_dead j 
  JOIN redrive.redrive_lanes l ON l.id = j.lane WHERE j.job BETWEEN $1 AND $2 AND j.revived = 0 AND (j.batch = $3 OR j.batch = -$3) ORDER BY j.job;

-- name: selSpans
SELECT first, last FROM redrive.redrive_spans WHERE batch = $1 AND last > $2 ORDER BY first;

-- name: selMemberKey
SELECT job FROM redrive.redrive_keys WHERE owner = $1 AND kind = '' AND key = $2;

-- name: batchRoute.down
SELECT death, job, status, revived, reason, class, grp, lane, owner, redrive, token, batch FROM redrive.redrive_dead 
    WHERE batch = $1 AND death >= $2 AND death <= $3 ORDER BY death DESC;

-- name: allOutcomes
SELECT n, state, at, total, completed, dead, cancelled, batch FROM redrive.redrive_outcomes ORDER BY batch, n;

-- name: allBatches
SELECT id, owner, key, name, attrs, callbacks, state, task, task_at, task_through, drafts, asides, outcome,
  created_at, published_at, ended_at, expires_at, created_by FROM redrive.redrive_batches ORDER BY id;

-- name: allCounts
SELECT sum(total)::bigint AS total, sum(completed)::bigint AS completed, sum(dead)::bigint AS dead, sum(cancelled)::bigint AS cancelled, batch FROM (
  SELECT batch, total, completed, dead, cancelled FROM redrive.redrive_batch_counts
  UNION ALL SELECT e.batches[i] AS batch, e.batches[i + 1] AS total, e.batches[i + 2] AS completed, e.batches[i + 3] AS dead,
  e.batches[i + 4] AS cancelled FROM (SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches FROM redrive.redrive_events e
  WHERE e.seq > (SELECT value FROM redrive.redrive_meta WHERE key = 'folded')
  UNION ALL SELECT e.seq, e.at, e.lanes, e.states, e.ns, e.figures, e.batches FROM redrive.redrive_meta f
  CROSS JOIN LATERAL unnest(f.late) AS l(id) JOIN redrive.redrive_events e ON e.seq >= l.id << 20 AND e.seq < (l.id + 1) << 20
  WHERE f.key = 'folded') e, generate_series(1, cardinality(e.batches), 5) AS i) c WHERE true GROUP BY batch;

-- name: allDrafts
SELECT d.job, l.kind, l.queue, d.priority, d.created_at, d.run_at, d.deadline, b.owner, d.correlation, d.key, d.batch, d.aside, d.replaces FROM redrive.redrive_drafts d JOIN redrive.redrive_lanes l ON l.id = d.lane JOIN redrive.redrive_batches b ON b.id = d.batch ORDER BY d.job;

-- name: selRipe :own
SELECT c.batch FROM redrive.redrive_batch_counts c WHERE c.ripe = 1 AND c.batch > $1 ORDER BY c.batch LIMIT 100;

-- name: clearRipe :own
-- The columns are those of takeBatchRow. A batch that somebody else has locked keeps its mark.
UPDATE redrive.redrive_batch_counts c SET ripe = 0
FROM (
  SELECT id, owner, key, name, attrs, callbacks, state, task, task_at, task_through, drafts, asides, outcome, created_at,
    published_at, ended_at, expires_at, created_by
  FROM redrive.redrive_batches WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE SKIP LOCKED) b
WHERE c.batch = b.id AND c.ripe = 1
RETURNING b.id, b.owner, b.key, b.name, b.attrs, b.callbacks, b.state, b.task, b.task_at, b.task_through, b.drafts,
  b.asides, b.outcome, b.created_at, b.published_at, b.ended_at, b.expires_at, b.created_by;

-- name: selLaterEnds :own :overtaken
-- Whether a later transaction has changed the counts of batches, or may have: what is folded does not say who has.
SELECT own.folded, CASE WHEN own.folded >= own.next OR EXISTS (
    SELECT 1 FROM redrive.redrive_events e, generate_series(1, cardinality(e.batches), 5) AS i
    WHERE e.seq >= own.next AND e.batches[i] = ANY (translate($1::text, '[]', '{}')::bigint[]))
  THEN 1 ELSE 0 END
FROM (
  SELECT f.value AS folded, (pg_current_xact_id()::text::bigint + b.value + 1) << 20 AS next
  FROM redrive.redrive_meta f, redrive.redrive_meta b
  WHERE f.key = 'folded' AND b.key = 'event_base') own;

-- name: selManyBatchCounts :own
-- selBatchCounts for many batches; the last column is the batch.
SELECT sum(total)::bigint, sum(completed)::bigint, sum(dead)::bigint, sum(cancelled)::bigint, batch
FROM (
  SELECT batch, total, completed, dead, cancelled FROM redrive.redrive_batch_counts
  WHERE batch = ANY ($1::bigint[])
  UNION ALL SELECT e.batches[i], e.batches[i + 1], e.batches[i + 2], e.batches[i + 3], e.batches[i + 4]
  FROM (
    SELECT e.batches FROM redrive.redrive_events e
    WHERE e.seq > (SELECT value FROM redrive.redrive_meta WHERE key = 'folded')
    UNION ALL SELECT e.batches
    FROM redrive.redrive_meta f
    CROSS JOIN LATERAL unnest(f.late) AS l(id)
    JOIN redrive.redrive_events e ON e.seq >= l.id << 20 AND e.seq < (l.id + 1) << 20
    WHERE f.key = 'folded') e, generate_series(1, cardinality(e.batches), 5) AS i
  WHERE e.batches[i] = ANY ($1::bigint[])) c
GROUP BY batch;
