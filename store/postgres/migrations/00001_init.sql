-- Times are bigint microseconds since 1970 UTC. NULL means "not set". Texts are compared
-- byte by byte (COLLATE "C"), as in all stores. The search path of this transaction is the
-- schema of the store, so the tables are created there. The order in which a transaction
-- takes locks is described in order.go.
-- Deaths, audit rows, redrives and notes are numbered without gaps in the order of commits: a lock or
-- a row of redrive_meta makes sure of that. Groups and ended jobs are numbered by sequences,
-- so their numbers may have gaps.

-- +goose Up
CREATE TABLE redrive_meta (
	key   text COLLATE "C" PRIMARY KEY,
	value bigint NOT NULL,
	late  bigint[] -- for folded: the transactions with a lower number that had not ended yet
);
INSERT INTO redrive_meta VALUES
	('next_id', 1),
	('settings', 1),
	('audit', 0),      -- the number of the last audit row
	('redrives', 0),   -- the number of the last redrive
	('owned', 0),      -- the index of owners has the new jobs of all events up to this number
	('event_base', 0), -- added to the id of a transaction to get the number of its events
	-- a random number that identifies this schema, also among schemas of the same name in other databases
	('identity', ('x' || substr(md5(random()::text || clock_timestamp()::text), 1, 15))::bit(60)::bigint),
	('folded', 0);     -- redrive_counters, redrive_batches and redrive_figures include all events up to this number

-- The lanes. A lane is a combination of queue, kind and dependencies. A claim takes or
-- skips a lane as a whole.
CREATE TABLE redrive_lanes (
	id    bigint PRIMARY KEY,
	queue text COLLATE "C" NOT NULL,
	kind  text COLLATE "C" NOT NULL,
	deps  text COLLATE "C" NOT NULL,
	gate  bigint NOT NULL DEFAULT 0, -- 0: open; 1: parked
	UNIQUE (queue, kind, deps)
);

CREATE TABLE redrive_queues (
	name     text COLLATE "C" PRIMARY KEY,
	mode     bigint NOT NULL DEFAULT 0, -- a store.Mode
	workers  bigint NOT NULL DEFAULT 0, -- number of workers; 0: no person has set it
	lim      bigint NOT NULL DEFAULT 0,
	rate_n   bigint NOT NULL DEFAULT 0,
	rate_per bigint NOT NULL DEFAULT 0  -- length of the rate's unit of time, in nanoseconds
);

-- The state of each rate that holds over all processes. scope is 'queue:NAME' or
-- 'kind:NAME'.
CREATE TABLE redrive_rates (
	scope   text COLLATE "C" PRIMARY KEY,
	arrival bigint NOT NULL
);

