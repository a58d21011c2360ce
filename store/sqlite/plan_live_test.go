package sqlite

// writingLive holds the statements that change live jobs for people.
var writingLive = []plan{
	{name: "anyOriginal", want: "SCAN CONSTANT ROW; SCALAR SUBQUERY 1; SCAN redrive_originals"},
	{name: "delAltered", want: "SEARCH redrive_originals" + byID + "; SCALAR SUBQUERY 1; SEARCH redrive_dead USING COVERING INDEX sqlite_autoindex_redrive_dead_1 (job=?)"},
	{name: "delCancelled", want: "SEARCH redrive_jobs USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
	{name: "insCancelled", want: "SEARCH redrive_jobs USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
	{name: "pickLive", want: "SEARCH redrive_jobs USING INTEGER PRIMARY KEY (rowid>?)"},
	{name: "pickSome", want: "SCAN json_each VIRTUAL TABLE INDEX 1:; SEARCH redrive_jobs" + byID + "; USE TEMP B-TREE FOR ORDER BY"},
	{name: "selNewestLive", want: "SEARCH redrive_jobs USING INTEGER PRIMARY KEY (rowid>?)"},
	{name: "selWaits", want: "SEARCH redrive_jobs" + byID},
	{name: "setWaits", want: "SEARCH redrive_jobs" + byID},
}
