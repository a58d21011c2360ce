package postgres

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// The server cleans a table that was drained down to no page at all, and knows that
// nothing is in it. What is planned then is kept on the connection while thousands
// of jobs come: it has to look each of its own up.
//
// proves: Q2
func TestQ2_PlansOfADrainedTable(t *testing.T) {
	t.Parallel()
	s, dsn := freshAt(t, nil)
	admin := connected(t, setting(dsn, "search_path", s.Schema()))
	for _, state := range []struct{ name, do string }{
		{"drained", "VACUUM ANALYZE"},
		{"with one job", filled(1)[0]},
		{"with a few that were counted", strings.Replace(filled(20)[0], "SELECT i,", "SELECT 10 + i,", 1) + "; ANALYZE redrive_jobs"},
	} {
		run(t, admin, state.do)
		for _, name := range slices.Sorted(maps.Keys(fastStatements)) {
			if fastStatements[name] != "redrive_jobs_pkey" {
				continue
			}
			plan := s.planOf(t, name, true)
			lines := strings.Split(plan, "\n")
			for i, line := range lines {
				scans := strings.Contains(line, "Scan") && strings.Contains(line, " on redrive_jobs")
				looksUp := strings.Contains(line, " using redrive_jobs_pkey ") && strings.Contains(lines[i+1], "Index Cond: ")
				if scans && !looksUp {
					t.Errorf("%s: %s walks over all jobs:\n%s", state.name, name, plan)
				}
			}
		}
	}
}
