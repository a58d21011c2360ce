-- Times are int64 microseconds since 1970 UTC. NULL means "not set". In tables whose rows are
-- added and never changed, the rowid gives their order. Retention never removes the newest row of
-- such a table, so that no rowid is used twice.
-- A transaction writes the tables in this order: jobs, failures, dead, groups, batches,
-- counters, events; within a table by id.

-- +goose Up
CREATE TABLE redrive_meta (
	key   TEXT PRIMARY KEY,
	value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO redrive_meta VALUES ('next_id', 1), ('settings', 1), ('batches', 0),
	('owned', 0); -- the index of owners has the new jobs of all events up to this number

-- The lanes. A lane is a combination of queue, kind and dependencies. A claim takes or
-- skips a lane as a whole.
CREATE TABLE redrive_lanes (
	id    INTEGER PRIMARY KEY,
	queue TEXT NOT NULL,
	kind  TEXT NOT NULL,
	deps  TEXT NOT NULL,
	gate  INTEGER NOT NULL DEFAULT 0, -- 0: open; 1: parked
	UNIQUE (queue, kind, deps)
);

CREATE TABLE redrive_queues (
	name     TEXT PRIMARY KEY,
	mode     INTEGER NOT NULL DEFAULT 0, -- a store.Mode
	workers  INTEGER NOT NULL DEFAULT 0, -- number of workers; 0: no person has set it
	lim      INTEGER NOT NULL DEFAULT 0,
	rate_n   INTEGER NOT NULL DEFAULT 0,
	rate_per INTEGER NOT NULL DEFAULT 0  -- length of the rate's unit of time, in nanoseconds
) WITHOUT ROWID;

-- The state of each rate that holds over all processes. scope is 'queue:NAME' or
-- 'kind:NAME'.
CREATE TABLE redrive_rates (
	scope   TEXT PRIMARY KEY,
	arrival INTEGER NOT NULL
) WITHOUT ROWID;

-- The live jobs. state is 1 (waiting), 2 (retrying) or 3 (running).
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
	begun       INTEGER, -- the token of the last run of which a worker has written that it begins
	terms       INTEGER, -- id in redrive_terms; NULL means the defaults
	holder      TEXT,
	deadline    INTEGER,
	cancel_at   INTEGER,
	owner       TEXT,
	correlation TEXT,
	key         TEXT,
	batch       INTEGER,
	attrs       BLOB,
	policy      BLOB, -- the job's own retry settings; NULL: the job has none
	memo        BLOB,
	redrive     INTEGER, -- the redrive that began this life; NULL: no redrive did
	released    INTEGER, -- 1: a rule held the job in an earlier life, and a person has retried it
	own_priority INTEGER, -- the job's permanent priority, while column priority holds for this life only
	long        INTEGER, -- 1: the payload is in redrive_bodies
	payload     BLOB
);
-- The only index that claims use. The due jobs of a lane, priority and state come first, so a
-- claim does not read jobs that are due later. With the state, the index also has the retrying
-- jobs by due time. A second index for these would slow down each statement that ends a run.
CREATE INDEX redrive_ready ON redrive_jobs (lane, priority, state, run_at) WHERE state < 3;
-- The running jobs. cancel_at is in the index to find the runs that a person has asked to
-- stop, and batch to count the running members of a batch. An index for these alone would slow
-- down each enqueue and each end of a run.
CREATE INDEX redrive_lease ON redrive_jobs (lease_until, cancel_at, batch) WHERE state = 3;

-- The payloads above 1 KiB. They have a table of their own, so that a claim and the end of
-- a run rewrite short rows.
CREATE TABLE redrive_bodies (
	job     INTEGER PRIMARY KEY,
	payload BLOB NOT NULL
);

-- The different job.Terms: what the policies say about crashes and deadlines. digest is the
-- SHA-256 of body.
CREATE TABLE redrive_terms (
	id     INTEGER PRIMARY KEY,
	digest BLOB NOT NULL UNIQUE,
	body   BLOB NOT NULL
);

