package storetest

import (
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func cancelPromises() []promise {
	return []promise{
		{"Q9_WaitingIsCancelledAtOnce", waitingIsCancelledAtOnce},
		{"Q9_RunningIsAskedToStop", runningIsAskedToStop},
		{"Q9_LateSuccessWins", lateSuccessWins},
		{"Q9_CancelOutlivesTheRun", cancelOutlivesTheRun},
		{"Q9_EndedCannotBeCancelled", endedCannotBeCancelled},
		{"Q9_CancelAnswersPerID", cancelAnswersPerID},
		{"Q9_CancelIsAudited", cancelIsAudited},
		{"Q9_SignalsGoToTheHolder", signalsGoToTheHolder},
		{"Q9_NobodyActsWithoutAName", nobodyActsWithoutAName},
	}
}

// proves: Q9
func waitingIsCancelledAtOnce(r *rig) {
	id := r.add(everyField)
	r.ok(r.cancel(id))
	j := r.get(id)
	same(r, "state and end", []any{j.State, j.FinishedAt, j.RunAt}, []any{job.Cancelled, r.now(), job.Micros(0)})

	id = r.add()
	r.end(failed(r.take(), "NetworkTimeout", time.Hour))
	r.ok(r.cancel(id))
	j = r.get(id)
	same(r, "state and counters", []any{j.State, j.Counters}, []any{job.Cancelled, job.Counters{Attempts: 1}})
	same(r, "number of failures", len(r.failures(id)), 1)
	r.clock.Advance(2 * time.Hour)
	r.none()
}

// proves: Q9
func runningIsAskedToStop(r *rig) {
	id := r.add(func(n *job.New) { n.Owner = "alice" })
	c := r.take()
	same(r, "status", r.beat(runOf(c)), []store.RunStatus{{Held: true}})
	at := r.cursor()
	asked := r.now()
	r.ok(r.cancel(id))
	events := r.events(at)
	if len(events) != 1 || events[0].Type != event.JobCancelAsked || events[0].Job != id || events[0].Owner != "alice" {
		r.fail("events %+v, want one job.cancel_requested", events)
	}
	r.clock.Advance(time.Second)
	r.unchanged(func() { r.ok(r.cancel(id)) }) // a second cancel request changes nothing
	j := r.get(id)
	same(r, "state and when asked", []any{j.State, j.CancelAt}, []any{job.Running, asked})
	same(r, "status", r.beat(runOf(c)), []store.RunStatus{{Held: true, Cancel: true}})

	r.end(outcome(c, job.Cancel, job.Cancelled))
	j = r.get(id)
	same(r, "state and counters", []any{j.State, j.Counters, j.CancelAt}, []any{job.Cancelled, job.Counters{}, job.Micros(0)})
}

// proves: Q9
func lateSuccessWins(r *rig) {
	id := r.add()
	c := r.take()
	r.ok(r.cancel(id))
	r.end(succeeded(c))
	r.state(id, job.Completed)
	r.is(r.cancel(id), store.ErrConflict)
}

// proves: Q9
//
// A run may end with an outcome that makes the job run again, before its worker has seen the cancel
// request. Then the request must still cancel the job, and the answer to the exchange must say so.
func cancelOutlivesTheRun(r *rig) {
	for _, end := range []func(job.Claim) job.Outcome{
		func(c job.Claim) job.Outcome { return failed(c, "NetworkTimeout", time.Hour) },
		func(c job.Claim) job.Outcome { return waits(c, job.Snoozed, time.Hour) },
		func(c job.Claim) job.Outcome { return waits(c, job.Deferred, time.Hour) },
		func(c job.Claim) job.Outcome { return waits(c, job.Interrupted, 0) },
	} {
		id := r.add()
		c := r.take()
		r.ok(r.cancel(id))
		other := r.takeID(r.add())
		at := r.cursor()
		o := end(c)
		for range 2 { // the second exchange repeats the first; its outcomes are already written
			x := r.exchange(store.Exchange{Settle: []job.Outcome{succeeded(other), o}})
			same(r, "outcomes whose jobs are cancelled", x.Cancelled, []int{1})
			r.ok(x.Settled[0])
			r.ok(x.Settled[1])
		}
		j := r.get(id)
		same(r, "state and end after "+o.Cause.String(), []any{j.State, j.FinishedAt}, []any{job.Cancelled, r.now()})
		var changes []job.Transition
		for _, e := range r.events(at) {
			if e.Job == id {
				changes = append(changes, job.Transition{From: e.From, To: e.To, Cause: job.Cause(e.Type)})
			}
		}
		same(r, "changes", changes, []job.Transition{
			{From: job.Running, To: o.To, Cause: o.Cause},
			{From: o.To, To: job.Cancelled, Cause: job.Cancel},
		})
	}
}

// proves: Q9
func endedCannotBeCancelled(r *rig) {
	completed := r.add()
	r.end(succeeded(r.take()))
	dead := r.dead()
	cancelled := r.add()
	r.ok(r.cancel(cancelled))
	r.unchanged(func() {
		r.is(r.cancel(completed), store.ErrConflict)
		r.is(r.cancel(dead), store.ErrConflict)
		r.is(r.cancel(cancelled), nil)
		r.is(r.cancel(cancelled+1000), store.ErrNotFound)
	})
}

// proves: Q9
func cancelAnswersPerID(r *rig) {
	dead, running, waiting := r.dead(), r.takeID(r.add()), r.add()
	errs, err := r.Cancel(ctx(), person, []job.ID{dead, waiting, 1 << 40, running.ID, waiting})
	r.ok(err)
	for i, want := range []error{store.ErrConflict, nil, store.ErrNotFound, nil, nil} {
		r.is(errs[i], want)
	}
	r.state(waiting, job.Cancelled)
	same(r, "asked to stop", r.beat(runOf(running))[0].Cancel, true)
	same(r, "number of audit rows", len(r.audit()), 2)
}

// proves: Q9
// part of: X2
func cancelIsAudited(r *rig) {
	waiting := r.add()
	r.ok(r.cancel(waiting))
	r.clock.Advance(time.Second)
	running := r.takeID(r.add())
	r.ok(r.cancel(running.ID))
	r.is(r.cancel(running.ID+1000), store.ErrNotFound) // a cancel request that changes nothing writes no audit row
	same(r, "audit", r.audit(), []store.Audit{
		{
			Seq: 1, At: r.in(-time.Second), Actor: "ann", Action: "job.cancel", Target: waiting.String(),
			Reason: "because", Before: "waiting", After: "cancelled",
		},
		{
			Seq: 2, At: r.now(), Actor: "ann", Action: "job.cancel", Target: running.ID.String(),
			Reason: "because", Before: "running", After: "cancel_requested",
		},
	})
}

// proves: Q9
func signalsGoToTheHolder(r *rig) {
	r.add()
	r.add()
	mine := r.exchange(store.Exchange{Holder: "mine", Want: []store.Want{want(1)}}).Claims[0]
	r.exchange(store.Exchange{Holder: "theirs", Want: []store.Want{want(1)}})
	cancels := func(holder string) []store.Run {
		s, err := r.Signals(ctx(), holder)
		r.ok(err)
		return s.Cancel
	}
	same(r, "signals", cancels("mine"), nil)
	r.ok(r.cancel(mine.ID))
	same(r, "signals", cancels("mine"), []store.Run{runOf(mine)})
	same(r, "signals of another", cancels("theirs"), nil)
	r.end(outcome(mine, job.Cancel, job.Cancelled))
	same(r, "signals after the end", cancels("mine"), nil)
}

// proves: Q9
// part of: X2
func nobodyActsWithoutAName(r *rig) {
	waiting, dead := r.add(func(n *job.New) { n.Queue = "other" }), r.dead()
	r.unchanged(func() {
		_, err := r.Cancel(ctx(), store.By{}, []job.ID{waiting})
		r.is(err, store.ErrInvalid)
		_, err = r.Act(ctx(), store.By{}, store.Action{Do: store.ActRetry, IDs: []job.ID{dead}})
		r.is(err, store.ErrInvalid)
		_, err = r.SetQueue(ctx(), store.By{}, store.QueueChange{Name: queue})
		r.is(err, store.ErrInvalid)
	})
}
