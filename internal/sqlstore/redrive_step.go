package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// spreadLook is the maximum number of rows that one step examines to find canaries, apart from
// its first search. If these rows contain too few jobs, the step takes the remaining canaries
// from the start of the set.
const spreadLook = 20_000

// StepRedrives implements store.Redrives.
func (s *Core) StepRedrives(ctx context.Context, limit int) (answer store.RedriveStep, err error) {
	if limit < 1 || limit > store.StepMax {
		return answer, fmt.Errorf("redrive step of up to %d jobs: the number must be 1 to %d: %w", limit, store.StepMax, store.ErrInvalid)
	}
	var active []store.Redrive // usually empty, and then no write transaction is needed
	err = s.db.Read(ctx, func(c Session) error {
		active, err = readRedrives(c, selActive)
		active = slices.DeleteFunc(active, func(r store.Redrive) bool { return !r.State.Active() })
		return err
	})
	if err != nil || len(active) == 0 {
		return store.RedriveStep{Wait: store.Never}, err
	}
	live := slices.DeleteFunc(slices.Clone(active), func(r store.Redrive) bool { return r.Live == nil })
	step := redriveStep{limit: limit, answer: store.RedriveStep{Wait: store.Never}}
	err = s.stepAll(ctx, &step, len(active) > len(live), live)
	if errors.Is(err, ErrDeadLettersLocked) {
		return store.RedriveStep{Wait: lockedAgain, Active: len(active)}, nil
	}
	if err != nil {
		return store.RedriveStep{}, err
	}
	if step.answer.Released == int64(limit) {
		step.answer.Wait = 0
	}
	return step.answer, nil
}

