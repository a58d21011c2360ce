package memory

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/redrive/redrive/internal/storekit"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// settle writes one outcome. If it returns an error, nothing was written.
func (t *tx) settle(o *job.Outcome) error {
	if err := validOutcome(o); err != nil {
		return err
	}
	r := t.running(store.Run{ID: o.ID, Token: o.Token})
	if r == nil {
		return t.settled(o)
	}
	to := r.lane.laneName
	if o.To.Ready() && o.Queue != "" {
		to.queue = o.Queue
	}
	if t.lanes[to] == nil && len(t.lanes) >= job.LanesMax {
		return fmt.Errorf("job %d: %w", o.ID, tooManyLanes(to))
	}
	t.wake = true // the end of this run makes room under a limit, so waiting jobs may start now
	t.endRun(r, o, to)
	return nil
}

func validOutcome(o *job.Outcome) error {
	if err := o.Validate(); err != nil {
		return fmt.Errorf("%w: %w", err, store.ErrInvalid)
	}
	if o.Queue == "" {
		return nil
	}
	if err := store.ValidName("queue", o.Queue); err != nil {
		return fmt.Errorf("job %d: %w", o.ID, err)
	}
	return nil
}

// running returns the job of a run if the run is the job's current run. Otherwise it returns nil.
func (t *tx) running(run store.Run) *record {
	r := t.jobs[run.ID]
	if r == nil || r.State != job.Running || r.Token != run.Token {
		return nil
	}
	return r
}

// settled returns the answer to an outcome whose run has already ended: nil if this outcome was
// written before, otherwise an ErrLeaseLost.
func (t *tx) settled(o *job.Outcome) error {
	r := t.jobs[o.ID]
	if r == nil {
		return storekit.Settled(job.None, 0, o, false)
	}
	crashed := slices.ContainsFunc(t.failures[o.ID], func(f job.Failure) bool {
		return f.Token == o.Token && f.How == job.ByCrash
	})
	return storekit.Settled(r.State, r.Token, o, crashed)
}

// endRun ends a run with the given outcome. If the job runs again, the last argument is its lane.
func (t *tx) endRun(r *record, o *job.Outcome, to laneName) {
	attempts, cancel, class, fingerprint := r.Counters.Attempts, r.CancelAt != 0, "", ""
	r.Counters.Count(o.Cause)
	attempt := o.Cause == job.Succeeded || o.Cause == job.Failed
	if o.Cost > 0 && o.StoresCost() {
		t.count(r.lane.laneName, func(f *store.Figures) { f.Cost += o.Cost })
	}
	if attempt {
		t.attempted(r, o)
	}
	t.answered(r, attempt, o.To, o.Failure)
	if f := o.Failure; f != nil {
		t.fail(r, *f, attempts, o)
		class, fingerprint = f.Class, f.Fingerprint
	}
	t.detach(r)
	switch o.To {
	case job.Completed, job.Cancelled:
		if o.To == job.Completed {
			r.Result = bytes.Clone(o.Result)
			t.completed(r)
		}
		if o.Failure == nil { // without a failure record, the job itself stores the cost and the number of sends
			r.Cost, r.Sends = o.Cost, int64(o.Sends)
		}
		class = "" // the event of a completed or cancelled job has no class
		t.finish(r, o.To, o.Keep && o.To == job.Completed)
	case job.Dead:
		t.makeDead(r, o.Cause, o.Reason, class, fingerprint, o.Notified)
	case job.Waiting, job.Retrying:
		t.again(r, o, to)
	case job.None, job.Running: // Validate has refused such outcomes
	}
	t.transition(r, job.Running, o.Cause, class)
	t.events[len(t.events)-1].Note = job.HoldNotify(o.Failure)
	if cancel && r.State.Ready() {
		t.cancel(r) // a person asked to cancel the job while it ran
	}
}

// again makes a detached job ready to run again, as the outcome of its run asks.
func (t *tx) again(r *record, o *job.Outcome, to laneName) {
	r.lane = t.lane(to)
	r.Queue = to.queue
	if o.Priority != 0 {
		r.Priority = o.Priority
	}
	if o.Memo != nil {
		r.memo = bytes.Clone(o.Memo)
	}
	t.wait(r, o.To, max(t.now.Add(o.Delay), o.NotBefore))
}
