package sqlstore

import (
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Remover removes many rows with a few statements; the shared statements remove one row at a
// time. It is for a store with other writers. It does not wait for other transactions: rows
// that they have locked stay until a later sweep.
type Remover interface {
	// Ended removes at most limit jobs that ended at or before the given time, the earliest end
	// first, but never the newest job. It calls the given function with the number of removed
	// jobs for every lane and state. It does not remove jobs whose keys are locked. The second
	// result says whether there are more jobs to remove.
	Ended(until job.Micros, limit int, each func(lane int64, state job.State, n int64)) (n int64, more bool, err error)
	// Failures examines at most limit failure records, beginning with the failure record of the
	// given run. It removes a record if two conditions are met: it was written at or before the
	// given time, and its job is not live and has no dead letter. The second result names the
	// first record that was not examined.
	Failures(until job.Micros, from store.Run, limit int) (n int64, next store.Run, err error)
	// Keys removes at most limit idempotency keys whose time is over.
	Keys(now job.Micros, limit int) (n int64, more bool, err error)
	// Events removes the events of at most limit commits, but never the events of the newest
	// commit, or events that are not in the index of owners yet. If it removes events, it calls
	// the given function with two numbers: the number of the last removed commit, and how many
	// events that commit had.
	Events(until job.Micros, limit int, last func(seq, n int64)) (n int64, more bool, err error)
	// Records returns the number of failure records for the job of each dead letter. It also
	// locks the keys of the jobs. A negative number says that another transaction has locked
	// the key of that job.
	Records(letters []GoneLetter) ([]int, error)
	// Letters removes dead letters with all data of their jobs. Call it after Records.
	Letters(letters []GoneLetter) error
	// Groups removes groups that have no dead letters, together with their hourly counts.
	Groups(ids []int64) error
	// Trends removes hourly counts of deaths. For each i, it removes the count of groups[i] in
	// the hour hours[i].
	Trends(groups, hours []int64) error
}

// GoneLetter is a dead letter that is being removed.
type GoneLetter struct {
	Death            int64
	Job              job.ID
	Owner, Kind, Key string
	Batch            int64 // 0 for none
	Revived, Long    bool  // these values are column values of redrive_dead
}

// purgeAll removes dead letters in the order of their deaths. It returns the removed dead
// letters and how many dead letters it has examined.
func (w *sweep) purgeAll(old []*letter) (gone []*letter, looked int, err error) {
	if w.hooks.Remover != nil {
		return w.purgeAtOnce(old)
	}
	records := 0
	for i, l := range old {
		if records >= sweepRecords {
			return gone, i, nil
		}
		n, err := w.purge(l)
		if err != nil {
			return nil, 0, err
		}
		records += n
		gone = append(gone, l)
	}
	return gone, len(old), nil
}

// purgeAtOnce does the same as purgeAll, but with a few statements for all dead letters.
func (w *sweep) purgeAtOnce(old []*letter) (gone []*letter, looked int, err error) {
	if len(old) == 0 {
		return nil, 0, nil
	}
	all := make([]GoneLetter, len(old))
	for i, l := range old {
		all[i] = GoneLetter{Death: l.death, Job: l.id, Owner: l.owner, Kind: l.lane.kind, Key: l.key, Batch: max(l.batch, -l.batch), Revived: l.revived, Long: l.long}
	}
	records, err := w.hooks.Remover.Records(all)
	if err != nil {
		return nil, 0, err
	}
	var free []GoneLetter
	sum := 0
	for ; looked < len(old) && sum < sweepRecords; looked++ {
		if records[looked] < 0 {
			continue
		}
		sum += records[looked]
		free, gone = append(free, all[looked]), append(gone, old[looked])
	}
	if len(free) == 0 {
		return nil, looked, nil
	}
	w.wrote = true
	if err := w.hooks.Remover.Letters(free); err != nil {
		return nil, 0, err
	}
	for _, l := range gone {
		if err := w.keepNumber(l.death); err != nil {
			return nil, 0, err
		}
		w.uncount(l.group, l.deadKey)
		if !l.revived {
			w.count(l.lane, l.state, -1)
		}
	}
	return gone, looked, nil
}

// keepNumber stores the number of a removed death if it is the highest number in use, so that
// no later death gets the same number.
func (t *Txn) keepNumber(death int64) error {
	if death != t.cat.deaths { // only the highest number could be used again, because new deaths get the highest number plus 1
		return nil
	}
	_, err := t.exec(setDeaths, num(death))
	return err
}
