package sqlstore

import (
	"math"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// ownedCheck is the number of ids that CheckOwners examines in one step.
const ownedCheck = 250_000

var (
	selNextID  = declare("selNextID", `SELECT value FROM redrive_meta WHERE key = 'next_id'`)
	liveOwners = declare("liveOwners", `SELECT id, owner FROM redrive_jobs WHERE id >= ?1 AND id < ?2 AND owner IS NOT NULL`)
	doneOwners = declare("doneOwners", `SELECT job, owner FROM redrive_done INDEXED BY redrive_done_job
		WHERE job >= ?1 AND job < ?2 AND owner IS NOT NULL`)
	deadOwners = declare("deadOwners", `SELECT job, owner FROM redrive_dead INDEXED BY sqlite_autoindex_redrive_dead_1
		WHERE job >= ?1 AND job < ?2 AND owner IS NOT NULL`)
)

// CheckOwners looks for jobs with an owner that are not in the index of owners. It reads all
// jobs and the whole index.
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
		_, err := event.Enqueued(r.Int(0), r.Blob(2), func(id job.ID, owner []byte) { tail[ownedJob{ownerTag(owner), id}] = true })
		return err
	}, num(int64(math.MaxInt64)))
	if err != nil {
		return err
	}
	missing, first, of := 0, job.ID(0), ""
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
				j := ownedJob{ownerTag([]byte(r.Text(1))), job.ID(r.Int(0))}
				if known[j] || tail[j] {
					return nil
				}
				if missing++; missing == 1 {
					first, of = j.id, r.Text(1)
				}
				return nil
			}, num(low), num(high))
			if err != nil {
				return err
			}
		}
	}
	if missing > 0 {
		problem(f, "%d jobs with an owner are not in the index of owners, so lists by owner leave them out; the first is job %d of the owner %q; please report this",
			missing, first, of)
	}
	return nil
}
