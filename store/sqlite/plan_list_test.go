package sqlite

// readingLists holds the statements that read lists of jobs.
var readingLists = []plan{
	{name: "edgeLive", want: "CO-ROUTINE e; SEARCH redrive_jobs USING INTEGER PRIMARY KEY (rowid<?); SCAN e; CORRELATED SCALAR SUBQUERY 1; SEARCH redrive_jobs" + byID},
	{name: "edgeDone", want: "CO-ROUTINE e; SEARCH redrive_done USING COVERING INDEX redrive_done_job (job<?); SCAN e; " +
		"CORRELATED SCALAR SUBQUERY 1; SEARCH redrive_done USING INDEX redrive_done_job (job=?)"},
	{name: "edgeDead", want: "CO-ROUTINE e; SEARCH redrive_dead USING COVERING INDEX sqlite_autoindex_redrive_dead_1 (job<?); SCAN e; " +
		"CORRELATED SCALAR SUBQUERY 1; SEARCH redrive_dead USING INDEX sqlite_autoindex_redrive_dead_1 (job=?)"},
	{name: "edgeEnded", want: "CO-ROUTINE e; SEARCH redrive_done USING INTEGER PRIMARY KEY (rowid<?); SCAN e; SEARCH d" + byID},
	{name: "pickedLive", want: "SEARCH j USING INTEGER PRIMARY KEY (rowid>? AND rowid<?); " +
		"CORRELATED SCALAR SUBQUERY 1; SEARCH f USING INDEX sqlite_autoindex_redrive_failures_1 (job=?); " +
		"CORRELATED SCALAR SUBQUERY 2; SEARCH f USING INDEX sqlite_autoindex_redrive_failures_1 (job=?)" + laneByID},
	{name: "pickedDone", want: "SEARCH j USING INDEX redrive_done_job (job>? AND job<?)" + laneByID},
	{name: "pickedDead", want: "SEARCH j USING INDEX sqlite_autoindex_redrive_dead_1 (job>? AND job<?); " +
		"SCALAR SUBQUERY 1; SEARCH g USING COVERING INDEX sqlite_autoindex_redrive_groups_1 (fingerprint=?)" + laneByID},
	{name: "pickedEnded", want: "SEARCH j USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)" + laneByID},
	{name: "firstDue", want: "MATERIALIZE priorities; SCAN 4 CONSTANT ROWS; MATERIALIZE states; SCAN 2 CONSTANT ROWS; SCAN l; SCAN p; SCAN s; " +
		"CORRELATED SCALAR SUBQUERY 7; SEARCH h USING COVERING INDEX redrive_ready (lane=? AND priority=? AND state=? AND run_at>?)"},
	{name: "listDue", want: "SCAN i VIRTUAL TABLE INDEX 1:; SEARCH j" + byID +
		"; CORRELATED LIST SUBQUERY 1; SEARCH h USING COVERING INDEX redrive_ready (lane=? AND priority=? AND state=? AND run_at>?)"},
	{name: "severalDied", want: ids + "SEARCH j" + byID + laneByID + "; USE TEMP B-TREE FOR ORDER BY"},
	{name: "severalCauses", want: ids + "SEARCH j USING INDEX sqlite_autoindex_redrive_failures_1 (job=? AND token=?)" +
		"; CORRELATED SCALAR SUBQUERY 1; SEARCH f USING COVERING INDEX sqlite_autoindex_redrive_failures_1 (job=?)"},
	{name: "severalDeadCauses", want: ids + "SEARCH j USING INDEX sqlite_autoindex_redrive_dead_1 (job=?); " + groupByID + "; " + failureByRun},
	{name: "selDeadCause", want: "SEARCH d USING INDEX sqlite_autoindex_redrive_dead_1 (job=?); " + groupByID + "; " + failureByRun},
	{name: "selDeathOf", want: deadByJob},
	{name: "selLastSeq", want: "SEARCH redrive_done"},
	{name: "selLiveCause", want: "SEARCH redrive_failures USING INDEX sqlite_autoindex_redrive_failures_1 (job=?)"},
	{name: "selSeqFrom", want: "SEARCH redrive_done USING INTEGER PRIMARY KEY (rowid>?)"},
	{name: "selSeqOf", want: "SEARCH redrive_done USING INDEX redrive_done_job (job=?)"},
	{name: "walkSeqs", want: "SEARCH redrive_done USING INTEGER PRIMARY KEY (rowid>?)"},
	{name: "walkEnded", want: "SEARCH j USING INTEGER PRIMARY KEY (rowid<?)" + laneByID},
}
