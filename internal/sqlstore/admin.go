package sqlstore

import (
	"encoding/json"
	"fmt"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	askCancel   = ask("askCancel")
	setQueueRow = ask("setQueueRow")
)

// cancel cancels one job. Call it after lockJobs. The first error concerns only this job; the
// second error ends the transaction.
func (t *Txn) cancel(by store.By, id job.ID) (own, fatal error) {
	r, err := t.live(id)
	if err != nil {
		return nil, err
	}
	switch {
	case r == nil:
		return t.refuse(id, job.Cancelled, "a waiting, retrying or running job can be cancelled")
	case r.asked:
		t.reliesOnEarlier = true
		return nil, nil
	case r.state == job.Running:
		if err := t.askToStop(r); err != nil {
			return nil, err
		}
		return nil, t.audit(by, "job.cancel", id.String(), r.state.String(), "cancel_requested")
	}
	if err := t.cancelReady(r, r.state); err != nil {
		return nil, err
	}
	return nil, t.audit(by, "job.cancel", id.String(), r.state.String(), "cancelled")
}

// refuse returns, as its first error, the answer to a request that the job's present state
// does not allow. The text names the states that allow the request. If the job is already in
// the given state, which the request would bring about, refuse returns nil.
func (t *Txn) refuse(id job.ID, end job.State, only string) (own, fatal error) {
	state, _, err := t.find(id)
	switch {
	case err != nil:
		return nil, err
	case state == job.None:
		return fmt.Errorf("job %d: %w", id, store.ErrNotFound), nil
	case state == end:
		t.reliesOnEarlier = true
		return nil, nil
	}
	return fmt.Errorf("job %d is %s: only %s: %w", id, state, only, store.ErrConflict), nil
}

// cancelReady cancels a job that waits to run.
func (t *Txn) cancelReady(r *Run, from job.State) error {
	if _, err := t.exec(delJob, num(r.id), num(r.token)); err != nil {
		return err
	}
	return t.stopped(r, from)
}

// stopped writes the cancellation of a waiting job whose row was already removed.
func (t *Txn) stopped(r *Run, from job.State) error {
	answer, err := t.answer(r, false, job.Cancelled, nil)
	if err != nil {
		return err
	}
	t.answered(r, answer)
	return t.finish(r, from, job.Cancelled, job.Cancel, 0, 0, nil, nil)
}

func (t *Txn) setQueue(by store.By, c *store.QueueChange) (store.Queue, error) {
	t.noDeadLetters = true
	if _, err := t.lockLanes(); err != nil {
		return store.Queue{}, err
	}
	q := t.cat.queues[c.Name]
	if q == nil {
		return store.Queue{}, fmt.Errorf("queue %q: %w", c.Name, store.ErrNotFound)
	}
	before := q.Queue
	after := c.Apply(before)
	if after == before {
		t.reliesOnEarlier = true
		return after, nil
	}
	_, err := t.exec(setQueueRow, text(after.Name), num(after.Mode), num(after.Workers), num(after.Limit),
		num(after.Rate.N), num(after.Rate.Per))
	if err != nil {
		return store.Queue{}, err
	}
	q.Queue = after
	t.events.Add(&event.Event{Type: event.QueueChanged, Queue: after.Name, Reason: after.Mode.String()})
	t.wake = true
	return after, t.audit(by, "queue.set", after.Name, asJSON(before), asJSON(after))
}

func asJSON(q store.Queue) string {
	b, err := json.Marshal(q)
	if err != nil {
		return err.Error() // This cannot happen: every Queue can be written as JSON.
	}
	return string(b)
}
