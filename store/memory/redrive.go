package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/redrive/redrive/store"
)

// StartRedrive implements store.Redrives.
func (s *Store) StartRedrive(ctx context.Context, by store.By, spec store.RedriveSpec) (store.Redrive, error) {
	t, err := s.begin(ctx, "start redrive")
	if err != nil {
		return store.Redrive{}, err
	}
	defer t.end()
	spec = spec.WithDefaults()
	if err := cmp.Or(by.Validate(), spec.Validate()); err != nil {
		return store.Redrive{}, t.errorf("%w", err)
	}
	if known := t.redriveOf(spec.Key); known != nil {
		return cloneRedrive(known), nil
	}
	if spec.Live == nil {
		all, _ := t.selected(&store.Action{Do: store.ActRetry, Filter: &spec.Filter, Through: spec.Through}, -1)
		if err := t.roomFor(&spec.Change, t.jobsOf(all)...); err != nil {
			return store.Redrive{}, t.errorf("%w", err)
		}
	} else if spec.Live.At == 0 {
		spec.Live = &store.LiveSpec{Do: spec.Live.Do, Filter: spec.Live.Filter, At: t.now}
	}
	r := cloneRedrive(&store.Redrive{
		ID: int64(len(t.redrives)) + 1, RedriveSpec: spec, State: store.RedriveCanary,
		By: by.Actor, Reason: by.Reason, CreatedAt: t.now, LastAt: t.now,
	})
	if r.Canary == 0 {
		r.State = store.RedriveRamping
	}
	t.redrives[r.ID] = &r
	t.note(by, "redrive.start", strconv.FormatInt(r.ID, 10), "", spec.Audit())
	t.emit(store.RedriveEvent(&r))
	t.wake = true
	return cloneRedrive(&r), nil
}

// redriveOf returns the redrive that was started with the given key, or nil.
func (t *tx) redriveOf(key string) *store.Redrive {
	if key == "" {
		return nil
	}
	for _, r := range t.redrives {
		if r.Key == key {
			return r
		}
	}
	return nil
}

func cloneRedrive(r *store.Redrive) store.Redrive {
	c := *r
	c.Causes = slices.Clone(c.Causes)
	c.Filter.Statuses = slices.Clone(c.Filter.Statuses)
	c.Change.Override, c.Patch = bytes.Clone(c.Change.Override), bytes.Clone(c.Patch)
	if r.Live != nil {
		live := *r.Live
		live.Filter.States = slices.Clone(live.Filter.States)
		c.Live = &live
	}
	return c
}

// Redrive implements store.Redrives.
func (s *Store) Redrive(ctx context.Context, id int64) (store.Redrive, error) {
	t, err := s.begin(ctx, "redrive")
	if err != nil {
		return store.Redrive{}, err
	}
	defer t.end()
	r := t.redrives[id]
	if r == nil {
		return store.Redrive{}, t.errorf("redrive %d: %w", id, store.ErrNotFound)
	}
	return cloneRedrive(r), nil
}

// RedriveList implements store.Redrives.
func (s *Store) RedriveList(ctx context.Context) ([]store.Redrive, error) {
	t, err := s.begin(ctx, "redrive list")
	if err != nil {
		return nil, err
	}
	defer t.end()
	list := t.sortedRedrives()
	slices.Reverse(list)
	return firstOf(list, store.RedrivesMax), nil
}

// sortedRedrives returns the redrives, sorted by id.
func (t *tx) sortedRedrives() []store.Redrive {
	list := make([]store.Redrive, 0, len(t.redrives))
	for _, id := range slices.Sorted(maps.Keys(t.redrives)) {
		list = append(list, cloneRedrive(t.redrives[id]))
	}
	return list
}

// ControlRedrive implements store.Redrives.
func (s *Store) ControlRedrive(ctx context.Context, by store.By, id int64, do store.RedriveOp) (store.Redrive, error) {
	t, err := s.begin(ctx, "control redrive")
	if err != nil {
		return store.Redrive{}, err
	}
	defer t.end()
	if err := by.ValidateOn(1); err != nil {
		return store.Redrive{}, t.errorf("%w", err)
	}
	r := t.redrives[id]
	if r == nil {
		return store.Redrive{}, t.errorf("redrive %d: %w", id, store.ErrNotFound)
	}
	before, next := r.State, cloneRedrive(r)
	changed, err := next.Apply(t.now, do)
	if changed || err != nil {
		if err = cmp.Or(by.CheckRedrive(r), err); err != nil {
			return store.Redrive{}, t.errorf("%w", err)
		}
		*r = next
		t.auditReleases(r)
		t.note(by, "redrive."+string(do), strconv.FormatInt(id, 10), string(before), string(r.State))
		t.emit(store.RedriveEvent(r))
		t.wake = true
	}
	return cloneRedrive(r), nil
}

