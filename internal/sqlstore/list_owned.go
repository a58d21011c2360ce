package sqlstore

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Limits of a list that reads the index of owners.
const (
	ownedLooksMax = 2_000 // jobs of the index that one page looks up
	ownedLookMin  = 64    // jobs that are looked up at a time
	// If more commits or events than these are not in the index yet, a list walks over all
	// jobs instead.
	ownedTailRows   = 20_000
	ownedTailEvents = 400_000
)

// byOwner reports whether a list reads the index of owners. The index of running jobs is
// smaller.
func (l *lister) byOwner() bool {
	return l.f.Owner != "" && l.f.Correlation == "" &&
		slices.ContainsFunc(job.States[:], func(s job.State) bool { return s != job.Running && l.f.Wants(s) })
}

// owned lists the jobs of an owner. ok is false when the index cannot be used: too many
// events are not in it yet, or the order needs all jobs of the owner and there are too many.
func (l *lister) owned() (p store.Page, ok bool, err error) {
	o := &ownedList{lister: l, below: math.MaxInt64, tag: ownerTag([]byte(l.f.Owner))}
	if l.f.Order == store.Newest {
		o.below = cmp.Or(l.f.From.ID, o.below)
	}
	if ok, err = o.tail(); err != nil || !ok {
		return p, false, err
	}
	switch l.f.Order {
	case store.Due:
		return o.sorted(byDue, dueFirst)
	case store.Ended:
		return o.sorted(byEnd, latestFirst)
	case store.Newest:
	}
	err = o.runs(func(high job.ID) error {
		full, err := o.above(high)
		if full {
			return errEnough
		}
		return err
	})
	if err == nil {
		o.end = store.Cursor{} // nothing is left
	}
	if err = enough(err); err != nil {
		return p, false, err
	}
	o.at = cmp.Or(o.at, o.written)
	return l.page([]stretch{o.stretch}, newestFirst, byID), true, nil
}

func latestFirst(a, b store.Cursor) int {
	return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.ID, a.ID))
}

// sorted lists all jobs of an owner in another order than that of their ids.
func (o *ownedList) sorted(position func(*job.Job) store.Cursor, compare func(a, b store.Cursor) int) (p store.Page, ok bool, err error) {
	err = o.runs(func(job.ID) error {
		if len(o.ids) > ownedLooksMax {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) || err != nil {
		return p, false, enough(err)
	}
	for ids := range slices.Chunk(o.ids, job.PageMax) {
		found, err := o.several(ids)
		if err != nil {
			return p, false, err
		}
		for _, j := range found {
			if !o.f.From.IsZero() && compare(position(&j), o.f.From) <= 0 {
				continue
			}
			ok, err := o.fits(&j, &o.looks)
			if err != nil {
				return p, false, err
			}
			if ok {
				j.Attrs = nil
				o.jobs = append(o.jobs, j)
			}
		}
	}
	return o.page([]stretch{o.stretch}, compare, position), true, nil
}

// ownedList is a list in progress.
type ownedList struct {
	*lister
	below   job.ID
	tag     uint32
	written job.Micros // time of the commits that were read last

	ids   []job.ID // known jobs that are not looked up yet, the highest id first
	looks int      // how many jobs were looked up; reading a failure counts, too
	stretch
}

// runs reads the part of the owner in each run, the run with the highest id first. It calls
// each before it reads a part, with the highest id of the run, and after the last run with
// 0.
func (o *ownedList) runs(each func(high job.ID) error) error {
	err := o.c.Rows(selOwnedParts, func(r Row) error {
		if err := each(job.ID(r.Int(0))); err != nil {
			return err
		}
		o.written = job.Micros(r.Int(1))
		ids, err := ownedOf(r.Blob(2), o.tag)
		o.add(ids)
		return err
	}, num(int64(o.tag)), num(o.below))
	if err != nil {
		return err
	}
	return each(0)
}

// tail reads the events that are not in the index yet. ok is false when there are too
// many.
func (o *ownedList) tail() (ok bool, err error) {
	var ids []job.ID
	rows, events := 0, 0
	err = o.c.Rows(selUnindexed, func(r Row) error {
		rows++
		o.written = job.Micros(r.Int(1))
		n, err := event.Enqueued(r.Int(0), r.Blob(2), func(id job.ID, owner []byte) {
			if string(owner) == o.f.Owner {
				ids = append(ids, id)
			}
		})
		events += n
		if rows > ownedTailRows || events > ownedTailEvents {
			return cmp.Or(err, errEnough)
		}
		return err
	}, num(ownedTailRows+1))
	if errors.Is(err, errEnough) {
		return false, nil
	}
	o.add(ids)
	return true, err
}

// add adds jobs. It keeps as many as can be looked up.
func (o *ownedList) add(ids []job.ID) {
	for _, id := range ids {
		if id < o.below {
			o.ids = append(o.ids, id)
		}
	}
	slices.SortFunc(o.ids, func(a, b job.ID) int { return cmp.Compare(b, a) })
	o.ids = slices.Compact(o.ids)
	o.ids = o.ids[:min(len(o.ids), ownedLooksMax+1)]
}

// above looks up the known jobs with ids above the highest id of the runs that were not
// read yet, unless they are few. high is 0 after the last run. full reports whether the
// page is full, or has looked up as many jobs as it may.
func (o *ownedList) above(high job.ID) (full bool, err error) {
	for {
		n, _ := slices.BinarySearchFunc(o.ids, high, func(id, high job.ID) int { return cmp.Compare(high, id) })
		if n == 0 || high > 0 && n < ownedLookMin {
			return false, nil
		}
		n = min(n, max(ownedLookMin, o.limit+1), job.PageMax)
		if full, err := o.look(o.ids[:n]); err != nil || full {
			return full, err
		}
		o.ids = o.ids[n:]
	}
}

// look looks up jobs and adds those that the filter selects.
func (o *ownedList) look(ids []job.ID) (full bool, err error) {
	found, err := o.several(ids)
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		if full = o.looks >= ownedLooksMax || len(o.jobs) > o.limit; full {
			return true, nil
		}
		o.looks++
		o.end = store.Cursor{ID: id}
		j, exists := found[id]
		if !exists {
			continue
		}
		o.at = j.CreatedAt
		ok, err := o.fits(&j, &o.looks)
		if err != nil {
			return false, err
		}
		if ok {
			j.Attrs = nil
			o.jobs = append(o.jobs, j)
		}
	}
	return false, nil
}
