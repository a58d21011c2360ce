package sqlite

// writingBatches holds the statements of batches that run in the write transaction.
var writingBatches = []plan{
	{name: "takeBatchRow", want: "SEARCH redrive_batches" + byID},
	{name: "joinBatchRow", want: "SEARCH redrive_batches" + byID},
	{name: "selBatchKey", want: "SEARCH redrive_batches USING COVERING INDEX redrive_batches_key (owner=? AND key=?)"},
	{name: "selBatchCounts", want: "SEARCH redrive_batch_counts" + byID},
	{name: "addBatchCounts", want: noPlan},
	{name: "setBatchRow", want: "SEARCH redrive_batches" + byID},
	{name: "insOutcome", want: noPlan},
	{name: "nextBatch", want: "SEARCH redrive_meta USING PRIMARY KEY (key=?)"},
	{name: "insBatch", want: noPlan},
	{name: "insDraft", want: "SCAN CONSTANT ROW; SCALAR SUBQUERY 1; SEARCH redrive_jobs" + byID},
	{name: "selDraft", want: "SEARCH redrive_drafts" + byID},
	{name: "moveMemberKey", want: "SEARCH redrive_keys USING PRIMARY KEY (owner=? AND kind=? AND key=?)"},
	{name: "growSpan", want: "SEARCH redrive_spans USING PRIMARY KEY (batch=? AND first=?); SCALAR SUBQUERY 1; SEARCH s USING PRIMARY KEY (batch=? AND first<?)"},
	{name: "insSpan", want: noPlan},
	{name: "firstDrafts", want: "SEARCH redrive_drafts USING INDEX redrive_drafts_batch (batch=?)"},
	{name: "insPublished", want: "SEARCH redrive_drafts USING INDEX redrive_drafts_batch (batch=? AND rowid<?)"},
	{name: "delPublished", want: "SEARCH redrive_drafts USING INDEX redrive_drafts_batch (batch=? AND rowid<?)"},
	{name: "selDraftOf", want: "SEARCH redrive_drafts" + byID},
	{name: "delDraft", want: "SEARCH redrive_drafts" + byID},
	{name: "delKeyOf", want: "SEARCH redrive_keys USING PRIMARY KEY (owner=? AND kind=? AND key=?)"},
	{name: "giveKeyBack", want: "SEARCH redrive_keys USING PRIMARY KEY (owner=? AND kind=? AND key=?)"},
	{name: "setReplaced", want: "SEARCH redrive_done USING INDEX redrive_done_job (job=?)"},
	{name: "lockOldBatch", want: "SEARCH redrive_batches" + byID},
	{name: "hasMembers", want: "SCAN CONSTANT ROW; SCALAR SUBQUERY 1; SEARCH redrive_dead USING COVERING INDEX redrive_dead_batch (batch=?); " +
		"SCALAR SUBQUERY 2; SEARCH redrive_dead USING COVERING INDEX redrive_dead_batch (batch=?); " +
		"SCALAR SUBQUERY 3; SEARCH s USING PRIMARY KEY (batch=?); SEARCH j USING INTEGER PRIMARY KEY (rowid>? AND rowid<?); " +
		"SCALAR SUBQUERY 4; SEARCH s USING PRIMARY KEY (batch=?); SEARCH d USING INDEX redrive_done_job (job>? AND job<?)"},
	{name: "delMemberKeys", want: "SEARCH redrive_keys USING PRIMARY KEY (owner=? AND kind=? AND key=?); LIST SUBQUERY 1; " +
		"SEARCH redrive_keys USING PRIMARY KEY (owner=? AND kind=?)"},
	{name: "delBatch", want: "SEARCH redrive_batches" + byID},
	{name: "delSpans", want: "SEARCH redrive_spans USING PRIMARY KEY (batch=?)"},
	{name: "delCounts", want: "SEARCH redrive_batch_counts" + byID},
	{name: "delOutcomes", want: "SEARCH redrive_outcomes USING PRIMARY KEY (batch=?)"},
	{name: "walkMembers", want: "SEARCH redrive_spans USING PRIMARY KEY (batch=?); SEARCH j USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
	{name: "batchRoute.up", want: "SEARCH redrive_dead USING INDEX redrive_dead_batch (batch=? AND rowid>? AND rowid<?)"},
}

// readingBatches holds the statements that read batches and their members.
var readingBatches = []plan{
	// A sweep reads it. While statistics say that there are one or two batches, SQLite reads all of them.
	{name: "walkBatches", want: "SEARCH redrive_batches USING INTEGER PRIMARY KEY (rowid>?)"},
	{name: "readBatchRow", want: "SEARCH redrive_batches" + byID},
	{name: "selDueBatches", want: "SEARCH redrive_batches USING INDEX redrive_batches_expires (expires_at>? AND expires_at<?)"},
	{name: "selNextExpires", want: "SEARCH redrive_batches USING INDEX redrive_batches_expires (expires_at>?)"},
	{name: "selTasks", want: "SCAN redrive_batches USING INDEX redrive_batches_task", scan: "batches with a task"},
	{name: "countRunning", want: "SCAN redrive_jobs USING COVERING INDEX redrive_lease", scan: "the index of what runs"},
	{name: "sumRunning", want: "SCAN redrive_jobs USING COVERING INDEX redrive_lease; USE TEMP B-TREE FOR GROUP BY", scan: "the index of what runs"},
	{name: "listBatches", want: "SEARCH redrive_batches USING INTEGER PRIMARY KEY (rowid<?)"},
	{name: "ofOwner", want: "SEARCH redrive_batches USING INDEX redrive_batches_owner (owner=? AND rowid<?)"},
	{name: "ofState", want: "SEARCH redrive_batches USING INDEX redrive_batches_state (state=? AND rowid<?)"},
	{name: "severalCounts", want: ids + "SEARCH redrive_batch_counts" + byID},
	{name: "selOutcomes", want: "SEARCH redrive_outcomes USING PRIMARY KEY (batch=? AND n>?)"},
	{name: "rangeDrafts", want: "SEARCH b USING INTEGER PRIMARY KEY (rowid=?); SEARCH d USING INDEX redrive_drafts_batch (batch=? AND rowid>? AND rowid<?); SEARCH l" + byID},
	{name: "rangeLive", want: "SEARCH j USING INTEGER PRIMARY KEY (rowid>? AND rowid<?); SEARCH l" + byID},
	{name: "rangeDone", want: "SEARCH j USING INDEX redrive_done_job (job>? AND job<?); SEARCH l" + byID},
	{name: "rangeDead", want: "SEARCH j USING INDEX sqlite_autoindex_redrive_dead_1 (job>? AND job<?); SEARCH l" + byID},
	{name: "selSpans", want: "SEARCH redrive_spans USING PRIMARY KEY (batch=?)"},
	{name: "selMemberKey", want: "SEARCH redrive_keys USING PRIMARY KEY (owner=? AND kind=? AND key=?)"},
	{name: "batchRoute.down", want: "SEARCH redrive_dead USING INDEX redrive_dead_batch (batch=? AND rowid>? AND rowid<?)"},
}
