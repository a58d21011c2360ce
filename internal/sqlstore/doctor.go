package sqlstore

import (
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
)

// rescueLate is how long a lease may be over before it is odd that no worker has
// rescued its run.
const rescueLate = 2 * time.Minute

// Findings are what the doctors of all stores find.
type Findings struct {
	Jobs map[string]int64 `json:"jobs"` // by state, counted anew
	// Oldest is the job that is due for the longest time.
	Oldest *DueJob `json:"oldest_due,omitempty"`
	// Expired is how many runs have a lease that is over, ExpiredAt since when
	// the oldest of them is.
	Expired   int64      `json:"expired_leases"`
	ExpiredAt job.Micros `json:"oldest_expired_lease,omitempty"`

	// Problems tell what is wrong and what to do about it; none is healthy.
	Problems []string `json:"problems"`
}

// DueJob is a job that could run.
type DueJob struct {
	ID    job.ID     `json:"id"`
	Queue string     `json:"queue"`
	Kind  string     `json:"kind"`
	RunAt job.Micros `json:"run_at"`
}

// NewFindings returns those of a database without jobs.
func NewFindings() Findings { return Findings{Jobs: map[string]int64{}, Problems: []string{}} }

func (f *Findings) problem(format string, args ...any) {
	f.Problems = append(f.Problems, fmt.Sprintf(format, args...))
}

// Recount is the statement that counts jobs anew, for [CompareJobs]. Counters is what
// the counters are kept in, with the columns lane, state and n.
func Recount(counters string) string {
	return `SELECT l.queue, l.kind, l.deps, x.state, sum(x.n), sum(x.kept) FROM (
			SELECT lane, state, count(*) AS n, 0 AS kept FROM redrive_jobs GROUP BY 1, 2
			UNION ALL SELECT lane, state, count(*), 0 FROM redrive_done GROUP BY 1, 2
			UNION ALL SELECT lane, 5, count(*), 0 FROM redrive_dead WHERE revived = 0 GROUP BY 1
			UNION ALL SELECT lane, state, 0, n FROM ` + counters + `) x
		JOIN redrive_lanes l ON l.id = x.lane GROUP BY l.id, x.state`
}

const (
	// RecountGroups finds groups that count wrongly, for [CompareGroups].
	RecountGroups = `SELECT g.fingerprint, g.pending, count(d.job) FILTER (WHERE d.status = 0), g.entries, count(d.job)
		FROM redrive_groups g LEFT JOIN redrive_dead d ON d.grp = g.id GROUP BY g.id
		HAVING g.pending <> count(d.job) FILTER (WHERE d.status = 0) OR g.entries <> count(d.job)`
	// RecountDead finds wrong counts of dead letters, for [CompareDead].
	RecountDead = `SELECT l.queue, l.kind, x.reason, x.class, x.status, sum(x.kept), sum(x.n) FROM (
			SELECT lane, reason, coalesce(class, '') AS class, status, 1 AS n, 0 AS kept FROM redrive_dead
			UNION ALL SELECT lane, reason, class, status, 0, n FROM redrive_dead_counts) x
		JOIN redrive_lanes l ON l.id = x.lane GROUP BY l.id, x.reason, x.class, x.status HAVING sum(x.kept) <> sum(x.n)`
)

// CompareJobs takes in a row of Recount.
func CompareJobs(f *Findings) func(Row) error {
	return func(r Row) error {
		state, n, kept := job.State(r.Int(3)), r.Int(4), r.Int(5)
		f.Jobs[state.String()] += n
		if n != kept {
			f.problem("the counter of queue %q, kind %q, %s is %d, and there are %d jobs; please report this",
				r.Text(0), r.Text(1), state, kept, n)
		}
		return nil
	}
}

// CompareGroups takes in a row of RecountGroups.
func CompareGroups(f *Findings) func(Row) error {
	return func(r Row) error {
		f.problem("the group %q counts %d pending of %d dead letters, and there are %d of %d; please report this",
			r.Text(0), r.Int(1), r.Int(3), r.Int(2), r.Int(4))
		return nil
	}
}

// CompareDead takes in a row of RecountDead.
func CompareDead(f *Findings) func(Row) error {
	return func(r Row) error {
		f.problem("the count of %s dead letters of queue %q, kind %q, %s, class %q is %d, and there are %d; please report this",
			job.Status(r.Int(4)), r.Text(0), r.Text(1), r.Text(2), r.Text(3), r.Int(5), r.Int(6))
		return nil
	}
}

// FindOldest takes in the id, queue, kind and time of the job that is due for the
// longest time.
func FindOldest(f *Findings) func(Row) error {
	return func(r Row) error {
		f.Oldest = &DueJob{ID: job.ID(r.Int(0)), Queue: r.Text(1), Kind: r.Text(2), RunAt: job.Micros(r.Int(3))}
		return nil
	}
}

// FindExpired takes in the number of leases that are over now, and the end of the
// first.
func FindExpired(f *Findings, now job.Micros) func(Row) error {
	return func(r Row) error {
		f.Expired, f.ExpiredAt = r.Int(0), job.Micros(r.Int(1))
		if f.Expired > 0 && now.Sub(f.ExpiredAt) > rescueLate {
			f.problem("%d runs have lost their lease, the first at %s, and no worker has rescued them: start one",
				f.Expired, f.ExpiredAt.Time().Format(time.RFC3339))
		}
		return nil
	}
}
