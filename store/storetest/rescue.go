package storetest

import (
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func rescuePromises() []promise {
	return []promise{
		{"Q3_RescueAtTheEndOfTheLease", rescueAtTheEndOfTheLease},
		{"Q3_StallBurnsNoAttempt", stallBurnsNoAttempt},
		{"Q3_StallHasItsRecord", stallHasItsRecord},
		{"Q3_StalledJobsSpread", stalledJobsSpread},
		{"Q3_StallsThatEndTheJob", stallsThatEndTheJob},
		{"Q3_CeilingHoldsEverywhere", ceilingHoldsEverywhere},
		{"Q3_EachClaimBringsItsLimit", eachClaimBringsItsLimit},
		{"Q3_LastCrashCountsForABegunRun", lastCrashCountsForABegunRun},
		{"Q3_OldestLeaseFirst", oldestLeaseFirst},
		{"Q3_NextExpiry", nextExpiry},
		{"Q3_StalledRunThatWasAskedToStop", stalledRunThatWasAskedToStop},
	}
}

// proves: Q3
func rescueAtTheEndOfTheLease(r *rig) {
	id := r.add()
	c := r.take()
	r.clock.Advance(lease - time.Microsecond)
	same(r, "rescued", r.rescue(10).Jobs, nil)
	r.state(id, job.Running)
	r.clock.Advance(time.Microsecond)
	same(r, "rescued", r.rescue(10).Jobs, []store.Rescued{{
		Run: runOf(c), Kind: kind, Queue: queue, Holder: holder, Crashes: 1, To: job.Waiting,
	}})
	same(r, "rescued again", r.rescue(10).Jobs, nil)
}

// proves: Q3
func stallBurnsNoAttempt(r *rig) {
	id := r.add()
	r.end(failed(r.take(), "NetworkTimeout", 0))
	c := r.take()
	r.lose(c)
	j := r.get(id)
	same(r, "counters", j.Counters, job.Counters{Attempts: 1, Crashes: 1})
	same(r, "state and due time", []any{j.State, j.RunAt, j.LeaseUntil}, []any{job.Waiting, r.now(), job.Micros(0)})
	again := r.take()
	same(r, "attempt and run", []any{again.Attempt(), again.Token}, []any{c.Attempt(), c.Token + 1})
}

// proves: Q3, F1
func stallHasItsRecord(r *rig) {
	id := r.add(func(n *job.New) { n.Correlation = "req-7" })
	r.end(failed(r.take(), "NetworkTimeout", 0))
	claimed := r.now()
	r.lose(r.take())
	want := crashed(&defaults, holder)
	want.Job, want.Token, want.Life, want.Attempt = id, 2, 1, 2
	want.StartedAt, want.EndedAt, want.Holder, want.Correlation = claimed, r.now(), holder, "req-7"
	same(r, "record of the stall", r.failures(id)[1:], []job.Failure{want})
}

// proves: Q3
//
// The jobs of a process that has crashed are due again at once after their first crash. From the
// second crash on, each job waits for a different time.
func stalledJobsSpread(r *rig) {
	r.addMany(5)
	for stalls := int32(1); stalls <= 3; stalls++ {
		same(r, "claims", r.claims(holder, want(9)), 5)
		r.clock.Advance(lease)
		at := r.cursor()
		rescued := r.rescue(9).Jobs
		var due, eventDue []job.Micros
		for _, j := range rescued {
			due = append(due, r.get(j.ID).RunAt.Add(-defaults.CrashDelay(j.ID, stalls)))
		}
		for _, e := range r.events(at) {
			eventDue = append(eventDue, e.DueAt.Add(-defaults.CrashDelay(e.Job, stalls)))
		}
		now := slices.Repeat([]job.Micros{r.now()}, 5)
		same(r, "due times without the delay", due, now)
		same(r, "due times of the events", eventDue, now)
		if stalls > 1 {
			same(r, "claims at once", r.claims(holder, want(9)), 0)
		}
		r.clock.Advance(20 * time.Second)
	}
}

// proves: Q3
//
// With the preset render, a job is dead after the second crash of a life.
func stallsThatEndTheJob(r *rig) {
	id := r.add()
	two := func(w *store.Want) { w.Kinds[0].MaxCrashes = 2 }
	r.lose(r.take(two))
	r.state(id, job.Waiting)
	r.lose(r.take(two))
	crash := crashed(&defaults, holder)
	j := r.get(id)
	same(r, "state, reason and counters", []any{j.State, j.Reason, j.Counters},
		[]any{job.Dead, job.Stalled, job.Counters{Crashes: 2}})
	same(r, "dead letter", r.letter(id), job.DeadLetter{
		Death: 1, Job: id, Life: 1, Reason: job.Stalled, Class: crash.Class, Code: crash.Code,
		Fingerprint: crash.Fingerprint, Message: crash.Message,
		Kind: kind, Queue: queue, Holder: holder, DiedAt: r.now(),
	})

	// In a new life, crashes are counted from 0 again.
	r.ok(r.retry(id))
	r.lose(r.take(two))
	r.state(id, job.Waiting)
	r.lose(r.take(two))
	r.state(id, job.Dead)
	same(r, "number of records", len(r.failures(id)), 4)
}

// proves: Q3
func ceilingHoldsEverywhere(r *rig) {
	for _, limit := range []struct{ asked, holds int }{
		{-1, 1}, {0, 1}, {1, 1}, {2, 2},
		{job.MaxCrashes, job.MaxCrashes}, {job.MaxCrashes + 1, job.MaxCrashes}, {1 << 40, job.MaxCrashes},
	} {
		id := r.add()
		n := 0
		for ; r.get(id).State == job.Waiting; n++ {
			r.lose(r.take(func(w *store.Want) { w.Kinds[0].MaxCrashes = limit.asked }))
		}
		if n != limit.holds {
			r.fail("crash limit %d: the job was dead after %d crashes, want %d", limit.asked, n, limit.holds)
		}
	}
}

// proves: Q3
func eachClaimBringsItsLimit(r *rig) {
	id := r.add()
	limit := func(n int) func(*store.Want) { return func(w *store.Want) { w.Kinds[0].MaxCrashes = n } }
	r.lose(r.take(limit(5)))
	r.lose(r.take(limit(3)))
	r.state(id, job.Waiting)
	r.lose(r.take(limit(2))) // this is the third crash, and the limit of this claim is two
	r.state(id, job.Dead)
}

// proves: Q3
//
// A run that has not begun cannot have killed its worker. So if one more crash would make the job
// dead, the crash counts only if the run has begun. Every earlier crash counts, whether or not the
// run has begun.
func lastCrashCountsForABegunRun(r *rig) {
	two := func(w *store.Want) { w.Kinds[0].MaxCrashes = 2 }
	id := r.add()
	r.take(two)
	r.clock.Advance(lease)
	same(r, "crashes of the rescued run, which had not begun", r.rescue(10).Jobs[0].Crashes, int32(1))

	for n := int32(1); n <= 3; n++ { // one crash would make the job dead, so a run that has not begun is handed back each time
		c := r.take(two)
		at := r.cursor()
		r.clock.Advance(lease)
		same(r, "rescued", r.rescue(10).Jobs, []store.Rescued{{
			Run: runOf(c), Kind: kind, Queue: queue, Holder: holder, Crashes: 1, To: job.Waiting,
		}})
		j := r.get(id)
		same(r, "counters", j.Counters, job.Counters{Crashes: 1, Interrupts: n})
		same(r, "state and due time", []any{j.State, j.RunAt, j.LeaseUntil}, []any{job.Waiting, r.now(), job.Micros(0)})
		same(r, "number of records", len(r.failures(id)), 1)
		events := r.events(at)
		same(r, "number of events", len(events), 1)
		same(r, "change", job.Transition{From: events[0].From, To: events[0].To, Cause: job.Cause(events[0].Type)},
			job.Transition{From: job.Running, To: job.Waiting, Cause: job.Interrupted})
		r.is(r.settle(succeeded(c)), store.ErrLeaseLost)
	}

	c := r.take(two)
	same(r, "runs that have begun, before the begin", r.dump().Begun, nil)
	r.clock.Advance(lease / 2)
	r.beginRun(c)
	same(r, "runs that have begun", r.dump().Begun, []store.Run{runOf(c)})
	same(r, "lease", r.get(id).LeaseUntil, r.in(lease)) // the heartbeat that marks the run as begun also extends the lease
	r.end(outcome(c, job.Interrupted, job.Waiting))

	r.take(two) // the begin of the earlier run does not count for this run
	same(r, "runs that have begun", r.dump().Begun, nil)
	r.clock.Advance(lease)
	same(r, "state after the rescue", r.rescue(10).Jobs[0].To, job.Waiting)

	c = r.take(two)
	r.beginRun(c)
	r.beginRun(c) // recording the begin of a run twice is not an error
	r.clock.Advance(lease)
	same(r, "rescued", r.rescue(10).Jobs, []store.Rescued{{
		Run: runOf(c), Kind: kind, Queue: queue, Holder: holder, Crashes: 2, To: job.Dead,
	}})
	status, err := r.Heartbeat(ctx(), store.Beat{Lease: lease, Runs: []store.Run{runOf(c)}, Begin: true})
	r.ok(err)
	same(r, "status of a lost run that wants to begin", status, []store.RunStatus{{}})

	// If a person has asked to cancel a run that has not begun, a crash of the run cancels the job.
	id = r.add()
	c = r.take(func(w *store.Want) { w.Kinds[0].MaxCrashes = 1 })
	r.ok(r.cancel(id))
	r.clock.Advance(lease)
	same(r, "rescued", r.rescue(10).Jobs, []store.Rescued{{
		Run: runOf(c), Kind: kind, Queue: queue, Holder: holder, Crashes: 0, To: job.Cancelled,
	}})
	r.state(id, job.Cancelled)
}

// proves: Q3
func oldestLeaseFirst(r *rig) {
	claim := func(lease time.Duration) job.ID {
		r.add()
		return r.exchange(store.Exchange{Lease: lease, Want: []store.Want{want(1)}}).Claims[0].ID
	}
	late, tie1, tie2, early := claim(3*time.Second), claim(2*time.Second), claim(2*time.Second), claim(time.Second)
	living := claim(time.Hour)
	r.clock.Advance(time.Minute)
	rescued := func(limit int) []job.ID {
		var ids []job.ID
		for _, j := range r.rescue(limit).Jobs {
			ids = append(ids, j.ID)
		}
		return ids
	}
	same(r, "first", rescued(3), []job.ID{early, tie1, tie2})
	same(r, "rest", rescued(3), []job.ID{late})
	r.state(living, job.Running)
}

// proves: Q3
func nextExpiry(r *rig) {
	same(r, "expiry of an empty store", r.rescue(10).NextExpiry, store.Never)
	a, b := r.takeID(r.add()), r.takeID(r.add())
	same(r, "expiry", r.rescue(10).NextExpiry, lease)
	r.clock.Advance(time.Second)
	same(r, "expiry", r.rescue(10).NextExpiry, lease-time.Second)
	r.clock.Advance(lease)
	same(r, "expiry of what the limit left", r.rescue(1).NextExpiry, time.Duration(0))
	r.beat(runOf(a), runOf(b))
	same(r, "expiry", r.rescue(10).NextExpiry, lease)
}

// proves: Q3
func stalledRunThatWasAskedToStop(r *rig) {
	id := r.add()
	c := r.take()
	r.ok(r.cancel(id))
	at := r.cursor()
	r.clock.Advance(lease)
	same(r, "rescued", r.rescue(10).Jobs, []store.Rescued{{
		Run: runOf(c), Kind: kind, Queue: queue, Holder: holder, Crashes: 1, To: job.Cancelled,
	}})
	r.state(id, job.Cancelled)
	var changes []job.Transition
	for _, e := range r.events(at) {
		changes = append(changes, job.Transition{From: e.From, To: e.To, Cause: job.Cause(e.Type)})
	}
	same(r, "changes", changes, []job.Transition{
		{From: job.Running, To: job.Waiting, Cause: job.Crashed},
		{From: job.Waiting, To: job.Cancelled, Cause: job.Cancel},
	})
	same(r, "events of one commit", r.events(at)[0].Cursor.Seq, r.events(at)[1].Cursor.Seq)
	same(r, "number of records", len(r.failures(id)), 1)

	// If the crash reaches the crash limit, the job becomes dead and not cancelled.
	id = r.add()
	r.beginRun(r.take(func(w *store.Want) { w.Kinds[0].MaxCrashes = 1 }))
	r.ok(r.cancel(id))
	r.clock.Advance(lease)
	r.rescue(10)
	r.state(id, job.Dead)
}

// defaults are the terms of a job whose policy sets no terms.
var defaults job.Terms

// crashed returns the expected failure record of a crash after which the job runs again. The
// caller adds the values of the run.
func crashed(t *job.Terms, holder string) job.Failure {
	return t.Crash(&job.LostRun{Kind: kind, Holder: holder, Crashes: 1, MaxCrashes: 2}).Failure
}
