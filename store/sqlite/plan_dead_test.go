package sqlite

const (
	deadByDeath  = "SEARCH redrive_dead" + byID
	groupByID    = "SEARCH g" + byID + " LEFT-JOIN"
	failureByRun = "SEARCH f USING INDEX sqlite_autoindex_redrive_failures_1 (job=? AND token=?) LEFT-JOIN"
	between      = "rowid>? AND rowid<?)"
	allCauses    = "as many rows as there are causes"
)

// writingDead are the statements of dead letters that run in the write
// transaction.
var writingDead = []plan{
	{name: "addDead", q: addDead, want: noPlan},
	{name: "addHour", q: addHour, want: noPlan},
	{name: "addRedrive", q: addRedrive, want: "SEARCH redrive_redrives" + byID},
	{name: "addTrend", q: addTrend, want: noPlan},
	{name: "insOriginal", q: insOriginal, want: noPlan},
	{name: "selCauseOf", q: selCauseOf, want: "SEARCH redrive_groups" + byID + "; SCALAR SUBQUERY 1; " + deadByJob},
	{name: "selDeadRow", q: selDeadRow, want: deadByJob},
	{name: "selEntry", q: selEntry, want: deadByJob},
	{name: "selInForce", q: selInForce, want: "SEARCH m USING PRIMARY KEY (key=?); SEARCH a" + byID},
	{name: "selOwn", q: selOwn, want: deadByDeath},
	{name: "setInForce", q: setInForce, want: "SCALAR SUBQUERY 1; SEARCH redrive_audit"},
	{name: "setMute", q: setMute, want: "SEARCH redrive_groups" + byID},
	{name: "setPayload", q: setPayload, want: "SEARCH redrive_jobs" + byID},
	{name: "setPolicy", q: setPolicy, want: "SEARCH redrive_jobs" + byID},
	{name: "setStatus", q: setStatus, want: deadByDeath},

	// What a filter needs, in actions and lists.
	{name: "classRoute[0]", q: classRoute.up, want: "SEARCH redrive_dead USING INDEX redrive_dead_class (class=? AND " + between},
	{name: "classRoute[1]", q: classRoute.down, want: "SEARCH redrive_dead USING INDEX redrive_dead_class (class=? AND " + between},
	{name: "laneRoute[0]", q: laneRoute.up, want: "SEARCH redrive_dead USING INDEX redrive_dead_lane (lane=? AND " + between},
	{name: "laneRoute[1]", q: laneRoute.down, want: "SEARCH redrive_dead USING INDEX redrive_dead_lane (lane=? AND " + between},
	{name: "ownerRoute[0]", q: ownerRoute.up, want: "SEARCH redrive_dead USING INDEX redrive_dead_owner (owner=? AND " + between},
	{name: "ownerRoute[1]", q: ownerRoute.down, want: "SEARCH redrive_dead USING INDEX redrive_dead_owner (owner=? AND " + between},
	{name: "pendingRoute[0]", q: pendingRoute.up, want: "SEARCH redrive_dead USING INDEX redrive_dead_pending (grp=? AND " + between},
	{name: "pendingRoute[1]", q: pendingRoute.down, want: "SEARCH redrive_dead USING INDEX redrive_dead_pending (grp=? AND " + between},
	{name: "selLanesOf", q: selLanesOf, want: "SCAN redrive_lanes"},
	{name: "selMessage", q: selMessage, want: "SEARCH redrive_failures USING INDEX sqlite_autoindex_redrive_failures_1 (job=? AND token=?)"},
	{name: "selNewest", q: selNewest, want: "SEARCH redrive_dead"},
	{name: "selDeaths", q: selDeaths, want: "SCAN CONSTANT ROW; SCALAR SUBQUERY 1; SEARCH redrive_dead; SCALAR SUBQUERY 2; SEARCH redrive_meta USING PRIMARY KEY (key=?)"},
	{name: "setDeaths", q: setDeaths, want: noPlan},
	{name: "selSpan", q: selSpan, want: "SEARCH redrive_groups USING INDEX sqlite_autoindex_redrive_groups_1 (fingerprint=?)"},
	{name: "selTally", q: selTally, want: "SCAN redrive_dead_counts"},
}

// readingDead are those that only readers need, and the walks by the numbers of
// deaths: with statistics of three rows or fewer, SQLite reads a table from its
// beginning rather than from a number.
var readingDead = []plan{
	{name: "insRetries", q: insRetries, want: "SEARCH redrive_dead USING INTEGER PRIMARY KEY (" + between},
	{name: "setRedrivens", q: setRedrivens, want: "SEARCH redrive_dead USING INTEGER PRIMARY KEY (" + between},
	{name: "selDeathFrom", q: selDeathFrom, want: "SEARCH redrive_dead USING INTEGER PRIMARY KEY (rowid>?)"},
	{name: "allRoute[0]", q: allRoute.up, want: "SEARCH redrive_dead USING INTEGER PRIMARY KEY (" + between},
	{name: "allRoute[1]", q: allRoute.down, want: "SEARCH redrive_dead USING INTEGER PRIMARY KEY (" + between},
	{name: "countGroups", q: countGroups, want: "SCAN redrive_groups", scan: allCauses},
	{name: "largestGroups", q: largestGroups, want: "SCAN redrive_groups; USE TEMP B-TREE FOR ORDER BY", scan: allCauses},
	{name: "lastGroups", q: lastGroups, want: "SCAN redrive_groups; USE TEMP B-TREE FOR ORDER BY", scan: allCauses},
	{name: "selDeadCounts", q: selDeadCounts, want: "SCAN c" + laneByID + "; USE TEMP B-TREE FOR GROUP BY"},
	{name: "selDeadLetter", q: selDeadLetter, want: "SEARCH j USING INDEX sqlite_autoindex_redrive_dead_1 (job=?)" +
		laneByID + "; " + groupByID + "; " + failureByRun},
	{name: "selDiedAt", q: selDiedAt, want: deadByDeath},
	{name: "selListed", q: selListed, want: "SEARCH j" + byID + laneByID + "; " + groupByID + "; " + failureByRun},
	{name: "selListedJob", q: selListedJob, want: "SEARCH j" + byID + laneByID + "; " + groupByID + "; " + failureByRun},
	{name: "selOldestPending", q: selOldestPending, want: deadByDeath + "; SCALAR SUBQUERY 5; CO-ROUTINE (subquery-4); " +
		"COMPOUND QUERY; LEFT-MOST SUBQUERY; SCAN g; " +
		"CORRELATED SCALAR SUBQUERY 1; SEARCH redrive_dead USING COVERING INDEX redrive_dead_pending (grp=?); UNION ALL; " +
		"SCAN CONSTANT ROW; SCALAR SUBQUERY 3; SEARCH redrive_dead USING COVERING INDEX redrive_dead_pending (grp=?); SEARCH (subquery-4)"},
	{name: "selOriginal", q: selOriginal, want: "SEARCH redrive_originals" + byID},
	{name: "selTrend", q: selTrend, want: "SEARCH redrive_trends USING PRIMARY KEY (grp=? AND at>?)"},
}
