package storetest

import (
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func retryPromises() []promise {
	return []promise{
		{"D5_RetryOpensTheNextLife", retryOpensTheNextLife},
		{"D5_OnlyDeadJobsAreRetried", onlyDeadJobsAreRetried},
		{"D5_RetryOfAJobThatIsGone", retryOfAGoneJob},
		{"D5_TwoClicksOpenOneLife", twoClicksOpenOneLife},
		{"D1_SecondDeathReopensTheEntry", secondDeathReopensTheEntry},
		{"D5_SuccessResolvesTheEntry", successResolvesTheEntry},
		{"D5_DeadlineStaysWhileItIsAhead", deadlineStaysWhileItIsAhead},
		{"D5_RetryClearsWhatTheLastLifeLeft", retryClearsWhatTheLastLifeLeft},
		{"Q9_RetryIsAudited", retryIsAudited},
	}
}

// proves: D5, D1
func retryOpensTheNextLife(r *rig) {
	id := r.add(everyField)
	r.end(failed(r.takeID(id), "NetworkTimeout", 0))
	r.end(died(r.takeID(id), "NetworkTimeout", job.MaxRetries))
	diedAt := r.now()
	r.clock.Advance(time.Hour)
	r.ok(r.retry(id))
	n := job.New{}
	everyField(&n)
	n.Aside = true
	same(r, "job", r.get(id), job.Job{
		ID: id, Kind: n.Kind, Queue: n.Queue, State: job.Waiting, Priority: n.Priority, Life: 2, Token: 2,
		CreatedAt: r.start, LifeAt: r.now(), RunAt: r.now(),
		Owner: n.Owner, Correlation: n.Correlation, Key: n.Key, Batch: n.Batch, Aside: n.Aside, Attrs: n.Attrs, Override: n.Override, Payload: n.Payload,
	})
	same(r, "dead letter", r.letter(id), job.DeadLetter{
		Death: 1, Job: id, Life: 1, Status: job.Redriven, Reason: job.MaxRetries, Class: "NetworkTimeout", Code: "http.503",
		Fingerprint: "NetworkTimeout|" + kind, Message: "the other side is down",
		Kind: n.Kind, Queue: n.Queue, Owner: n.Owner, Correlation: n.Correlation, Batch: n.Batch, Aside: n.Aside, Holder: holder,
		DiedAt: diedAt, Revived: true,
		Action: job.ActionRetried, Note: person.Reason, ActedAt: r.now(), ActedBy: person.Actor,
	})
	same(r, "number of failures", len(r.failures(id)), 2)
	c := r.takeID(id)
	same(r, "run, life and attempt", []any{c.Token, c.Life, c.Attempt(), c.LifeAt}, []any{job.Token(3), int32(2), int32(1), r.now()})
	same(r, "payload", string(c.Payload), "do it")
}

// proves: D5
func onlyDeadJobsAreRetried(r *rig) {
	completed := r.add()
	r.end(succeeded(r.take()))
	cancelled := r.add()
	r.ok(r.cancel(cancelled))
	retrying := r.add()
	r.end(failed(r.take(), "NetworkTimeout", time.Hour))
	running := r.takeID(r.add()).ID
	waiting := r.add()
	living := []job.ID{completed, cancelled, retrying, running, waiting}
	r.unchanged(func() {
		for _, id := range living {
			r.is(r.retry(id), store.ErrConflict)
		}
		r.is(r.retry(1<<40), store.ErrNotFound)
	})

	dead := r.dead(func(n *job.New) { n.Queue = "other" })
	acted, err := r.Act(ctx(), person, store.Action{Do: store.ActRetry, IDs: []job.ID{1 << 40, dead, waiting}})
	r.ok(err)
	for i, want := range []error{store.ErrNotFound, nil, store.ErrConflict} {
		r.is(acted.Errors[i], want)
	}
	r.state(dead, job.Waiting)
}

// part of: D5
//
// The dead letter may still exist when its job is gone.
func retryOfAGoneJob(r *rig) {
	id := r.die("A")
	r.ok(r.retry(id))
	r.end(succeeded(r.takeID(id)))
	r.add()
	r.clock.Advance(2 * time.Hour)
	same(r, "removed", r.sweep(store.Retention{Completed: time.Hour}, 10).Completed, int64(1))
	same(r, "status of its dead letter", r.letter(id).Status, job.Resolved)
	r.unchanged(func() {
		r.is(r.retry(id), store.ErrNotFound)
		r.is(r.actOn(store.ActRetry, id), store.ErrNotFound)
		r.is(r.preview(store.Action{Do: store.ActRetry, IDs: []job.ID{id}}).Errors[0], store.ErrNotFound)
		r.is(r.cancel(id), store.ErrNotFound)
		// The dead letter of the removed job still exists, but only an entry whose job is dead can
		// be reopened.
		r.is(r.actOn(store.ActReopen, id), store.ErrConflict)
	})
}

// proves: D5
func twoClicksOpenOneLife(r *rig) {
	id := r.dead()
	acted, err := r.Act(ctx(), person, store.Action{Do: store.ActRetry, IDs: []job.ID{id, id}})
	r.ok(err)
	r.is(acted.Errors[0], nil)
	r.is(acted.Errors[1], store.ErrConflict)
	r.unchanged(func() { r.is(r.retry(id), store.ErrConflict) })
	same(r, "life", r.get(id).Life, int32(2))
}

// proves: D1, D5
func secondDeathReopensTheEntry(r *rig) {
	id := r.dead()
	r.ok(r.retry(id))
	r.clock.Advance(time.Minute)
	r.end(died(r.take(), "PermissionError", job.NonRetriable))
	same(r, "dead letter", r.letter(id), job.DeadLetter{
		Death: 2, Job: id, Life: 2, Status: job.Pending, Reason: job.NonRetriable, Class: "PermissionError", Code: "http.503",
		Fingerprint: "PermissionError|" + kind, Message: "the other side is down", Kind: kind, Queue: queue, Holder: holder, DiedAt: r.now(),
	})
	same(r, "number of dead letters", len(r.dump().Dead), 1)
	failures := r.failures(id)
	same(r, "lives with a failure", []int32{failures[0].Life, failures[1].Life}, []int32{1, 2})
	r.ok(r.retry(id))
	same(r, "life", r.get(id).Life, int32(3))
}

// proves: D5
// part of: D2
func successResolvesTheEntry(r *rig) {
	for _, end := range []func(job.Claim) job.Outcome{
		succeeded,
		func(c job.Claim) job.Outcome { return outcome(c, job.Cancel, job.Cancelled) },
	} {
		id := r.dead()
		r.ok(r.retry(id))
		r.clock.Advance(time.Minute)
		c := r.take()
		same(r, "status while it runs", r.letter(id).Status, job.Redriven)
		r.end(end(c))
		l := r.letter(id)
		same(r, "status and life", []any{l.Status, l.Revived, l.Life}, []any{job.Resolved, true, int32(1)})
		did := map[job.State]job.DeadAction{job.Completed: job.ActionCompleted, job.Cancelled: job.ActionCancelled}
		same(r, "what was done and by whom", []any{l.Action, l.ActedBy, l.ActedAt}, []any{did[r.get(id).State], person.Actor, r.now()})
		same(r, "number of failures", len(r.failures(id)), 1)
	}
	id := r.dead() // a person cancels the job before a run of its new life begins
	r.ok(r.retry(id))
	r.ok(r.cancel(id))
	same(r, "status", r.letter(id).Status, job.Resolved)
}

// proves: D5
func deadlineStaysWhileItIsAhead(r *rig) {
	ahead := r.in(time.Hour)
	id := r.dead(func(n *job.New) { n.Deadline = ahead })
	r.ok(r.retry(id))
	same(r, "deadline ahead", r.get(id).Deadline, ahead)
	r.clock.Advance(2 * time.Hour)
	r.none()
	same(r, "reason", r.get(id).Reason, job.DeadlineOver)
	r.ok(r.retry(id))
	same(r, "deadline that is over", r.get(id).Deadline, job.Micros(0))
	same(r, "life and run", []any{r.take().Life, r.get(id).Token}, []any{int32(3), job.Token(2)})
}

// proves: D5
// part of: R2
func retryClearsWhatTheLastLifeLeft(r *rig) {
	id := r.add()
	o := waits(r.take(), job.Deferred, 0)
	o.Memo = []byte("memo of the first life")
	r.end(o)
	c := r.take()
	r.progress(c, 1, 2, "")
	r.ok(r.cancel(id))
	r.end(died(c, "InvalidInput", job.NonRetriable))
	same(r, "cancel of a dead job", r.get(id).CancelAt, job.Micros(0))
	r.ok(r.retry(id))
	c = r.take()
	same(r, "memo", c.Memo, []byte(nil))
	same(r, "counters", c.Counters, job.Counters{})
	same(r, "status", r.beat(runOf(c)), []store.RunStatus{{Held: true}})
	same(r, "progress", r.get(id).Progress, job.Progress{})
}

// proves: Q9
// part of: X2
func retryIsAudited(r *rig) {
	id := r.dead()
	r.clock.Advance(time.Second)
	r.ok(r.retry(id))
	same(r, "audit", r.audit(), []store.Audit{{
		Seq: 1, At: r.now(), Actor: "ann", Action: "job.retry", Target: id.String(),
		Reason: "because", Before: "dead", After: "waiting",
	}})
}