// StepRedrives implements store.Redrives.
func (s *Store) StepRedrives(ctx context.Context, limit int) (store.RedriveStep, error) {
	t, err := s.begin(ctx, "step redrives")
	if err != nil {
		return store.RedriveStep{}, err
	}
	defer func() {
		if t != nil {
			t.end()
		}
	}()
	if limit < 1 || limit > store.StepMax {
		return store.RedriveStep{}, t.errorf("limit %d: must be 1 to %d: %w", limit, store.StepMax, store.ErrInvalid)
	}
	answer := store.RedriveStep{Wait: store.Never}
	dead, live := t.activeRedrives(false), t.activeRedrives(true)
	left := limit
	if len(live) > 0 && len(dead) > 0 {
		left = store.RedriveShare(limit, 2)
	}
	for i, r := range dead {
		left -= int(t.step(r, store.RedriveShare(left, len(dead)-i), &answer))
	}
	for i, r := range live { // each redrive of live jobs makes its step in a separate commit
		t.end()
		if t, err = s.begin(ctx, "step redrives"); err != nil {
			return store.RedriveStep{}, err
		}
		if r.State.Active() { // the step of an earlier redrive may have changed this redrive in between
			t.step(r, store.RedriveShare(limit-int(answer.Released), len(live)-i), &answer)
		}
	}
	if answer.Released == int64(limit) {
		answer.Wait = 0
	}
	return answer, nil
}

// activeRedrives returns the active redrives, of live jobs or of dead letters, in the order
// of their turns.
func (t *tx) activeRedrives(live bool) []*store.Redrive {
	list := slices.DeleteFunc(slices.Collect(maps.Values(t.redrives)), func(r *store.Redrive) bool {
		return !r.State.Active() || (r.Live != nil) != live
	})
	slices.SortFunc(list, store.RedriveTurns)
	return list
}

// step makes one step of a redrive, of at most limit jobs, and adds the result to the answer. It
// returns the number of jobs that the step has released or changed.
func (t *tx) step(r *store.Redrive, limit int, answer *store.RedriveStep) (released int64) {
	before := r.State
	plan := r.Plan(t.now, limit)
	switch {
	case plan.Release == 0:
	case r.Live != nil:
		released = t.changeLive(r, plan)
	default:
		released = t.release(r, plan)
	}
	answer.Released += released
	if r.State.Active() {
		answer.Wait = min(answer.Wait, plan.Wait)
		answer.Active++
	}
	t.stepped(r, before)
	if !r.State.Active() {
		answer.Ended = append(answer.Ended, cloneRedrive(r))
	}
	return released
}

// changeLive changes live jobs as the plan of their redrive says.
func (t *tx) changeLive(r *store.Redrive, plan store.RedrivePlan) int64 {
	a := r.LiveAction(plan.Release)
	jobs, next := t.liveJobs(&a, plan.Release)
	done, err := t.doLive(store.By{Actor: redriver(r.ID)}, &a, jobs)
	did := store.RedriveDone{Released: int64(done), Cursor: r.Cursor, Exhausted: next == 0, Blocked: err}
	switch {
	case err == nil && next == 0:
		did.Cursor = r.Through
	case done > 0:
		did.Cursor = int64(jobs[done-1].ID)
	}
	r.RecordStep(t.now, plan, did)
	return did.Released
}

// stepped writes the audit row and the event for the new state of a redrive after a step.
func (t *tx) stepped(r *store.Redrive, before store.RedriveState) {
	if r.State == before {
		return
	}
	t.auditReleases(r)
	by, target := store.By{Actor: "redrive", Reason: r.Why}, strconv.FormatInt(r.ID, 10)
	switch r.State {
	case store.RedriveStopped:
		t.note(by, "redrive.stop", target, string(before), string(r.State))
		if err := t.insertNotices(store.StoppedNotices(t.notices.set, r)); err != nil {
			panic(err) // their keys have the time, and their texts a limit
		}
	case store.RedriveCompleted:
		t.note(by, "redrive.complete", target, string(before), string(r.State))
	case store.RedriveEnded:
		t.note(by, "redrive.end", target, string(before), string(r.State))
	case store.RedriveCanary, store.RedriveRamping, store.RedriveSettling, store.RedrivePaused, store.RedriveCancelled:
	}
	t.emit(store.RedriveEvent(r))
}

// redriver returns the actor for the audit rows of a redrive.
func redriver(id int64) string { return fmt.Sprint("redrive ", id) }

// auditReleases writes an audit row with the number of jobs released since the last such row.
// It is called only when the redrive's state changes.
func (t *tx) auditReleases(r *store.Redrive) {
	if n := r.TakeUnaudited(); n > 0 {
		t.note(store.By{Actor: redriver(r.ID)}, "redrive.release", strconv.FormatInt(r.ID, 10), "", fmt.Sprintf(`{"done":%d}`, n))
	}
}

