package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Limits for merging and cleaning the runs of the index of owners.
const (
	ownedMerged   = 8  // number of runs that are merged into one
	ownedSmall    = 16 // number of small runs that must exist before runs are merged
	ownedKeepMax  = 8  // maximum number of merges, and of cleaned runs, in one call of KeepOwners
	ownedCleanMin = time.Hour
	ownedBlock    = 1_000 // number of jobs of a run that are looked for with one query
	ownedScanMax  = 4_000 // maximum number of neighbouring rows of a table that are read to look for ownedBlock jobs
	// ownedCleanRare is the time between two cleanings of a run if only purges remove jobs.
	ownedCleanRare = 30 * 24 * time.Hour
)

// KeepOwners maintains the index of owners. It first adds the jobs of all events that are not
// indexed yet. Then it keeps the index small: it merges small sorted runs of the index, and
// removes from old runs the jobs that no longer exist. It is no method of Core for the reason
// that the comment of IndexOwners gives.
func KeepOwners(ctx context.Context, s *Core, keep store.Retention) error {
	if err := IndexOwners(ctx, s, true); err != nil {
		return err
	}
	for range ownedKeepMax {
		runs, err := s.ownedRuns(ctx)
		if err != nil {
			return err
		}
		merge := toMerge(runs)
		clean := slices.IndexFunc(runs, func(r ownedRun) bool { return s.db.Clock.Now() >= r.cleanAt(keep) })
		if merge == nil && clean < 0 {
			return nil
		}
		if merge != nil {
			if err := s.mergeOwned(ctx, merge); err != nil {
				return err
			}
		}
		if clean >= 0 {
			if err := s.cleanOwned(ctx, &runs[clean]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Core) ownedRuns(ctx context.Context) (runs []ownedRun, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		runs, err = readOwnedRuns(c)
		return err
	})
	return runs, err
}

// cleanAt returns when the run is cleaned next. The first cleaning is due when the retention of
// most of its jobs is over.
func (r *ownedRun) cleanAt(keep store.Retention) job.Micros {
	every := max(keep.Completed/4, ownedCleanMin)
	if keep.Completed == 0 {
		every = ownedCleanRare
	}
	if r.checked == 0 {
		return r.at.Add(keep.Completed + every)
	}
	return r.checked.Add(every)
}

// toMerge returns the runs to merge: neighbouring small runs, with as few jobs as possible. It
// returns nil when there are few small runs.
func toMerge(runs []ownedRun) []ownedRun {
	small := slices.DeleteFunc(slices.Clone(runs), func(r ownedRun) bool { return r.n > ownedRunMax/2 })
	if len(small) < ownedSmall {
		return nil
	}
	best, fewest := -1, int64(ownedRunMax+1)
	for i := range len(small) - ownedMerged + 1 {
		sum := int64(0)
		for _, r := range small[i : i+ownedMerged] {
			sum += r.n
		}
		if sum < fewest {
			best, fewest = i, sum
		}
	}
	if best < 0 {
		return nil
	}
	return small[best : best+ownedMerged]
}

// mergeOwned replaces runs by one run.
func (s *Core) mergeOwned(ctx context.Context, runs []ownedRun) error {
	var jobs []ownedJob
	err := s.db.Read(ctx, func(c Session) error {
		jobs = nil
		for i := range runs {
			more, err := readOwned(c, &runs[i])
			if err != nil {
				return err
			}
			jobs = append(jobs, more...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	at, checked := runs[0].at, runs[0].checked
	for _, r := range runs {
		at, checked = max(at, r.at), min(checked, r.checked)
	}
	return s.db.Write(ctx, newOwnedChange(runs, jobs, at, checked).write)
}

// readOwned reads the jobs of a run.
func readOwned(c Session, run *ownedRun) (jobs []ownedJob, err error) {
	from, to := run.places()
	err = c.Rows(selOwnedRun, func(r Row) error {
		return unpackOwned(r.Blob(0), func(j ownedJob) { jobs = append(jobs, j) })
	}, num(from), num(to))
	return jobs, err
}

// cleanOwned removes the jobs that no longer exist from a run.
func (s *Core) cleanOwned(ctx context.Context, run *ownedRun) error {
	var jobs []ownedJob
	err := s.db.Read(ctx, func(c Session) (err error) {
		jobs, err = readOwned(c, run)
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(jobs, func(a, b ownedJob) int { return cmp.Compare(a.id, b.id) })
	var left []ownedJob
	for block := range slices.Chunk(jobs, ownedBlock) {
		var exists map[job.ID]bool
		// An id is never used twice. So a job that does not exist now cannot exist later.
		err := s.db.Read(ctx, func(c Session) (err error) {
			exists, err = existing(c, block)
			return err
		})
		if err != nil {
			return err
		}
		for _, j := range block {
			if exists[j.id] {
				left = append(left, j)
			}
		}
	}
	return s.db.Write(ctx, newOwnedChange([]ownedRun{*run}, left, run.at, s.db.Clock.Now()).write)
}

// idTable contains the statements for one table of jobs that find which of the given ids exist.
type idTable struct {
	between *Query // finds all ids from ?1 to ?2; faster if most of the given jobs were removed
	each    *Query // returns for each given id the id itself, or NULL if there is no such job
}

var idTables = [...]idTable{
	{
		askWalk("liveBetween"),
		ask("liveIDs"),
	},
	{
		askWalk("doneBetween"),
		ask("doneIDs"),
	},
	{
		askWalk("deadBetween"),
		ask("deadIDs"),
	},
}

// existing returns the set of those jobs that exist. The given jobs must be sorted by id.
func existing(c Session, jobs []ownedJob) (map[job.ID]bool, error) {
	exists := make(map[job.ID]bool)
	for _, t := range idTables {
		rows := 0
		err := c.Rows(t.between, func(r Row) error {
			if rows++; rows > ownedScanMax {
				return errEnough
			}
			exists[job.ID(r.Int(0))] = true
			return nil
		}, num(jobs[0].id), num(jobs[len(jobs)-1].id))
		if err := enough(err); err != nil {
			return nil, err
		}
		if rows <= ownedScanMax {
			continue
		}
		ids := make([]job.ID, len(jobs))
		for i := range jobs {
			ids[i] = jobs[i].id
		}
		err = c.Rows(t.each, func(r Row) error { exists[job.ID(r.Int(0))] = true; return nil }, idList(ids))
		if err != nil {
			return nil, err
		}
	}
	return exists, nil
}

// ownedChange replaces runs of the index by one run.
type ownedChange struct {
	old   []ownedRun
	run   ownedRun // the new run; it has the number of the last replaced run
	parts []ownedPart
}

func newOwnedChange(old []ownedRun, jobs []ownedJob, at, checked job.Micros) *ownedChange {
	o := &ownedChange{old: old}
	o.run, o.parts = divide(jobs)
	o.run.run, o.run.at, o.run.checked = old[len(old)-1].run, at, checked
	return o
}

// write replaces the runs. It does nothing if another process has changed the runs since they
// were read.
func (o *ownedChange) write(t *Txn) error {
	mark, err := ReadInt(t.s, selOwnedMark)
	if err != nil {
		return err
	}
	// Each transaction that writes the index first updates the mark, so only one such transaction
	// at a time can continue.
	if n, err := t.exec(setOwnedMark, num(mark), num(mark)); err != nil || n == 0 {
		return err
	}
	now, err := readOwnedRuns(t.s)
	if err != nil {
		return err
	}
	for _, r := range o.old {
		if !slices.Contains(now, r) {
			return nil
		}
	}
	for _, r := range o.old {
		from, to := r.places()
		if _, err := t.exec(delOwned, num(from), num(to)); err != nil {
			return err
		}
		if _, err := t.exec(delOwnedRun, num(r.run)); err != nil {
			return err
		}
	}
	if o.run.n == 0 {
		return nil
	}
	return t.putOwnedRun(&o.run, o.parts)
}
