package sqlite

const (
	deadByDeath  = "SEARCH redrive_dead" + byID
	groupByID    = "SEARCH g" + byID + " LEFT-JOIN"
	failureByRun = "SEARCH f USING INDEX sqlite_autoindex_redrive_failures_1 (job=? AND token=?) LEFT-JOIN"
	between      = "rowid>? AND rowid<?)"
	allCauses    = "one row for each cause"
	pageOfCauses = "SEARCH redrive_groups" + byID + "; LIST SUBQUERY 1; SCAN redrive_groups; USE TEMP B-TREE FOR ORDER BY; USE TEMP B-TREE FOR ORDER BY"
)

// writingDead holds the statements about dead letters that run in the write
// transaction.
var writingDead = []plan{
	{name: "addDead", want: noPlan},
	{name: "addRedrive", want: "SEARCH redrive_redrives" + byID},
	{name: "addTrend", want: noPlan},
	{name: "countGroupNotes", want: "SEARCH redrive_notes USING COVERING INDEX redrive_notes_group (grp=?)"},
	{name: "countJobNotes", want: "SEARCH redrive_notes USING COVERING INDEX redrive_notes_job (job=?)"},
	{name: "countMerged", want: "SEARCH redrive_groups USING COVERING INDEX redrive_groups_merged (merged=?)"},
	{name: "insNote", want: noPlan},
	{name: "nextNote", want: noPlan},
	{name: "selGroupRow", want: "SEARCH redrive_groups USING INDEX sqlite_autoindex_redrive_groups_1 (fingerprint=?)"},
	{name: "selNoted", want: "CO-ROUTINE p; COMPOUND QUERY; LEFT-MOST SUBQUERY; SEARCH redrive_jobs" + byID + "; UNION ALL; " +
		"SEARCH redrive_done USING INDEX redrive_done_job (job=?); UNION ALL; " + deadByJob + "; SCAN p" + laneByID + "; USE TEMP B-TREE FOR ORDER BY"},
	{name: "setGroupRow", want: "SEARCH redrive_groups USING INDEX sqlite_autoindex_redrive_groups_1 (fingerprint=?)"},
	{name: "setMerged", want: "SEARCH redrive_groups USING INDEX sqlite_autoindex_redrive_groups_1 (fingerprint=?)"},
	{name: "insOriginal", want: noPlan},
	{name: "selCauseOf", want: "SEARCH redrive_groups" + byID + "; SCALAR SUBQUERY 1; " + deadByJob},
	{name: "selDeadRow", want: deadByJob},
	{name: "selEntry", want: deadByJob},
	{name: "selInForce", want: "SEARCH m USING PRIMARY KEY (key=?); SEARCH a" + byID},
	{name: "selOwn", want: deadByDeath},
	{name: "setInForce", want: "SCALAR SUBQUERY 1; SEARCH redrive_audit"},
	{name: "setMute", want: "SEARCH redrive_groups" + byID},
	{name: "setJobKey", want: "SEARCH redrive_jobs" + byID},
	{name: "setPayload", want: "SEARCH redrive_jobs" + byID},
	{name: "setPolicy", want: "SEARCH redrive_jobs" + byID},
	{name: "setStatus", want: deadByDeath},

	// The statements below search for the dead letters that a filter selects, for actions and for
	// lists.
	{name: "classRoute.up", want: "SEARCH redrive_dead USING INDEX redrive_dead_class (class=? AND " + between},
	{name: "classRoute.down", want: "SEARCH redrive_dead USING INDEX redrive_dead_class (class=? AND " + between},
	{name: "correlationRoute.up", want: "SEARCH redrive_dead USING INDEX redrive_dead_correlated (correlation=? AND " + between},
	{name: "correlationRoute.down", want: "SEARCH redrive_dead USING INDEX redrive_dead_correlated (correlation=? AND " + between},
	{name: "jobRoute.up", want: deadByJob},
	{name: "jobRoute.down", want: deadByJob},
	{name: "severalJobs", want: ids + "SEARCH j USING INDEX sqlite_autoindex_redrive_dead_1 (job=?)"},
	{name: "severalMessages", want: ids + "SEARCH j USING INDEX sqlite_autoindex_redrive_dead_1 (job=?); SEARCH f USING INDEX sqlite_autoindex_redrive_failures_1 (job=? AND token=?)"},
	{name: "laneRoute.up", want: "SEARCH redrive_dead USING INDEX redrive_dead_lane (lane=? AND " + between},
	{name: "laneRoute.down", want: "SEARCH redrive_dead USING INDEX redrive_dead_lane (lane=? AND " + between},
	{name: "ownerRoute.up", want: "SEARCH redrive_dead USING INDEX redrive_dead_owner (owner=? AND " + between},
	{name: "ownerRoute.down", want: "SEARCH redrive_dead USING INDEX redrive_dead_owner (owner=? AND " + between},
	{name: "pendingRoute.up", want: "SEARCH redrive_dead USING INDEX redrive_dead_pending (grp=? AND " + between},
	{name: "pendingRoute.down", want: "SEARCH redrive_dead USING INDEX redrive_dead_pending (grp=? AND " + between},
	{name: "selLanesOf", want: "SCAN redrive_lanes"},
	{name: "selNewest", want: "SEARCH redrive_dead"},
	{name: "selDeaths", want: "SCAN CONSTANT ROW; SCALAR SUBQUERY 1; SEARCH redrive_dead; SCALAR SUBQUERY 2; SEARCH redrive_meta USING PRIMARY KEY (key=?); SCALAR SUBQUERY 3; SCAN redrive_rules"},
	{name: "setDeaths", want: noPlan},
	{name: "selSpan", want: "SEARCH redrive_groups USING INDEX sqlite_autoindex_redrive_groups_1 (fingerprint=?)"},
}