-- The live jobs. state is 1 (waiting), 2 (retrying) or 3 (running).
CREATE TABLE redrive_jobs (
	id          bigint PRIMARY KEY,
	run_at      bigint NOT NULL,
	token       bigint NOT NULL,
	created_at  bigint NOT NULL,
	life_at     bigint NOT NULL,
	claimed_at  bigint,
	lease_until bigint,
	deadline    bigint,
	cancel_at   bigint,
	batch       bigint,
	redrive     bigint, -- the redrive that began this life; NULL: no redrive did
	begun       bigint, -- the token of the last run of which a worker has written that it begins
	lane        integer NOT NULL,
	life        integer NOT NULL,
	attempts    integer NOT NULL,
	crashes     integer NOT NULL,
	deferrals   integer NOT NULL,
	snoozes     integer NOT NULL,
	interrupts  integer NOT NULL,
	crash_max   integer,
	terms       integer, -- id in redrive_terms; NULL means the defaults
	state       smallint NOT NULL CHECK (state BETWEEN 1 AND 3),
	priority    smallint NOT NULL,
	released    smallint, -- 1: a rule held the job in an earlier life, and a person has retried it
	own_priority smallint, -- the job's permanent priority, while column priority holds for this life only
	long        smallint, -- 1: the payload is in redrive_bodies
	holder      text COLLATE "C",
	owner       text COLLATE "C",
	correlation text COLLATE "C",
	key         text COLLATE "C",
	attrs       bytea,
	policy      bytea, -- the job's own retry settings; NULL: the job has none
	memo        bytea,
	payload     bytea
);
-- The only index that claims use. The due jobs of a lane and priority come first, so a
-- claim does not read jobs that are due later.
CREATE INDEX redrive_ready ON redrive_jobs (lane, priority, run_at, id) WHERE state < 3;
-- The condition of the index does not use the state. The statements that end a run have a
-- condition on the state, and the planner must not choose this index for them.
CREATE INDEX redrive_lease ON redrive_jobs (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX redrive_cancel ON redrive_jobs (cancel_at) WHERE cancel_at IS NOT NULL;
-- For lists: jobs by correlation id, and retrying jobs by due time.
CREATE INDEX redrive_jobs_correlation ON redrive_jobs (correlation, id) WHERE correlation IS NOT NULL;
CREATE INDEX redrive_retry ON redrive_jobs (run_at, id) WHERE state = 2;

-- The payloads above 1 KiB. They have a table of their own, so that a claim and the end of
-- a run rewrite short rows.
CREATE TABLE redrive_bodies (
	job     bigint PRIMARY KEY,
	payload bytea NOT NULL
);

-- The different job.Terms: what the policies say about crashes and deadlines. digest is the
-- SHA-256 of body.
CREATE TABLE redrive_terms (
	id     integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	digest bytea NOT NULL UNIQUE,
	body   bytea NOT NULL
);

-- The index of owners: which jobs an owner has. It is built from the events of new jobs, and
-- consists of runs. A run has n jobs with ids from low to high, in parts by the hash of the owner.
CREATE TABLE redrive_owned_runs (
	run        bigint PRIMARY KEY,
	low        bigint NOT NULL,
	high       bigint NOT NULL,
	n          bigint NOT NULL,
	parts      bigint NOT NULL, -- a power of two, at most 1024
	at         bigint NOT NULL, -- time of the last commit in the run
	checked_at bigint NOT NULL  -- when removed jobs were last taken out of the run; 0: never
);
CREATE INDEX redrive_owned_high ON redrive_owned_runs (high);
CREATE TABLE redrive_owned (
	place bigint PRIMARY KEY, -- 1024 times the number of the run, plus the number of the part
	body  bytea NOT NULL      -- hashes of owners with the ids of their jobs
);

-- The completed and cancelled jobs, in the order in which they ended. Rows are added and
-- removed, but not changed.
CREATE TABLE redrive_done (
	seq         bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	job         bigint NOT NULL,
	token       bigint NOT NULL,
	created_at  bigint NOT NULL,
	life_at     bigint NOT NULL,
	claimed_at  bigint,
	finished_at bigint NOT NULL,
	batch       bigint,
	cost        bigint,
	sends       bigint,
	lane        integer NOT NULL,
	life        integer NOT NULL,
	attempts    integer NOT NULL,
	crashes     integer NOT NULL,
	deferrals   integer NOT NULL,
	snoozes     integer NOT NULL,
	interrupts  integer NOT NULL,
	state       smallint NOT NULL CHECK (state IN (4, 6)),
	priority    smallint NOT NULL,
	holder      text COLLATE "C",
	owner       text COLLATE "C",
	correlation text COLLATE "C",
	key         text COLLATE "C",
	result      bytea,
	attrs       bytea, -- attributes and payload, of completed jobs that keep them
	payload     bytea
);
CREATE INDEX redrive_done_job ON redrive_done (job, seq);
CREATE INDEX redrive_done_correlation ON redrive_done (correlation, job) WHERE correlation IS NOT NULL;

CREATE TABLE redrive_failures (
	job          bigint NOT NULL,
	token        bigint NOT NULL,
	life         integer NOT NULL,
	attempt      integer NOT NULL,
	started_at   bigint NOT NULL,
	ended_at     bigint NOT NULL,
	how          text COLLATE "C" NOT NULL,
	class        text COLLATE "C" NOT NULL,
	code         text COLLATE "C",
	permanent    smallint NOT NULL,
	http         bigint,
	exit         bigint,
	signal       text COLLATE "C",
	holder       text COLLATE "C",
	correlation  text COLLATE "C",
	fingerprint  text COLLATE "C",
	cost         bigint,
	sends        bigint,
	message      text COLLATE "C" NOT NULL,
	user_message text COLLATE "C",
	decision     bytea,
	details      bytea,
	stack        text COLLATE "C",
	stderr       bytea,
	build        text COLLATE "C", -- NULL: the program does not name its build
	PRIMARY KEY (job, token)
);

-- The dead letters: one row for each job that has failed for good. death is the number of
-- the job's last death; when a job dies again, its row gets the next number. The row has all
-- data of the dead job. A retry moves the job to redrive_jobs and sets revived to 1; the row
-- stays as the dead letter.
CREATE TABLE redrive_dead (
	death       bigint PRIMARY KEY,
	job         bigint NOT NULL UNIQUE,
	grp         bigint,
	died_at     bigint NOT NULL,
	acted_at    bigint,
	reopen_at   bigint, -- when an ignored dead letter becomes pending again; 1 << 62 plus the id of a group: together with that group
	redrive     bigint, -- the redrive that made the last retry; NULL: no redrive did
	token       bigint NOT NULL,
	created_at  bigint NOT NULL,
	life_at     bigint NOT NULL,
	claimed_at  bigint,
	deadline    bigint,
	batch       bigint,
	lane        integer NOT NULL,
	life        integer NOT NULL,
	attempts    integer NOT NULL,
	crashes     integer NOT NULL,
	deferrals   integer NOT NULL,
	snoozes     integer NOT NULL,
	interrupts  integer NOT NULL,
	status      smallint NOT NULL, -- 0: pending; 1: retried; 2: resolved; 3: ignored
	revived     smallint NOT NULL DEFAULT 0,
	terms       integer,
	released    smallint, -- column released of the job before it died
	priority    smallint NOT NULL,
	long        smallint,
	reason      text COLLATE "C" NOT NULL,
	class       text COLLATE "C",
	action      text COLLATE "C", -- the last action, a job.DeadAction
	note        text COLLATE "C",
	acted_by    text COLLATE "C",
	holder      text COLLATE "C",
	owner       text COLLATE "C",
	correlation text COLLATE "C",
	key         text COLLATE "C",
	attrs       bytea,
	policy      bytea,
	payload     bytea
);
-- Indexes for filters, each in the order of deaths. They contain no column that an action of a
-- person changes, so the status is read from the row. The index by group contains only pending
-- dead letters.
CREATE INDEX redrive_dead_pending ON redrive_dead (grp, death) WHERE status = 0;
CREATE INDEX redrive_dead_owner ON redrive_dead (owner, death) WHERE owner IS NOT NULL;
CREATE INDEX redrive_dead_class ON redrive_dead (class, death);
CREATE INDEX redrive_dead_correlation ON redrive_dead (correlation, job) WHERE correlation IS NOT NULL;
CREATE INDEX redrive_dead_correlated ON redrive_dead (correlation, death) WHERE correlation IS NOT NULL;
CREATE INDEX redrive_dead_lane ON redrive_dead (lane, death);
CREATE INDEX redrive_dead_reopen ON redrive_dead (reopen_at, death) WHERE reopen_at IS NOT NULL;

CREATE TABLE redrive_groups (
	id          bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	fingerprint text COLLATE "C" NOT NULL UNIQUE,
	kind        text COLLATE "C" NOT NULL,
	class       text COLLATE "C",
	code        text COLLATE "C",
	message     text COLLATE "C",
	sample      bigint NOT NULL,
	first_at    bigint NOT NULL,
	last_at     bigint NOT NULL,
	n           bigint NOT NULL,
	pending     bigint NOT NULL,
	entries     bigint NOT NULL DEFAULT 0, -- number of dead letters, with any status
	muted       bigint NOT NULL DEFAULT 0,
	muted_until bigint,
	muted_for   bigint, -- number of deaths after which the mute ends
	muted_by    text COLLATE "C",
	muted_note  text COLLATE "C",
	retried     bigint NOT NULL DEFAULT 0, -- number of retries of dead letters of the group
	helped      bigint NOT NULL DEFAULT 0, -- number of these retries whose job completed
	first_build text COLLATE "C", -- the builds of the first and the last death whose program names its build
	last_build  text COLLATE "C",
	name        text COLLATE "C", -- what people call the cause
	assignee    text COLLATE "C",
	assigned_at bigint,
	resolved_at bigint, -- when a person marked the cause as resolved; NULL: it is open
	resolved_by text COLLATE "C",
	regressed_at bigint, -- time of the first death after resolved_at
	merged      text COLLATE "C" -- name of the set into which a person has merged the group
);
-- For sweeps: groups without dead letters, and mutes by the time at which they end.
CREATE INDEX redrive_groups_empty ON redrive_groups (last_at) WHERE entries = 0;
CREATE INDEX redrive_groups_muted ON redrive_groups (muted_until) WHERE muted = 1;
CREATE INDEX redrive_groups_merged ON redrive_groups (merged) WHERE merged IS NOT NULL;

-- The numbers of deaths over time: per minute for all jobs together (grp is 0), and per hour
-- for each group.
CREATE TABLE redrive_trends (
	grp bigint NOT NULL,
	at  bigint NOT NULL, -- start of the minute or hour
	n   bigint NOT NULL,
	PRIMARY KEY (grp, at)
);

-- The numbers of dead letters. DeadStats and filters read them instead of counting rows.
CREATE TABLE redrive_dead_counts (
	lane   bigint NOT NULL,
	reason text COLLATE "C" NOT NULL,
	class  text COLLATE "C" NOT NULL, -- '': the dead letters have no class
	status bigint NOT NULL,
	n      bigint NOT NULL,
	PRIMARY KEY (lane, reason, class, status)
);

-- What happened to jobs, by minute and by hour; see store.Figures. Sweeps remove minutes after
-- 30 days and hours after a year.
CREATE TABLE redrive_figures (
	unit bigint NOT NULL, -- 0: a minute; 1: an hour
	at   bigint NOT NULL, -- start of the minute or hour
	lane bigint NOT NULL, -- 0: all lanes together
	body bytea NOT NULL, -- packed figures, see figures.go in internal/sqlstore
	PRIMARY KEY (unit, at, lane)
);

-- The jobs that a retry has changed, as they were before the first change.
CREATE TABLE redrive_originals (
	job      bigint PRIMARY KEY,
	at       bigint NOT NULL,
	by       text COLLATE "C" NOT NULL,
	queue    text COLLATE "C" NOT NULL,
	priority bigint NOT NULL,
	policy   bytea,
	payload  bytea
);

-- The redrives (bulk retries). spec is JSON. The columns from answered to cancelled are
-- increased when jobs end. Steps and actions of people write the other columns.
CREATE TABLE redrive_redrives (
	id         bigint PRIMARY KEY,
	spec       bytea NOT NULL,
	policy     bytea,
	state      text COLLATE "C" NOT NULL,
	resume     text COLLATE "C",
	why        text COLLATE "C",
	by         text COLLATE "C" NOT NULL,
	reason     text COLLATE "C",
	created_at bigint NOT NULL,
	ended_at   bigint,
	cursor     bigint NOT NULL DEFAULT 0,
	last_at    bigint NOT NULL DEFAULT 0,
	forgive    bigint NOT NULL DEFAULT 0,
	forgave    bigint NOT NULL DEFAULT 0,
	released   bigint NOT NULL DEFAULT 0,
	answered   bigint NOT NULL DEFAULT 0,
	again      bigint NOT NULL DEFAULT 0,
	completed  bigint NOT NULL DEFAULT 0,
	dead       bigint NOT NULL DEFAULT 0,
	cancelled  bigint NOT NULL DEFAULT 0,
	audited    bigint NOT NULL DEFAULT 0, -- the value of released when the last audit row was written
	key        text COLLATE "C" -- idempotency key of the request that started the redrive
);
-- The active redrives. A step reads no others.
CREATE INDEX redrive_redrives_active ON redrive_redrives (id) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX redrive_redrives_key ON redrive_redrives (key) WHERE key IS NOT NULL;

-- For each cron entry, the last slot that was fired.
CREATE TABLE redrive_schedules (
	name       text COLLATE "C" PRIMARY KEY,
	slot       bigint NOT NULL,           -- 0: no slot was fired yet
	at         bigint NOT NULL,
	job        bigint NOT NULL,
	expression text COLLATE "C" NOT NULL, -- the expression that defined the slot, with its time zone
	paused     bigint NOT NULL DEFAULT 0,
	set_at     bigint                     -- when a person last paused or resumed it; no slot up to then is fired
);

-- For each kind of data, the number of rows that sweeps have removed since their last audit
-- row, and the place at which the next sweep continues.
CREATE TABLE redrive_swept (
	what   text COLLATE "C" PRIMARY KEY,
	n      bigint NOT NULL,
	since  bigint NOT NULL,
	cursor bigint NOT NULL DEFAULT 0
);

-- The policies that were in force, by the hash of their content. Rows are never changed.
CREATE TABLE redrive_policies (
	hash text COLLATE "C" PRIMARY KEY,
	name text COLLATE "C" NOT NULL,
	at   bigint NOT NULL,
	by   text COLLATE "C" NOT NULL,
	body bytea NOT NULL
);

-- Processes that work on the database. Each writes its row every 10 seconds.
CREATE TABLE redrive_processes (
	name       text COLLATE "C" NOT NULL,
	instance   text COLLATE "C" NOT NULL, -- differs for each start of the process
	what       text COLLATE "C" NOT NULL,
	host       text COLLATE "C" NOT NULL,
	pid        bigint NOT NULL,
	version    text COLLATE "C" NOT NULL,
	build      text COLLATE "C", -- NULL: the program does not name its build
	policy     text COLLATE "C" NOT NULL, -- hash of the policy in force in the process
	started_at bigint NOT NULL,
	seen_at    bigint NOT NULL,
	queues     text COLLATE "C" NOT NULL, -- names, separated by spaces
	kinds      text COLLATE "C" NOT NULL, -- names, separated by spaces
	slots      bigint NOT NULL,
	running    bigint NOT NULL,
	quiet      bigint NOT NULL DEFAULT 0, -- 1: a person ordered the process to claim no jobs
	silent     bigint NOT NULL DEFAULT 0, -- 1: another process has found this one silent
	sick       text COLLATE "C", -- kinds that the process cannot start: two lines each, kind ('' is all) and cause; NULL: none
	PRIMARY KEY (name, instance)
);

-- The notes and feedbacks on jobs and groups, by people and handlers. The last number is in
-- redrive_meta, because sweeps remove rows.
CREATE TABLE redrive_notes (
	id    bigint PRIMARY KEY,
	at    bigint NOT NULL,
	by    text COLLATE "C" NOT NULL,
	what  text COLLATE "C" NOT NULL, -- 'note' or 'feedback'
	job   bigint, -- NULL: the note is on a group
	grp   text COLLATE "C", -- fingerprint of the group; NULL: the note is on a job
	token bigint, -- the run whose handler wrote the note; NULL: a person did
	text  text COLLATE "C" NOT NULL
);
CREATE INDEX redrive_notes_job ON redrive_notes (job, id) WHERE job IS NOT NULL;
CREATE INDEX redrive_notes_group ON redrive_notes (grp, id) WHERE grp IS NOT NULL;
CREATE INDEX redrive_notes_what ON redrive_notes (what, id);

-- The requests with an idempotency key, and their answers. A request is kept for a day.
CREATE TABLE redrive_requests (
	scope   text COLLATE "C" NOT NULL,
	key     text COLLATE "C" NOT NULL,
	digest  bytea NOT NULL,
	at      bigint NOT NULL,
	first   bigint, -- the first of n reserved job ids
	n       bigint,
	through bigint, -- the end of the set that the request acts on
	status  bigint, -- NULL: there is no answer yet
	body    bytea,
	PRIMARY KEY (scope, key)
);
CREATE INDEX redrive_requests_at ON redrive_requests (at);

CREATE TABLE redrive_keys (
	owner      text COLLATE "C" NOT NULL,
	kind       text COLLATE "C" NOT NULL,
	key        text COLLATE "C" NOT NULL,
	job        bigint NOT NULL,
	digest     bytea NOT NULL,
	created_at bigint NOT NULL,
	until      bigint, -- when the key is forgotten; NULL: never
	state      bigint, -- state of the job when retention or a purge removed it; NULL: the job exists, or it was completed
	PRIMARY KEY (owner, kind, key)
);

CREATE INDEX redrive_keys_until ON redrive_keys (until) WHERE until IS NOT NULL;

CREATE TABLE redrive_batches (
	id        bigint PRIMARY KEY,
	owner     text COLLATE "C",
	total     bigint NOT NULL,
	completed bigint NOT NULL DEFAULT 0,
	dead      bigint NOT NULL DEFAULT 0,
	cancelled bigint NOT NULL DEFAULT 0,
	state     bigint NOT NULL DEFAULT 0,
	epoch     bigint NOT NULL DEFAULT 0,
	expires_at bigint
);

-- The progress of runs. A row counts only while its token is the token of the job.
CREATE TABLE redrive_progress (
	job   bigint PRIMARY KEY,
	token bigint NOT NULL,
	at    bigint NOT NULL,
	done  bigint NOT NULL,
	total bigint NOT NULL,
	note  text COLLATE "C"
);

-- The numbers of jobs by lane and state, up to the event 'folded' of redrive_meta. The changes
-- of later events are in the arrays of redrive_events, so that no row is updated by every commit.
CREATE TABLE redrive_counters (
	lane  bigint NOT NULL,
	state bigint NOT NULL,
	n     bigint NOT NULL,
	PRIMARY KEY (lane, state)
);

-- One row for each commit, with n packed events. seq is (id of the transaction + event_base)
-- << 20, plus the number of rows that the same transaction has written before; only a caller's
-- own transaction writes several. A reader stops at the oldest running transaction, so it
-- misses no event.
CREATE TABLE redrive_events (
	seq    bigint PRIMARY KEY,
	at     bigint NOT NULL,
	n      bigint NOT NULL,
	body   bytea NOT NULL,
	lanes  bigint[], -- the changes of redrive_counters: their lanes
	states smallint[], -- their states
	ns     bigint[], -- the numbers to add
	figures bytea, -- what to add to redrive_figures: for each lane, its number and packed figures
	batches bigint[] -- the changes of redrive_batches: five numbers for each batch, its columns from id to cancelled
);

CREATE TABLE redrive_audit (
	seq    bigint PRIMARY KEY,
	at     bigint NOT NULL,
	actor  text COLLATE "C" NOT NULL,
	action text COLLATE "C" NOT NULL,
	target text COLLATE "C" NOT NULL,
	reason text COLLATE "C",
	before text COLLATE "C",
	after  text COLLATE "C"
);
CREATE INDEX redrive_audit_actor ON redrive_audit (actor, seq);
CREATE INDEX redrive_audit_target ON redrive_audit (substr(target, 1, 256), seq); -- a target can be a long filter

-- Rows of these tables live for seconds. Claims stay fast only if dead rows are removed soon,
-- so vacuum begins early, makes no pauses, and always cleans the indexes.
ALTER TABLE redrive_jobs SET (fillfactor = 85, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
	autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.2, autovacuum_analyze_threshold = 5000,
	vacuum_index_cleanup = on);
ALTER TABLE redrive_bodies SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
	autovacuum_vacuum_cost_delay = 0);
