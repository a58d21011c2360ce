-- Times are int64 microseconds since 1970 UTC. NULL is "not set". Where a row
-- is appended and never changed, the rowid is its order; retention never removes
-- the newest row of such a table, so that a rowid is never used twice.
-- Lock order inside a transaction: jobs, failures, dead, groups, batches,
-- counters, events; within a table by id.

-- +goose Up
CREATE TABLE redrive_meta (
	key   TEXT PRIMARY KEY,
	value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO redrive_meta VALUES ('next_id', 1), ('settings', 1);

-- A lane is what a claim can open or close as a whole: (queue, kind, deps).
CREATE TABLE redrive_lanes (
	id    INTEGER PRIMARY KEY,
	queue TEXT NOT NULL,
	kind  TEXT NOT NULL,
	deps  TEXT NOT NULL,
	gate  INTEGER NOT NULL DEFAULT 0, -- 0 open, 1 parked
	UNIQUE (queue, kind, deps)
);

CREATE TABLE redrive_queues (
	name     TEXT PRIMARY KEY,
	mode     INTEGER NOT NULL DEFAULT 0, -- store.Mode
	workers  INTEGER NOT NULL DEFAULT 0, -- 0: not set by a person
	lim      INTEGER NOT NULL DEFAULT 0,
	rate_n   INTEGER NOT NULL DEFAULT 0,
	rate_per INTEGER NOT NULL DEFAULT 0  -- nanoseconds
) WITHOUT ROWID;

-- Arrival times of rates over all processes: scope is 'queue:…' or 'kind:…'.
CREATE TABLE redrive_rates (
	scope   TEXT PRIMARY KEY,
	arrival INTEGER NOT NULL
) WITHOUT ROWID;

-- Live jobs only. state: 1 waiting, 2 retrying, 3 running.
CREATE TABLE redrive_jobs (
	id          INTEGER PRIMARY KEY,
	lane        INTEGER NOT NULL,
	state       INTEGER NOT NULL CHECK (state BETWEEN 1 AND 3),
	priority    INTEGER NOT NULL,
	run_at      INTEGER NOT NULL,
	token       INTEGER NOT NULL,
	life        INTEGER NOT NULL,
	attempts    INTEGER NOT NULL,
	crashes     INTEGER NOT NULL,
	deferrals   INTEGER NOT NULL,
	snoozes     INTEGER NOT NULL,
	interrupts  INTEGER NOT NULL,
	created_at  INTEGER NOT NULL,
	life_at     INTEGER NOT NULL,
	claimed_at  INTEGER,
	lease_until INTEGER,
	crash_max   INTEGER,
	terms       INTEGER, -- redrive_terms; NULL means the defaults
	holder      TEXT,
	deadline    INTEGER,
	cancel_at   INTEGER,
	owner       TEXT,
	correlation TEXT,
	key         TEXT,
	batch       INTEGER,
	attrs       BLOB,
	policy      BLOB, -- the job's own settings
	memo        BLOB,
	redrive     INTEGER, -- that has brought the job back into this life
	released    INTEGER, -- 1: a rule held the job in an earlier life, and a person has retried it
	own_priority INTEGER, -- while this life has a priority of its own: the one that comes back with the death
	long        INTEGER, -- 1: the payload is in redrive_bodies
	payload     BLOB
);
-- The claim's only index: due jobs of a lane and priority are its head. Rows due
-- later stay behind them and are never walked.
CREATE INDEX redrive_ready ON redrive_jobs (lane, priority, run_at) WHERE state < 3;
CREATE INDEX redrive_lease ON redrive_jobs (lease_until) WHERE state = 3;
CREATE INDEX redrive_cancel ON redrive_jobs (cancel_at) WHERE cancel_at IS NOT NULL;

-- Payloads above 1 KiB, apart so that claims and settles rewrite narrow rows.
CREATE TABLE redrive_bodies (
	job     INTEGER PRIMARY KEY,
	payload BLOB NOT NULL
);

-- What policies say of crashes and deadlines: job.Terms, by the SHA-256 of the body.
CREATE TABLE redrive_terms (
	id     INTEGER PRIMARY KEY,
	digest BLOB NOT NULL UNIQUE,
	body   BLOB NOT NULL
);

-- Completed and cancelled jobs, append-only in the order of their ends.
CREATE TABLE redrive_done (
	seq         INTEGER PRIMARY KEY,
	job         INTEGER NOT NULL,
	lane        INTEGER NOT NULL,
	state       INTEGER NOT NULL CHECK (state IN (4, 6)),
	priority    INTEGER NOT NULL,
	token       INTEGER NOT NULL,
	life        INTEGER NOT NULL,
	attempts    INTEGER NOT NULL,
	crashes     INTEGER NOT NULL,
	deferrals   INTEGER NOT NULL,
	snoozes     INTEGER NOT NULL,
	interrupts  INTEGER NOT NULL,
	created_at  INTEGER NOT NULL,
	life_at     INTEGER NOT NULL,
	claimed_at  INTEGER,
	finished_at INTEGER NOT NULL,
	holder      TEXT,
	owner       TEXT,
	correlation TEXT,
	key         TEXT,
	batch       INTEGER,
	cost        INTEGER,
	sends       INTEGER,
	result      BLOB
);
CREATE INDEX redrive_done_job ON redrive_done (job);

CREATE TABLE redrive_failures (
	job          INTEGER NOT NULL,
	token        INTEGER NOT NULL,
	life         INTEGER NOT NULL,
	attempt      INTEGER NOT NULL,
	started_at   INTEGER NOT NULL,
	ended_at     INTEGER NOT NULL,
	how          TEXT NOT NULL,
	class        TEXT NOT NULL,
	code         TEXT,
	permanent    INTEGER NOT NULL,
	http         INTEGER,
	exit         INTEGER,
	signal       TEXT,
	holder       TEXT,
	correlation  TEXT,
	fingerprint  TEXT,
	cost         INTEGER,
	sends        INTEGER,
	message      TEXT NOT NULL,
	user_message TEXT,
	decision     BLOB,
	details      BLOB,
	stack        TEXT,
	stderr       BLOB,
	PRIMARY KEY (job, token)
);

-- One entry a job that failed for good, numbered by its death: a second death
-- gives the row another number. The job itself is in it until a retry moves it
-- back (revived = 1); the entry stays.
CREATE TABLE redrive_dead (
	death       INTEGER PRIMARY KEY,
	job         INTEGER NOT NULL UNIQUE,
	status      INTEGER NOT NULL, -- 0 pending, 1 retried, 2 resolved, 3 ignored
	revived     INTEGER NOT NULL DEFAULT 0,
	reason      TEXT NOT NULL,
	class       TEXT,
	grp         INTEGER,
	died_at     INTEGER NOT NULL,
	action      TEXT, -- what was done last, see job.DeadAction
	note        TEXT,
	acted_at    INTEGER,
	acted_by    TEXT,
	reopen_at   INTEGER, -- ignored: pending again then; above 1 << 62: when that group's count is reached
	redrive     INTEGER, -- that has brought the job back last
	lane        INTEGER NOT NULL,
	priority    INTEGER NOT NULL,
	token       INTEGER NOT NULL,
	life        INTEGER NOT NULL,
	attempts    INTEGER NOT NULL,
	crashes     INTEGER NOT NULL,
	deferrals   INTEGER NOT NULL,
	snoozes     INTEGER NOT NULL,
	interrupts  INTEGER NOT NULL,
	created_at  INTEGER NOT NULL,
	life_at     INTEGER NOT NULL,
	claimed_at  INTEGER,
	holder      TEXT,
	deadline    INTEGER,
	owner       TEXT,
	correlation TEXT,
	key         TEXT,
	batch       INTEGER,
	attrs       BLOB,
	policy      BLOB,
	terms       INTEGER,
	released    INTEGER, -- of the job, before this death
	long        INTEGER,
	payload     BLOB
);
-- Filter indexes hold nothing that an action of a person changes, each in the
-- order of deaths; status is read from the row. Only pending ones are found by
-- their group.
CREATE INDEX redrive_dead_pending ON redrive_dead (grp) WHERE status = 0;
CREATE INDEX redrive_dead_owner ON redrive_dead (owner) WHERE owner IS NOT NULL;
CREATE INDEX redrive_dead_class ON redrive_dead (class);
CREATE INDEX redrive_dead_lane ON redrive_dead (lane);
CREATE INDEX redrive_dead_reopen ON redrive_dead (reopen_at) WHERE reopen_at IS NOT NULL;

CREATE TABLE redrive_groups (
	id          INTEGER PRIMARY KEY,
	fingerprint TEXT NOT NULL UNIQUE,
	kind        TEXT NOT NULL,
	class       TEXT,
	code        TEXT,
	message     TEXT,
	sample      INTEGER NOT NULL,
	first_at    INTEGER NOT NULL,
	last_at     INTEGER NOT NULL,
	n           INTEGER NOT NULL,
	pending     INTEGER NOT NULL,
	entries     INTEGER NOT NULL DEFAULT 0, -- dead letters of whatever status
	muted       INTEGER NOT NULL DEFAULT 0,
	muted_until INTEGER,
	muted_for   INTEGER, -- deaths left
	muted_by    TEXT,
	muted_note  TEXT
);
-- What sweeps look for: groups without dead letters, mutes whose time is over.
CREATE INDEX redrive_groups_empty ON redrive_groups (last_at) WHERE entries = 0;
CREATE INDEX redrive_groups_muted ON redrive_groups (muted_until) WHERE muted = 1;

-- Deaths by time: of all together (grp 0) by the minute, of a group by the hour.
CREATE TABLE redrive_trends (
	grp INTEGER NOT NULL,
	at  INTEGER NOT NULL, -- the start
	n   INTEGER NOT NULL,
	PRIMARY KEY (grp, at)
) WITHOUT ROWID;

-- Entries as numbers; what Stats reads.
CREATE TABLE redrive_dead_counts (
	lane   INTEGER NOT NULL,
	reason TEXT NOT NULL,
	class  TEXT NOT NULL, -- '' is none
	status INTEGER NOT NULL,
	n      INTEGER NOT NULL,
	PRIMARY KEY (lane, reason, class, status)
) WITHOUT ROWID;

-- What became of jobs, by the hour; see store.Hour.
CREATE TABLE redrive_hours (
	at         INTEGER PRIMARY KEY,
	completed  INTEGER NOT NULL,
	recovered  INTEGER NOT NULL,
	dead       INTEGER NOT NULL,
	exhausted  INTEGER NOT NULL,
	retries    INTEGER NOT NULL,
	retry_cost INTEGER NOT NULL
);

-- What a job was before a retry changed it for the first time.
CREATE TABLE redrive_originals (
	job      INTEGER PRIMARY KEY,
	at       INTEGER NOT NULL,
	by       TEXT NOT NULL,
	queue    TEXT NOT NULL,
	priority INTEGER NOT NULL,
	policy   BLOB,
	payload  BLOB
);

-- Bulk retries; spec is JSON. answered to cancelled are added to by the ends of
-- jobs, the rest is written by steps and people.
CREATE TABLE redrive_redrives (
	id         INTEGER PRIMARY KEY,
	spec       BLOB NOT NULL,
	policy     BLOB,
	state      TEXT NOT NULL,
	resume     TEXT,
	why        TEXT,
	by         TEXT NOT NULL,
	reason     TEXT,
	created_at INTEGER NOT NULL,
	ended_at   INTEGER,
	cursor     INTEGER NOT NULL DEFAULT 0,
	last_at    INTEGER NOT NULL DEFAULT 0,
	forgive    INTEGER NOT NULL DEFAULT 0,
	forgave    INTEGER NOT NULL DEFAULT 0,
	released   INTEGER NOT NULL DEFAULT 0,
	answered   INTEGER NOT NULL DEFAULT 0,
	again      INTEGER NOT NULL DEFAULT 0,
	completed  INTEGER NOT NULL DEFAULT 0,
	dead       INTEGER NOT NULL DEFAULT 0,
	cancelled  INTEGER NOT NULL DEFAULT 0,
	audited    INTEGER NOT NULL DEFAULT 0, -- released, when the last audit row was written
	key        TEXT -- of the request that has started it
);
-- Those under way: a step looks at nothing else.
CREATE INDEX redrive_redrives_active ON redrive_redrives (id) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX redrive_redrives_key ON redrive_redrives (key) WHERE key IS NOT NULL;

-- The last slot of each schedule that was fired.
CREATE TABLE redrive_schedules (
	name       TEXT PRIMARY KEY,
	slot       INTEGER NOT NULL,
	at         INTEGER NOT NULL,
	job        INTEGER NOT NULL,
	expression TEXT NOT NULL -- the expression that defined the slot, with its time zone
) WITHOUT ROWID;

-- What sweeps have removed since it was last audited, and where they go on.
CREATE TABLE redrive_swept (
	what   TEXT PRIMARY KEY,
	n      INTEGER NOT NULL,
	since  INTEGER NOT NULL,
	cursor INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Policies as they were in force, by the hash of their content; never changed.
CREATE TABLE redrive_policies (
	hash TEXT PRIMARY KEY,
	name TEXT NOT NULL,
	at   INTEGER NOT NULL,
	by   TEXT NOT NULL,
	body BLOB NOT NULL
) WITHOUT ROWID;

-- Processes that work on the database. Each writes its row every 10 seconds.
CREATE TABLE redrive_processes (
	name       TEXT NOT NULL,
	instance   TEXT NOT NULL, -- differs for each start of the process
	what       TEXT NOT NULL,
	host       TEXT NOT NULL,
	pid        INTEGER NOT NULL,
	version    TEXT NOT NULL,
	build      TEXT, -- NULL unless the program names its build
	policy     TEXT NOT NULL, -- hash
	started_at INTEGER NOT NULL,
	seen_at    INTEGER NOT NULL,
	queues     TEXT NOT NULL, -- names, separated by spaces
	kinds      TEXT NOT NULL, -- names, separated by spaces
	slots      INTEGER NOT NULL,
	running    INTEGER NOT NULL,
	quiet      INTEGER NOT NULL DEFAULT 0, -- 1: a person ordered the process to claim no jobs
	silent     INTEGER NOT NULL DEFAULT 0, -- 1: another process has found this one silent
	PRIMARY KEY (name, instance)
) WITHOUT ROWID;

CREATE TABLE redrive_keys (
	owner      TEXT NOT NULL,
	kind       TEXT NOT NULL,
	key        TEXT NOT NULL,
	job        INTEGER NOT NULL,
	digest     BLOB NOT NULL,
	created_at INTEGER NOT NULL,
	until      INTEGER, -- NULL: for ever
	state      INTEGER, -- of the job, once retention or a purge has removed it
	PRIMARY KEY (owner, kind, key)
) WITHOUT ROWID;

CREATE INDEX redrive_keys_until ON redrive_keys (until) WHERE until IS NOT NULL;

CREATE TABLE redrive_batches (
	id        INTEGER PRIMARY KEY,
	owner     TEXT,
	total     INTEGER NOT NULL,
	completed INTEGER NOT NULL DEFAULT 0,
	dead      INTEGER NOT NULL DEFAULT 0,
	cancelled INTEGER NOT NULL DEFAULT 0,
	state     INTEGER NOT NULL DEFAULT 0,
	epoch     INTEGER NOT NULL DEFAULT 0,
	expires_at INTEGER
);

-- Progress of runs, outside the job's row; a row of an older token is void.
CREATE TABLE redrive_progress (
	job   INTEGER PRIMARY KEY,
	token INTEGER NOT NULL,
	at    INTEGER NOT NULL,
	done  INTEGER NOT NULL,
	total INTEGER NOT NULL,
	note  TEXT
);

CREATE TABLE redrive_counters (
	lane  INTEGER NOT NULL,
	state INTEGER NOT NULL,
	n     INTEGER NOT NULL,
	PRIMARY KEY (lane, state)
) WITHOUT ROWID;

-- One row a commit: n events, packed.
CREATE TABLE redrive_events (
	seq  INTEGER PRIMARY KEY,
	at   INTEGER NOT NULL,
	n    INTEGER NOT NULL,
	body BLOB NOT NULL
);

CREATE TABLE redrive_audit (
	seq    INTEGER PRIMARY KEY,
	at     INTEGER NOT NULL,
	actor  TEXT NOT NULL,
	action TEXT NOT NULL,
	target TEXT NOT NULL,
	reason TEXT,
	before TEXT,
	after  TEXT
);

-- +goose Down
DROP TABLE redrive_audit;
DROP TABLE redrive_events;
DROP TABLE redrive_counters;
DROP TABLE redrive_progress;
DROP TABLE redrive_batches;
DROP TABLE redrive_keys;
DROP TABLE redrive_processes;
DROP TABLE redrive_policies;
DROP TABLE redrive_swept;
DROP TABLE redrive_schedules;
DROP TABLE redrive_redrives;
DROP TABLE redrive_originals;
DROP TABLE redrive_hours;
DROP TABLE redrive_dead_counts;
DROP TABLE redrive_trends;
DROP TABLE redrive_groups;
DROP TABLE redrive_dead;
DROP TABLE redrive_failures;
DROP TABLE redrive_done;
DROP TABLE redrive_terms;
DROP TABLE redrive_bodies;
DROP TABLE redrive_jobs;
DROP TABLE redrive_rates;
DROP TABLE redrive_queues;
DROP TABLE redrive_lanes;
DROP TABLE redrive_meta;
