package storetest

import (
	"bytes"
	"fmt"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func settlePromises() []promise {
	return []promise{
		{"Q9_EachEndHasItsStateAndCounter", eachEndHasItsStateAndCounter},
		{"Q1_SuccessKeepsTheResult", successKeepsTheResult},
		{"Q1_PayloadIsKeptWhereAsked", payloadIsKept},
		{"F1_FailureIsAWholeRecord", failureIsAWholeRecord},
		{"F1_FailuresAreKeptBesideEachOther", failuresAreKept},
		{"F1_EveryEndMayHaveARecord", everyEndMayHaveARecord},
		{"R4_RetryingShowsItsNextAttempt", retryingShowsItsNextAttempt},
		{"R3_NotBeforeIsAFloor", notBeforeIsAFloor},
		{"R6_EndMayMoveTheJob", endMayMoveTheJob},
		{"R2_MemoTravelsWithTheJob", memoTravelsWithTheJob},
		{"R11_CostAddsUp", costAddsUp},
		{"Q9_WrongOutcomeHoldsUpNothing", wrongOutcomeHoldsUpNothing},
		{"Q9_SettlesBeforeItClaims", settlesBeforeItClaims},
	}
}

// Several jobs end in one exchange. Only completed jobs with Keep still have their payload and
// attributes afterwards.
//
// part of: Q1
func payloadIsKept(r *rig) {
	short, long := []byte("short"), bytes.Repeat([]byte("long"), 1000)
	var outcomes []job.Outcome
	var want []job.Job
	for _, end := range []struct {
		payload []byte
		keep    bool
		outcome func(job.Claim) job.Outcome
	}{
		{short, true, succeeded}, {short, false, succeeded}, {long, true, succeeded}, {long, false, succeeded}, {nil, true, succeeded},
		{long, true, func(c job.Claim) job.Outcome { return outcome(c, job.Cancel, job.Cancelled) }},
	} {
		r.add(func(n *job.New) { n.Payload, n.Attrs = end.payload, []byte(`{"a":1}`) })
		o := end.outcome(r.take())
		o.Keep = end.keep
		outcomes = append(outcomes, o)
		var w job.Job
		if o.Keep && o.To == job.Completed {
			w.Payload, w.Attrs = end.payload, []byte(`{"a":1}`)
		}
		want = append(want, w)
	}
	r.end(outcomes...)
	d := r.dump()
	for i, o := range outcomes {
		j := r.get(o.ID)
		same(r, fmt.Sprintf("payload and attributes of job %d", o.ID), job.Job{Payload: j.Payload, Attrs: j.Attrs}, want[i])
		same(r, fmt.Sprintf("job %d of the dump", o.ID), d.Jobs[i], j)
	}
}

// proves: Q9, R4
func eachEndHasItsStateAndCounter(r *rig) {
	for _, end := range []struct {
		outcome func(job.Claim) job.Outcome
		state   job.State
		count   job.Counters
	}{
		{succeeded, job.Completed, job.Counters{Attempts: 1}},
		{func(c job.Claim) job.Outcome { return failed(c, "X", time.Hour) }, job.Retrying, job.Counters{Attempts: 1}},
		{func(c job.Claim) job.Outcome { return died(c, "X", job.MaxRetries) }, job.Dead, job.Counters{Attempts: 1}},
		{func(c job.Claim) job.Outcome { return waits(c, job.Snoozed, time.Hour) }, job.Waiting, job.Counters{Snoozes: 1}},
		{func(c job.Claim) job.Outcome { return waits(c, job.Deferred, time.Hour) }, job.Waiting, job.Counters{Deferrals: 1}},
		{func(c job.Claim) job.Outcome { return waits(c, job.Interrupted, time.Hour) }, job.Waiting, job.Counters{Interrupts: 1}},
		{func(c job.Claim) job.Outcome { return outcome(c, job.Cancel, job.Cancelled) }, job.Cancelled, job.Counters{}},
		{held, job.Dead, job.Counters{Deferrals: 1}},
	} {
		created := r.now()
		id := r.add()
		r.clock.Advance(time.Second)
		c := r.take()
		r.clock.Advance(time.Second)
		o := end.outcome(c)
		r.end(o)
		want := job.Job{
			ID: id, Kind: kind, Queue: queue, State: end.state, Priority: job.PriorityDefault, Life: 1, Token: 1,
			Counters: end.count, CreatedAt: created, LifeAt: created, ClaimedAt: r.in(-time.Second), Holder: holder,
			Reason: o.Reason,
		}
		if end.state.Terminal() {
			want.FinishedAt = r.now()
		} else {
			want.RunAt = r.in(time.Hour)
		}
		same(r, "job that "+o.Cause.String(), r.get(id), want)
	}
}

// proves: Q11
func successKeepsTheResult(r *rig) {
	id := r.add(everyField)
	o := succeeded(r.takeID(id))
	o.Result, o.Cost, o.Sends = []byte("\x00 result"), 1234, 4
	r.end(o)
	j := r.get(id)
	same(r, "result", j.Result, o.Result)
	same(r, "cost", j.Cost, o.Cost)
	same(r, "sends", j.Sends, int64(o.Sends))
	same(r, "payload of a completed job", j.Payload, []byte(nil))
	same(r, "owner, key and so on", []any{j.Owner, j.Correlation, j.Key, j.Batch}, []any{"alice", "req-7", "order-12", int64(4)})
}

func richFailure() *job.Failure {
	return &job.Failure{
		How: job.ByTimeout, Class: "AttemptTimeout", Code: "FFMPEG_TIMEOUT", Permanent: true,
		Message: "ffmpeg: killed after 5m0s\x00\n\xff", UserMessage: "This took too long.", HTTPStatus: 504,
		Exit: new(0), Signal: "SIGKILL", Fingerprint: "fp", Details: []byte(`{"url":"[URL]"}`),
		Stderr: []byte("\x00\xffframe= 1"), Stdout: []byte("\x00\xffrow 7"), Stack: "main.go:1", Decision: []byte(`{"v":1}`),
	}
}

// proves: F1
// part of: T2
func failureIsAWholeRecord(r *rig) {
	id := r.add(everyField)
	r.clock.Advance(time.Minute)
	c := r.takeID(id)
	r.clock.Advance(5 * time.Minute)
	o := failed(c, "", 0)
	o.Failure, o.Cost, o.Sends = richFailure(), 77, 9
	// The store must replace these values by the values of the run.
	o.Failure.Job, o.Failure.Token, o.Failure.Attempt, o.Failure.Holder = 99, 98, 97, "liar"
	o.Failure.StartedAt, o.Failure.EndedAt, o.Failure.Life = 1, 2, 96
	r.end(o)
	want := *richFailure()
	want.Job, want.Token, want.Life, want.Attempt = id, 1, 1, 1
	want.StartedAt, want.EndedAt = r.in(-5*time.Minute), r.now()
	want.Holder, want.Correlation, want.Cost, want.Sends = holder, "req-7", 77, 9
	same(r, "failures", r.failures(id), []job.Failure{want})
	same(r, "failures of a job without any", r.failures(r.add()), nil)
}

// proves: F1
func failuresAreKept(r *rig) {
	id := r.add()
	for i := range 4 {
		r.end(failed(r.take(), fmt.Sprint("Class", i), 0))
		if i == 1 { // between the two failures: a run that counts as no attempt and has no failure
			r.end(waits(r.take(), job.Snoozed, 0))
		}
	}
	type row struct {
		Token   job.Token
		Attempt int32
		Class   string
	}
	var rows []row
	for _, f := range r.failures(id) {
		rows = append(rows, row{f.Token, f.Attempt, f.Class})
	}
	same(r, "failures", rows, []row{{1, 1, "Class0"}, {2, 2, "Class1"}, {4, 3, "Class2"}, {5, 4, "Class3"}})
}

// proves: F1
// part of: L3
//
// A run that does not count as an attempt may still have a failure record. The record has the
// number that the attempt would have had.
func everyEndMayHaveARecord(r *rig) {
	id := r.add()
	r.end(failed(r.take(), "NetworkTimeout", 0))
	for _, cause := range []job.Cause{job.Snoozed, job.Deferred, job.Interrupted} {
		o := waits(r.take(), cause, 0)
		o.Failure = failure(cause.String())
		r.end(o)
	}
	o := outcome(r.take(), job.Cancel, job.Cancelled)
	o.Failure = failure("stop")
	r.end(o)
	failures := r.failures(id)
	same(r, "number of failures", len(failures), 5)
	for i, class := range []string{"snoozed", "deferred", "interrupted", "stop"} {
		f := failures[i+1]
		same(r, "class, run and attempt", []any{f.Class, f.Token, f.Attempt}, []any{class, job.Token(i + 2), int32(2)})
	}
	same(r, "attempts", r.get(id).Counters.Attempts, int32(1))
}

// proves: R4, R15
func retryingShowsItsNextAttempt(r *rig) {
	id := r.add()
	r.end(failed(r.take(), "RateLimitExceeded", 4860*time.Second))
	j := r.get(id)
	same(r, "state", j.State, job.Retrying)
	same(r, "next attempt", j.RunAt, r.in(4860*time.Second))
	same(r, "attempts", j.Counters.Attempts, int32(1))
	same(r, "last error", r.failures(id)[0].Class, "RateLimitExceeded")
	same(r, "lease of a job that waits", j.LeaseUntil, job.Micros(0))
}

// proves: R3
func notBeforeIsAFloor(r *rig) {
	due := func(delay time.Duration, notBefore job.Micros) job.Micros {
		id := r.add()
		o := failed(r.takeID(id), "RateLimitExceeded", delay)
		o.NotBefore = notBefore
		r.end(o)
		return r.get(id).RunAt
	}
	same(r, "hint after the back-off", due(15*time.Second, r.in(2*time.Minute)), r.in(2*time.Minute))
	same(r, "hint before the back-off", due(15*time.Minute, r.in(2*time.Minute)), r.in(15*time.Minute))
	same(r, "hint in the past", due(0, r.in(-time.Hour)), r.now())
	same(r, "no hint, no back-off", due(0, 0), r.now())
	same(r, "wait without end", due(1<<63-1, 0), r.in(1<<63-1))
}

// part of: R5, R6
func endMayMoveTheJob(r *rig) {
	id := r.add()
	r.add(func(n *job.New) { n.Queue = "high-memory" })
	o := failed(r.take(), "ResourceConstraint", 0)
	o.Queue, o.Priority = "high-memory", 1
	r.end(o)
	j := r.get(id)
	same(r, "queue and priority", []any{j.Queue, j.Priority}, []any{"high-memory", int8(1)})
	r.none()
	c := r.take(func(w *store.Want) { w.Queue = "high-memory" })
	same(r, "claim", c.ID, id)
	r.end(waits(c, job.Snoozed, 0)) // an outcome without a queue and a priority does not change the queue and the priority of the job
	j = r.get(id)
	same(r, "queue and priority", []any{j.Queue, j.Priority}, []any{"high-memory", int8(1)})
}

// part of: R2
func memoTravelsWithTheJob(r *rig) {
	r.add()
	memo := func(memo []byte) job.Claim {
		o := waits(r.take(), job.Deferred, 0)
		o.Memo = memo
		r.end(o)
		c := r.take()
		r.end(waits(c, job.Snoozed, 0))
		return c
	}
	same(r, "no memo", memo(nil).Memo, []byte(nil))
	same(r, "memo", memo([]byte("a")).Memo, []byte("a"))
	same(r, "memo of an outcome without", memo(nil).Memo, []byte("a"))
	same(r, "next memo", memo([]byte("b")).Memo, []byte("b"))
}

// proves: Q11
// part of: R11
func costAddsUp(r *rig) {
	id := r.add()
	for _, cost := range []int64{5, 0, 30} {
		o := failed(r.take(), "NetworkTimeout", 0)
		o.Cost, o.Sends = cost, 2
		r.end(o)
	}
	same(r, "cost so far", r.get(id).Cost, int64(35))
	same(r, "sends so far", r.get(id).Sends, int64(6))
	o := succeeded(r.take())
	o.Cost, o.Sends = 700, 1
	r.end(o)
	same(r, "cost", r.get(id).Cost, int64(735))
	same(r, "sends", r.get(id).Sends, int64(7))

	// The cost of a run is counted only once, even if the outcome also has a failure record, which
	// stores the cost, too.
	id = r.add()
	o = outcome(r.take(), job.Cancel, job.Cancelled)
	o.Failure, o.Cost = failure("stop"), 9
	r.end(o)
	same(r, "cost of a cancelled run with a record", r.get(id).Cost, int64(9))
}

// proves: Q9
func wrongOutcomeHoldsUpNothing(r *rig) {
	a := r.takeID(r.add())
	b := r.takeID(r.add())
	noFailure := failed(a, "", 0)
	noFailure.Failure = nil
	noReason := died(a, "X", "")
	crash := outcome(a, job.Crashed, job.Waiting)
	huge := succeeded(a)
	huge.Result = make([]byte, job.ResultMax+1)
	nowhere := waits(a, job.Snoozed, 0)
	nowhere.Queue = "no good"
	wrong := []job.Outcome{
		outcome(a, job.Claimed, job.Running), outcome(a, job.Succeeded, job.Retrying), outcome(a, job.Retried, job.Waiting),
		noFailure, noReason, crash, huge, waits(a, job.Snoozed, -1), nowhere,
	}
	x := r.exchange(store.Exchange{Settle: append(wrong, succeeded(b))})
	for i := range wrong {
		r.is(x.Settled[i], store.ErrInvalid)
	}
	r.ok(x.Settled[len(wrong)])
	r.state(a.ID, job.Running)
	r.state(b.ID, job.Completed)
}

// proves: Q9, Q2
func settlesBeforeItClaims(r *rig) {
	id := r.add()
	c := r.take()
	x := r.exchange(store.Exchange{Settle: []job.Outcome{waits(c, job.Interrupted, 0)}, Want: []store.Want{want(1)}})
	same(r, "claims", ids(x.Claims), []job.ID{id})
	same(r, "run", x.Claims[0].Token, job.Token(2))

	// When a run ends in the exchange, the same exchange can claim another job under the limit
	// for all processes.
	next := r.add()
	w := want(1, func(w *store.Want) { w.Limit = 1 })
	x = r.exchange(store.Exchange{Want: []store.Want{w}})
	same(r, "claims over the limit", ids(x.Claims), nil)
	x = r.exchange(store.Exchange{Settle: []job.Outcome{{ID: id, Token: 2, Cause: job.Succeeded, To: job.Completed}}, Want: []store.Want{w}})
	same(r, "claims", ids(x.Claims), []job.ID{next})
}
