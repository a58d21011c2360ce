package sqlite

import (
	"bytes"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	insRetry = &query{`INSERT INTO redrive_jobs (id, lane, state, priority, run_at, token, life,
		attempts, crashes, deferrals, snoozes, interrupts, created_at, life_at, deadline, owner, correlation, key,
		batch, attrs, policy, redrive, long, payload)
		SELECT job, ?3, 1, ?4, ?5, token, life + 1, 0, 0, 0, 0, 0, created_at, ?2,
		CASE WHEN deadline > ?2 THEN deadline END, owner, correlation, key, batch, attrs, policy, ?6, long, payload
		FROM redrive_dead WHERE death = ?1 AND revived = 0`}
	// What the job takes with it is not kept twice.
	setRedriven = &query{`UPDATE redrive_dead SET status = 1, revived = 1, action = 'retried', note = ?2, acted_at = ?3,
		acted_by = ?4, reopen_at = NULL, redrive = ?5, attrs = NULL, policy = NULL, long = NULL, payload = NULL
		WHERE death = ?1`}
	selOwn      = &query{`SELECT policy, long, payload FROM redrive_dead WHERE death = ?`}
	insOriginal = &query{`INSERT INTO redrive_originals (job, at, by, queue, priority, policy, payload)
		VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (job) DO NOTHING`}
	setPolicy  = &query{`UPDATE redrive_jobs SET policy = ?2 WHERE id = ?1`}
	setPayload = &query{`UPDATE redrive_jobs SET long = ?2, payload = ?3 WHERE id = ?1`}
)

// revive opens the next life of the dead job of an entry, for a person or, when
// it has a number, for a redrive. The note of the entry is by's reason. An error
// that is the store's own, as of one lane too many, comes before anything is
// written.
func (t *txn) revive(by store.By, d *deadRow, c *store.Change, redrive int64) error {
	to, priority := d.lane, d.priority
	if c.Queue != "" && c.Queue != d.lane.queue {
		var err error
		if to, err = t.lane(c.Queue, d.lane.kind, d.lane.deps); err != nil {
			return err
		}
	}
	if c.Priority != 0 {
		priority = c.Priority
	}
	changed := to != d.lane || priority != d.priority && redrive == 0
	var own own
	if changed || c.Policy != nil || c.Payload != nil {
		var err error
		if own, err = t.own(d); err != nil {
			return err
		}
		own.newPolicy = c.Policy != nil && !bytes.Equal(c.Policy, own.policy)
		own.newPayload = c.Payload != nil && !bytes.Equal(c.Payload, own.payload)
		changed = changed || own.newPolicy || own.newPayload
	}
	if changed {
		_, err := t.exec(insOriginal, num(d.Job), num(t.now), text(by.Actor), text(d.lane.queue), num(d.priority),
			setBlob(own.policy), setBlob(own.payload))
		if err != nil {
			return err
		}
	}
	due := t.now.Add(c.Delay)
	if _, err := t.exec(insRetry, num(d.Death), num(t.now), num(to.id), num(priority), num(due), setNum(redrive)); err != nil {
		return err
	}
	if err := t.change(d.Job, c, &own); err != nil {
		return err
	}
	_, err := t.exec(setRedriven, num(d.Death), setText(by.Reason), num(t.now), text(by.Actor), setNum(redrive))
	if err != nil {
		return err
	}
	t.recount(d.group, d.key(), job.Redriven)
	t.move(d.lane, job.Dead, to, job.Waiting)
	t.batchCount(batchDelta{id: d.batch, dead: -1})
	t.events.Add(&event.Event{Type: event.JobRetried, Job: d.Job, Kind: to.kind, Queue: to.queue, Owner: d.Owner,
		Batch: d.batch, From: job.Dead, To: job.Waiting, Life: d.Life + 1, Token: d.token, DueAt: due})
	t.wake = true
	return nil
}

// own is what a dead job brings along, and what of it a retry changes.
type own struct {
	policy, payload       []byte
	long                  bool
	newPolicy, newPayload bool
}

func (t *txn) own(d *deadRow) (o own, err error) {
	err = t.rows(selOwn, func(r row) error {
		o.policy, o.long, o.payload = r.blob(0), r.int(1) != 0, r.blob(2)
		return nil
	}, num(d.Death))
	if err == nil && o.long {
		err = t.rows(selBody, func(r row) error { o.payload = r.blob(0); return nil }, num(d.Job))
	}
	return o, err
}

// change gives a job that was brought back other settings and another payload.
func (t *txn) change(id job.ID, c *store.Change, o *own) error {
	if o.newPolicy {
		if _, err := t.exec(setPolicy, num(id), blob(c.Policy)); err != nil {
			return err
		}
	}
	if !o.newPayload {
		return nil
	}
	if o.long {
		if _, err := t.exec(delBody, num(id)); err != nil {
			return err
		}
	}
	inline, long := blob(c.Payload), value{}
	if len(c.Payload) > inlineMax {
		inline, long = value{}, num(1)
		if _, err := t.exec(insBody, num(id), blob(c.Payload)); err != nil {
			return err
		}
	}
	_, err := t.exec(setPayload, num(id), long, inline)
	return err
}
