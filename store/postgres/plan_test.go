package postgres

import (
	pg "github.com/redrive/redrive/store/postgres/internal/conn"

	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var planRows = flag.Int("plan.rows", 5_000, "rows of each table beside which a statement must not read one whole")

// fastStatements are those for many jobs, with the index that each has to take.
var fastStatements = map[string]string{
	"readyJobs":          "redrive_ready",
	"laterJobs":          "redrive_ready",
	"skippedJobs":        "redrive_ready",
	"freeHeads":          "redrive_ready",
	"longPayloads":       "redrive_bodies_pkey",
	"claimJobs":          "redrive_jobs_pkey",
	"closeJobs":          "redrive_jobs_pkey",
	"closeKept":          "redrive_jobs_pkey",
	"postponeJobs":       "redrive_jobs_pkey",
	"lockDying":          "redrive_jobs_pkey",
	"lockRunning":        "redrive_jobs_pkey",
	"buryJobs":           "redrive_jobs_pkey",
	"lockFree":           "redrive_jobs_pkey",
	"seeRuns":            "redrive_jobs_pkey",
	"setBeats":           "redrive_jobs_pkey",
	"beginRuns":          "redrive_jobs_pkey",
	"seeBeats":           "redrive_jobs_pkey",
	"delBodies":          "redrive_bodies_pkey",
	"delManyProgress":    "redrive_progress_pkey",
	"selManyEnded":       "redrive_done_job",
	"keepFailures":       "",
	"insertJobs":         "",
	"insertBodies":       "",
	"selRipe":            "redrive_batch_counts_ripe",
	"clearRipe":          "redrive_batches_pkey",
	"selManyBatchCounts": "redrive_batch_counts_pkey",
	"reserveKeys":        "redrive_keys_pkey",
	"seeManyKeys":        "redrive_keys_pkey",
	"seeManyIDs":         "redrive_jobs_pkey",
	"insertManyJobs":     "",
	"insertDrafts":       "redrive_jobs_pkey",
	"takeEnded":          "redrive_keys_pkey",
	"joinBatches":        "redrive_batches_pkey",
	"growSpans":          "redrive_spans_pkey",
	"recordFast":         "redrive_meta_pkey",
	"selManyFigures":     "redrive_figures_pkey",
	"putManyFigures":     "",
	"sweepDone":          "redrive_done_pkey",
	"sweepFailures":      "redrive_failures_pkey",
	"sweepKeys":          "redrive_keys_until",
	"sweepEvents":        "redrive_events_pkey",
	"lockKeys":           "redrive_keys_pkey",
	"seeKeys":            "redrive_keys_pkey",
	"countFailures":      "redrive_failures_pkey",
	"dropLetters":        "redrive_dead",
	"dropFailures":       "redrive_failures_pkey",
	"dropOriginals":      "redrive_originals_pkey",
	"markKeys":           "redrive_keys_pkey",
	"dropKeys":           "redrive_keys_pkey",
}

// wholeTables are the shared statements that read a table that grows from its
// beginning to its end, and why that is right.
var wholeTables = map[string]string{
	"allDone": "dump", "allDead": "dump", "allLive": "dump", "allFailures": "dump", "allKeys": "dump", "allProgress": "dump", "allTerms": "dump",
	"allEvents": "dump", "auditRows": "dump", "allFigures": "dump", "selDeadLetters": "dump",
	"allBatches": "dump", "allCounts": "dump", "allDrafts": "dump", "allOutcomes": "dump",
	"recount": "doctor", "recountGroups": "doctor", "recountDead": "doctor", "recountBatches": "doctor", "selClasses": "doctor", "countDeadNotices": "doctor",
	"allGroups": "dump", "allNotes": "dump", "countGroups": "as many rows as there are causes", "lastGroups": "as many rows as there are causes",
	"countBySet": "as many rows as there are causes", "lastBySet": "as many rows as there are causes", "largestBySet": "as many rows as there are causes",
	"setGroups":     "as many rows as there are causes",
	"selOlder":      "when a group is made, and only beside groups of older fingerprints",
	"largestGroups": "as many rows as there are causes", "selOldestPending": "as many rows as there are causes",
}

// wholeIndexes are those that walk over an index from its beginning, and why that
// is right.
var wholeIndexes = map[string]string{
	"selNextLease": "it ends with the first", "selRunning": "as many rows as jobs run", "allLive": "dump", "allBegun": "dump",
	"countRunning": "as many rows as jobs run", "sumRunning": "as many rows as jobs run", "allBatches": "dump", "allDrafts": "dump",
}

// sharedIndexes are the indexes that shared statements have to take although they could
// read the rows in the right order by the primary key, too.
var sharedIndexes = map[string]string{
	"walkAuditActor": "redrive_audit_actor", "walkAuditTarget": "redrive_audit_target",
	"correlationRoute.up": "redrive_dead_correlated", "correlationRoute.down": "redrive_dead_correlated",
	"severalLive": "redrive_jobs_pkey", "pickSome": "redrive_jobs_pkey", "severalDone": "redrive_done_job", "severalDead": "redrive_dead_job_key", "severalLatest": "redrive_failures_pkey",
	"walkFigures": "redrive_figures_pkey", "laneFigures": "redrive_figures_pkey",
	"nextFigures": "redrive_figures_pkey", "delFigures": "redrive_figures_pkey", "countDue": "redrive_retry", "selHeads": "redrive_ready",
}

var readsWhole = regexp.MustCompile(`Seq Scan on redrive_(jobs|bodies|done|failures|dead|keys|progress|events|audit|groups|originals|figures|batches|spans|batch_counts)\b`)

// A statement finds its rows by an index whatever the server thinks of its tables:
// that they are empty, which it found out when they were, or as they are.
//
// proves: Q2
func TestQ2_Plans(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	admin := connected(t, setting(dsn, "search_path", s.Schema()))
	for _, state := range []struct {
		name string
		do   []string
	}{
		{"empty", nil},
		{"empty, with statistics", []string{"ANALYZE"}},
		{"full, with statistics of nothing", filled(*planRows)},
		{"full, with statistics", []string{"ANALYZE"}},
	} {
		run(t, admin, state.do...)
		for _, name := range slices.Sorted(maps.Keys(fastStatements)) {
			index := fastStatements[name]
			plan := s.planOf(t, name, true)
			if readsWhole.MatchString(plan) || index != "" && !strings.Contains(plan, index) {
				t.Errorf("%s: %s does not go by %s:\n%s", state.name, name, index, plan)
			}
			if strayed(plan) {
				t.Errorf("%s: %s walks over an index that it has no beginning in:\n%s", state.name, name, plan)
			}
			if strings.Contains(plan, "Hash Join") || strings.Contains(plan, "Merge Join") {
				t.Errorf("%s: %s joins whole tables:\n%s", state.name, name, plan)
			}
		}
		for name, text := range s.texts {
			if text.Own {
				continue
			}
			plan := s.planOf(t, name, false)
			if whole := readsWhole.MatchString(plan); whole && wholeTables[name] == "" {
				t.Errorf("%s: %s reads a table from its beginning to its end:\n%s", state.name, name, plan)
			}
			if !strings.Contains(plan, sharedIndexes[name]) {
				t.Errorf("%s: %s does not go by %s:\n%s", state.name, name, sharedIndexes[name], plan)
			}
			if strayed(plan) && wholeIndexes[name] == "" {
				t.Errorf("%s: %s walks over an index that it has no beginning in:\n%s", state.name, name, plan)
			}
		}
	}
}

// strayed reports whether a plan walks over the index of ready jobs without a
// lane, over that of leases without a time, or over all living jobs.
func strayed(plan string) bool {
	lines := strings.Split(plan, "\n")
	for i, line := range lines {
		for index, column := range map[string]string{"redrive_ready": "lane", "redrive_lease": "lease_until", "redrive_jobs_pkey": "Index Cond"} {
			if strings.Contains(line, " using "+index+" ") && !strings.Contains(lines[i+1], column) {
				return true
			}
		}
	}
	return false
}

// filled returns statements that fill the tables that grow, each row alike but
// for its numbers.
func filled(n int) []string {
	rows := fmt.Sprintf("generate_series(1, %d) i", n)
	return []string{
		`INSERT INTO redrive_jobs (id, lane, state, priority, run_at, token, life, attempts, crashes, deferrals, snoozes, interrupts,
			created_at, life_at) SELECT i, 1 + i % 50, 1, 1 + i % 4, i, 0, 1, 0, 0, 0, 0, 0, i, i FROM ` + rows,
		`INSERT INTO redrive_bodies SELECT i, 'x' FROM ` + rows,
		`INSERT INTO redrive_progress (job, token, at, done, total) SELECT i, 1, i, 1, 2 FROM ` + rows,
		`INSERT INTO redrive_done (job, lane, state, priority, token, life, attempts, crashes, deferrals, snoozes, interrupts,
			created_at, life_at, finished_at) SELECT 1000000 + i, 1, 4, 3, 1, 1, 1, 0, 0, 0, 0, i, i, i FROM ` + rows,
		`INSERT INTO redrive_failures (job, token, life, attempt, started_at, ended_at, how, class, permanent, message)
			SELECT 2000000 + i, 1, 1, 1, i, i, 'error', 'C', 0, 'm' FROM ` + rows,
		`INSERT INTO redrive_groups (fingerprint, kind, sample, first_at, last_at, n, pending) SELECT 'f' || i, 'k', i, i, i, 1, 1 FROM ` + rows,
		`INSERT INTO redrive_dead (death, job, status, reason, class, grp, died_at, lane, priority, token, life, attempts, crashes,
			deferrals, snoozes, interrupts, created_at, life_at, owner)
			SELECT i, 2000000 + i, 0, 'r', 'C' || i % 9, i, i, 1 + i % 50, 3, 1, 1, 1, 0, 0, 0, 0, i, i, 'o' || i % 100 FROM ` + rows,
		`INSERT INTO redrive_keys (owner, kind, key, job, digest, created_at, until) SELECT '', 'k', i, i, 'd', i, i FROM ` + rows,
		`INSERT INTO redrive_events (seq, at, n, body) SELECT i, i, 1, '\x01' FROM ` + rows,
		`INSERT INTO redrive_audit (seq, at, actor, action, target) SELECT i, i, 'a', 'b', 'c' FROM ` + rows,
		`INSERT INTO redrive_originals (job, at, by, queue, priority) SELECT i, i, 'a', 'q', 3 FROM ` + rows,
	}
}

// planOf returns the plan that a statement gets whatever its arguments are.
func (s *Store) planOf(t *testing.T, name string, fast bool) (plan string) {
	t.Helper()
	begin := &s.begins.write
	if fast {
		begin = &s.hot.begin
	}
	err := s.transact(t.Context(), begin, func(c *pg.Session) error {
		if fast {
			if err := c.Send(pg.Step{Q: fastBegin}); err != nil {
				return err
			}
			c.Begun = true
		}
		d, err := c.Conn.Prepare(t.Context(), "plan_of", s.texts[name].SQL, nil)
		if err != nil {
			return err
		}
		args := strings.TrimSuffix(strings.Repeat("NULL, ", len(d.ParamOIDs)), ", ")
		if args != "" {
			args = "(" + args + ")"
		}
		results, err := c.Conn.Exec(t.Context(), `SET LOCAL plan_cache_mode = force_generic_plan; EXPLAIN (COSTS OFF) EXECUTE plan_of`+args+
			`; DEALLOCATE plan_of`).ReadAll()
		if err != nil {
			return err
		}
		for _, row := range results[1].Rows {
			plan += string(row[0]) + "\n"
		}
		return nil
	})
	if err != nil {
		t.Errorf("plan of %s: %v", name, err)
	}
	return plan
}
