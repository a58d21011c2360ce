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

// The statements of a store's doctor. For each there is a function Compare… or Find… that reads its rows. Only
// SelOldest and SelOverdue have a parameter: the present time.
var (
	Recount        = ask("recount")
	RecountGroups  = ask("recountGroups")
	RecountDead    = ask("recountDead")
	RecountBatches = ask("recountBatches")
	SelOldest      = ask("selOldest")
	SelOverdue     = ask("selOverdue")
	SelProcesses   = ask("selProcesses")
	SelDeaths      = ask("selNewestDeaths")
	SelClasses     = ask("selClasses")
	SelOldestEnded = ask("selOldestEnded")
	SelOldestEvent = ask("selOldestEvent")

	countDeadNotices = ask("countDeadNotices")
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

// CompareBatches reads one row of the statement RecountBatches into the findings.
func CompareBatches(f *store.Findings) func(Row) error {
	return func(r Row) error {
		for i, what := range [...]string{"drafts", "drafts aside", "live members", "outcomes"} {
			if kept, n := r.Int(1+2*i), r.Int(2+2*i); kept != n {
				problem(f, "batch %d counts %d %s, but there are %d; please report this", r.Int(0), kept, what, n)
			}
		}
		return nil
	}
}

// FindDue reads the rows of SelOldest, due jobs, the oldest first. Their columns are id, queue, kind, due
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

// FindNotices finds what keeps notices from their recipients.
func FindNotices(c Session, f *store.Findings) error {
	dead, err := ReadInt(c, countDeadNotices)
	if err != nil {
		return err
	}
	f.Notices.Dead = dead
	rules, err := readRules(c)
	if err != nil {
		return err
	}
	set, err := rules.Set()
	if err != nil || set == nil {
		return err
	}
	all := make(map[string]store.Endpoint)
	err = c.Rows(allEndpoints, func(r Row) error {
		e, err := scanEndpoint(r)
		all[e.Name] = e
		return err
	})
	for _, name := range set.Rules().Endpoints() {
		if e, known := all[name]; !known {
			f.Notices.Missing = append(f.Notices.Missing, name)
		} else if e.Off != "" {
			f.Notices.Off = append(f.Notices.Off, name)
		}
	}
	return err
}

// FindTime reads the only row of SelOldestEnded or SelOldestEvent.
func FindTime(at *job.Micros) func(Row) error {
	return func(r Row) error { *at = job.Micros(r.Int(0)); return nil }
}

// FindExpired reads the row of SelOverdue: how many running jobs have an expired lease, and when the
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