-- The index of owners: which jobs an owner has, and which jobs have a correlation id. It is
-- built from the events of new jobs, and consists of runs. A run has n entries for jobs with
-- ids from low to high, in parts by the hash of the owner or of the correlation id.
CREATE TABLE redrive_owned_runs (
	run        INTEGER PRIMARY KEY,
	low        INTEGER NOT NULL,
	high       INTEGER NOT NULL,
	n          INTEGER NOT NULL,
	parts      INTEGER NOT NULL, -- a power of two, at most 1024
	at         INTEGER NOT NULL, -- time of the last commit in the run
	checked_at INTEGER NOT NULL  -- when removed jobs were last taken out of the run; 0: never
);
CREATE INDEX redrive_owned_high ON redrive_owned_runs (high);
CREATE TABLE redrive_owned (
	place INTEGER PRIMARY KEY, -- 1024 times the number of the run, plus the number of the part
	body  BLOB NOT NULL        -- hashes of owners and correlation ids, with the ids of their jobs
);

-- The completed and cancelled jobs, in the order in which they ended. Rows are added and
-- removed, but not changed.
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
	result      BLOB,
	attrs       BLOB, -- attributes and payload, of completed jobs that keep them
	payload     BLOB
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
	stdout       BLOB,
	build        TEXT, -- NULL: the program does not name its build
	PRIMARY KEY (job, token)
);

-- The dead letters: one row for each job that has failed for good. death is the number of
-- the job's last death; when a job dies again, its row gets the next number. The row has all
-- data of the dead job. A retry moves the job to redrive_jobs and sets revived to 1; the row
-- stays as the dead letter.
CREATE TABLE redrive_dead (
	death       INTEGER PRIMARY KEY,
	job         INTEGER NOT NULL UNIQUE,
	status      INTEGER NOT NULL, -- 0: pending; 1: retried; 2: resolved; 3: ignored
	revived     INTEGER NOT NULL DEFAULT 0,
	reason      TEXT NOT NULL,
	class       TEXT,
	grp         INTEGER,
	died_at     INTEGER NOT NULL,
	action      TEXT, -- the last action, a job.DeadAction
	note        TEXT,
	acted_at    INTEGER,
	acted_by    TEXT,
	reopen_at   INTEGER, -- when an ignored dead letter becomes pending again; 1 << 62 plus the id of a group: together with that group
	redrive     INTEGER, -- the redrive that made the last retry; NULL: no redrive did
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
	released    INTEGER, -- column released of the job before it died
	long        INTEGER,
	payload     BLOB
);
-- Indexes for filters, each in the order of deaths. They contain no column that an action of a
-- person changes, so the status is read from the row. The index by group contains only pending
-- dead letters.
CREATE INDEX redrive_dead_pending ON redrive_dead (grp) WHERE status = 0;
CREATE INDEX redrive_dead_owner ON redrive_dead (owner) WHERE owner IS NOT NULL;
CREATE INDEX redrive_dead_class ON redrive_dead (class);
CREATE INDEX redrive_dead_correlated ON redrive_dead (correlation) WHERE correlation IS NOT NULL;
CREATE INDEX redrive_dead_lane ON redrive_dead (lane);
CREATE INDEX redrive_dead_batch ON redrive_dead (batch) WHERE batch IS NOT NULL;
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
	entries     INTEGER NOT NULL DEFAULT 0, -- number of dead letters, with any status
	muted       INTEGER NOT NULL DEFAULT 0,
	muted_until INTEGER,
	muted_for   INTEGER, -- number of deaths after which the mute ends
	muted_by    TEXT,
	muted_note  TEXT,
	retried     INTEGER NOT NULL DEFAULT 0, -- number of retries of dead letters of the group
	helped      INTEGER NOT NULL DEFAULT 0, -- number of these retries whose job completed
	first_build TEXT, -- the builds of the first and the last death whose program names its build
	last_build  TEXT,
	name        TEXT, -- what people call the cause
	assignee    TEXT,
	assigned_at INTEGER,
	resolved_at INTEGER, -- when a person marked the cause as resolved; NULL: it is open
	resolved_by TEXT,
	regressed_at INTEGER, -- time of the first death after resolved_at
	merged      TEXT -- name of the set into which a person has merged the group
);
-- For sweeps: groups without dead letters, and mutes by the time at which they end.
CREATE INDEX redrive_groups_empty ON redrive_groups (last_at) WHERE entries = 0;
CREATE INDEX redrive_groups_muted ON redrive_groups (muted_until) WHERE muted = 1;
CREATE INDEX redrive_groups_merged ON redrive_groups (merged) WHERE merged IS NOT NULL;

