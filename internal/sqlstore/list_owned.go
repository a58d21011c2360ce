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

// These limits apply to a list that reads the index of owners.
const (
	ownedLooksMax = 2_000 // maximum number of jobs that one page looks up
	ownedLookMin  = 64    // number of jobs that are looked up together
	// If the index lacks more commits or events than these numbers, a list walks over all jobs
	// instead.
	ownedTailRows   = 20_000
	ownedTailEvents = 400_000
)

// byIndex reports whether a list reads the index of owners. A list by correlation id always
// reads it. A list by owner reads it unless the filter selects running jobs only, because the
// index of running jobs is smaller.
func (l *lister) byIndex() bool {
	return l.f.Correlation != "" || l.f.Owner != "" &&
		slices.ContainsFunc(job.States[:], func(s job.State) bool { return s != job.Running && l.f.Wants(s) })
}

// tag returns the hash by which a list reads the index of owners. A filter by both an owner and a
// correlation id uses the correlation id, because fewer jobs have it.
func (l *lister) tag() uint32 {
	if l.f.Correlation != "" {
		return correlationTag([]byte(l.f.Correlation))
	}
	return ownerTag([]byte(l.f.Owner))
}

// owned lists the jobs with the owner or the correlation id of the filter. ok is false in two
// cases: if the index lacks too many events, or if the list is not in the order of ids and too
// many jobs have this owner or correlation id.
func (l *lister) owned() (p store.Page, ok bool, err error) {
	o := &ownedList{lister: l, below: math.MaxInt64}
	if l.f.Order == store.Newest {
		o.below = cmp.Or(l.f.From.ID, o.below)
	}
	var late []job.ID
	if ok, err = o.tail(func(id job.ID) { late = append(late, id) }); err != nil || !ok {
		return p, false, err
	}
	o.add(late)
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
		o.end = store.Cursor{} // all jobs were looked up, so this is the last page
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

// sorted lists all jobs of an owner, or with a correlation id, in an order other than the order
// of ids.
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

// ownedList is the state of a list that reads the index of owners.
type ownedList struct {
	*lister
	below   job.ID
	written job.Micros // time of the newest commit in the part that was read last

	ids   []job.ID // ids that were found but not looked up yet, the highest id first
	looks int      // number of jobs that were looked up, plus the number of failure records that were read
	stretch
}

// runs reads from each run the part that contains the tag. The run with the highest id comes
// first. Before it reads a part, it calls the given function with the highest id of the run.
// After the last run, it calls the function with 0.
func (o *ownedList) runs(each func(high job.ID) error) error {
	tag := o.tag()
	err := o.c.Rows(selOwnedParts, func(r Row) error {
		if err := each(job.ID(r.Int(0))); err != nil {
			return err
		}
		o.written = job.Micros(r.Int(1))
		ids, err := ownedOf(r.Blob(2), tag)
		o.add(ids)
		return err
	}, num(int64(tag)), num(o.below))
	if err != nil {
		return err
	}
	return each(0)
}

// tail reads the events that the index still lacks, and calls the given function for the jobs
// with the owner or the correlation id of the filter. ok is false if there are too many such
// events.
func (o *ownedList) tail(each func(job.ID)) (ok bool, err error) {
	rows, events := 0, 0
	err = o.c.Rows(selUnindexed, func(r Row) error {
		rows++
		o.written = job.Micros(r.Int(1))
		n, err := event.Enqueued(r.Int(0), r.Blob(2), func(id job.ID, owner, correlation []byte) {
			if o.f.Correlation != "" && string(correlation) == o.f.Correlation || o.f.Correlation == "" && string(owner) == o.f.Owner {
				each(id)
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
	return true, err
}

// add adds ids to the ids that were found. It keeps only the highest ids, at most as many as
// one page can look up.
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

// above looks up those ids found so far that are above the given id. The other runs contain no
// ids above it; it is 0 after the last run. So the jobs with these ids come next in the list. If
// there are only a few such ids, above leaves them for its next call. The result says whether the
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

// look looks up jobs and adds to the page those that the filter selects. The result says whether
// the page is full, or has looked up as many jobs as it may.
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
