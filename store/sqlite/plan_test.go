package sqlite

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var planRows = flag.Int("plan.rows", 12_000, "jobs, over all places, beside which a claim and every other statement must stay cheap")

const (
	byID   = " USING INTEGER PRIMARY KEY (rowid=?)"
	noPlan = "" // values are inserted, nothing is looked for

	deadByJob = "SEARCH redrive_dead USING INDEX sqlite_autoindex_redrive_dead_1 (job=?)"
)

// plan is how a statement has to find its rows.
type plan struct {
	name string
	q    *query
	want string
	scan string // why a SCAN of a table that grows is right
}

// writing runs in the write transaction, where a slow one holds up everybody.
var writing = []plan{
	{name: "addBatch", q: addBatch, want: noPlan},
	{name: "addCounter", q: addCounter, want: noPlan},
	{name: "addGroup", q: addGroup, want: "SEARCH redrive_groups" + byID},
	{name: "addNextID", q: addNextID, want: "SEARCH redrive_meta USING PRIMARY KEY (key=?)"},
	{name: "askCancel", q: askCancel, want: "SEARCH redrive_jobs" + byID},
	{name: "delBody", q: delBody, want: "SEARCH redrive_bodies" + byID},
	{name: "delJob", q: delJob, want: "SEARCH redrive_jobs" + byID},
	{name: "delProgress", q: delProgress, want: "SEARCH redrive_progress" + byID},
	{name: "insAudit", q: insAudit, want: noPlan},
	{name: "insBody", q: insBody, want: noPlan},
	{name: "insDead", q: insDead, want: "SEARCH redrive_jobs" + byID},
	{name: "insDone", q: insDone, want: noPlan},
	{name: "insEvents", q: insEvents, want: noPlan},
	{name: "insFailure", q: insFailure, want: noPlan},
	{name: "insGroup", q: insGroup, want: noPlan},
	{name: "insJob", q: insJob, want: noPlan},
	{name: "insLane", q: insLane, want: noPlan},
	{name: "insQueue", q: insQueue, want: noPlan},
	{name: "insPolicy", q: insPolicy, want: noPlan},
	{name: "insRetry", q: insRetry, want: "SEARCH redrive_dead" + byID},
	{name: "putDead", q: putDead, want: "SEARCH redrive_jobs" + byID},
	{name: "putKey", q: putKey, want: noPlan},
	{name: "putProgress", q: putProgress, want: noPlan},
	{name: "seekReady", q: seekReady, want: "SEARCH redrive_jobs USING INDEX redrive_ready (lane=? AND priority=? AND run_at>?)"},
	{name: "selAny", q: selAny, want: "SEARCH redrive_jobs" + byID},
	{name: "selBody", q: selBody, want: "SEARCH redrive_bodies" + byID},
	{name: "selCounters", q: selCounters, want: "SCAN redrive_counters"},
	{name: "selCrashed", q: selCrashed, want: "SEARCH redrive_failures USING INDEX sqlite_autoindex_redrive_failures_1 (job=? AND token=?)"},
	{name: "selDead", q: selDead, want: deadByJob},
	{name: "selDone", q: selDone, want: "SEARCH redrive_done USING INDEX redrive_done_job (job=?)"},
	{name: "selEnded", q: selEnded, want: "SCAN CONSTANT ROW; SCALAR SUBQUERY 1; " +
		"SEARCH redrive_done USING COVERING INDEX redrive_done_job; SCALAR SUBQUERY 2; SEARCH redrive_dead USING COVERING INDEX sqlite_autoindex_redrive_dead_1"},
	{name: "selExpiredLeases", q: selExpiredLeases, want: "SEARCH redrive_jobs USING INDEX redrive_lease (lease_until<?)"},
	{name: "selGroup", q: selGroup, want: "SEARCH redrive_groups USING INDEX sqlite_autoindex_redrive_groups_1 (fingerprint=?)"},
	{name: "selKey", q: selKey, want: "SEARCH redrive_keys USING PRIMARY KEY (owner=? AND kind=? AND key=?)"},
	{name: "selLanes", q: selLanes, want: "SCAN redrive_lanes"},
	{name: "selLastAt", q: selLastAt, want: "SCAN redrive_events", scan: "from the end, and one row is all"},
	{name: "selLive", q: selLive, want: "SEARCH redrive_jobs" + byID},
	{name: "selNextLease", q: selNextLease, want: "SCAN redrive_jobs USING COVERING INDEX redrive_lease",
		scan: "one row of the index of what runs"},
	{name: "selPolicy", q: selPolicy, want: "SEARCH redrive_policies USING PRIMARY KEY (hash=?)"},
	{name: "listPolicies", q: listPolicies, want: "SCAN redrive_policies; USE TEMP B-TREE FOR ORDER BY"},
	{name: "selQueues", q: selQueues, want: "SCAN redrive_queues"},
	{name: "selRates", q: selRates, want: "SCAN redrive_rates"},
	{name: "selRun", q: selRun, want: "SEARCH redrive_jobs" + byID},
	{name: "setBeat", q: setBeat, want: "SEARCH redrive_jobs" + byID},
	{name: "selClaim", q: selClaim, want: "SEARCH redrive_jobs" + byID},
	{name: "setClaimed", q: setClaimed, want: "SEARCH redrive_jobs" + byID},
	{name: "setCrashed", q: setCrashed, want: "SEARCH redrive_jobs" + byID},
	{name: "setQueueRow", q: setQueueRow, want: "SEARCH redrive_queues USING PRIMARY KEY (name=?)"},
	{name: "setRate", q: setRate, want: noPlan},
	{name: "setReady", q: setReady, want: "SEARCH redrive_jobs" + byID},
	{name: "setRedriven", q: setRedriven, want: "SEARCH redrive_dead" + byID},
	{name: "setResolved", q: setResolved, want: deadByJob},
	{name: "delRun", q: delRun, want: "SEARCH redrive_jobs" + byID},

	{name: "beginRead", q: beginRead, want: noPlan},
	{name: "beginTx", q: beginTx, want: noPlan},
	{name: "commitTx", q: commitTx, want: noPlan},
	{name: "rollbackTx", q: rollbackTx, want: noPlan},
	{name: "selFile", q: selFile, want: "SCAN pragma_database_list VIRTUAL TABLE INDEX 0:"},
	{name: "selFree", q: selFree, want: noPlan},
	{name: "selPages", q: selPages, want: noPlan},
	{name: "selSynchronous", q: selSynchronous, want: noPlan},
	{name: "selVersion", q: selVersion, want: noPlan},
	{name: "savepoint", q: savepoint, want: noPlan},
	{name: "releaseTo", q: releaseTo, want: noPlan},
	{name: "rollbackTo", q: rollbackTo, want: noPlan},
}

