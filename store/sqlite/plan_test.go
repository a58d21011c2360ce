package sqlite

import (
	"flag"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redrive/redrive/internal/sqlstore"
)

var planRows = flag.Int("plan.rows", 12_000, "number of jobs in the full database for which the query plans of all statements are checked")

const (
	byID   = " USING INTEGER PRIMARY KEY (rowid=?)"
	ids    = "SCAN i VIRTUAL TABLE INDEX 1:; " // the plan for reading the ids that the call gives as a JSON array
	noPlan = ""                                // the statement only inserts values, so it has no plan

	deadByJob = "SEARCH redrive_dead USING INDEX sqlite_autoindex_redrive_dead_1 (job=?)"
)

// plan is the query plan that the test expects for a statement.
type plan struct {
	name string
	want string
	scan string // the reason why the plan may read a whole table that grows; empty for other plans
}

func (p plan) query() *sqlstore.Query { return &sqlstore.Query{Name: p.name} }

// writing lists the expected plans of the statements in the write transaction. A slow
// statement there delays every writer.
var writing = []plan{
	{name: "addCounter", want: noPlan},
	{name: "addGroup", want: "SEARCH redrive_groups" + byID},
	{name: "takeOver", want: "SEARCH redrive_groups" + byID},
	{name: "addNextID", want: "SEARCH redrive_meta USING PRIMARY KEY (key=?)"},
	{name: "askCancel", want: "SEARCH redrive_jobs" + byID},
	{name: "delBody", want: "SEARCH redrive_bodies" + byID},
	{name: "delJob", want: "SEARCH redrive_jobs" + byID},
	{name: "delProgress", want: "SEARCH redrive_progress" + byID},
	{name: "insAudit", want: noPlan},
	{name: "insBody", want: noPlan},
	{name: "insDead", want: "SEARCH redrive_jobs" + byID},
	{name: "insDone", want: noPlan},
	{name: "insPlainDone", want: noPlan},
	{name: "insKept", want: noPlan},
	{name: "selKept", want: "SEARCH j" + byID + "; SEARCH b" + byID + " LEFT-JOIN"},
	{name: "insEvents", want: noPlan},
	{name: "insFailure", want: noPlan},
	{name: "insPlainFailure", want: noPlan},
	{name: "insGroup", want: noPlan},
	{name: "insJob", want: noPlan},
	{name: "insPlainJob", want: noPlan},
	{name: "insLane", want: noPlan},
	{name: "insQueue", want: noPlan},
	{name: "insPolicy", want: noPlan},
	{name: "insTerms", want: noPlan},
	{name: "selTerms", want: "SEARCH redrive_terms" + byID},
	{name: "selTermsID", want: "SEARCH redrive_terms USING COVERING INDEX sqlite_autoindex_redrive_terms_1 (digest=?)"},
	{name: "insRetry", want: "SEARCH redrive_dead" + byID},
	{name: "putDead", want: "SEARCH redrive_jobs" + byID},
	{name: "putKey", want: noPlan},
	{name: "putProgress", want: noPlan},
	{name: "seekReady", want: "SEARCH redrive_jobs USING COVERING INDEX redrive_ready (lane=? AND priority=? AND state=? AND run_at>?)"},
	{name: "selAny", want: "SEARCH redrive_jobs" + byID},
	{name: "selBody", want: "SEARCH redrive_bodies" + byID},
	{name: "selCounters", want: "SCAN redrive_counters"},
	{name: "selCrashed", want: "SEARCH redrive_failures USING INDEX sqlite_autoindex_redrive_failures_1 (job=? AND token=?)"},
	{name: "selDead", want: deadByJob},
	{name: "selLetterNow", want: deadByJob},
	{name: "selDone", want: "SEARCH redrive_done USING INDEX redrive_done_job (job=?)"},
	{name: "selEnded", want: "SCAN CONSTANT ROW; SCALAR SUBQUERY 1; " +
		"SEARCH redrive_done USING COVERING INDEX redrive_done_job; SCALAR SUBQUERY 2; SEARCH redrive_dead USING COVERING INDEX sqlite_autoindex_redrive_dead_1"},
	{name: "selExpiredLeases", want: "SEARCH redrive_jobs USING INDEX redrive_lease (lease_until<?); USE TEMP B-TREE FOR LAST TERM OF ORDER BY"},
	{name: "selGroup", want: "SEARCH redrive_groups USING INDEX sqlite_autoindex_redrive_groups_1 (fingerprint=?)"},
	{name: "selKey", want: "SEARCH redrive_keys USING PRIMARY KEY (owner=? AND kind=? AND key=?)"},
	{name: "selProcessed", want: "SEARCH redrive_keys USING PRIMARY KEY (owner=? AND kind=? AND key=?)"},
	{name: "selLanes", want: "SCAN redrive_lanes"},
	{name: "selLastAt", want: "SCAN redrive_events", scan: "from the end, and one row is all"},
	{name: "selLive", want: "SEARCH redrive_jobs" + byID},
	{name: "selNextLease", want: "SCAN redrive_jobs USING COVERING INDEX redrive_lease",
		scan: "one row of the index of what runs"},
	{name: "selPolicy", want: "SEARCH redrive_policies USING PRIMARY KEY (hash=?)"},
	{name: "listPolicies", want: "SCAN redrive_policies; USE TEMP B-TREE FOR ORDER BY"},
	{name: "selQueues", want: "SCAN redrive_queues"},
	{name: "selRates", want: "SCAN redrive_rates"},
	{name: "selRun", want: "SEARCH redrive_jobs" + byID},
	{name: "selBegun", want: "SEARCH redrive_jobs" + byID},
	{name: "setBeat", want: "SEARCH redrive_jobs" + byID},
	{name: "setBegun", want: "SEARCH redrive_jobs" + byID},
	{name: "selClaim", want: "SEARCH redrive_jobs" + byID},
	{name: "setClaimed", want: "SEARCH redrive_jobs" + byID},
	{name: "setCrashed", want: "SEARCH redrive_jobs" + byID},
	{name: "setQueueRow", want: "SEARCH redrive_queues USING PRIMARY KEY (name=?)"},
	{name: "setRate", want: noPlan},
	{name: "setReady", want: "SEARCH redrive_jobs" + byID},
	{name: "setRedriven", want: "SEARCH redrive_dead" + byID},
	{name: "setResolved", want: deadByJob},
	{name: "delRun", want: "SEARCH redrive_jobs" + byID},

	{name: "beginRead", want: noPlan},
	{name: "beginTx", want: noPlan},
	{name: "commitTx", want: noPlan},
	{name: "rollbackTx", want: noPlan},
	{name: "selFile", want: "SCAN pragma_database_list VIRTUAL TABLE INDEX 0:"},
	{name: "selFree", want: noPlan},
	{name: "selPages", want: noPlan},
	{name: "selSynchronous", want: noPlan},
	{name: "selVersion", want: noPlan},
	{name: "savepoint", want: noPlan},
	{name: "releaseTo", want: noPlan},
	{name: "rollbackTo", want: noPlan},
}

