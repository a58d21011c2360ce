package sqlite

const requestByKey = "SEARCH redrive_requests USING PRIMARY KEY (scope=? AND key=?)"

const (
	positionByPlace = "SEARCH redrive_positions USING PRIMARY KEY (stream=? AND cluster=? AND topic_id=? AND part=?)"
	sinkByName      = "SEARCH redrive_sinks USING PRIMARY KEY (stream=? AND sink=?)"
	markByKey       = "SEARCH redrive_marks USING PRIMARY KEY (key=?)"
)

const accessByID = "SEARCH redrive_access USING PRIMARY KEY (id=?)"

const endpointByName = "SEARCH redrive_endpoints USING PRIMARY KEY (name=?)"

const processByName = "SEARCH redrive_processes USING PRIMARY KEY (name=? AND instance=?)"

// writingKept holds the statements about redrives, sweeps, cron slots and processes that run
// in the write transaction.
var writingKept = []plan{
	{name: "countSchedules", want: "SCAN redrive_schedules"},
	{name: "setSchedule", want: noPlan},
	{name: "putSchedule", want: noPlan},
	{name: "selSchedule", want: "SEARCH redrive_schedules USING PRIMARY KEY (name=?)"},

	{name: "countProcesses", want: "SCAN redrive_processes"},
	{name: "delProcess", want: processByName},
	{name: "delSilent", want: processByName},
	{name: "putProcess", want: noPlan},
	{name: "quietNamed", want: "SEARCH redrive_processes USING PRIMARY KEY (name=?)"},
	{name: "selNamed", want: "SEARCH redrive_processes USING PRIMARY KEY (name=?)"},
	{name: "selSilent", want: "SCAN redrive_processes"},
	{name: "setProcess", want: processByName},
	{name: "setSilent", want: processByName},

	{name: "insRedrive", want: noPlan},

	{name: "selPosition", want: positionByPlace},
	{name: "setPosition", want: positionByPlace},
	{name: "insPosition", want: noPlan},
	{name: "countPositions", want: "SEARCH redrive_positions USING PRIMARY KEY (stream=?)"},
	{name: "selStream", want: "SEARCH redrive_streams USING PRIMARY KEY (name=?)"},
	{name: "countStreams", want: "SCAN redrive_streams"},
	{name: "insStream", want: noPlan},
	{name: "setStream", want: "SEARCH redrive_streams USING PRIMARY KEY (name=?)"},
	{name: "putReport", want: noPlan},
	{name: "delReport", want: "SEARCH redrive_stream_reports USING PRIMARY KEY (stream=? AND process=?)"},
	{name: "delReports", want: "SCAN redrive_stream_reports"},
	{name: "selSink", want: sinkByName},
	{name: "setSink", want: sinkByName},
	{name: "insSink", want: noPlan},
	{name: "countSinks", want: "SEARCH redrive_sinks USING PRIMARY KEY (stream=?)"},
	{name: "selMark", want: markByKey},
	{name: "setMark", want: markByKey},
	{name: "delMark", want: markByKey},
	{name: "insMark", want: noPlan},
	{name: "delMarks", want: markByKey + "; LIST SUBQUERY 1; SEARCH redrive_marks USING COVERING INDEX redrive_marks_forget (forget_at<?)"},
	{name: "selActive", want: "SCAN redrive_redrives USING INDEX redrive_redrives_active"},
	{name: "keyRedrive", want: "SEARCH redrive_redrives USING INDEX redrive_redrives_key (key=?)"},
	{name: "selRedrive", want: "SEARCH redrive_redrives" + byID},
	{name: "setCauses", want: "SEARCH redrive_redrives" + byID},
	{name: "setRedrive", want: "SEARCH redrive_redrives" + byID},

	{name: "selSwept", want: "SCAN redrive_swept"},
	{name: "putSwept", want: noPlan},
	{name: "delDead", want: deadByDeath},
	{name: "delDone", want: "SEARCH redrive_done" + byID},
	{name: "delEvents", want: "SEARCH redrive_events USING INTEGER PRIMARY KEY (rowid<?)"},
	{name: "delFailure", want: "SEARCH redrive_failures USING INDEX sqlite_autoindex_redrive_failures_1 (job=? AND token=?)"},
	{name: "delFailures", want: "SEARCH redrive_failures USING INDEX sqlite_autoindex_redrive_failures_1 (job=?)"},
	{name: "delGroup", want: "SEARCH redrive_groups" + byID},
	{name: "delKey", want: "SEARCH redrive_keys USING PRIMARY KEY (owner=? AND kind=? AND key=?)"},
	{name: "delRequest", want: requestByKey},
	{name: "insRequest", want: noPlan},
	{name: "countEndpoints", want: "SCAN redrive_endpoints"},
	{name: "delEndpoint", want: endpointByName},
	{name: "insEndpoint", want: noPlan},
	{name: "selEndpoint", want: endpointByName},
	{name: "setEndpoint", want: endpointByName},
	{name: "countAccess", want: "SCAN redrive_access"},
	{name: "delAccess", want: accessByID},
	{name: "insKey", want: noPlan},
	{name: "insSecret", want: noPlan},
	{name: "selAccess", want: accessByID},
	{name: "selSecret", want: "SEARCH redrive_secrets USING PRIMARY KEY (name=?)"},
	{name: "setKey", want: accessByID},
	{name: "setUsed", want: accessByID},
	{name: "selRequest", want: requestByKey},
	{name: "setAnswer", want: requestByKey},
	{name: "sweepRequests", want: "SEARCH redrive_requests USING INDEX redrive_requests_at (at<?)"},
	{name: "delNotes", want: "SEARCH redrive_notes" + byID + "; LIST SUBQUERY 1; SCAN i VIRTUAL TABLE INDEX 1:"},
	{name: "walkNotes", want: "SEARCH n USING INTEGER PRIMARY KEY (rowid>?); CORRELATED SCALAR SUBQUERY 1; " +
		"SEARCH g USING COVERING INDEX sqlite_autoindex_redrive_groups_1 (fingerprint=?); CORRELATED SCALAR SUBQUERY 2; SEARCH j" + byID +
		"; CORRELATED SCALAR SUBQUERY 3; SEARCH d USING COVERING INDEX redrive_done_job (job=?); CORRELATED SCALAR SUBQUERY 4; " +
		"SEARCH d USING COVERING INDEX sqlite_autoindex_redrive_dead_1 (job=?)"},
	{name: "delFigures", want: "SEARCH redrive_figures USING PRIMARY KEY (unit=? AND at<?)"},
	{name: "nextFigures", want: "SEARCH redrive_figures USING PRIMARY KEY (unit=? AND at>?)"},
	{name: "putFigures", want: noPlan},
	{name: "selFigures", want: "SEARCH redrive_figures USING PRIMARY KEY (unit=? AND at=? AND lane=?)"},
	{name: "delOldMinutes", want: "SEARCH redrive_trends USING PRIMARY KEY (grp=? AND at<?)"},
	{name: "delOriginal", want: "SEARCH redrive_originals" + byID},
	{name: "delTrend", want: "SEARCH redrive_trends USING PRIMARY KEY (grp=? AND at=?)"},
	{name: "delTrends", want: "SEARCH redrive_trends USING PRIMARY KEY (grp=?)"},
	{name: "nextMark", want: "SEARCH redrive_dead USING COVERING INDEX redrive_dead_reopen (reopen_at>?)"},
	{name: "selDue", want: "SEARCH redrive_dead USING COVERING INDEX redrive_dead_reopen (reopen_at<?)"},
	{name: "selEmptyGroups", want: "SEARCH redrive_groups USING INDEX redrive_groups_empty (last_at<?)"},
	{name: "selEndedJobs", want: "SCAN d",
		scan: "from the first row to the first that stays"},
	{name: "selLetter", want: deadByDeath},
	{name: "selMarked", want: "SEARCH redrive_dead USING COVERING INDEX redrive_dead_reopen (reopen_at=?)"},
	{name: "selMuted", want: "SEARCH redrive_groups" + byID},
	{name: "selMuteOver", want: "SEARCH redrive_groups USING INDEX redrive_groups_muted (muted_until<?)"},
	{name: "selOldEvents",
		want: "SEARCH redrive_events USING INTEGER PRIMARY KEY (rowid<?); SCALAR SUBQUERY 1; SEARCH redrive_events"},
	{name: "selOldKeys", want: "SEARCH redrive_keys USING COVERING INDEX redrive_keys_until (until<?)"},
	{name: "delAlive", want: "SEARCH redrive_keys USING PRIMARY KEY (owner=? AND kind=? AND key=?)"},
	{name: "setKeyState", want: "SEARCH redrive_keys USING PRIMARY KEY (owner=? AND kind=? AND key=?)"},
	{name: "setKeyResult", want: "SEARCH redrive_keys USING PRIMARY KEY (owner=? AND kind=? AND key=?)"},
	{name: "setReopen", want: deadByDeath},
	{name: "walkFailures", want: "SEARCH f USING INDEX sqlite_autoindex_redrive_failures_1 ((job,token)>(?,?)); " +
		"CORRELATED SCALAR SUBQUERY 1; SEARCH redrive_jobs" + byID + "; CORRELATED SCALAR SUBQUERY 2; " +
		"SEARCH redrive_dead USING COVERING INDEX sqlite_autoindex_redrive_dead_1 (job=?)"},
	{name: "walkTrends", want: "SEARCH redrive_trends USING PRIMARY KEY (grp>?)"},
}

