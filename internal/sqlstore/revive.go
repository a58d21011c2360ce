package sqlstore

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	insRetry     = ask("insRetry")
	setRedriven  = ask("setRedriven")
	insRetries   = ask("insRetries")
	setRedrivens = ask("setRedrivens")
	selOwn       = ask("selOwn")
	insOriginal  = ask("insOriginal")
	setPolicy    = ask("setPolicy")
	setJobKey    = ask("setJobKey")
	setPayload   = ask("setPayload")
)

// revive makes the dead job of an entry live again and begins the job's next life. The last
// argument is the id of the redrive that retries the job; it is 0 if a person retries the job.
// The reason of the request becomes the note of the entry. If the request itself is wrong, for
// example because it needs one lane too many, revive returns the error before it writes
// anything.
func (t *Txn) revive(by store.By, d *deadRow, c *store.Change, redrive int64) error {
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
	changed, lent := to != d.lane || priority != d.priority && !c.Once, Value{}
	if c.OneLifePriority() {
		lent = num(d.priority)
	}
	var own own
	if changed || c.Override != nil || c.Payload != nil {
		var err error
		if own, err = t.own(d, c.Payload != nil); err != nil {
			return err
		}
		own.newPolicy = c.Override != nil && !bytes.Equal(c.Override, own.policy)
		own.newPayload = c.Payload != nil && !bytes.Equal(c.Payload, own.payload)
		changed = changed || own.newPolicy || own.newPayload
	}
	if changed {
		var payload Value
		if own.newPayload { // if the payload does not change, it stays where it is stored
			payload = blob(own.payload)
		}
		_, err := t.exec(insOriginal, num(d.Job), num(t.now), text(by.Actor), text(d.lane.queue), num(d.priority),
			setBlob(own.policy), payload)
		if err != nil {
			return err
		}
	}
	due := c.DueAt(t.now)
	if err := t.one(insRetry, num(d.Death), num(t.now), num(to.id), num(priority), num(due), setNum(redrive), lent); err != nil {
		return err
	}
	if err := t.change(d.Job, c, &own); err != nil {
		return err
	}
	if name := d.changedKey(c); name.key != d.name { // the job's key has changed; retakeKey has already taken the new key
		if err := t.one(setJobKey, num(d.Job), text(name.key)); err != nil {
			return err
		}
	}
	err := t.one(setRedriven, num(d.Death), setText(by.Reason), num(t.now), text(by.Actor), setNum(redrive))
	if err != nil {
		return err
	}
	return t.revived(d, to, priority, due)
}

// revived records that a job was retried: it changes the counts, adds an event, and reports
// the job as ready.
func (t *Txn) revived(d *deadRow, to *Lane, priority int8, due job.Micros) error {
	t.recount(d.group, d.key(), job.Redriven)
	if d.group != 0 {
		t.groups.at(d.group).retried++
	}
	t.move(d.lane, job.Dead, to, job.Waiting)
	t.batchCount(d.batch, batchDelta{endings: endings{dead: -1}})
	t.events.Add(&event.Event{Type: event.JobRetried, Job: d.Job, Kind: to.kind, Queue: to.queue, Owner: d.Owner,
		Batch: d.Batch, From: job.Dead, To: job.Waiting, Life: d.Life + 1, Token: d.token, DueAt: due})
	t.ready(to, priority, due)
	if d.batch > 0 {
		return t.reopen(d.batch)
	}
	return nil
}

// reviveAll revives the jobs of all the entries. The entries are sorted by their deaths, and
// retakeKeys has already taken the unique keys of their jobs.
func (t *Txn) reviveAll(by store.By, all []deadRow, c *store.Change, redrive int64) error {
	// A change of the job needs the job's old values, and a change of the queue needs the
	// job's lane. So these jobs are revived one by one.
	single := c.Queue != "" || c.Override != nil || c.Payload != nil || c.Priority != 0 && !c.Once
	for len(all) > 0 {
		n := 1
		for !single && n < len(all) && all[n].Death == all[n-1].Death+1 {
			n++
		}
		var err error
		if n == 1 {
			err = t.revive(by, &all[0], c, redrive)
		} else {
			err = t.reviveRun(by, all[:n], c, redrive)
		}
		if err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// reviveRun does the same as reviveAll, but for a range of consecutive deaths. All the jobs
// get the same change.
func (t *Txn) reviveRun(by store.By, run []deadRow, c *store.Change, redrive int64) error {
	first, last, due := run[0].Death, run[len(run)-1].Death, c.DueAt(t.now)
	n, err := t.exec(insRetries, num(first), num(last), num(t.now), setNum(c.Priority), num(due), setNum(redrive), bit(c.OneLifePriority()))
	if err != nil {
		return err
	}
	m, err := t.exec(setRedrivens, num(first), num(last), setText(by.Reason), num(t.now), text(by.Actor), setNum(redrive))
	if err != nil {
		return err
	}
	if n != len(run) || m != n {
		return fmt.Errorf("retry of the deaths %d to %d: read %d jobs, but made %d jobs ready and marked %d dead letters as retried; want three equal numbers", first, last, len(run), n, m) // This cannot happen: the rows were read in this transaction.
	}
	for i := range run {
		if err := t.revived(&run[i], run[i].lane, cmp.Or(c.Priority, run[i].priority), due); err != nil {
			return err
		}
	}
	return nil
}

// own contains those values of a dead job that a retry can change. newPolicy and newPayload say
// which of them the retry changes.
type own struct {
	policy, payload       []byte
	long                  bool
	newPolicy, newPayload bool
}

// own reads the values of a dead job that a retry can change. It reads the payload only if the
// last argument is true.
func (t *Txn) own(d *deadRow, payload bool) (o own, err error) {
	err = t.rows(selOwn, func(r Row) error {
		o.policy, o.long, o.payload = r.Blob(0), r.Int(1) != 0, r.Blob(2)
		return nil
	}, num(d.Death))
	if err == nil && o.long && payload {
		err = t.rows(selBody, func(r Row) error { o.payload = r.Blob(0); return nil }, num(d.Job))
	}
	return o, err
}

// change writes a new override and a new payload into a revived job.
func (t *Txn) change(id job.ID, c *store.Change, o *own) error {
	if o.newPolicy {
		if _, err := t.exec(setPolicy, num(id), blob(c.Override)); err != nil {
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
	inline, long := blob(c.Payload), Value{}
	if len(c.Payload) > InlineMax {
		inline, long = Value{}, num(1)
		if _, err := t.exec(insBody, num(id), blob(c.Payload)); err != nil {
			return err
		}
	}
	_, err := t.exec(setPayload, num(id), long, inline)
	return err
}