const laneByID = "; SEARCH l" + byID

// reading lists the expected plans of the statements that run on connections for reading.
var reading = []plan{
	{name: "getDead", want: "SEARCH j USING INDEX sqlite_autoindex_redrive_dead_1 (job=?)" + laneByID},
	{name: "getDone", want: "SEARCH j USING INDEX redrive_done_job (job=?)" + laneByID},
	{name: "getLive", want: "SEARCH j" + byID + laneByID},
	{name: "walkLive", want: "SEARCH j USING INTEGER PRIMARY KEY (rowid<?)" + laneByID},
	{name: "walkDone", want: "SEARCH j USING INDEX redrive_done_job (job<?)" + laneByID},
	{name: "walkDead", want: "SEARCH j USING INDEX sqlite_autoindex_redrive_dead_1 (job<?)" + laneByID},
	{name: "selAuditFrom", want: "SEARCH redrive_audit USING INTEGER PRIMARY KEY (rowid>?)"},
	{name: "selAuditLast", want: "SEARCH redrive_audit"},
	{name: "walkAudit", want: "SEARCH redrive_audit USING INTEGER PRIMARY KEY (rowid<?)"},
	{name: "walkAuditActor", want: "SEARCH redrive_audit USING INDEX redrive_audit_actor (actor=? AND rowid<?)"},
	{name: "walkAuditTarget", want: "SEARCH redrive_audit USING INDEX redrive_audit_target (<expr>=? AND rowid<?)"},
	{name: "selAudit", want: "SEARCH redrive_audit USING INTEGER PRIMARY KEY (rowid>?)"},
	{name: "selCancels", want: "SCAN redrive_jobs USING INDEX redrive_lease",
		scan: "only running jobs"},
	{name: "selCounts", want: "SCAN l USING COVERING INDEX sqlite_autoindex_redrive_lanes_1; " +
		"SEARCH c USING PRIMARY KEY (lane=?); USE TEMP B-TREE FOR GROUP BY"},
	{name: "selRemovedEvents", want: "SEARCH redrive_swept USING PRIMARY KEY (what=?)"},
	{name: "selLastEvent", want: "SCAN redrive_events", scan: "from the end, and one row is all"},
	{name: "selEvents", want: "SEARCH redrive_events USING INTEGER PRIMARY KEY (rowid>?)"},
	{name: "selFailures", want: "SEARCH redrive_failures USING INDEX sqlite_autoindex_redrive_failures_1 (job=?)"},
	{name: "selOverdue", want: "SEARCH redrive_jobs USING COVERING INDEX redrive_lease (lease_until<?)"},
	{name: "selProgress", want: "SEARCH redrive_progress" + byID},
	{name: "selRunning", want: "SCAN j USING INDEX redrive_lease" + laneByID + "; USE TEMP B-TREE FOR ORDER BY",
		scan: "the index of what runs"},
	{name: "severalDead", want: ids + "SEARCH j USING INDEX sqlite_autoindex_redrive_dead_1 (job=?)" + laneByID},
	{name: "severalDone", want: ids + "SEARCH j USING INDEX redrive_done_job (job=?)" + laneByID + "; USE TEMP B-TREE FOR ORDER BY"},
	{name: "severalLatest", want: ids + "SEARCH redrive_failures USING INDEX sqlite_autoindex_redrive_failures_1 (job=? AND token=?)" +
		"; CORRELATED SCALAR SUBQUERY 1; SEARCH f USING COVERING INDEX sqlite_autoindex_redrive_failures_1 (job=?)"},
	{name: "severalLive", want: ids + "SEARCH j" + byID + laneByID},
	{name: "sumCost", want: "SEARCH redrive_failures USING INDEX sqlite_autoindex_redrive_failures_1 (job=?)"},
}

