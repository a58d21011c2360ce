package storetest

import (
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func duePromises() []promise {
	return []promise{
		{"Q2_NeverBeforeItsTime", neverBeforeItsTime},
		{"Q2_NextDue", nextDue},
		{"Q2_NextDueOfWhatCanBeTaken", nextDueOfWhatCanBeTaken},
		{"Q2_Full", full},
		{"D1_DeadlineIsTheEnd", deadlineIsTheEnd},
		{"D1_ExpiredTakesNoRoom", expiredTakesNoRoom},
		{"D1_ExpiredIsDead", expiredIsDead},
		{"D1_RetryingExpiresToo", retryingExpiresToo},
	}
}

// proves: Q2, R15
func neverBeforeItsTime(r *rig) {
	id := r.add(func(n *job.New) { n.RunAt = r.in(time.Hour) })
	r.clock.Advance(time.Hour - time.Microsecond)
	r.none()
	r.clock.Advance(time.Microsecond)
	same(r, "claim", r.take().ID, id)
}

// proves: Q2
func nextDue(r *rig) {
	due := func() time.Duration { return r.exchange(store.Exchange{Want: []store.Want{want(5)}}).NextDue }
	same(r, "due of an empty store", due(), store.Never)
	r.add(func(n *job.New) { n.RunAt, n.Priority = r.in(time.Minute), 1 })
	r.add(func(n *job.New) { n.RunAt, n.Priority = r.in(3*time.Second), 4 })
	same(r, "due", due(), 3*time.Second)
	r.clock.Advance(3*time.Second - time.Microsecond)
	same(r, "due", due(), time.Microsecond)
	r.clock.Advance(time.Microsecond)
	same(r, "due, with one given out", due(), 57*time.Second)

	// NextDue also counts a job that this exchange has just put back into the queue.
	c := r.takeID(r.add())
	x := r.exchange(store.Exchange{Settle: []job.Outcome{failed(c, "NetworkTimeout", 2*time.Second)}, Want: []store.Want{want(5)}})
	same(r, "due", x.NextDue, 2*time.Second)
	x = r.exchange(store.Exchange{})
	same(r, "next due time without a want", x.NextDue, store.Never)
}

// proves: Q2
func nextDueOfWhatCanBeTaken(r *rig) {
	r.add(func(n *job.New) { n.Kind, n.RunAt = "unknown", r.in(time.Second) })
	r.add(func(n *job.New) { n.Queue, n.RunAt = "other", r.in(time.Second) })
	w := want(5)
	due := func() time.Duration { return r.exchange(store.Exchange{Want: []store.Want{w}}).NextDue }
	same(r, "due of what is not wanted", due(), store.Never)

	r.add(func(n *job.New) { n.RunAt = r.in(time.Second) })
	same(r, "due", due(), time.Second)
	w.Kinds[0].Max = 0
	same(r, "due of a kind without room", due(), store.Never)
	w.Kinds[0].Max = 5
	r.set(store.QueueChange{Mode: new(store.Paused)})
	same(r, "due of a paused queue", due(), store.Never)
	r.set(store.QueueChange{Mode: new(store.Draining)})
	same(r, "due of a draining queue", due(), time.Second)
}

// proves: Q2
func full(r *rig) {
	for range 3 {
		r.add()
	}
	x := r.exchange(store.Exchange{Want: []store.Want{want(2)}})
	if !x.Full || len(x.Claims) != 2 {
		r.fail("exchange that wants 2 jobs when 3 jobs are due: got %d claims and Full %v, want 2 claims and Full true", len(x.Claims), x.Full)
	}
	same(r, "due of a want that was filled", x.NextDue, store.Never)
	x = r.exchange(store.Exchange{Want: []store.Want{want(2)}})
	if x.Full || len(x.Claims) != 1 {
		r.fail("exchange that wants 2 jobs when 1 job is due: got %d claims and Full %v, want 1 claim and Full false", len(x.Claims), x.Full)
	}
}

// proves: D1
//
// A job expires exactly at its deadline, not one microsecond later. The suite checks all time
// limits of a store in this way.
func deadlineIsTheEnd(r *rig) {
	inTime := r.add(func(n *job.New) { n.Deadline = r.in(time.Minute) })
	r.clock.Advance(time.Minute - time.Microsecond)
	same(r, "claim before the deadline", r.take().ID, inTime)

	late := r.add(func(n *job.New) { n.Deadline = r.in(time.Microsecond) })
	r.clock.Advance(time.Microsecond)
	x := r.exchange(store.Exchange{Want: []store.Want{want(1)}})
	same(r, "claims at the deadline", ids(x.Claims), nil)
	same(r, "expired", x.Expired, []job.ID{late})
	r.clock.Advance(time.Hour)
	r.state(inTime, job.Running) // a deadline does not end a run that has started
}

// proves: D1
func expiredTakesNoRoom(r *rig) {
	for range 3 {
		r.add(func(n *job.New) { n.Deadline, n.Priority = r.now(), 1 })
	}
	r.clock.Advance(time.Second)
	living := r.add()
	x := r.exchange(store.Exchange{Want: []store.Want{want(1)}})
	same(r, "claims", ids(x.Claims), []job.ID{living})
	same(r, "number expired", len(x.Expired), 3)
}

// proves: D1, F1
func expiredIsDead(r *rig) {
	id := r.add(func(n *job.New) { n.Deadline, n.Owner, n.Payload = r.now(), "alice", []byte("p") })
	r.clock.Advance(time.Second)
	r.none()
	j := r.get(id)
	same(r, "job", j, job.Job{
		ID: id, Kind: kind, Queue: queue, State: job.Dead, Priority: job.PriorityDefault, Life: 1,
		CreatedAt: r.start, LifeAt: r.start, FinishedAt: r.now(), Deadline: r.start,
		Owner: "alice", Reason: job.DeadlineOver, Payload: []byte("p"),
	})
	same(r, "dead letter", r.letter(id), job.DeadLetter{
		Death: 1, Job: id, Life: 1, Status: job.Pending, Reason: job.DeadlineOver, Fingerprint: job.Fingerprint(kind, "", job.CodeExpired),
		Kind: kind, Queue: queue, Owner: "alice", DiedAt: r.now(),
	})
	same(r, "failures", r.failures(id), nil)
	same(r, "groups", r.dump().Groups, []store.Group{{
		Fingerprint: job.Fingerprint(kind, "", job.CodeExpired), Kind: kind, Sample: id, FirstAt: r.now(), LastAt: r.now(), N: 1, Entries: 1, Pending: 1,
	}})
}

// proves: D1, F1
func retryingExpiresToo(r *rig) {
	id := r.add(func(n *job.New) { n.Deadline = r.in(time.Minute) })
	r.end(failed(r.take(), "NetworkTimeout", 2*time.Minute))
	r.clock.Advance(time.Minute + time.Second)
	r.none()
	r.state(id, job.Retrying) // the job's deadline has passed, but the store checks only the deadlines of due jobs
	r.clock.Advance(time.Minute)
	r.none()
	j := r.get(id)
	same(r, "state", j.State, job.Dead)
	same(r, "reason", j.Reason, job.DeadlineOver)
	same(r, "attempts", j.Counters.Attempts, int32(1))
	same(r, "number of failures", len(r.failures(id)), 1)
}
