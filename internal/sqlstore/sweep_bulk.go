package sqlstore

import (
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Remover removes by a few statements what the shared ones remove row by row. It is
// for a store in which others write meanwhile: it waits for none of them, and leaves
// what they hold to a later sweep.
type Remover interface {
	// Ended removes up to limit jobs that have ended until then, in the order of their
	// ends, but never the newest, and calls each with how many of a lane and state
	// these were. What is held by their keys is left. More says that there are more.
	Ended(until job.Micros, limit int, each func(lane int64, state job.State, n int64)) (n int64, more bool, err error)
	// Failures looks at up to limit failure records from one on, and removes those
	// until then of jobs that are neither live nor have a dead letter. Next is the
	// record that it would have looked at next.
	Failures(until job.Micros, from store.Run, limit int) (n int64, next store.Run, err error)
	// Keys removes up to limit keys whose time is over.
	Keys(now job.Micros, limit int) (n int64, more bool, err error)
	// Events removes the events of up to limit commits, but never of the newest.
	Events(until job.Micros, limit int) (n int64, more bool, err error)
	// Records returns how many failure records there are of the jobs of dead letters,
	// and locks their keys. A number below zero says that somebody holds the key.
	Records(letters []GoneLetter) ([]int, error)
	// Letters removes dead letters, after Records, with all that is known of their jobs.
	Letters(letters []GoneLetter) error
	// Groups removes groups that have no dead letters, with their trends.
	Groups(ids []int64) error
	// Trends removes the numbers of deaths of a group in an hour each.
	Trends(groups, hours []int64) error
}

// GoneLetter is a dead letter that is removed.
type GoneLetter struct {
	Death            int64
	Job              job.ID
	Owner, Kind, Key string
	Revived, Long    bool // as in redrive_dead
}

// purgeAll removes dead letters in their order. It returns those that are removed,
// and how many it has looked at.
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

// purgeAtOnce is purgeAll by a few statements.
func (w *sweep) purgeAtOnce(old []*letter) (gone []*letter, looked int, err error) {
	if len(old) == 0 {
		return nil, 0, nil
	}
	all := make([]GoneLetter, len(old))
	for i, l := range old {
		all[i] = GoneLetter{Death: l.death, Job: l.id, Owner: l.owner, Kind: l.lane.kind, Key: l.key, Revived: l.revived, Long: l.long}
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

// keepNumber keeps the number of a death that goes, if it is the last.
func (t *Txn) keepNumber(death int64) error {
	if death != t.cat.deaths { // it must not come again
		return nil
	}
	_, err := t.exec(setDeaths, num(death))
	return err
}
