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
		up:   askWalk("allRoute.up"),
		down: askWalk("allRoute.down"),
	}
	pendingRoute = route{
		up:   askWalk("pendingRoute.up"),
		down: askWalk("pendingRoute.down"),
	}
	ownerRoute = route{
		up:   askWalk("ownerRoute.up"),
		down: askWalk("ownerRoute.down"),
	}
	classRoute = route{
		up:   askWalk("classRoute.up"),
		down: askWalk("classRoute.down"),
	}
	correlationRoute = route{
		up:   askWalk("correlationRoute.up"),
		down: askWalk("correlationRoute.down"),
	}
	batchRoute = route{
		up:   askWalk("batchRoute.up"),
		down: askWalk("batchRoute.down"),
	}
	jobRoute = route{
		up:   askWalk("jobRoute.up"),
		down: askWalk("jobRoute.down"),
	}
	laneRoute = route{
		up:   askWalk("laneRoute.up"),
		down: askWalk("laneRoute.down"),
	}
)
