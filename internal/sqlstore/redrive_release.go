package sqlstore

import (
	"cmp"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// spreadLook is the maximum number of rows that one step examines to find canaries, apart from
// its first search. If these rows contain too few jobs, the step takes the remaining canaries
// from the start of the set.
const spreadLook = 20_000

// release releases jobs of a redrive as its plan says and returns the number of released jobs.
// It skips a job if another job holds its unique key. It stops at the first job whose lane
// would be one lane too many for the store.
func (t *Txn) release(r *store.Redrive, plan store.RedrivePlan) (released int64, err error) {
	if r.Patch != nil {
		return t.releasePatched(r, plan)
	}
	b, err := t.toRelease(r, &plan)
	if err != nil {
		return 0, err
	}
	var expired int64
	free := func() ([]deadRow, error) {
		alive, n, err := t.notExpired(b.jobs)
		if expired = n; err != nil {
			return nil, err
		}
		return t.retakeKeys(alive)
	}
	jobs, err := free()
	// A second spread would choose the same jobs again, so search from the start.
	if err == nil && len(jobs) == 0 && plan.Spread && !b.exhausted {
		plan.Spread = false
		if b, err = t.toRelease(r, &plan); err == nil {
			jobs, err = free()
		}
	}
	if err != nil {
		return 0, err
	}
	did := store.RedriveDone{Cursor: b.cursor, Exhausted: b.exhausted}
	did.SkipExpired(expired)
	if r.Change.Queue != "" { // without a new queue, the jobs stay in their lanes and need no new lane
		jobs, did.Blocked = t.whatHasRoom(jobs, &r.Change)
	}
	if did.Blocked != nil {
		did.Cursor = r.Cursor
		if n := len(jobs); n > 0 {
			did.Cursor = jobs[n-1].Death
		}
	}
	if err := t.reviveAll(redriver(r.ID), jobs, &r.Change, r.ID); err != nil {
		return 0, err
	}
	did.Released = int64(len(jobs))
	r.RecordStep(t.now, plan, did)
	return did.Released, nil
}

// whatHasRoom returns the jobs before the first job whose lane would be one lane too many for the
// store. The returned error is the error for that job, or nil if there is room for all jobs.
func (t *Txn) whatHasRoom(jobs []deadRow, c *store.Change) ([]deadRow, error) {
	fresh := make(map[laneKey]bool)
	for i := range jobs {
		to := laneKey{c.Queue, jobs[i].lane.kind, jobs[i].lane.deps}
		if t.cat.lanes[to] != nil {
			continue
		}
		if fresh[to] = true; len(t.cat.byID)+len(fresh) > job.LanesMax {
			return jobs[:i], tooManyLanes(to)
		}
	}
	return jobs, nil
}

// roomForAll returns an error if a redrive needs more new lanes than the store has room for.
// It reads the set of the redrive only if the lanes of all dead jobs would be too many.
func (t *Txn) roomForAll(spec *store.RedriveSpec) error {
	if spec.Change.Queue == "" || spec.Live != nil { // a step on live jobs stops when there is no room
		return nil
	}
	dead, err := t.deadByLane()
	if err != nil {
		return err
	}
	fresh := make(map[laneKey]bool)
	for id, n := range dead {
		l := t.laneOf(id)
		if to := (laneKey{spec.Change.Queue, l.kind, l.deps}); n > 0 && t.cat.lanes[to] == nil {
			fresh[to] = true
		}
	}
	if len(t.cat.byID)+len(fresh) <= job.LanesMax {
		return nil
	}
	m, err := newMatcher(t.s, &spec.Filter, t.now, false)
	if err != nil {
		return err
	}
	m.takes = func(d *job.DeadLetter) bool { return store.ActRetry.Takes(d, false) }
	clear(fresh)
	for after := int64(0); ; {
		p, err := t.search(m, after, spec.Through, store.StepMax)
		if err != nil {
			return err
		}
		for i := range p.found {
			to := laneKey{spec.Change.Queue, p.found[i].lane.kind, p.found[i].lane.deps}
			if t.cat.lanes[to] == nil {
				fresh[to] = true
			}
			if len(t.cat.byID)+len(fresh) > job.LanesMax {
				return tooManyLanes(to)
			}
		}
		if after = p.edge; !p.more {
			return nil
		}
	}
}

// releases is the result of toRelease: the jobs that a step releases.
type releases struct {
	jobs      []deadRow
	cursor    int64 // the number of the last examined death
	exhausted bool
}

// toRelease finds the jobs that a plan releases. When the start of a large set contains no
// canaries, toRelease changes the plan so that it does not spread the canaries. The search
// then continues where the earlier search ended.
func (t *Txn) toRelease(r *store.Redrive, plan *store.RedrivePlan) (b releases, err error) {
	m, err := newMatcher(t.s, &r.Filter, t.now, false)
	if err != nil {
		return b, err
	}
	m.takes = func(d *job.DeadLetter) bool { return store.ActRetry.Takes(d, false) }
	p, err := t.search(m, r.Cursor, r.Through, plan.Release)
	if err != nil {
		return b, err
	}
	b = releases{jobs: p.found, cursor: r.Cursor, exhausted: !p.more}
	switch n := len(p.found); {
	case p.more:
		b.cursor = p.edge
	case n > 0:
		b.cursor = p.found[n-1].Death
	}
	switch {
	case !plan.Spread || b.exhausted:
		return b, nil
	case len(b.jobs) == 0:
		plan.Spread = false
		return b, nil
	}
	b.jobs, err = t.spread(m, r, b.jobs, plan.Release)
	return b, err
}

// spread chooses n of the entries that a filter selects, spread over the whole range of their
// deaths. The given entries are the first of these. If a search finds no entry, spread takes one
// of the given entries instead.
func (t *Txn) spread(m *matcher, r *store.Redrive, low []deadRow, n int) ([]deadRow, error) {
	look := max(spreadLook/(n+1), 1)
	number := func(death *int64) int64 { return *death }
	newest, err := search(m, false, r.Cursor+1, r.Through, 1, look, func(r Row) int64 { return r.Int(0) }, number)
	if err != nil {
		return nil, err
	}
	first, last := low[0].Death, r.Through
	if len(newest.found) > 0 {
		last = newest.found[0]
	}
	chosen := make([]deadRow, 0, n)
	taken := make(map[int64]bool, n)
	top := int64(0) // the death number of the last chosen entry; all entries between a target and this number are chosen
	for i := range n {
		from := max(store.SpreadTarget(first, last, i, n), top+1)
		p, err := search(m, true, from, r.Through, 1, look, t.scanDeadRow, func(d *deadRow) int64 { return d.Death })
		if err != nil {
			return nil, err
		}
		if len(p.found) > 0 {
			chosen, top = append(chosen, p.found[0]), p.found[0].Death
			taken[top] = true
		}
	}
	for i := range low {
		if len(chosen) == n {
			break
		}
		if !taken[low[i].Death] {
			chosen = append(chosen, low[i])
		}
	}
	slices.SortFunc(chosen, func(a, b deadRow) int { return cmp.Compare(a.Death, b.Death) })
	return chosen, nil
}