const laneByID = "; SEARCH l" + byID

// reading runs on connections that only read.
var reading = []plan{
	{name: "getDead", q: getDead, want: "SEARCH j USING INDEX sqlite_autoindex_redrive_dead_1 (job=?)" + laneByID},
	{name: "getDone", q: getDone, want: "SEARCH j USING INDEX redrive_done_job (job=?)" + laneByID},
	{name: "getLive", q: getLive, want: "SEARCH j" + byID + laneByID},
	{name: "places[0]", q: places[0].walk, want: "SEARCH j USING INTEGER PRIMARY KEY (rowid<?)" + laneByID},
	{name: "places[1]", q: places[1].walk, want: "SEARCH j USING INDEX redrive_done_job (job<?)" + laneByID},
	{name: "places[2]", q: places[2].walk, want: "SEARCH j USING INDEX sqlite_autoindex_redrive_dead_1 (job<?)" + laneByID},
	{name: "selAudit", q: selAudit, want: "SEARCH redrive_audit USING INTEGER PRIMARY KEY (rowid>?)"},
	{name: "selCancels", q: selCancels, want: "SEARCH redrive_jobs USING INDEX redrive_cancel (cancel_at>?); USE TEMP B-TREE FOR ORDER BY"},
	{name: "selCounts", q: selCounts, want: "SCAN l USING COVERING INDEX sqlite_autoindex_redrive_lanes_1; " +
		"SEARCH c USING PRIMARY KEY (lane=?); USE TEMP B-TREE FOR GROUP BY"},
	{name: "selEvents", q: selEvents, want: "SEARCH redrive_events USING INTEGER PRIMARY KEY (rowid>?)"},
	{name: "selFailures", q: selFailures, want: "SEARCH redrive_failures USING INDEX sqlite_autoindex_redrive_failures_1 (job=?)"},
	{name: "selOverdue", q: selOverdue, want: "SEARCH redrive_jobs USING COVERING INDEX redrive_lease (lease_until<?)"},
	{name: "selProgress", q: selProgress, want: "SEARCH redrive_progress" + byID},
	{name: "selRunning", q: selRunning, want: "SCAN j USING INDEX redrive_lease" + laneByID + "; USE TEMP B-TREE FOR ORDER BY",
		scan: "the index of what runs"},
	{name: "sumCost", q: sumCost, want: "SEARCH redrive_failures USING INDEX sqlite_autoindex_redrive_failures_1 (job=?)"},
}