// whole lists the statements that must read all rows: the statements of Dump and of the
// doctor, and those that look for groups of earlier fingerprints when a group is made.
var whole = []plan{
	{name: "allBegun"}, {name: "allDead"}, {name: "allFigures"}, {name: "allOriginals"}, {name: "allDone"}, {name: "allEvents"},
	{name: "allFailures"}, {name: "allGroups"}, {name: "anyOlder"}, {name: "selOlder"}, {name: "allNotes"}, {name: "allRequests"}, {name: "allSecrets"}, {name: "allKeys"}, {name: "allPolicies"}, {name: "allRedrives"}, {name: "allTerms"},
	{name: "allLive"}, {name: "allProgress"}, {name: "auditRows"},
	{name: "recount"}, {name: "recountBatches"}, {name: "recountDead"}, {name: "recountGroups"},
	{name: "selDeadLetters"},
	{name: "selIntegrity"}, {name: "selOldest"}, {name: "selProcesses"}, {name: "selClasses"}, {name: "countDeadNotices"},
	// Each of these statements reads at most 1,000 rows at one end of a table.
	{name: "selNewestDeaths"}, {name: "selOldestEnded"}, {name: "selOldestEvent"},
	{name: "allOutcomes"}, {name: "allBatches"}, {name: "allCounts"}, {name: "allDrafts"},
	{name: "allRules"}, {name: "allWindows"},
}