-- The numbers of deaths over time: per minute for all jobs together (grp is 0), and per hour
-- for each group.
CREATE TABLE redrive_trends (
	grp INTEGER NOT NULL,
	at  INTEGER NOT NULL, -- start of the minute or hour
	n   INTEGER NOT NULL,
	PRIMARY KEY (grp, at)
) WITHOUT ROWID;

-- The numbers of dead letters. DeadStats and filters read them instead of counting rows.
CREATE TABLE redrive_dead_counts (
	lane   INTEGER NOT NULL,
	reason TEXT NOT NULL,
	class  TEXT NOT NULL, -- '': the dead letters have no class
	status INTEGER NOT NULL,
	n      INTEGER NOT NULL,
	PRIMARY KEY (lane, reason, class, status)
) WITHOUT ROWID;

-- What happened to jobs, by minute and by hour; see store.Figures. Sweeps remove minutes after
-- 30 days and hours after a year.
CREATE TABLE redrive_figures (
	unit INTEGER NOT NULL, -- 0: a minute; 1: an hour
	at   INTEGER NOT NULL, -- start of the minute or hour
	lane INTEGER NOT NULL, -- 0: all lanes together
	body BLOB NOT NULL, -- packed figures, see figures.go in internal/sqlstore
	PRIMARY KEY (unit, at, lane)
) WITHOUT ROWID;

-- The jobs that a retry has changed, as they were before the first change.
CREATE TABLE redrive_originals (
	job      INTEGER PRIMARY KEY,
	at       INTEGER NOT NULL,
	by       TEXT NOT NULL,
	queue    TEXT NOT NULL,
	priority INTEGER NOT NULL,
	policy   BLOB,
	payload  BLOB
);

-- The redrives (bulk retries). spec is JSON. The columns from answered to cancelled are
-- increased when jobs end. Steps and actions of people write the other columns.
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
	base       BLOB, -- JSON: the counts when a person last resumed the stopped redrive; NULL if nobody did
	causes     BLOB, -- JSON: by which causes the jobs failed again or died
	released   INTEGER NOT NULL DEFAULT 0,
	answered   INTEGER NOT NULL DEFAULT 0,
	again      INTEGER NOT NULL DEFAULT 0,
	other      INTEGER NOT NULL DEFAULT 0,
	completed  INTEGER NOT NULL DEFAULT 0,
	dead       INTEGER NOT NULL DEFAULT 0,
	cancelled  INTEGER NOT NULL DEFAULT 0,
	refused     INTEGER NOT NULL DEFAULT 0, -- jobs that the redrive could not release with its patch
	refused_why TEXT,                       -- the reason for the first of them
	audited    INTEGER NOT NULL DEFAULT 0, -- the value of released when the last audit row was written
	key        TEXT -- idempotency key of the request that started the redrive
);
-- The active redrives. A step reads no others.
CREATE INDEX redrive_redrives_active ON redrive_redrives (id) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX redrive_redrives_key ON redrive_redrives (key) WHERE key IS NOT NULL;

