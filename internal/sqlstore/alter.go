package sqlstore

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

var (
	selWaits = ask("selWaits")
	setWaits = ask("setWaits")
)

// Alter implements store.Live.
func (s *Core) Alter(ctx context.Context, by store.By, ids []job.ID, c store.Change) (answers []error, err error) {
	if err := cmp.Or(by.ValidateOn(len(ids)), c.ValidateAlter(len(ids))); err != nil {
		return nil, err
	}
	return s.eachJob(ctx, &by, ids, func(t *Txn, id job.ID) (own, fatal error) { return t.alterByID(by, id, &c) })
}

// alterByID changes one job. Call it after lockJobs. The first error concerns only this job;
// the second error ends the transaction.
func (t *Txn) alterByID(by store.By, id job.ID, c *store.Change) (own, fatal error) {
	const only = "a waiting or retrying job can be changed"
	w := waiting{}
	var err error
	if w.Run, err = t.live(id); err != nil {
		return nil, err
	}
	switch {
	case w.Run == nil:
		return t.refuse(id, job.None, only)
	case w.state == job.Running:
		return fmt.Errorf("job %d is running: only %s: %w", id, only, store.ErrConflict), nil
	}
	err = t.rows(selWaits, func(r Row) error {
		w.Waits = w.waits(r, 0)
		w.payload = r.Blob(3)
		return nil
	}, num(id))
	if err == nil && w.long && c.Payload != nil {
		err = t.rows(selBody, func(r Row) error { w.payload = r.Blob(0); return nil }, num(id))
	}
	if err != nil {
		return nil, err
	}
	if own := by.CheckPayload(id, w.payload, c.Payload); own != nil {
		return own, nil
	}
	changed, own, err := t.alter(by, &w, c)
	if err != nil || own != nil {
		return own, err
	}
	if !changed {
		t.reliesOnEarlier = true
		return nil, nil
	}
	return nil, t.audit(by, "job.alter", id.String(), w.state.String(), c.AuditAlter(w.state))
}

// waiting is a waiting or retrying job with the values that Alter can change.
type waiting struct {
	*Run
	storekit.Waits
	payload []byte // set only if the change has a payload
}

// waits reads the columns run_at, own_priority and policy, which begin at the given index.
func (r *Run) waits(row Row, from int) storekit.Waits {
	return storekit.Waits{Queue: r.lane.queue, Priority: r.priority, Own: int8(row.Int(from + 1)),
		DueAt: job.Micros(row.Int(from)), LifeAt: r.lifeAt, Override: row.Blob(from + 2)}
}

// fresh reports whether a waiting or retrying job has not run yet in its current life.
func (r *Run) fresh() bool { return r.counters == job.Counters{} }

// alter changes a waiting or retrying job, and reports whether anything was changed. The first
// error concerns only this job; if it is not nil, nothing was written. The second error ends
// the transaction.
func (t *Txn) alter(by store.By, w *waiting, c *store.Change) (changed bool, own, fatal error) {
	to, kept, changed := w.Altered(c, t.now, w.fresh())
	o := w.replaced(c, &to)
	if !changed && !o.newPayload {
		return false, nil, nil
	}
	lane := w.lane
	if key := (laneKey{to.Queue, lane.kind, lane.deps}); t.cat.lanes[key] == nil && len(t.cat.byID) >= job.LanesMax {
		return false, tooManyLanes(key), nil
	}
	name := keyName{w.owner, lane.kind, w.key}
	if o.newPayload { // keys must be locked before lanes
		d := &deadRow{DeadLetter: job.DeadLetter{Job: w.id, Owner: w.owner}, lane: lane, name: w.key}
		if own, fatal = t.keyInUse(d, c); own != nil || fatal != nil {
			return false, own, fatal
		}
		if fatal = t.retakeKey(d, c); fatal != nil {
			return false, nil, fatal
		}
		name = d.changedKey(c)
	}
	if to.Queue != lane.queue {
		if lane, fatal = t.lane(to.Queue, lane.kind, lane.deps); fatal != nil {
			return false, nil, fatal
		}
	}
	if kept || o.newPayload {
		var payload Value
		if o.newPayload { // without a new payload, the stored payload stays unchanged
			payload = blob(o.payload)
		}
		_, fatal = t.exec(insOriginal, num(w.id), num(t.now), text(by.Actor), text(w.lane.queue), num(cmp.Or(w.Own, w.priority)),
			setBlob(w.Override), payload)
		if fatal != nil {
			return false, nil, fatal
		}
	}
	fatal = t.one(setWaits, num(w.id), num(w.token), num(lane.id), num(to.Priority), setNum(to.Own), num(to.DueAt), num(to.LifeAt))
	if fatal == nil {
		fatal = t.change(w.id, c, &o)
	}
	if fatal == nil && name.key != w.key { // the job's key has changed; retakeKey has already taken the new key
		fatal = t.one(setJobKey, num(w.id), text(name.key))
	}
	if fatal != nil {
		return false, nil, fatal
	}
	if lane != w.lane {
		t.move(w.lane, w.state, lane, w.state)
	}
	e := w.event(job.None, job.None, 0)
	e.Type, e.Queue, e.DueAt = event.JobAltered, lane.queue, to.DueAt
	t.events.Add(e)
	t.ready(lane, to.Priority, to.DueAt)
	return true, nil, nil
}

// replaced returns the job's override and payload as they were before the change c, and says
// which of the two the change replaces. The last argument contains the job's values after the
// change.
func (w *waiting) replaced(c *store.Change, to *storekit.Waits) own {
	return own{policy: w.Override, payload: w.payload, long: w.long,
		newPolicy:  !bytes.Equal(to.Override, w.Override),
		newPayload: c.Payload != nil && !bytes.Equal(c.Payload, w.payload)}
}