-- These tables have few rows, which are updated often. The pages keep free space, so that an
-- update does not have to change an index.
ALTER TABLE redrive_meta SET (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
ALTER TABLE redrive_counters SET (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
ALTER TABLE redrive_rates SET (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
ALTER TABLE redrive_figures SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
ALTER TABLE redrive_dead_counts SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
ALTER TABLE redrive_processes SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
ALTER TABLE redrive_batches SET (fillfactor = 70);
ALTER TABLE redrive_groups SET (fillfactor = 70);
ALTER TABLE redrive_progress SET (fillfactor = 70);

-- +goose Down
DROP TABLE redrive_audit;
DROP TABLE redrive_events;
DROP TABLE redrive_counters;
DROP TABLE redrive_progress;
DROP TABLE redrive_batches;
DROP TABLE redrive_keys;
DROP TABLE redrive_notes;
DROP TABLE redrive_requests;
DROP TABLE redrive_processes;
DROP TABLE redrive_policies;
DROP TABLE redrive_swept;
DROP TABLE redrive_schedules;
DROP TABLE redrive_redrives;
DROP TABLE redrive_originals;
DROP TABLE redrive_figures;
DROP TABLE redrive_dead_counts;
DROP TABLE redrive_trends;
DROP TABLE redrive_groups;
DROP TABLE redrive_dead;
DROP TABLE redrive_failures;
DROP TABLE redrive_owned;
DROP TABLE redrive_owned_runs;
DROP TABLE redrive_done;
DROP TABLE redrive_terms;
DROP TABLE redrive_bodies;
DROP TABLE redrive_jobs;
DROP TABLE redrive_rates;
DROP TABLE redrive_queues;
DROP TABLE redrive_lanes;
DROP TABLE redrive_meta;