-- For each cron entry, the last slot that was fired.
CREATE TABLE redrive_schedules (
	name       TEXT PRIMARY KEY,
	slot       INTEGER NOT NULL, -- 0: no slot was fired yet
	at         INTEGER NOT NULL,
	job        INTEGER NOT NULL,
	expression TEXT NOT NULL,    -- the expression that defined the slot, with its time zone
	paused     INTEGER NOT NULL DEFAULT 0,
	set_at     INTEGER           -- when a person last paused or resumed it; no slot up to then is fired
) WITHOUT ROWID;

-- For each kind of data, the number of rows that sweeps have removed since their last audit
-- row, and the place at which the next sweep continues.
CREATE TABLE redrive_swept (
	what   TEXT PRIMARY KEY,
	n      INTEGER NOT NULL,
	since  INTEGER NOT NULL,
	cursor INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- The policies that were in force, by the hash of their content. Rows are never changed.
CREATE TABLE redrive_policies (
	hash TEXT PRIMARY KEY,
	name TEXT NOT NULL,
	at   INTEGER NOT NULL,
	by   TEXT NOT NULL,
	body BLOB NOT NULL
) WITHOUT ROWID;

-- The rules of notifications. Those with the highest number are in force. Rows are never changed. The
-- hash is '' and the body NULL where the rules were taken back.
CREATE TABLE redrive_rules (
	number INTEGER PRIMARY KEY,
	hash   TEXT NOT NULL,
	at     INTEGER NOT NULL,
	by     TEXT NOT NULL,
	body   BLOB
);

-- What recipients of notifications will hear of later, as package notify says. scope is a batch, 0 for
-- jobs of no batch, or the largest number for single mails. due_at is NULL while nothing waits in
-- the window of a batch.
CREATE TABLE redrive_windows (
	scope  INTEGER NOT NULL,
	target TEXT NOT NULL,
	due_at INTEGER,
	body   BLOB NOT NULL,
	PRIMARY KEY (scope, target)
) WITHOUT ROWID;
CREATE INDEX redrive_windows_due ON redrive_windows (due_at) WHERE due_at IS NOT NULL;

-- The first of the deaths and outcomes that wait in a window.
CREATE TABLE redrive_window_items (
	scope  INTEGER NOT NULL,
	target TEXT NOT NULL,
	n      INTEGER NOT NULL,
	body   BLOB NOT NULL,
	PRIMARY KEY (scope, target, n)
) WITHOUT ROWID;

-- Processes that work on the database. Each writes its row every 10 seconds.
CREATE TABLE redrive_processes (
	name       TEXT NOT NULL,
	instance   TEXT NOT NULL, -- differs for each start of the process
	what       TEXT NOT NULL,
	host       TEXT NOT NULL,
	pid        INTEGER NOT NULL,
	version    TEXT NOT NULL,
	build      TEXT, -- NULL: the program does not name its build
	policy     TEXT NOT NULL, -- hash of the policy in force in the process
	started_at INTEGER NOT NULL,
	seen_at    INTEGER NOT NULL,
	queues     TEXT NOT NULL, -- names, separated by spaces
	kinds      TEXT NOT NULL, -- names, separated by spaces
	slots      INTEGER NOT NULL,
	running    INTEGER NOT NULL,
	quiet      INTEGER NOT NULL DEFAULT 0, -- 1: a person ordered the process to claim no jobs
	silent     INTEGER NOT NULL DEFAULT 0, -- 1: another process has found this one silent
	sick       TEXT, -- kinds that the process cannot start: two lines each, kind ('' is all) and cause; NULL: none
	PRIMARY KEY (name, instance)
) WITHOUT ROWID;

-- The notes and feedbacks on jobs and groups, by people and handlers. The last number is in
-- redrive_meta, because sweeps remove rows.
CREATE TABLE redrive_notes (
	id    INTEGER PRIMARY KEY,
	at    INTEGER NOT NULL,
	by    TEXT NOT NULL,
	what  TEXT NOT NULL, -- 'note', 'feedback' or 'label'
	job   INTEGER, -- NULL: the note is on a group
	grp   TEXT, -- fingerprint of the group; NULL: the note is on a job
	token INTEGER, -- the run whose handler wrote the note; NULL: a person did
	text  TEXT NOT NULL
);
CREATE INDEX redrive_notes_job ON redrive_notes (job) WHERE job IS NOT NULL;
CREATE INDEX redrive_notes_group ON redrive_notes (grp) WHERE grp IS NOT NULL;
CREATE INDEX redrive_notes_what ON redrive_notes (what);

-- The requests with an idempotency key, and their answers. A request is kept for a day.
CREATE TABLE redrive_requests (
	scope   TEXT NOT NULL,
	key     TEXT NOT NULL,
	digest  BLOB NOT NULL,
	at      INTEGER NOT NULL,
	first   INTEGER, -- the first of n reserved job ids
	n       INTEGER,
	through INTEGER, -- the end of the set that the request acts on
	status  INTEGER, -- NULL: there is no answer yet
	body    BLOB,
	PRIMARY KEY (scope, key)
) WITHOUT ROWID;
CREATE INDEX redrive_requests_at ON redrive_requests (at);

-- The keys with which programs and people sign in to a server, at most 1,000.
CREATE TABLE redrive_access (
	id         TEXT PRIMARY KEY,
	version    INTEGER NOT NULL, -- the number of changes
	name       TEXT NOT NULL,
	hash       BLOB NOT NULL, -- SHA-256 of the secret
	old_hash   BLOB, -- of the secret before the last rotation; NULL: none
	old_until  INTEGER, -- old_hash is accepted before this time
	roles      TEXT NOT NULL, -- words, separated by spaces
	owner      TEXT, -- NULL: the key is not restricted to an owner
	kinds      TEXT, -- names, separated by spaces; NULL: all
	queues     TEXT, -- names, separated by spaces; NULL: all
	delegate   INTEGER NOT NULL, -- 1: the key may act for any owner
	expires_at INTEGER, -- NULL: never
	revoked_at INTEGER, -- NULL: not revoked
	created_at INTEGER NOT NULL,
	created_by TEXT NOT NULL,
	rotated_at INTEGER,
	used_at    INTEGER -- last use, precise to a minute; NULL: never
) WITHOUT ROWID;

-- The receivers of webhooks, at most 100. A secret is stored as it is: each webhook is signed with it.
CREATE TABLE redrive_endpoints (
	name       TEXT PRIMARY KEY,
	settings   TEXT NOT NULL, -- store.Endpoint as JSON, without name and secrets
	secret     BLOB NOT NULL,
	old_secret BLOB -- before the last rotation; NULL: none
) WITHOUT ROWID;

-- Random bytes that all servers on the database share. Rows are never changed.
CREATE TABLE redrive_secrets (
	name   TEXT PRIMARY KEY,
	secret BLOB NOT NULL
) WITHOUT ROWID;

-- Streams: readers of logs such as Kafka topics.
CREATE TABLE redrive_streams (
	name   TEXT PRIMARY KEY,
	mode   INTEGER NOT NULL, -- 0: open, 1: paused
	reason TEXT,
	by     TEXT, -- who has changed the mode last
	at     INTEGER
) WITHOUT ROWID;

-- How far each stream has taken each partition. The number next is written in the transaction of
-- the jobs.
CREATE TABLE redrive_positions (
	stream    TEXT NOT NULL,
	cluster   TEXT NOT NULL,
	topic_id  TEXT NOT NULL,
	part      INTEGER NOT NULL,
	topic     TEXT NOT NULL,
	next      INTEGER NOT NULL, -- the offset of the first record that is not taken yet
	first     INTEGER NOT NULL, -- the first value of next
	reached   INTEGER NOT NULL, -- the highest value of next
	moved_at  INTEGER NOT NULL,
	read      INTEGER NOT NULL DEFAULT 0, -- records by what became of them: read is the sum of those up to empty
	taken     INTEGER NOT NULL DEFAULT 0,
	existing  INTEGER NOT NULL DEFAULT 0,
	revived   INTEGER NOT NULL DEFAULT 0,
	dead      INTEGER NOT NULL DEFAULT 0,
	own       INTEGER NOT NULL DEFAULT 0,
	others    INTEGER NOT NULL DEFAULT 0, -- records of other stores
	processed INTEGER NOT NULL DEFAULT 0,
	empty     INTEGER NOT NULL DEFAULT 0,
	replayed  INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (stream, cluster, topic_id, part)
) WITHOUT ROWID;

-- What processes say about their partitions of a stream.
CREATE TABLE redrive_stream_reports (
	stream  TEXT NOT NULL,
	process TEXT NOT NULL,
	at      INTEGER NOT NULL,
	body    BLOB NOT NULL, -- JSON: the partitions
	PRIMARY KEY (stream, process)
) WITHOUT ROWID;

-- Readers of the events of a stream that write something elsewhere, and how far they have come.
CREATE TABLE redrive_sinks (
	stream    TEXT NOT NULL,
	sink      TEXT NOT NULL,
	seq       INTEGER NOT NULL, -- the cursor: the last event that was written
	idx       INTEGER NOT NULL,
	holder    TEXT NOT NULL, -- '': nobody has held the sink
	token     INTEGER NOT NULL, -- counts the holders
	until     INTEGER NOT NULL, -- the end of the lease
	failed_at INTEGER, -- since when each attempt has failed; NULL: the last one succeeded
	error     TEXT,
	PRIMARY KEY (stream, sink)
) WITHOUT ROWID;

-- Effects outside of the store that are under way or were done.
CREATE TABLE redrive_marks (
	key       TEXT NOT NULL PRIMARY KEY,
	holder    TEXT NOT NULL, -- '': nobody has claimed it
	token     INTEGER NOT NULL, -- counts the holders
	until     INTEGER NOT NULL, -- the end of the lease
	done_at   INTEGER, -- NULL: not done
	forget_at INTEGER, -- from when on it can be removed; NULL: never
	job       INTEGER, -- the job that has claimed it
	summary   TEXT
) WITHOUT ROWID;
CREATE INDEX redrive_marks_forget ON redrive_marks (forget_at, key) WHERE forget_at IS NOT NULL;

CREATE TABLE redrive_keys (
	owner      TEXT NOT NULL,
	kind       TEXT NOT NULL,
	key        TEXT NOT NULL,
	job        INTEGER NOT NULL,
	digest     BLOB NOT NULL,
	created_at INTEGER NOT NULL,
	until      INTEGER, -- when the key is forgotten; NULL: never
	state      INTEGER, -- state of the job when retention or a purge removed it; NULL: the job exists, or it was completed
	result     BLOB, -- the first bytes (job.SummaryKept) of the result of a completed job, when retention removed it
	PRIMARY KEY (owner, kind, key)
) WITHOUT ROWID;

CREATE INDEX redrive_keys_until ON redrive_keys (until) WHERE until IS NOT NULL;

-- The batches. In the tables of jobs, column batch is the number of the job's batch, or below 0 if
-- the job is aside: then it does not count. In redrive_keys, the keys of members have the number of
-- their batch as owner, and no kind.
CREATE TABLE redrive_batches (
	id           INTEGER PRIMARY KEY,
	owner        TEXT NOT NULL DEFAULT '',
	key          TEXT,
	name         TEXT,
	attrs        BLOB,
	callbacks    BLOB, -- JSON
	state        INTEGER NOT NULL, -- a job.BatchState
	task         INTEGER NOT NULL DEFAULT 0, -- a store.BatchTask
	task_at      INTEGER NOT NULL DEFAULT 0, -- the last death or job that the task has reached
	task_through INTEGER NOT NULL DEFAULT 0,
	drafts       INTEGER NOT NULL DEFAULT 0, -- counted drafts
	asides       INTEGER NOT NULL DEFAULT 0, -- drafts that are aside
	outcome      INTEGER NOT NULL DEFAULT 0, -- the number of the last outcome
	created_at   INTEGER NOT NULL,
	published_at INTEGER,
	ended_at     INTEGER,
	expires_at   INTEGER,
	created_by   TEXT
);
CREATE UNIQUE INDEX redrive_batches_key ON redrive_batches (owner, key) WHERE key IS NOT NULL;
CREATE INDEX redrive_batches_owner ON redrive_batches (owner) WHERE owner <> '';
CREATE INDEX redrive_batches_state ON redrive_batches (state);
CREATE INDEX redrive_batches_task ON redrive_batches (id) WHERE task > 0;
CREATE INDEX redrive_batches_expires ON redrive_batches (expires_at) WHERE state BETWEEN 3 AND 5 AND expires_at IS NOT NULL;

-- The counted members of batches, written by the commits that publish and end them.
CREATE TABLE redrive_batch_counts (
	batch     INTEGER PRIMARY KEY,
	total     INTEGER NOT NULL,
	completed INTEGER NOT NULL,
	dead      INTEGER NOT NULL,
	cancelled INTEGER NOT NULL
);

-- Ranges of ids in which the members of a batch are; others can be in them, too.
CREATE TABLE redrive_spans (
	batch INTEGER NOT NULL,
	first INTEGER NOT NULL,
	last  INTEGER NOT NULL,
	PRIMARY KEY (batch, first)
) WITHOUT ROWID;

-- The members that are not published yet, with the ids of their later jobs.
CREATE TABLE redrive_drafts (
	job         INTEGER PRIMARY KEY,
	batch       INTEGER NOT NULL,
	aside       INTEGER NOT NULL,
	lane        INTEGER NOT NULL,
	priority    INTEGER NOT NULL,
	run_at      INTEGER,
	deadline    INTEGER,
	correlation TEXT,
	key         TEXT,
	attrs       BLOB,
	policy      BLOB,
	terms       INTEGER,
	long        INTEGER,
	payload     BLOB,
	replaces    INTEGER, -- the cancelled job whose place it takes
	created_at  INTEGER NOT NULL
);
CREATE INDEX redrive_drafts_batch ON redrive_drafts (batch);

-- The ends of batches.
CREATE TABLE redrive_outcomes (
	batch     INTEGER NOT NULL,
	n         INTEGER NOT NULL,
	state     INTEGER NOT NULL,
	at        INTEGER NOT NULL,
	total     INTEGER NOT NULL,
	completed INTEGER NOT NULL,
	dead      INTEGER NOT NULL,
	cancelled INTEGER NOT NULL,
	PRIMARY KEY (batch, n)
) WITHOUT ROWID;

-- The progress of runs. A row counts only while its token is the token of the job.
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

-- One row for each commit, with n packed events.
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
	after  TEXT,
	via    TEXT, -- how the person came in; NULL: not through a server
	owner  TEXT -- the owner of jobs in whose name the person acted; NULL: in no owner's
);
CREATE INDEX redrive_audit_actor ON redrive_audit (actor);
CREATE INDEX redrive_audit_target ON redrive_audit (substr(target, 1, 256)); -- a target can be a long filter

-- +goose Down
DROP TABLE redrive_audit;
DROP TABLE redrive_events;
DROP TABLE redrive_counters;
DROP TABLE redrive_progress;
DROP TABLE redrive_outcomes;
DROP TABLE redrive_drafts;
DROP TABLE redrive_spans;
DROP TABLE redrive_batch_counts;
DROP TABLE redrive_batches;
DROP TABLE redrive_keys;
DROP TABLE redrive_notes;
DROP TABLE redrive_requests;
DROP TABLE redrive_marks;
DROP TABLE redrive_sinks;
DROP TABLE redrive_stream_reports;
DROP TABLE redrive_positions;
DROP TABLE redrive_streams;
DROP TABLE redrive_secrets;
DROP TABLE redrive_endpoints;
DROP TABLE redrive_access;
DROP TABLE redrive_processes;
DROP TABLE redrive_window_items;
DROP TABLE redrive_windows;
DROP TABLE redrive_rules;
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
