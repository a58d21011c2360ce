-- The tables of the example, in the same file as those of redrive. The state of a campaign is that of
-- its batch, and the state of a copy that of its job: there is no second place that could disagree.
CREATE TABLE IF NOT EXISTS accounts (
	id TEXT PRIMARY KEY,
	name TEXT NOT NULL,
	email TEXT NOT NULL UNIQUE,
	password_hash BLOB NOT NULL,
	salt BLOB NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS assets (
	id TEXT PRIMARY KEY,
	account TEXT NOT NULL REFERENCES accounts (id),
	name TEXT NOT NULL,
	path TEXT NOT NULL,
	kind TEXT NOT NULL CHECK (kind IN ('picture', 'clip'))
) STRICT;

-- The id of a campaign is the key of its batch.
CREATE TABLE IF NOT EXISTS campaigns (
	id TEXT PRIMARY KEY,
	account TEXT NOT NULL REFERENCES accounts (id),
	asset TEXT NOT NULL REFERENCES assets (id),
	name TEXT NOT NULL,
	max_downloads INTEGER NOT NULL, -- of each copy; 0 means any number
	expires_at INTEGER NOT NULL,    -- microseconds since 1970; 0 means never
	visible_wm INTEGER NOT NULL,
	invisible_wm INTEGER NOT NULL,
	batch INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	published_at INTEGER NOT NULL DEFAULT 0
) STRICT;

-- A token is one copy for one recipient. Its id is the key of the member of the batch.
CREATE TABLE IF NOT EXISTS tokens (
	n INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	campaign TEXT NOT NULL REFERENCES campaigns (id),
	recipient TEXT NOT NULL,
	asset TEXT NOT NULL REFERENCES assets (id), -- that of the campaign, or another one for this recipient
	job INTEGER NOT NULL UNIQUE,
	output TEXT NOT NULL DEFAULT '',
	downloads INTEGER NOT NULL DEFAULT 0,
	ready_at INTEGER NOT NULL DEFAULT 0,
	UNIQUE (campaign, recipient)
) STRICT;

CREATE TABLE IF NOT EXISTS detections (
	n INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	campaign TEXT NOT NULL REFERENCES campaigns (id),
	name TEXT NOT NULL,
	job INTEGER NOT NULL,
	result TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX IF NOT EXISTS detections_campaign ON detections (campaign);
