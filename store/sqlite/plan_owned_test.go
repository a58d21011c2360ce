package sqlite

const (
	eachOwned = ids + "CORRELATED SCALAR SUBQUERY 1; "
	ownedMark = "SCALAR SUBQUERY 1; SEARCH redrive_meta USING PRIMARY KEY (key=?)"
)

// writingOwned holds the statements of the index of owners that run in the write transaction.
var writingOwned = []plan{
	{name: "delOwned", want: "SEARCH redrive_owned USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
	{name: "delOwnedRun", want: "SEARCH redrive_owned_runs" + byID},
	{name: "insOwned", want: noPlan},
	{name: "insOwnedRun", want: noPlan},
	{name: "selLastRun", want: "SEARCH redrive_owned_runs"},
	{name: "selOwnedMark", want: "SEARCH redrive_meta USING PRIMARY KEY (key=?)"},
	{name: "setOwnedMark", want: "SEARCH redrive_meta USING PRIMARY KEY (key=?)"},
}

// readingOwned holds the statements that read the index of owners.
var readingOwned = []plan{
	{name: "countUnindexed", want: "CO-ROUTINE (subquery-2); SEARCH redrive_events USING INTEGER PRIMARY KEY (rowid>?); " + ownedMark + "; SCAN (subquery-2)"},
	{name: "selNextID", want: "SEARCH redrive_meta USING PRIMARY KEY (key=?)"},
	{name: "liveOwners", want: "SEARCH redrive_jobs USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
	{name: "doneOwners", want: "SEARCH redrive_done USING INDEX redrive_done_job (job>? AND job<?)"},
	{name: "deadOwners", want: "SEARCH redrive_dead USING INDEX sqlite_autoindex_redrive_dead_1 (job>? AND job<?)"},
	{name: "deadBetween", want: "SEARCH redrive_dead USING COVERING INDEX sqlite_autoindex_redrive_dead_1 (job>? AND job<?)"},
	{name: "deadIDs", want: eachOwned + "SEARCH redrive_dead USING COVERING INDEX sqlite_autoindex_redrive_dead_1 (job=?)"},
	{name: "doneBetween", want: "SEARCH redrive_done USING COVERING INDEX redrive_done_job (job>? AND job<?)"},
	{name: "doneIDs", want: eachOwned + "SEARCH redrive_done USING COVERING INDEX redrive_done_job (job=?)"},
	{name: "liveBetween", want: "SEARCH redrive_jobs USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
	{name: "liveIDs", want: eachOwned + "SEARCH redrive_jobs" + byID},
	{name: "selOwnedParts", want: "SCAN r USING INDEX redrive_owned_high; CORRELATED SCALAR SUBQUERY 1; SEARCH o" + byID,
		scan: "one row for each run"},
	{name: "selOwnedPartsUp", want: "SCAN r; CORRELATED SCALAR SUBQUERY 1; SEARCH o" + byID + "; USE TEMP B-TREE FOR ORDER BY",
		scan: "one row for each run"},
	{name: "selOwnedRun", want: "SEARCH redrive_owned USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
	{name: "selOwnedRuns", want: "SCAN redrive_owned_runs"},
	{name: "selUnindexed", want: "SEARCH redrive_events USING INTEGER PRIMARY KEY (rowid>?); " + ownedMark},
	{name: "walkUnindexed", want: "SEARCH redrive_events USING INTEGER PRIMARY KEY (rowid>?)"},
}