// whole reads everything on purpose: Dump and the doctor.
var whole = []plan{
	{name: "allDead", q: allDead}, {name: "allHours", q: allHours}, {name: "allOriginals", q: allOriginals}, {name: "allDone", q: allDone}, {name: "allEvents", q: allEvents},
	{name: "allFailures", q: allFailures}, {name: "allGroups", q: allGroups}, {name: "allKeys", q: allKeys}, {name: "allPolicies", q: allPolicies}, {name: "allRedrives", q: allRedrives},
	{name: "allLive", q: allLive}, {name: "allProgress", q: allProgress}, {name: "auditRows", q: auditRows},
	{name: "recount", q: recount}, {name: "recountDead", q: recountDead}, {name: "recountGroups", q: recountGroups},
	{name: "selDeadLetters", q: selDeadLetters},
	{name: "selIntegrity", q: selIntegrity}, {name: "selOldest", q: selOldest},
}

// proves: Q2
func TestQ2_Plans(t *testing.T) {
	t.Parallel()
	s := openSeeded(t)
	writing, reading := slices.Concat(writing, writingDead, writingKept), slices.Concat(reading, readingDead, readingKept)
	both := slices.Concat(writing, reading)
	for _, step := range []struct {
		name  string
		do    func()
		plans []plan
	}{
		{"empty", func() {}, both},
		{"empty, with statistics", s.analyze, both},
		// Statistics of tables that had a row or two tell SQLite that reading them
		// whole costs nothing. They stay when the tables grow.
		{"a few jobs, with statistics", func() { s.fill(1); s.act(); s.analyze() }, writing},
		{"full, with statistics of a few jobs", func() { s.fill(*planRows / seedPlaces) }, writing},
		{"full, with statistics", s.analyze, both},
		{"full, without statistics", s.forget, both},
	} {
		step.do()
		s.comparePlans(step.name, step.plans)
	}
}

// comparePlans asks a new connection, which has read the latest statistics.
func (s *seeder) comparePlans(state string, plans []plan) {
	s.t.Helper()
	conn, err := connect(s.s.path, roleReader)
	s.must(err)
	defer conn.Close()
	for _, p := range plans {
		var lines []string
		s.must(newNative(conn).rows(&query{`EXPLAIN QUERY PLAN ` + p.q.text}, func(r row) error {
			lines = append(lines, r.text(3))
			return nil
		}))
		if diff := cmp.Diff(p.want, strings.Join(lines, "; ")); diff != "" {
			s.t.Errorf("%s: %s: plan (-want +got):\n%s", state, p.name, diff)
		}
	}
}

// The expectations themselves may not walk what grows.
func TestQ2_PlansWalkNothingThatGrows(t *testing.T) {
	t.Parallel()
	walk := regexp.MustCompile(`SCAN (j|d|redrive_(jobs|bodies|done|failures|dead|groups|keys|batches|progress|events|audit))\b`)
	for _, p := range slices.Concat(writing, writingDead, writingKept, reading, readingDead, readingKept) {
		if walks := walk.MatchString(p.want); walks != (p.scan != "") {
			t.Errorf("%s: %q walks a table that grows: %v; reason: %q", p.name, p.want, walks, p.scan)
		}
	}
}

// Every statement of the package is in one of the lists.
func TestQ2_PlansAreComplete(t *testing.T) {
	t.Parallel()
	var listed []string
	for _, p := range slices.Concat(writing, writingDead, writingKept, reading, readingDead, readingKept, whole) {
		listed = append(listed, p.name)
	}
	slices.Sort(listed)
	declared := declaredQueries(t)
	if diff := cmp.Diff(declared, listed); diff != "" {
		t.Errorf("statements (-declared +listed):\n%s", diff)
	}
}

// declaredQueries returns the names of the package's statements, sorted; those
// of a list are name[0], name[1] …
func declaredQueries(t *testing.T) (names []string) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, value := range spec.Values {
				names = append(names, queriesIn(spec.Names[i].Name, value)...)
			}
			return false
		})
	}
	slices.Sort(names)
	return names
}

func queriesIn(name string, value ast.Expr) (names []string) {
	ast.Inspect(value, func(n ast.Node) bool {
		if literal, ok := n.(*ast.CompositeLit); ok && fmt.Sprint(literal.Type) == "query" {
			names = append(names, name)
		}
		return true
	})
	if len(names) > 1 {
		for i := range names {
			names[i] = fmt.Sprintf("%s[%d]", name, i)
		}
	}
	return names
}
