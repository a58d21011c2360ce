package memory

import (
	"cmp"
	"context"
	"fmt"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Cancel implements store.Admin.
func (s *Store) Cancel(ctx context.Context, by store.By, ids []job.ID) ([]error, error) {
	t, err := s.begin(ctx, "cancel")
	if err != nil {
		return nil, err
	}
	defer t.end()
	if err := by.ValidateOn(len(ids)); err != nil {
		return nil, t.errorf("%w", err)
	}
	if len(ids) > job.IDsMax {
		return nil, t.errorf("%d jobs in one call: at most %d jobs are allowed: %w", len(ids), job.IDsMax, store.ErrTooLarge)
	}
	answers := make([]error, len(ids))
	for i, id := range ids {
		switch r, moved := t.jobs[id], t.moved(&by, id); {
		case r == nil:
			answers[i] = notFound(id)
		case moved != nil:
			answers[i] = moved
		default:
			answers[i] = t.cancelOne(by, r)
		}
	}
	return answers, nil
}

// moved returns an ErrMoved unless the job is as the person has seen it.
func (t *tx) moved(by *store.By, id job.ID) error {
	r, e := t.jobs[id], t.dead[id]
	if by.Seen == nil || r == nil && e == nil {
		return nil
	}
	var now store.Present
	if r != nil {
		now.State, now.Life, now.Token = r.State, r.Life, r.Token
	}
	if e != nil {
		now.Death, now.Status = e.Death, e.Status
	}
	return by.Seen.Check(id, now)
}

func notFound(id job.ID) error { return fmt.Errorf("job %d: %w", id, store.ErrNotFound) }

func (t *tx) cancelOne(by store.By, r *record) error {
	switch r.State {
	case job.Waiting, job.Retrying:
		t.note(by, "job.cancel", r.ID.String(), r.State.String(), job.Cancelled.String())
		t.cancel(r)
	case job.Running:
		if r.CancelAt != 0 {
			return nil
		}
		t.note(by, "job.cancel", r.ID.String(), r.State.String(), "cancel_requested")
		t.askToStop(r)
	case job.Cancelled:
	case job.None, job.Completed, job.Dead:
		return fmt.Errorf("job %d is %s and cannot be cancelled: %w", r.ID, r.State, store.ErrConflict)
	}
	return nil
}

// askToStop asks a running job to stop.
func (t *tx) askToStop(r *record) {
	r.CancelAt = t.now
	t.asked[r.ID] = r
	e := about(r)
	e.Type = event.JobCancelAsked
	t.emit(e)
	t.wake = true
}

// SetQueue implements store.Admin. If the change has no effect, SetQueue writes neither an
// audit row nor an event.
func (s *Store) SetQueue(ctx context.Context, by store.By, c store.QueueChange) (store.Queue, error) {
	t, err := s.begin(ctx, "set queue")
	if err != nil {
		return store.Queue{}, err
	}
	defer t.end()
	if err := cmp.Or(by.Validate(), c.Validate()); err != nil {
		return store.Queue{}, t.errorf("%w", err)
	}
	q := t.queues[c.Name]
	if q == nil {
		return store.Queue{}, t.errorf("queue %.80q: nobody has declared or used it: %w", c.Name, store.ErrNotFound)
	}
	before, after := *q, c.Apply(*q)
	if after == before {
		return after, nil
	}
	*q = after
	t.note(by, "queue.set", q.Name, asJSON(before), asJSON(after))
	t.emit(event.Event{Type: event.QueueChanged, Queue: q.Name, Reason: q.Mode.String()})
	t.wake = true
	return after, nil
}

// note writes one row of the audit log.
func (t *tx) note(by store.By, action, target, before, after string) {
	t.audit = append(t.audit, store.Audit{
		Seq: int64(len(t.audit)) + 1, At: t.now, Actor: by.Actor, Action: action, Target: target,
		Reason: by.Reason, Before: before, After: after, Via: by.Via, Owner: by.Owner,
	})
}
