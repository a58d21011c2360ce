package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Alter implements store.Live.
func (s *Store) Alter(ctx context.Context, by store.By, ids []job.ID, c store.Change) ([]error, error) {
	t, err := s.begin(ctx, "alter")
	if err != nil {
		return nil, err
	}
	defer t.end()
	if err := cmp.Or(by.ValidateOn(len(ids)), c.ValidateAlter(len(ids))); err != nil {
		return nil, t.errorf("%w", err)
	}
	if len(ids) > job.IDsMax {
		return nil, t.errorf("%d jobs in one call: at most %d jobs are allowed: %w", len(ids), job.IDsMax, store.ErrTooLarge)
	}
	answers := make([]error, len(ids))
	for i, id := range ids {
		if answers[i] = t.moved(&by, id); answers[i] == nil {
			answers[i] = t.alterByID(by, id, &c)
		}
	}
	return answers, nil
}

func (t *tx) alterByID(by store.By, id job.ID, c *store.Change) error {
	r := t.jobs[id]
	switch {
	case r == nil:
		return notFound(id)
	case !r.State.Ready():
		return fmt.Errorf("job %d is %s: only a waiting or retrying job can be changed: %w", id, r.State, store.ErrConflict)
	}
	if err := by.CheckPayload(id, r.Payload, c.Payload); err != nil {
		return err
	}
	changed, err := t.alter(by, r, c)
	if changed {
		t.note(by, "job.alter", id.String(), r.State.String(), c.AuditAlter(r.State))
	}
	return err
}

func (r *record) waits() storekit.Waits {
	return storekit.Waits{Queue: r.Queue, Priority: r.Priority, Own: r.own, DueAt: r.RunAt, LifeAt: r.LifeAt, Override: r.Override}
}

// fresh reports whether a waiting or retrying job has not run in its current life.
func (r *record) fresh() bool { return r.Counters == job.Counters{} }

// alter applies the change c to a waiting or retrying job. The first result is false if the job
// already had all the new values. If alter returns an error, the job is unchanged.
func (t *tx) alter(by store.By, r *record, c *store.Change) (changed bool, err error) {
	was := r.waits()
	to, kept, changed := was.Altered(c, t.now, r.fresh())
	payload := c.Payload != nil && !bytes.Equal(c.Payload, r.Payload)
	if !changed && !payload {
		return false, nil
	}
	name := r.lane.laneName
	name.queue = to.Queue
	if t.lanes[name] == nil && len(t.lanes) >= job.LanesMax {
		return false, tooManyLanes(name)
	}
	if payload {
		if err := t.keyInUse(r, c); err != nil {
			return false, err
		}
		t.retakeKey(r, c)
	}
	if kept || payload {
		before := store.Original{Job: r.ID, At: t.now, By: by.Actor, Queue: was.Queue, Priority: cmp.Or(was.Own, was.Priority), Override: was.Override}
		if payload {
			before.Payload = append([]byte{}, r.Payload...)
		}
		t.keepOriginal(before)
	}
	t.detach(r)
	if payload {
		r.Payload = bytes.Clone(c.Payload)
	}
	r.lane, r.Queue, r.Priority, r.own = t.lane(name), to.Queue, to.Priority, to.Own
	r.RunAt, r.LifeAt, r.Override = to.DueAt, to.LifeAt, bytes.Clone(to.Override)
	t.attach(r)
	t.wake = true
	e := about(r)
	e.Type, e.DueAt = event.JobAltered, r.RunAt
	t.emit(e)
	return true, nil
}

// PreviewLive implements store.Live.
func (s *Store) PreviewLive(ctx context.Context, a store.LiveAction) (store.LiveActed, error) {
	t, err := s.begin(ctx, "preview of live jobs")
	if err != nil {
		return store.LiveActed{}, err
	}
	defer t.end()
	if err := a.Validate(true); err != nil {
		return store.LiveActed{}, t.errorf("%w", err)
	}
	if a.Through == 0 {
		for _, r := range t.jobs {
			if !r.State.Terminal() {
				a.Through = max(a.Through, r.ID)
			}
		}
	}
	a.At = cmp.Or(a.At, t.now)
	jobs, next := t.liveJobs(&a, cmp.Or(a.Limit, store.PreviewMax))
	return store.LiveActed{Done: int64(len(jobs)), Through: a.Through, At: a.At, Next: next}, nil
}

// liveJobs returns at most limit live jobs to which the action applies, in the order of their ids.
// The second result is the value of After for the next step.
func (t *tx) liveJobs(a *store.LiveAction, limit int) (jobs []*record, next job.ID) {
	f := a.Selection()
	for _, id := range t.ids {
		r := t.jobs[id]
		if r == nil || id <= a.After || id > a.Through || a.At != 0 && r.CreatedAt > a.At || !t.selects(&f, r) || !t.applies(a, r) {
			continue
		}
		if len(jobs) == limit {
			return jobs, jobs[limit-1].ID
		}
		jobs = append(jobs, r)
	}
	return jobs, 0
}

// applies reports whether an action would change a live job that the action's filter selects.
func (t *tx) applies(a *store.LiveAction, r *record) bool {
	if a.Do == store.LiveCancel {
		return r.CancelAt == 0
	}
	_, _, changed := r.waits().Altered(&a.Change, t.now, r.fresh())
	return changed
}

// ActLive implements store.Live.
func (s *Store) ActLive(ctx context.Context, by store.By, a store.LiveAction) (store.LiveActed, error) {
	t, err := s.begin(ctx, "act on live jobs")
	if err != nil {
		return store.LiveActed{}, err
	}
	defer t.end()
	if err := cmp.Or(by.Validate(), a.Validate(false)); err != nil {
		return store.LiveActed{}, t.errorf("%w", err)
	}
	jobs, next := t.liveJobs(&a, cmp.Or(a.Limit, store.StepMax))
	if err := t.roomFor(&a.Change, jobs...); err != nil {
		return store.LiveActed{}, t.errorf("%w", err)
	}
	done, err := t.doLive(by, &a, jobs)
	if err != nil {
		return store.LiveActed{}, t.errorf("%w", err)
	}
	if done > 0 {
		t.note(by, "jobs."+a.Do.String(), a.AuditTarget(), "", a.AuditStep(int64(done)))
	}
	return store.LiveActed{Done: int64(done), Through: a.Through, At: a.At, Next: next}, nil
}

// doLive applies an action to live jobs. It stops at the first job that cannot be changed, and
// returns the number of jobs before that job and the error for that job.
func (t *tx) doLive(by store.By, a *store.LiveAction, jobs []*record) (done int, err error) {
	for i, r := range jobs {
		switch {
		case a.Do == store.LiveAlter:
			if _, err := t.alter(by, r, &a.Change); err != nil {
				return i, err
			}
		case r.State == job.Running:
			t.askToStop(r)
		default:
			t.cancel(r)
		}
	}
	return len(jobs), nil
}
