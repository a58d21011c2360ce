package sqlstore

import (
	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The functions of this file are for stores that write many jobs with one statement. Such a
// store executes that statement itself. These functions record the changes of counters,
// statistics and events for each job, in the order of the calls. Special cases are written job
// by job, for example a death or the end of a job that a redrive released.

// NewCatalog reads only the lanes and queues, and the rules of notifications. Everything else is read when a transaction needs
// it. NewCatalog does not read the data for the limits of claims; use ReadCatalog for a claim
// with limits.
func NewCatalog(s Session) (*Catalog, error) {
	c := &Catalog{lanes: make(map[laneKey]*Lane), byID: make(map[int64]*Lane), queues: make(map[string]*queueRow),
		uncounted: true, late: true}
	hash := ""
	err := s.Rows(selRulesHash, func(r Row) error { hash = r.Text(0); return nil })
	if err == nil {
		c.rules, err = readSet(s, hash)
	}
	if err != nil {
		return c, err
	}
	return c, c.readLanes(s)
}

// LaneOf returns the id of a lane; 0 when it does not exist.
func (c *Catalog) LaneOf(queue, kind, deps string) int64 {
	if l := c.lanes[laneKey{queue, kind, deps}]; l != nil {
		return l.id
	}
	return 0
}

// Lane returns the queue and the kind of a lane, and whether claims may take jobs from it. The
// names are empty when the lane does not exist.
func (c *Catalog) Lane(id int64) (queue, kind string, open bool) {
	l := c.byID[id]
	if l == nil {
		return "", "", false
	}
	q := c.queues[l.queue]
	return l.queue, l.kind, !l.parked && q != nil && q.Mode != store.Paused
}

// Draining reports whether a queue takes no new jobs.
func (c *Catalog) Draining(queue string) bool {
	q := c.queues[queue]
	return q != nil && q.Mode == store.Draining
}

// Limited reports whether a limit for any of the wants counts the running jobs of all
// processes. Such a limit comes from the want or from a setting that a person made.
func (c *Catalog) Limited(wants []store.Want) bool {
	for i := range wants {
		w := &wants[i]
		q := c.queues[w.Queue]
		if w.Limit != 0 || !w.Rate.Unlimited() || q != nil && (q.Limit != 0 || !q.Rate.Unlimited()) {
			return true
		}
		for k := range w.Kinds {
			if w.Kinds[k].Limit != 0 || !w.Kinds[k].Rate.Unlimited() {
				return true
			}
		}
	}
	return false
}

// ID returns the id of the run's job.
func (r *Run) ID() job.ID { return r.id }

// Token returns the number of the run.
func (r *Run) Token() job.Token { return r.token }

// Lane returns the number of the job's lane.
func (r *Run) Lane() int64 { return r.lane.id }

// Kind returns the job's kind.
func (r *Run) Kind() string { return r.lane.kind }

// Queue returns the queue that the job is in.
func (r *Run) Queue() string { return r.lane.queue }

// Priority returns the job's priority.
func (r *Run) Priority() int8 { return r.priority }

// Long reports whether the job's payload is stored in the table redrive_bodies.
func (r *Run) Long() bool { return r.long }

// MaxCrashes returns the crash limit that is stored with the job.
func (r *Run) MaxCrashes() int32 { return r.crashMax }

// Terms returns the number of the terms of the job; 0 means the defaults.
func (r *Run) Terms() int64 { return r.terms }

// Counters returns the counters of the job after its run has ended with the given
// cause.
func (r *Run) Counters(cause job.Cause) job.Counters {
	c := r.counters
	c.Count(cause)
	return c
}

// Plain reports whether the end of the run changes nothing outside the job: the job is in its
// first life, no redrive released the job, and no person asked it to stop.
func (r *Run) Plain() bool { return r.life == 1 && r.redrive == 0 && !r.asked }

// ClaimAll claims jobs for all wants. It reads the jobs from the given source.
func (t *Txn) ClaimAll(x *store.Exchange, out *store.Exchanged, source Source) error {
	return t.claimAll(x, out, source)
}

// Readied is a job that became ready to run, with its due time.
type Readied struct {
	Lane     int64
	Priority int8
	At       job.Micros
}

// Readied returns the jobs that became ready since the last call. It covers outcomes and new
// jobs that were written one by one.
func (t *Txn) Readied() []Readied {
	all := t.readied
	t.readied = nil
	return all
}

// Settle writes one outcome. The first error concerns only this outcome; the second error ends
// the transaction.
func (t *Txn) Settle(o *job.Outcome) (own, fatal error) { return t.settle(o) }

// Cancelled reports whether the last call of Settle has cancelled the job although the outcome
// asks for another run. This happens if a person has asked the job to stop.
func (t *Txn) Cancelled() bool { return t.cancelled }

// Completed records that a plain run has completed its job. The caller has already written the
// rows.
func (t *Txn) Completed(r *Run, o *job.Outcome) {
	t.wrote = true
	r.counters.Count(o.Cause)
	t.move(r.lane, job.Running, r.lane, job.Completed)
	t.ended(r, job.Completed)
	t.completed(r)
	t.events.Add(r.event(job.Running, job.Completed, o.Cause))
	t.spent(r.lane, o)
	t.attempted(r.lane, r, o)
}

// Postponed records that a plain run has put its job back into its lane, and that the job is due
// at the given time. The caller has already written the rows, except the failure record.
func (t *Txn) Postponed(r *Run, o *job.Outcome, due job.Micros) {
	t.wrote, t.wake = true, true
	r.counters.Count(o.Cause)
	t.move(r.lane, job.Running, r.lane, o.To)
	e := r.event(job.Running, o.To, o.Cause)
	e.DueAt = due
	if o.Failure != nil {
		e.Class = o.Failure.Class
	}
	t.events.Add(e)
	t.spent(r.lane, o)
	if isAttempt(o) {
		t.attempted(r.lane, r, o)
	}
}

// Progress stores the progress of a run that holds its lease.
func (t *Txn) Progress(p *job.Progress) error { return t.progress(p) }

// AppendFailure appends the columns of an outcome's failure record to args, in the order of
// insFailure. Call it after Postponed or AppendDeath for the same run. The appended values share
// memory with the second result.
func (t *Txn) AppendFailure(args []Value, packed []byte, r *Run, o *job.Outcome) ([]Value, []byte) {
	attempt := r.counters.Attempts
	if o.Cause != job.Failed && o.Cause != job.Succeeded {
		attempt++ // the counters do not yet contain the attempt that ends now
	}
	return appendFailure(args, packed, t.now, r, o.Failure, attempt, o.Cost, o.Sends)
}

// BeginDeaths must be called before the first death of a transaction. The rows of the jobs
// must be locked before.
func (t *Txn) BeginDeaths() error { return t.lockDeadLetters() }

// AppendDeath appends the arguments of insDead for a plain run whose outcome makes the
// job dead, and records the death. Afterwards append the failure record with
// AppendFailure.
func (t *Txn) AppendDeath(args []Value, r *Run, o *job.Outcome) ([]Value, error) {
	t.wrote = true
	r.counters.Count(o.Cause)
	b, err := t.inGroup(r, o.Failure)
	if err != nil {
		return args, err
	}
	args = t.appendDeath(args, job.Running, r, o.Reason, o.Failure, &b)
	t.noteDeath(job.Running, r, o.Cause, o.Reason, o.Failure, o.Notified, &b)
	t.spent(r.lane, o)
	if isAttempt(o) {
		t.attempted(r.lane, r, o)
	}
	return args, nil
}

// Enqueued records that a job was added to a lane, and when the job is due. The caller has
// already written the row.
func (t *Txn) Enqueued(n *job.New, lane int64, due job.Micros) {
	t.wrote, t.wake = true, true
	l := t.cat.byID[lane]
	t.count(l, job.Waiting, 1)
	t.of(l).Enqueued++
	t.batchCount(signed(n.Batch, n.Aside), batchDelta{total: 1})
	t.events.Add(&event.Event{Type: event.JobEnqueued, Job: n.ID, Kind: n.Kind, Queue: n.Queue, Owner: n.Owner,
		Batch: n.Batch, To: job.Waiting, Life: 1, DueAt: due, Correlation: n.Correlation})
}

// BatchColumn returns the value of the column batch of a new job.
func BatchColumn(n *job.New) int64 { return signed(n.Batch, n.Aside) }

// RelyOnEarlier records that the transaction answers that an earlier one has done what was asked;
// see ReliesOnEarlier.
func (t *Txn) RelyOnEarlier() { t.reliesOnEarlier = true }