// release releases jobs of a redrive as its plan says and returns the number of released jobs. It
// skips a job if another job holds its unique key. It stops at the first job for whose lane the
// store has no room.
func (t *tx) release(r *store.Redrive, plan store.RedrivePlan) int64 {
	left, _ := t.selected(&store.Action{Do: store.ActRetry, Filter: &r.Filter, Through: r.Through, After: r.Cursor}, -1)
	if r.Patch != nil {
		return t.releasePatched(r, plan, left)
	}
	chosen := left[:min(plan.Release, len(left))]
	if plan.Spread {
		chosen = spread(left, plan.Release)
	}
	alive, expired := t.notExpired(chosen)
	free := t.withFreeKeys(alive)
	// No chosen job has a free key, and another spread would choose the same jobs again. So choose
	// from the lowest death number on.
	if len(free) == 0 && plan.Spread && len(chosen) < len(left) {
		plan.Spread = false
		chosen = left[:min(plan.Release, len(left))]
		alive, expired = t.notExpired(chosen)
		free = t.withFreeKeys(alive)
	}
	did := store.RedriveDone{Cursor: r.Cursor, Exhausted: len(chosen) == len(left)}
	did.SkipExpired(expired)
	for _, e := range free {
		if did.Blocked = t.roomFor(&r.Change, t.jobs[e.Job]); did.Blocked != nil {
			break
		}
		t.revive(e, redriver(r.ID), "", &r.Change, r.ID)
		did.Released++
		did.Cursor = e.Death
	}
	if n := len(chosen); n > 0 && did.Blocked == nil {
		did.Cursor = chosen[n-1].Death
	}
	r.RecordStep(t.now, plan, did)
	return did.Released
}

// releasePatched does the same as release for a redrive with a patch, which changes the payload of
// each job. The list contains the dead letters after the cursor.
func (t *tx) releasePatched(r *store.Redrive, plan store.RedrivePlan, left []*entry) int64 {
	chosen := left[:min(plan.Release, len(left))]
	lowest := chosen
	if plan.Spread {
		chosen = spread(left, plan.Release)
	}
	did := t.patchAll(r, chosen)
	if did.Released == 0 && did.Blocked == nil && plan.Spread && len(chosen) < len(left) { // see release
		plan.Spread, chosen = false, lowest
		did = t.patchAll(r, chosen)
	}
	did.Exhausted = len(chosen) == len(left)
	did.Cursor = max(did.Cursor, r.Cursor)
	r.RecordStep(t.now, plan, did)
	return did.Released
}

// patchAll releases jobs with their changed payloads. It stops at the first job for whose lane the
// store has no room.
func (t *tx) patchAll(r *store.Redrive, chosen []*entry) (did store.RedriveDone) {
	patch, err := store.NewPayloadPatch(&r.RedriveSpec)
	if err != nil {
		panic(err) // this cannot happen: StartRedrive has checked the patch
	}
	for _, e := range chosen {
		c := r.Change
		if did.Blocked = t.roomFor(&c, t.jobs[e.Job]); did.Blocked != nil {
			return did
		}
		did.Cursor = e.Death
		var refused error
		if c.Payload, refused = patch.Apply(e.Job, t.jobs[e.Job].Payload); refused == nil {
			refused = cmp.Or(t.memberExpired(e), t.keyInUse(t.jobs[e.Job], &c))
		}
		if refused != nil {
			did.Refused, did.RefusedWhy = did.Refused+1, cmp.Or(did.RefusedWhy, refused)
			continue
		}
		t.revive(e, redriver(r.ID), "", &c, r.ID)
		did.Released++
	}
	return did
}

// spread chooses at most n of the entries, spread evenly over the range of their death numbers.
func spread(left []*entry, n int) []*entry {
	n = min(n, len(left))
	if n == 0 {
		return nil
	}
	first, last := left[0].Death, left[len(left)-1].Death
	taken := make(map[int]bool, n)
	for i := range n {
		target := store.SpreadTarget(first, last, i, n)
		at, _ := slices.BinarySearchFunc(left, target, func(e *entry, death int64) int { return cmp.Compare(e.Death, death) })
		for at < len(left) && taken[at] {
			at++
		}
		if at < len(left) {
			taken[at] = true
		}
	}
	for at := 0; len(taken) < n; at++ {
		taken[at] = true // if there is no entry at or above a target, take the lowest remaining entry
	}
	chosen := make([]*entry, 0, n)
	for _, at := range slices.Sorted(maps.Keys(taken)) {
		chosen = append(chosen, left[at])
	}
	return chosen
}
