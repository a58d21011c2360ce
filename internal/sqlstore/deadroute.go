package sqlstore

// route is an index of the table of dead letters, with two statements that read the table by
// this index. ?1 is the key in the index; ?2 and ?3 are the first and the last death to read.
// The statement in the field up is for actions (ascending), the one in down is for lists
// (descending). The reader stops when it has enough rows. LIMIT is not a bound value, because
// SQLite would then compile the statement each time. After ANALYZE, SQLite would also compile
// it again for other bound values; the plus signs before them prevent this.
type route struct{ up, down *Query }

var (
	allRoute = route{
		up: declareWalk("allRoute.up", `SELECT `+actColumns+` FROM redrive_dead NOT INDEXED
			WHERE ?1 IS NULL AND death >= +?2 AND death <= +?3 ORDER BY death`),
		down: declareWalk("allRoute.down", `SELECT `+filterColumns+` FROM redrive_dead NOT INDEXED
			WHERE ?1 IS NULL AND death >= +?2 AND death <= +?3 ORDER BY death DESC`),
	}
	pendingRoute = route{
		up: declareWalk("pendingRoute.up", `SELECT `+actColumns+` FROM redrive_dead INDEXED BY redrive_dead_pending
			WHERE status = 0 AND grp = +?1 AND death >= +?2 AND death <= +?3 ORDER BY death`),
		down: declareWalk("pendingRoute.down", `SELECT `+filterColumns+` FROM redrive_dead INDEXED BY redrive_dead_pending
			WHERE status = 0 AND grp = +?1 AND death >= +?2 AND death <= +?3 ORDER BY death DESC`),
	}
	ownerRoute = route{
		up: declareWalk("ownerRoute.up", `SELECT `+actColumns+` FROM redrive_dead INDEXED BY redrive_dead_owner
			WHERE owner = +?1 AND death >= +?2 AND death <= +?3 ORDER BY death`),
		down: declareWalk("ownerRoute.down", `SELECT `+filterColumns+` FROM redrive_dead INDEXED BY redrive_dead_owner
			WHERE owner = +?1 AND death >= +?2 AND death <= +?3 ORDER BY death DESC`),
	}
	classRoute = route{
		up: declareWalk("classRoute.up", `SELECT `+actColumns+` FROM redrive_dead INDEXED BY redrive_dead_class
			WHERE class = +?1 AND death >= +?2 AND death <= +?3 ORDER BY death`),
		down: declareWalk("classRoute.down", `SELECT `+filterColumns+` FROM redrive_dead INDEXED BY redrive_dead_class
			WHERE class = +?1 AND death >= +?2 AND death <= +?3 ORDER BY death DESC`),
	}
	correlationRoute = route{
		up: declareWalk("correlationRoute.up", `SELECT `+actColumns+` FROM redrive_dead INDEXED BY redrive_dead_correlated
			WHERE correlation = +?1 AND death >= +?2 AND death <= +?3 ORDER BY death`),
		down: declareWalk("correlationRoute.down", `SELECT `+filterColumns+` FROM redrive_dead INDEXED BY redrive_dead_correlated
			WHERE correlation = +?1 AND death >= +?2 AND death <= +?3 ORDER BY death DESC`),
	}
	batchRoute = route{
		up: declareWalk("batchRoute.up", `SELECT `+actColumns+` FROM redrive_dead INDEXED BY redrive_dead_batch
			WHERE batch = +?1 AND death >= +?2 AND death <= +?3 ORDER BY death`),
		down: declareWalk("batchRoute.down", `SELECT `+filterColumns+` FROM redrive_dead INDEXED BY redrive_dead_batch
			WHERE batch = +?1 AND death >= +?2 AND death <= +?3 ORDER BY death DESC`),
	}
	jobRoute = route{
		up: declareWalk("jobRoute.up", `SELECT `+actColumns+` FROM redrive_dead
			WHERE job = +?1 AND death >= +?2 AND death <= +?3 ORDER BY death`),
		down: declareWalk("jobRoute.down", `SELECT `+filterColumns+` FROM redrive_dead
			WHERE job = +?1 AND death >= +?2 AND death <= +?3 ORDER BY death DESC`),
	}
	laneRoute = route{
		up: declareWalk("laneRoute.up", `SELECT `+actColumns+` FROM redrive_dead INDEXED BY redrive_dead_lane
			WHERE lane = +?1 AND death >= +?2 AND death <= +?3 ORDER BY death`),
		down: declareWalk("laneRoute.down", `SELECT `+filterColumns+` FROM redrive_dead INDEXED BY redrive_dead_lane
			WHERE lane = +?1 AND death >= +?2 AND death <= +?3 ORDER BY death DESC`),
	}
)
