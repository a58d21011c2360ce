package storetest

import (
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func deathPromises() []promise {
	return []promise{
		{"D1_DeadKeepsItsPayloadAndHistory", deadKeepsItsPayloadAndHistory},
		{"D1_LivingHasNoDeadLetter", livingHasNoDeadLetter},
		{"D6_GroupsCountByFingerprint", groupsCountByFingerprint},
		{"D6_NoFingerprintNoGroup", noFingerprintNoGroup},
		{"R5_HeldIsDeadWithoutAnAttempt", heldIsDeadWithoutAnAttempt},
	}
}

// proves: D1, F1
func deadKeepsItsPayloadAndHistory(r *rig) {
	id := r.add(everyField)
	r.end(failed(r.takeID(id), "NetworkTimeout", 0))
	c := r.takeID(id)
	r.clock.Advance(time.Minute)
	r.end(died(c, "InvalidInput", job.NonRetriable))
	j := r.get(id)
	same(r, "payload", string(j.Payload), "do it")
	same(r, "attributes", string(j.Attrs), `{"minutes":361}`)
	same(r, "settings", string(j.Override), `{"max_retries":1}`)
	same(r, "reason", j.Reason, job.NonRetriable)
	same(r, "dead letter", r.letter(id), job.DeadLetter{
		Death: 1, Job: id, Life: 1, Status: job.Pending, Reason: job.NonRetriable, Class: "InvalidInput", Code: "http.503",
		Fingerprint: "InvalidInput|" + kind, Message: "the other side is down", Kind: j.Kind, Queue: j.Queue, Owner: "alice",
		Correlation: j.Correlation, Batch: j.Batch, Aside: j.Aside, Holder: holder, DiedAt: r.now(),
	})
	same(r, "number of failures", len(r.failures(id)), 2)
}

// proves: D1
func livingHasNoDeadLetter(r *rig) {
	id := r.add()
	for _, o := range []func(job.Claim) job.Outcome{
		func(c job.Claim) job.Outcome { return failed(c, "NetworkTimeout", 0) },
		succeeded,
	} {
		r.end(o(r.take()))
		_, err := r.DeadLetter(ctx(), id)
		r.is(err, store.ErrNotFound)
	}
	_, err := r.DeadLetter(ctx(), id+1000)
	r.is(err, store.ErrNotFound)
}

// part of: D6
func groupsCountByFingerprint(r *rig) {
	die := func(class string) job.ID {
		r.clock.Advance(time.Second)
		id := r.add()
		r.end(died(r.takeID(id), class, job.NonRetriable))
		return id
	}
	first := die("A")
	firstAt := r.now()
	other := die("B")
	otherAt := r.now()
	die("A")
	third := die("A")
	r.ok(r.retry(third))
	r.ok(r.retry(first))
	a := store.Group{
		Fingerprint: "A|" + kind, Kind: kind, Class: "A", Code: "http.503", Message: "the other side is down",
		Sample: first, FirstAt: firstAt, LastAt: r.now(), N: 3, Entries: 3, Pending: 1, Retried: 2,
	}
	b := a
	b.Fingerprint, b.Class, b.Sample, b.FirstAt, b.LastAt, b.N, b.Entries = "B|"+kind, "B", other, otherAt, otherAt, 1, 1
	b.Retried = 0
	same(r, "groups", r.dump().Groups, []store.Group{a, b})

	// The second death of a job counts in the group of its new fingerprint.
	r.clock.Advance(time.Second)
	r.end(died(r.takeID(first), "B", job.NonRetriable))
	r.end(died(r.takeID(third), "A", job.NonRetriable))
	a.LastAt, a.N, a.Entries, a.Pending = r.now(), 4, 2, 2
	b.LastAt, b.N, b.Entries, b.Pending = r.now(), 2, 2, 2
	same(r, "groups", r.dump().Groups, []store.Group{a, b})
}

// part of: D6
func noFingerprintNoGroup(r *rig) {
	r.add()
	o := died(r.take(), "InvalidInput", job.NonRetriable)
	o.Failure.Fingerprint = ""
	r.end(o)
	same(r, "groups", r.dump().Groups, nil)
}

// proves: R5
func heldIsDeadWithoutAnAttempt(r *rig) {
	id := r.add(everyField)
	c := r.takeID(id)
	o := held(c)
	after := r.cursor()
	r.end(o)
	for _, e := range r.events(after) {
		same(r, "type of the event, and its note", []any{e.Type, e.Note}, []any{event.JobHeld, "ann"})
	}
	j := r.get(id)
	same(r, "state and reason", []any{j.State, j.Reason}, []any{job.Dead, job.ManualReview})
	same(r, "counters", j.Counters, job.Counters{Deferrals: 1})
	same(r, "how", r.failures(id)[0].How, job.ByHold)
	same(r, "settle again", r.settle(o), nil)
	r.ok(r.retry(id))
	c = r.takeID(id)
	same(r, "life", c.Life, int32(2))
	r.end(succeeded(c))
	same(r, "dead letter", r.letter(id).Status, job.Resolved)

	o = held(r.takeID(r.add()))
	o.Failure = nil
	if err := r.settle(o); err == nil {
		r.fail("the store accepted a held run without a failure record, want it refused")
	}
}