// readingKept holds the statements about sweeps, cron slots, processes and figures that run on
// connections for reading. It also holds a statement that reads dead letters in the order of their
// deaths; see readingDead.
var readingKept = []plan{
	{name: "walkLetters", want: "SEARCH redrive_dead USING INTEGER PRIMARY KEY (rowid>?)"},
	{name: "allEndpoints", want: "SCAN redrive_endpoints"},
	{name: "allAccess", want: "SCAN redrive_access"},
	{name: "selPositions", want: "SCAN redrive_positions; USE TEMP B-TREE FOR LAST 4 TERMS OF ORDER BY"},
	{name: "recountPositions", want: "SCAN redrive_positions; USE TEMP B-TREE FOR LAST 4 TERMS OF ORDER BY"},
	{name: "allStreams", want: "SCAN redrive_streams"},
	{name: "selReports", want: "SCAN redrive_stream_reports"},
	{name: "selSinks", want: "SCAN redrive_sinks"},
	{name: "allMarks", want: "SCAN redrive_marks"},
	{name: "allProcesses", want: "SCAN redrive_processes"},
	{name: "allSchedules", want: "SCAN redrive_schedules"},
	{name: "retryLanes", want: "MATERIALIZE p; COMPOUND QUERY; LEFT-MOST SUBQUERY; SCAN CONSTANT ROW; UNION ALL; SCAN CONSTANT ROW; " +
		"UNION ALL; SCAN CONSTANT ROW; UNION ALL; SCAN CONSTANT ROW; SCAN c; SCAN p"},
	{name: "walkDue", want: "SEARCH redrive_jobs USING COVERING INDEX redrive_ready (lane=? AND priority=? AND state=? AND run_at>? AND run_at<?)"},
	{name: "laneFigures", want: "CO-ROUTINE times; SETUP; SCAN CONSTANT ROW; RECURSIVE STEP; SCAN times; SCAN t; SCAN i VIRTUAL TABLE INDEX 1:; " +
		"SEARCH f USING PRIMARY KEY (unit=? AND at=? AND lane=?)"},
	{name: "selHeads", want: "MATERIALIZE priorities; SCAN 4 CONSTANT ROWS; MATERIALIZE states; SCAN 2 CONSTANT ROWS; SCAN l; SCAN p; SCAN s; " +
		"CORRELATED SCALAR SUBQUERY 7; SEARCH redrive_jobs USING COVERING INDEX redrive_ready (lane=? AND priority=? AND state=?); " +
		"CORRELATED SCALAR SUBQUERY 8; SEARCH redrive_jobs USING COVERING INDEX redrive_ready (lane=? AND priority=? AND state=? AND run_at>?)"},
	{name: "walkFigures", want: "SEARCH redrive_figures USING PRIMARY KEY (unit=? AND at>? AND at<?)"},
	{name: "lastRedrive", want: "SCAN redrive_redrives"},
}