// readingDead holds the statements about dead letters that only connections for reading run, and
// the statements that read dead letters in the order of their deaths. If the statistics say that a
// table has at most three rows, SQLite reads the table from its start and not from the given
// number.
var readingDead = []plan{
	{name: "insRetries", want: "SEARCH redrive_dead USING INTEGER PRIMARY KEY (" + between},
	{name: "setRedrivens", want: "SEARCH redrive_dead USING INTEGER PRIMARY KEY (" + between},
	{name: "selDeathFrom", want: "SEARCH redrive_dead USING INTEGER PRIMARY KEY (rowid>?)"},
	{name: "allRoute.up", want: "SEARCH redrive_dead USING INTEGER PRIMARY KEY (" + between},
	{name: "allRoute.down", want: "SEARCH redrive_dead USING INTEGER PRIMARY KEY (" + between},
	{name: "setGroups", want: "SEARCH redrive_groups USING INDEX redrive_groups_merged (merged=?); USE TEMP B-TREE FOR ORDER BY"},
	{name: "countBySet", want: "SCAN g; CORRELATED SCALAR SUBQUERY 1; SEARCH redrive_groups USING INDEX redrive_groups_merged (merged=?)"},
	{name: "largestBySet", want: "SCAN g; CORRELATED SCALAR SUBQUERY 1; SEARCH redrive_groups USING INDEX redrive_groups_merged (merged=?); CORRELATED SCALAR SUBQUERY 2; " +
		"SEARCH redrive_groups USING INDEX redrive_groups_merged (merged=?); CORRELATED SCALAR SUBQUERY 3; SEARCH redrive_groups USING INDEX redrive_groups_merged (merged=?); USE TEMP B-TREE FOR ORDER BY"},
	{name: "lastBySet", want: "SCAN g; CORRELATED SCALAR SUBQUERY 1; SEARCH redrive_groups USING INDEX redrive_groups_merged (merged=?); CORRELATED SCALAR SUBQUERY 2; " +
		"SEARCH redrive_groups USING INDEX redrive_groups_merged (merged=?); USE TEMP B-TREE FOR ORDER BY"},
	{name: "countGroups", want: "SCAN redrive_groups", scan: allCauses},
	{name: "largestGroups", want: pageOfCauses, scan: allCauses},
	{name: "lastGroups", want: pageOfCauses, scan: allCauses},
	{name: "selDeadCounts", want: "SCAN redrive_dead_counts"},
	{name: "sumDead", want: "SCAN redrive_dead_counts; LIST SUBQUERY 1; SCAN i VIRTUAL TABLE INDEX 1:; CREATE BLOOM FILTER; " +
		"LIST SUBQUERY 2; SCAN i VIRTUAL TABLE INDEX 1:; CREATE BLOOM FILTER"},
	{name: "selFirstPending", want: "CO-ROUTINE d; SCAN redrive_dead; SCAN d", scan: "the first 1,000 rows"},
	{name: "selDeadLetter", want: "SEARCH j USING INDEX sqlite_autoindex_redrive_dead_1 (job=?)" +
		laneByID + "; " + groupByID + "; " + failureByRun},
	{name: "newestNotes", want: "SEARCH redrive_notes USING INTEGER PRIMARY KEY (rowid<?)"},
	{name: "notesOfGroup", want: "SEARCH redrive_notes USING INDEX redrive_notes_group (grp=? AND rowid<?)"},
	{name: "notesOfJob", want: "SEARCH redrive_notes USING INDEX redrive_notes_job (job=? AND rowid<?)"},
	{name: "notesOfKind", want: "SEARCH redrive_notes USING INDEX redrive_notes_what (what=? AND rowid<?)"},
	{name: "selDiedAt", want: deadByDeath},
	{name: "severalListed", want: ids + "SEARCH j" + byID + laneByID + "; " + groupByID + "; " + failureByRun},
	{name: "severalListedJobs", want: ids + "SEARCH j" + byID + laneByID + "; " + groupByID + "; " + failureByRun + "; SEARCH b" + byID + " LEFT-JOIN; " +
		"CORRELATED SCALAR SUBQUERY 1; SEARCH redrive_failures USING INDEX sqlite_autoindex_redrive_failures_1 (job=?); " +
		"CORRELATED SCALAR SUBQUERY 2; SEARCH redrive_failures USING INDEX sqlite_autoindex_redrive_failures_1 (job=?)"},
	{name: "selOldestPending", want: deadByDeath + "; SCALAR SUBQUERY 5; CO-ROUTINE (subquery-4); " +
		"COMPOUND QUERY; LEFT-MOST SUBQUERY; SCAN g; " +
		"CORRELATED SCALAR SUBQUERY 1; SEARCH redrive_dead USING COVERING INDEX redrive_dead_pending (grp=?); UNION ALL; " +
		"SCAN CONSTANT ROW; SCALAR SUBQUERY 3; SEARCH redrive_dead USING COVERING INDEX redrive_dead_pending (grp=?); SEARCH (subquery-4)"},
	{name: "selOriginal", want: "SEARCH redrive_originals" + byID},
	{name: "severalTrends", want: ids + "SEARCH j USING PRIMARY KEY (grp=? AND at>?)"},
}