// proves: Q2
func TestQ2_Plans(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped with -short, because the test needs many rows")
	}
	s := openSeeded(t)
	writing := slices.Concat(writing, writingDead, writingKept, writingOwned, writingLive, writingBatches, writingNotices)
	reading := slices.Concat(reading, readingDead, readingLists, readingKept, readingOwned, readingBatches, readingNotices)
	both := slices.Concat(writing, reading)
	for _, step := range []struct {
		name  string
		do    func()
		plans []plan
	}{
		{"empty", func() {}, both},
		{"empty, with statistics", s.analyze, both},
		// When statistics say that a table has one or two rows, SQLite assumes that reading the
		// whole table costs nothing. The statistics do not change when the table grows.
		{"a few jobs, with statistics", func() { s.fill(1); s.act(); s.analyze() }, writing},
		{"full, with statistics of a few jobs", func() { s.fill(*planRows / seedPlaces) }, writing},
		{"full, with statistics", s.analyze, both},
		{"full, without statistics", s.forget, both},
	} {
		step.do()
		s.comparePlans(step.name, step.plans)
	}
}

// comparePlans compares the plans of the statements with the expected plans. It opens a new
// connection, because only a new connection uses the latest statistics.
func (s *seeder) comparePlans(state string, plans []plan) {
	s.t.Helper()
	conn, err := connect(s.s.path, roleReader)
	s.must(err)
	defer conn.Close()
	for _, p := range plans {
		var lines []string
		s.must(newNative(conn).Rows(&sqlstore.Query{Text: `EXPLAIN QUERY PLAN ` + texts().Of(p.query())}, func(r sqlstore.Row) error {
			lines = append(lines, r.Text(3))
			return nil
		}))
		if diff := cmp.Diff(p.want, strings.Join(lines, "; ")); diff != "" {
			s.t.Errorf("database state %q, statement %s: the query plan differs from the expected plan (-want +got):\n%s", state, p.name, diff)
		}
	}
}

// No expected plan reads all rows of a growing table, unless a reason is given.
//
// part of: Q2
func TestQ2_PlansWalkNothingThatGrows(t *testing.T) {
	t.Parallel()
	walk := regexp.MustCompile(`SCAN (j|d|o|r|redrive_(jobs|bodies|done|failures|dead|groups|keys|batches|progress|events|audit|owned))\b`)
	for _, p := range slices.Concat(writing, writingDead, writingKept, writingOwned, writingLive, writingBatches, writingNotices, reading, readingDead, readingLists, readingKept, readingOwned, readingBatches, readingNotices) {
		if walks := walk.MatchString(p.want); walks != (p.scan != "") {
			t.Errorf("statement %s with the plan %q: the plan reads a whole growing table: %v; given reason: %q; want a reason for such plans and for no others", p.name, p.want, walks, p.scan)
		}
	}
}

// Every statement of the file is in one of the lists.
//
// part of: Q2
func TestQ2_PlansAreComplete(t *testing.T) {
	t.Parallel()
	var listed []string
	for _, p := range slices.Concat(writing, writingDead, writingKept, writingOwned, writingLive, writingBatches, writingNotices, reading, readingDead, readingLists, readingKept, readingOwned, readingBatches, readingNotices, whole) {
		listed = append(listed, p.name)
	}
	slices.Sort(listed)
	declared := slices.Sorted(maps.Keys(texts()))
	if diff := cmp.Diff(declared, listed); diff != "" {
		t.Errorf("the statements of statements.sql differ from those in the lists of expected plans (-file +listed):\n%s", diff)
	}
}
