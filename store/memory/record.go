package memory

import (
	"bytes"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// record is a job as the store keeps it, in any state. Fields that do not apply to the state
// are zero.
type record struct {
	job.Job
	lane     *lane
	memo     []byte
	begun    job.Token // the last run whose begin a worker has recorded; see store.Beat
	crashMax int32     // for a running job: the number of crashes that make the job dead
	terms    string    // the encoded terms; see job.Terms
	released bool      // whether a rule held the job and a person has retried it; see job.Claim
	redrive  int64     // id of the redrive that opened this life; 0 means none
	own      int8      // the job's permanent priority while this life has a different one; 0 otherwise
	in       *heap     // the heap that contains the job; nil when the job has ended
	place    int       // index of the job in that heap
}

// decided returns the decoded terms of the job.
func (r *record) decided() job.Terms {
	terms, _ := job.ParseTerms(r.terms) // no error is possible: the terms were checked before they were stored
	return terms
}

// detach removes a job from the heap and the counters of its state. Call it before changing
// the job's state, lane or due time, and call attach afterwards.
func (t *tx) detach(r *record) {
	r.lane.counts[r.State]--
	if r.in != nil {
		r.remove()
	}
	if r.State != job.Running {
		return
	}
	usageOf(t.byQueue, r.Queue).running--
	usageOf(t.byKind, r.Kind).running--
	delete(t.asked, r.ID)
	r.LeaseUntil, r.CancelAt, r.crashMax = 0, 0, 0
	r.Progress = job.Progress{}
}

// attach adds a job to the heap and counters of its state. For a running job, the claim
// has already counted the start.
func (t *tx) attach(r *record) {
	r.lane.counts[r.State]++
	switch r.State {
	case job.Waiting, job.Retrying:
		r.lane.ready[r.Priority-job.PriorityMin].add(r)
	case job.Running:
		t.leases.add(r)
	case job.None, job.Completed, job.Dead, job.Cancelled:
	}
}

// transition emits the event for a job whose state has changed. The job already has its new state.
func (t *tx) transition(r *record, from job.State, cause job.Cause, class string) {
	e := about(r)
	e.Type, e.From, e.To = event.Of(cause), from, r.State
	e.Class, e.Reason = class, string(r.Reason)
	if r.State.Ready() {
		e.DueAt = r.RunAt
	}
	if cause == job.Enqueued {
		e.Correlation = r.Correlation
	}
	t.emit(e)
}

// about returns a new event that contains the fields of the job and its run.
func about(r *record) event.Event {
	return event.Event{
		Job: r.ID, Kind: r.Kind, Queue: r.Queue, Owner: r.Owner, Batch: r.Batch,
		Life: r.Life, Token: r.Token, Attempt: r.Counters.Attempts,
	}
}

// wait makes a detached job waiting or retrying. The job is due at the given time.
func (t *tx) wait(r *record, to job.State, runAt job.Micros) {
	r.State, r.RunAt = to, runAt
	t.attach(r)
	t.wake = true
}

// finish ends a detached job as completed or cancelled. It clears the fields that an ended job does
// not keep; a completed job keeps its payload and attributes only if the last argument is true.
func (t *tx) finish(r *record, to job.State, keep bool) {
	r.State, r.FinishedAt = to, t.now
	r.RunAt, r.Deadline = 0, 0
	r.Override, r.memo = nil, nil
	if !keep {
		r.Payload, r.Attrs = nil, nil
	}
	r.redrive = 0
	if to == job.Cancelled {
		t.count(r.lane.laneName, func(f *store.Figures) { f.Cancelled++ })
	}
	t.countMember(r, func(c *store.BatchCounts) {
		if to == job.Completed {
			c.Completed++
		} else {
			c.Cancelled++
		}
	})
	t.attach(r)
	t.ended = append(t.ended, r.ID)
	e := t.dead[r.ID]
	switch {
	case e == nil || e.Status != job.Redriven:
	case to == job.Completed:
		t.set(e, job.Resolved, job.ActionCompleted)
		if g := t.groups[e.Fingerprint]; g != nil {
			g.Helped++
		}
	default:
		t.set(e, job.Resolved, job.ActionCancelled)
	}
}

// cancel cancels a job that waits to run.
func (t *tx) cancel(r *record) {
	from := r.State
	t.answered(r, false, job.Cancelled, nil)
	t.detach(r)
	t.finish(r, job.Cancelled, false)
	t.transition(r, from, job.Cancel, "")
}

// fail appends the failure record of the run that is ending. The given number is the number of
// attempts of the job before this run.
func (t *tx) fail(r *record, f job.Failure, attempts int32, o *job.Outcome) {
	f = cloneFailure(f)
	f.Job, f.Token, f.Life, f.Attempt = r.ID, r.Token, r.Life, attempts+1
	f.StartedAt, f.EndedAt = r.ClaimedAt, t.now
	f.Holder, f.Correlation, f.Cost, f.Sends = r.Holder, r.Correlation, o.Cost, o.Sends
	t.failures[r.ID] = append(t.failures[r.ID], f)
}

func cloneFailure(f job.Failure) job.Failure {
	if f.Exit != nil {
		exit := *f.Exit
		f.Exit = &exit
	}
	f.Details, f.Stderr, f.Stdout, f.Decision = bytes.Clone(f.Details), bytes.Clone(f.Stderr), bytes.Clone(f.Stdout), bytes.Clone(f.Decision)
	return f
}