// stepAll makes one step of each redrive. All redrives of dead letters share a transaction. Each
// redrive of live jobs has a separate transaction, because live jobs must be locked before dead
// letters and redrives.
func (s *Core) stepAll(ctx context.Context, step *redriveStep, dead bool, live []store.Redrive) error {
	if dead {
		before := step.answer
		err := s.db.BackgroundWrite(ctx, func(t *Txn) error {
			step.answer = before
			return step.dead(t, len(live) > 0)
		})
		if err != nil {
			return err
		}
	}
	slices.SortFunc(live, func(a, b store.Redrive) int { return store.RedriveTurns(&a, &b) })
	limit := step.limit
	for i := range live {
		before := step.answer
		step.limit = int(before.Released) + store.RedriveShare(limit-int(before.Released), len(live)-i)
		err := s.db.BackgroundWrite(ctx, func(t *Txn) error {
			step.answer = before
			return step.live(t, live[i].ID)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// redriveStep is one call of StepRedrives.
type redriveStep struct {
	limit  int
	answer store.RedriveStep
}

// left returns how many more jobs the step may change.
func (s *redriveStep) left() int { return s.limit - int(s.answer.Released) }

// dead makes one step of each redrive of dead letters. If the last argument is true, the steps
// together may use only half of the limit.
func (s *redriveStep) dead(t *Txn, half bool) error {
	if err := t.lockDeadLetters(); err != nil {
		return err
	}
	list, err := readRedrives(t.s, selActive)
	if err != nil {
		return err
	}
	// A person may have paused a redrive since the list was read.
	list = slices.DeleteFunc(list, func(r store.Redrive) bool { return !r.State.Active() || r.Live != nil })
	slices.SortFunc(list, func(a, b store.Redrive) int { return store.RedriveTurns(&a, &b) })
	left := s.left()
	if half {
		left = store.RedriveShare(left, 2)
	}
	for i := range list {
		r := &list[i]
		before := *r
		plan := r.Plan(t.now, store.RedriveShare(left, len(list)-i))
		if plan.Release > 0 {
			released, err := t.release(r, plan)
			if err != nil {
				return err
			}
			s.answer.Released += released
			left -= int(released)
		}
		if err := s.stepped(t, &before, r, plan); err != nil {
			return err
		}
	}
	return nil
}

// live makes one step of a redrive of live jobs.
func (s *redriveStep) live(t *Txn, id int64) error {
	r, err := oneRedrive(t.s, id)
	if err != nil || !r.State.Active() { // a person may have paused the redrive since the list was read
		return err
	}
	before := r
	plan := r.Plan(t.now, s.left())
	if plan.Release > 0 {
		changed, err := t.changeLive(&r, plan)
		if err != nil {
			return err
		}
		s.answer.Released += changed
	}
	return s.stepped(t, &before, &r, plan)
}

// stepped adds the result of a redrive's step to the answer, and writes the changes of the
// redrive.
func (s *redriveStep) stepped(t *Txn, before, r *store.Redrive, plan store.RedrivePlan) error {
	if r.State.Active() {
		s.answer.Wait = min(s.answer.Wait, plan.Wait)
		s.answer.Active++
	}
	return t.stepped(before, r)
}

// changeLive changes live jobs as the plan of their redrive says. It returns the number of changed
// jobs. If another process has made a step of the redrive in the meantime, it changes nothing.
func (t *Txn) changeLive(r *store.Redrive, plan store.RedrivePlan) (int64, error) {
	a := r.LiveAction(plan.Release)
	p := newPicker(t, &a)
	found, err := p.pick(plan.Release)
	if err != nil {
		return 0, err
	}
	jobs, err := p.lock(found.jobs)
	if err != nil {
		return 0, err
	}
	t.noDeadLetters = false // redrives are locked together with dead letters, after live jobs
	if err := t.lockDeadLetters(); err != nil {
		return 0, err
	}
	now, err := oneRedrive(t.s, r.ID)
	if err != nil || now.Cursor != r.Cursor || now.State != r.State {
		return 0, err
	}
	done, blocked, err := t.doLive(redriver(r.ID), &a, jobs)
	if err != nil {
		return 0, err
	}
	did := store.RedriveDone{Released: int64(done), Cursor: int64(found.edge), Exhausted: !found.more, Blocked: blocked}
	switch {
	case blocked == nil && !found.more:
		did.Cursor = r.Through
	case blocked == nil:
	case done > 0:
		did.Cursor = int64(jobs[done-1].id)
	default:
		did.Cursor = r.Cursor
	}
	r.RecordStep(t.now, plan, did)
	return did.Released, nil
}

// stepped writes how a step has changed a redrive. If the state is new, it also writes an
// audit row and an event.
func (t *Txn) stepped(before, r *store.Redrive) error {
	if r.State == before.State && r.Cursor == before.Cursor && r.LastAt == before.LastAt && r.Released == before.Released {
		return nil
	}
	if r.State == before.State {
		return t.keepRedrive(r)
	}
	if err := errors.Join(t.auditReleases(r), t.keepRedrive(r)); err != nil {
		return err
	}
	t.events.Add(new(store.RedriveEvent(r)))
	action := ""
	switch r.State {
	case store.RedriveStopped:
		action = "redrive.stop"
	case store.RedriveCompleted:
		action = "redrive.complete"
	case store.RedriveCanary, store.RedriveRamping, store.RedriveSettling, store.RedrivePaused, store.RedriveCancelled:
		return nil // no audit row: the redrive continues in the same state, or a person changed the state
	}
	return t.audit(store.By{Actor: "redrive", Reason: r.Why}, action, strconv.FormatInt(r.ID, 10), string(before.State), string(r.State))
}

// redriver returns the actor for the audit rows of a redrive.
func redriver(id int64) store.By { return store.By{Actor: "redrive " + strconv.FormatInt(id, 10)} }

// auditReleases writes an audit row with the number of jobs released since the last such row.
// It is called only when the redrive's state changes. Rows for each step would be thousands of
// rows, because a rate limit makes the steps small.
func (t *Txn) auditReleases(r *store.Redrive) error {
	n := r.TakeUnaudited()
	if n == 0 {
		return nil
	}
	return t.audit(redriver(r.ID), "redrive.release", strconv.FormatInt(r.ID, 10), "", fmt.Sprintf(`{"done":%d}`, n))
}

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
	jobs, err := t.retakeKeys(b.jobs)
	// A second spread would choose the same jobs again, so search from the start.
	if err == nil && len(jobs) == 0 && plan.Spread && !b.exhausted {
		plan.Spread = false
		if b, err = t.toRelease(r, &plan); err == nil {
			jobs, err = t.retakeKeys(b.jobs)
		}
	}
	if err != nil {
		return 0, err
	}
	did := store.RedriveDone{Cursor: b.cursor, Exhausted: b.exhausted}
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
