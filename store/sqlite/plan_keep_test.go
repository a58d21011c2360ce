package sqlite

// writingKept are the statements of redrives, sweeps and schedules that run in
// the write transaction.
var writingKept = []plan{
	{name: "countSchedules", q: countSchedules, want: "SCAN redrive_schedules"},
	{name: "putSchedule", q: putSchedule, want: noPlan},
	{name: "selSchedule", q: selSchedule, want: "SEARCH redrive_schedules USING PRIMARY KEY (name=?)"},

	{name: "insRedrive", q: insRedrive, want: noPlan},
	{name: "selActive", q: selActive, want: "SCAN redrive_redrives USING INDEX redrive_redrives_active"},
	{name: "selRedrive", q: selRedrive, want: "SEARCH redrive_redrives" + byID},
	{name: "setRedrive", q: setRedrive, want: "SEARCH redrive_redrives" + byID},

	{name: "selSwept", q: selSwept, want: "SCAN redrive_swept"},
	{name: "putSwept", q: putSwept, want: noPlan},
	{name: "delDead", q: delDead, want: deadByDeath},
	{name: "delDone", q: delDone, want: "SEARCH redrive_done" + byID},
	{name: "delEvents", q: delEvents, want: "SEARCH redrive_events USING INTEGER PRIMARY KEY (rowid<?)"},
	{name: "delFailure", q: delFailure, want: "SEARCH redrive_failures USING INDEX sqlite_autoindex_redrive_failures_1 (job=? AND token=?)"},
	{name: "delFailures", q: delFailures, want: "SEARCH redrive_failures USING INDEX sqlite_autoindex_redrive_failures_1 (job=?)"},
	{name: "delGroup", q: delGroup, want: "SEARCH redrive_groups" + byID},
	{name: "delKey", q: delKey, want: "SEARCH redrive_keys USING PRIMARY KEY (owner=? AND kind=? AND key=?)"},
	{name: "delOldHours", q: delOldHours, want: "SCAN redrive_hours"},
	{name: "delOldMinutes", q: delOldMinutes, want: "SEARCH redrive_trends USING PRIMARY KEY (grp=? AND at<?)"},
	{name: "delOriginal", q: delOriginal, want: "SEARCH redrive_originals" + byID},
	{name: "delTrend", q: delTrend, want: "SEARCH redrive_trends USING PRIMARY KEY (grp=? AND at=?)"},
	{name: "delTrends", q: delTrends, want: "SEARCH redrive_trends USING PRIMARY KEY (grp=?)"},
	{name: "nextMark", q: nextMark, want: "SEARCH redrive_dead USING COVERING INDEX redrive_dead_reopen (reopen_at>?)"},
	{name: "selDue", q: selDue, want: "SEARCH redrive_dead USING COVERING INDEX redrive_dead_reopen (reopen_at<?)"},
	{name: "selEmptyGroups", q: selEmptyGroups, want: "SEARCH redrive_groups USING INDEX redrive_groups_empty (last_at<?)"},
	{name: "selEndedJobs", q: selEndedJobs, want: "SCAN d; SCALAR SUBQUERY 1; SEARCH redrive_done",
		scan: "from the first row to the first that stays"},
	{name: "selLetter", q: selLetter, want: deadByDeath},
	{name: "selMarked", q: selMarked, want: "SEARCH redrive_dead USING COVERING INDEX redrive_dead_reopen (reopen_at=?)"},
	{name: "selMuted", q: selMuted, want: "SEARCH redrive_groups" + byID},
	{name: "selMuteOver", q: selMuteOver, want: "SEARCH redrive_groups USING INDEX redrive_groups_muted (muted_until<?)"},
	{name: "selOldEvents", q: selOldEvents,
		want: "SEARCH redrive_events USING INTEGER PRIMARY KEY (rowid<?); SCALAR SUBQUERY 1; SEARCH redrive_events"},
	{name: "selOldKeys", q: selOldKeys, want: "SEARCH redrive_keys USING COVERING INDEX redrive_keys_until (until<?)"},
	{name: "setKeyState", q: setKeyState, want: "SEARCH redrive_keys USING PRIMARY KEY (owner=? AND kind=? AND key=?)"},
	{name: "setReopen", q: setReopen, want: deadByDeath},
	{name: "walkFailures", q: walkFailures, want: "SEARCH f USING INDEX sqlite_autoindex_redrive_failures_1 ((job,token)>(?,?)); " +
		"CORRELATED SCALAR SUBQUERY 1; SEARCH redrive_jobs" + byID + "; CORRELATED SCALAR SUBQUERY 2; " +
		"SEARCH redrive_dead USING COVERING INDEX sqlite_autoindex_redrive_dead_1 (job=?)"},
	{name: "walkTrends", q: walkTrends, want: "SEARCH redrive_trends USING PRIMARY KEY (grp>?)"},
}

// readingKept are those that run on connections that only read, and the walk by
// the numbers of deaths, see readingDead.
var readingKept = []plan{
	{name: "walkLetters", q: walkLetters, want: "SEARCH redrive_dead USING INTEGER PRIMARY KEY (rowid>?)"},
	{name: "allSchedules", q: allSchedules, want: "SCAN redrive_schedules"},
	{name: "anyActive", q: anyActive, want: "SCAN CONSTANT ROW; SCALAR SUBQUERY 1; SCAN redrive_redrives USING INDEX redrive_redrives_active"},
	{name: "lastRedrive", q: lastRedrive, want: "SCAN redrive_redrives"},
}
