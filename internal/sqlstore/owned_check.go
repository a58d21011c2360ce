package sqlstore

import (
	"math"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// ownedCheck is the number of ids that CheckOwners examines in one step.
const ownedCheck = 250_000

var (
	selNextID  = ask("selNextID")
	liveOwners = ask("liveOwners")
	doneOwners = ask("doneOwners")
	deadOwners = ask("deadOwners")
)

// CheckOwners looks for jobs with an owner or a correlation id that are not in the index of
// owners. It reads all jobs and the whole index.
func CheckOwners(c Session, f *store.Findings) error {
	end, err := ReadInt(c, selNextID)
	if err != nil {
		return err
	}
	runs, err := readOwnedRuns(c)
	if err != nil {
		return err
	}
	tail := make(map[ownedJob]bool)
	err = c.Rows(selUnindexed, func(r Row) error {
		_, err := eachOwned(r.Int(0), r.Blob(2), func(j ownedJob) { tail[j] = true })
		return err
	}, num(int64(math.MaxInt64)))
	if err != nil {
		return err
	}
	var owners, correlations missing
	for low := job.ID(0); low <= job.ID(end); low += ownedCheck {
		high := low + ownedCheck
		if high > job.ID(end) {
			high = math.MaxInt64
		}
		known := make(map[ownedJob]bool)
		for i := range runs {
			if runs[i].low >= high || runs[i].high < low {
				continue
			}
			jobs, err := readOwned(c, &runs[i])
			if err != nil {
				return err
			}
			for _, j := range jobs {
				if j.id >= low && j.id < high {
					known[j] = true
				}
			}
		}
		for _, q := range []*Query{liveOwners, doneOwners, deadOwners} {
			err := c.Rows(q, func(r Row) error {
				id := job.ID(r.Int(0))
				if j := (ownedJob{ownerTag([]byte(r.Text(1))), id}); !r.Null(1) && !known[j] && !tail[j] {
					owners.add(id, r.Text(1))
				}
				if j := (ownedJob{correlationTag([]byte(r.Text(2))), id}); !r.Null(2) && !known[j] && !tail[j] {
					correlations.add(id, r.Text(2))
				}
				return nil
			}, num(low), num(high))
			if err != nil {
				return err
			}
		}
	}
	if m := &owners; m.n > 0 {
		problem(f, "%d jobs with an owner are not in the index of owners, so lists by owner leave them out; the first is job %d of the owner %q; please report this",
			m.n, m.first, m.of)
	}
	if m := &correlations; m.n > 0 {
		problem(f, "%d jobs with a correlation id are not in the index of owners, so lists by correlation id leave them out; the first is job %d with the id %q; please report this",
			m.n, m.first, m.of)
	}
	return nil
}

// missing counts the jobs that are not in the index.
type missing struct {
	n     int
	first job.ID
	of    string // owner or correlation id of the first job
}

func (m *missing) add(id job.ID, of string) {
	if m.n++; m.n == 1 {
		m.first, m.of = id, of
	}
}
