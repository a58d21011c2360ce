package sqlstore

import (
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// rescueLate is the latest time after the end of a lease at which the run should have been
// rescued. The doctor reports a run that was not rescued by then.
const rescueLate = 2 * time.Minute

// NewFindings returns the findings for a database without jobs.
func NewFindings() store.Findings {
	return store.Findings{
		Jobs: map[string]int64{}, Problems: []string{}, Due: []store.DueLane{}, Processes: []store.Process{}, Classes: []store.PendingClass{},
	}
}

func problem(f *store.Findings, format string, args ...any) {
	f.Problems = append(f.Problems, fmt.Sprintf(format, args...))
}

// Recount returns the statement that counts the jobs in their tables and compares the counts
// with the counters. [CompareJobs] reads its rows. The argument is the table or query of the
// counters, with the columns lane, state and n.
func Recount(counters string) string {
	return `SELECT l.queue, l.kind, l.deps, x.state, sum(x.n), sum(x.kept) FROM (
			SELECT lane, state, count(*) AS n, 0 AS kept FROM redrive_jobs GROUP BY 1, 2
			UNION ALL SELECT lane, state, count(*), 0 FROM redrive_done GROUP BY 1, 2
			UNION ALL SELECT lane, 5, count(*), 0 FROM redrive_dead WHERE revived = 0 GROUP BY 1
			UNION ALL SELECT lane, state, 0, n FROM ` + counters + `) x
		JOIN redrive_lanes l ON l.id = x.lane GROUP BY l.id, x.state`
}

const (
	// RecountGroups is the statement that finds groups whose counters are wrong.
	// [CompareGroups] reads its rows.
	RecountGroups = `SELECT g.fingerprint, g.pending, count(d.job) FILTER (WHERE d.status = 0), g.entries, count(d.job)
		FROM redrive_groups g LEFT JOIN redrive_dead d ON d.grp = g.id GROUP BY g.id
		HAVING g.pending <> count(d.job) FILTER (WHERE d.status = 0) OR g.entries <> count(d.job)`
	// RecountDead is the statement that finds wrong counters of dead letters. [CompareDead]
	// reads its rows.
	RecountDead = `SELECT l.queue, l.kind, x.reason, x.class, x.status, sum(x.kept), sum(x.n) FROM (
			SELECT lane, reason, coalesce(class, '') AS class, status, 1 AS n, 0 AS kept FROM redrive_dead
			UNION ALL SELECT lane, reason, class, status, 0, n FROM redrive_dead_counts) x
		JOIN redrive_lanes l ON l.id = x.lane GROUP BY l.id, x.reason, x.class, x.status HAVING sum(x.kept) <> sum(x.n)`
)

// CompareJobs reads one row of the statement Recount into the findings.
func CompareJobs(f *store.Findings) func(Row) error {
	return func(r Row) error {
		state, n, kept := job.State(r.Int(3)), r.Int(4), r.Int(5)
		f.Jobs[state.String()] += n
		if n != kept {
			problem(f, "the counter of queue %q, kind %q, %s is %d, but there are %d jobs; please report this",
				r.Text(0), r.Text(1), state, kept, n)
		}
		return nil
	}
}

// CompareGroups reads one row of the statement RecountGroups into the findings.
func CompareGroups(f *store.Findings) func(Row) error {
	return func(r Row) error {
		problem(f, "the group %q counts %d pending of %d dead letters, but there are %d of %d; please report this",
			r.Text(0), r.Int(1), r.Int(3), r.Int(2), r.Int(4))
		return nil
	}
}

// CompareDead reads one row of the statement RecountDead into the findings.
func CompareDead(f *store.Findings) func(Row) error {
	return func(r Row) error {
		problem(f, "the count of %s dead letters of queue %q, kind %q, %s, class %q is %d, but there are %d; please report this",
			job.Status(r.Int(4)), r.Text(0), r.Text(1), r.Text(2), r.Text(3), r.Int(5), r.Int(6))
		return nil
	}
}

// FindDue reads rows of due jobs, the oldest first. Their columns are id, queue, kind, due
// time, mode of the queue, and gate of the lane. FindDue keeps the first job of each queue and
// kind whose lane is open.
func FindDue(f *store.Findings) func(Row) error {
	type lane struct{ queue, kind string }
	seen := make(map[lane]bool)
	return func(r Row) error {
		j := store.DueJob{ID: job.ID(r.Int(0)), Queue: r.Text(1), Kind: r.Text(2), RunAt: job.Micros(r.Int(3))}
		if f.Oldest == nil {
			f.Oldest = &j
		}
		if of := (lane{j.Queue, j.Kind}); r.Int(5) == 0 && !seen[of] && len(f.Due) < store.DueLanesMax {
			seen[of] = true
			f.Due = append(f.Due, store.DueLane{DueJob: j, Paused: store.Mode(r.Int(4)) == store.Paused})
		}
		return nil
	}
}

// The statements below have no parameters. For each statement there is a function Find… that
// reads its rows.
const (
	SelProcesses = `SELECT ` + processColumns + ` FROM redrive_processes ORDER BY name, instance`
	SelDeaths    = `SELECT died_at FROM redrive_dead ORDER BY death DESC LIMIT 1000` // the LIMIT is store.DeathsMax
	SelClasses   = `SELECT coalesce(class, ''), count(*), CAST(sum(pending) AS bigint),
		CAST(sum(CASE WHEN assignee IS NULL THEN 1 ELSE 0 END) AS bigint), CAST(sum(CASE WHEN assignee IS NULL THEN pending ELSE 0 END) AS bigint) FROM redrive_groups WHERE pending > 0
		GROUP BY coalesce(class, '') ORDER BY 1`
	SelOldestEnded = `SELECT finished_at FROM redrive_done ORDER BY seq LIMIT 1`
	// SelOldestEvent leaves out the newest row, because retention never removes it.
	SelOldestEvent = `SELECT at FROM redrive_events WHERE seq < (SELECT max(seq) FROM redrive_events) ORDER BY seq LIMIT 1`
)

// FindProcesses reads the rows of SelProcesses.
func FindProcesses(f *store.Findings, now job.Micros) func(Row) error {
	return func(r Row) error {
		p := scanProcess(r)
		p.Silent = p.SilentBy(now)
		f.Processes = append(f.Processes, p)
		return nil
	}
}

// FindDeaths reads the rows of SelDeaths.
func FindDeaths(f *store.Findings) func(Row) error {
	return func(r Row) error { f.Deaths = append(f.Deaths, job.Micros(r.Int(0))); return nil }
}

// FindClasses reads the rows of SelClasses.
func FindClasses(f *store.Findings) func(Row) error {
	return func(r Row) error {
		f.Classes = append(f.Classes, store.PendingClass{Class: r.Text(0), Groups: r.Int(1), Pending: r.Int(2),
			Unassigned: r.Int(3), UnassignedPending: r.Int(4)})
		return nil
	}
}

// FindTime reads the only row of SelOldestEnded or SelOldestEvent.
func FindTime(at *job.Micros) func(Row) error {
	return func(r Row) error { *at = job.Micros(r.Int(0)); return nil }
}

// FindExpired reads two values: how many running jobs have an expired lease, and when the
// first of these leases ended.
func FindExpired(f *store.Findings, now job.Micros) func(Row) error {
	return func(r Row) error {
		f.Expired, f.ExpiredAt = r.Int(0), job.Micros(r.Int(1))
		if f.Expired > 0 && now.Sub(f.ExpiredAt) > rescueLate {
			problem(f, "%d runs have lost their lease, the first at %s, and no worker has rescued them: start one",
				f.Expired, f.ExpiredAt.Time().Format(time.RFC3339))
		}
		return nil
	}
}
