package sqlite

import (
	"encoding/json"
	"fmt"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	askCancel = &query{`UPDATE redrive_jobs SET cancel_at = ?2 WHERE id = ?1 AND state = 3 AND cancel_at IS NULL`}
	insAudit  = &query{`INSERT INTO redrive_audit (at, actor, action, target, reason, before, after)
		VALUES (?, ?, ?, ?, ?, ?, ?)`}
	selRetry = &query{`SELECT lane, life, token, owner, batch, status, grp FROM redrive_dead WHERE job = ? AND revived = 0`}
	insRetry = &query{`INSERT INTO redrive_jobs (id, lane, state, priority, run_at, token, life,
		attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at, deadline, owner, correlation, key,
		batch, attrs, policy, long, payload)
		SELECT job, lane, 1, priority, ?2, token, life + 1, 0, 0, 0, 0, 0, created_at, ?2,
		CASE WHEN deadline > ?2 THEN deadline END, owner, correlation, key, batch, attrs, policy, long, payload
		FROM redrive_dead WHERE job = ?1 AND revived = 0`}
	setRedriven = &query{`UPDATE redrive_dead SET status = 1, revived = 1 WHERE job = ? AND revived = 0`}
	setQueueRow = &query{`UPDATE redrive_queues SET mode = ?2, workers = ?3, lim = ?4, rate_n = ?5, rate_per = ?6
		WHERE name = ?1`}
)

func (t *txn) audit(by store.By, action, target, before, after string) error {
	_, err := t.exec(insAudit, num(t.now), text(by.Actor), text(action), text(target), setText(by.Reason),
		setText(before), setText(after))
	return err
}

// cancel cancels one job. The first error is the job's own.
func (t *txn) cancel(by store.By, id job.ID) (own, fatal error) {
	r, err := t.live(id)
	if err != nil {
		return nil, err
	}
	switch {
	case r == nil:
		return t.refuse(id, job.Cancelled, "a waiting, retrying or running job can be cancelled")
	case r.asked:
		return nil, nil
	case r.state == job.Running:
		if _, err := t.exec(askCancel, num(id), num(t.now)); err != nil {
			return nil, err
		}
		e := r.event(job.None, job.None, 0)
		e.Type = event.JobCancelAsked
		t.events.Add(e)
		t.wake = true
		return nil, t.audit(by, "job.cancel", id.String(), r.state.String(), "cancel_requested")
	}
	if err := t.cancelReady(r, r.state); err != nil {
		return nil, err
	}
	return nil, t.audit(by, "job.cancel", id.String(), r.state.String(), "cancelled")
}

// refuse says why a job is in no state for an act, of which only tells what it
// takes. A job that has come to the end the act is for is no error.
func (t *txn) refuse(id job.ID, end job.State, only string) (own, fatal error) {
	state, _, err := t.find(id)
	switch {
	case err != nil:
		return nil, err
	case state == job.None:
		return fmt.Errorf("job %d: %w", id, store.ErrNotFound), nil
	case state == end:
		return nil, nil
	}
	return fmt.Errorf("job %d is %s: only %s: %w", id, state, only, store.ErrConflict), nil
}

// cancelReady ends a job that waits.
func (t *txn) cancelReady(r *run, from job.State) error {
	if _, err := t.exec(delJob, num(r.id), num(r.token)); err != nil {
		return err
	}
	return t.finish(r, from, job.Cancelled, job.Cancel, 0, nil)
}

// retry opens the next life of one dead job.
func (t *txn) retry(by store.By, id job.ID) (own, fatal error) {
	var r *run
	var status job.Status
	var group int64
	err := t.rows(selRetry, func(row row) error {
		r = &run{id: id, lane: t.cat.byID[row.int(0)], life: int32(row.int(1)) + 1, token: job.Token(row.int(2)),
			owner: row.text(3), batch: row.int(4)}
		status, group = job.Status(row.int(5)), row.int(6)
		return nil
	}, num(id))
	if err != nil {
		return nil, err
	}
	if r == nil {
		return t.refuse(id, job.None, "a dead job can be retried by hand")
	}
	if _, err := t.exec(insRetry, num(id), num(t.now)); err != nil {
		return nil, err
	}
	if _, err := t.exec(setRedriven, num(id)); err != nil {
		return nil, err
	}
	if group != 0 && status == job.Pending {
		t.groupCount(group, 0, -1)
	}
	t.move(r.lane, job.Dead, r.lane, job.Waiting)
	t.batchCount(batchDelta{id: r.batch, dead: -1})
	e := r.event(job.Dead, job.Waiting, job.Retried)
	e.DueAt = t.now
	t.events.Add(e)
	t.wake = true
	return nil, t.audit(by, "job.retry", id.String(), "dead", "waiting")
}

func (t *txn) setQueue(by store.By, c *store.QueueChange) (store.Queue, error) {
	q := t.cat.queues[c.Name]
	if q == nil {
		return store.Queue{}, fmt.Errorf("queue %q: %w", c.Name, store.ErrNotFound)
	}
	before := q.Queue
	after := c.Apply(before)
	if after == before {
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
		return err.Error() // a Queue always marshals
	}
	return string(b)
}
