package storetest

import (
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func termsPromises() []promise {
	return []promise{
		{"Q3_TermsOfTheClaimDecideACrash", termsOfTheClaimDecideACrash},
		{"Q3_TermsOfTheLastClaimCount", termsOfTheLastClaimCount},
		{"Q3_TermsDecideTheSpread", termsDecideTheSpread},
		{"D1_TermsOfTheEnqueueDecideAnExpiry", termsOfTheEnqueueDecideAnExpiry},
		{"D1_TermsOfTheClaimDecideALaterExpiry", termsOfTheClaimDecideALaterExpiry},
		{"D1_TermsOfARetriedJob", termsOfARetriedJob},
		{"R5_ReleaseTravelsWithTheClaim", releaseTravelsWithTheClaim},
		{"X3_TermsAreChecked", termsAreChecked},
	}
}

// policyTerms are terms of a policy. Each field differs from its default.
var policyTerms = job.Terms{
	Class: "WorkerLost", Retrying: "It goes on soon.", Dead: "It was interrupted too often.",
	Spread: time.Hour, SpreadMax: 2 * time.Hour, ExpiredClass: "TooLate",
}

// under returns an option for a want: jobs are claimed with the terms t.
func under(t job.Terms) func(*store.Want) {
	return func(w *store.Want) { w.Kinds[0].Terms = t.Encode() }
}

// given returns an option for a new job: the job has the given terms.
func given(t job.Terms) func(*job.New) {
	return func(n *job.New) { n.Terms = t.Encode() }
}

// last returns the latest failure record of a job.
func (r *rig) last(id job.ID) job.Failure {
	failures := r.failures(id)
	if len(failures) == 0 {
		r.fail("job %d has no failure record, want at least one", id)
	}
	return failures[len(failures)-1]
}

// proves: Q3, F1, F10
//
// The process that rescues a run may know neither the kind of the job nor its policy. So the terms
// of the claim determine how the crash ends the run.
func termsOfTheClaimDecideACrash(r *rig) {
	id := r.add(given(job.Terms{Class: "OfTheEnqueue"}))
	two := func(w *store.Want) { w.Kinds[0].MaxCrashes = 2 }
	r.lose(r.take(two, under(policyTerms)))
	f := r.last(id)
	same(r, "class, code, text and group of the first crash", []string{f.Class, f.Code, f.UserMessage, f.Fingerprint},
		[]string{"WorkerLost", job.CodeLeaseLost, "It goes on soon.", job.Fingerprint(kind, "WorkerLost", job.CodeLeaseLost)})
	r.state(id, job.Waiting)

	r.lose(r.take(two, under(policyTerms)))
	f = r.last(id)
	same(r, "class and text of the last crash", []string{f.Class, f.UserMessage}, []string{"WorkerLost", "It was interrupted too often."})
	r.state(id, job.Dead)
	d := r.letter(id)
	same(r, "class and group of the dead letter", []string{d.Class, d.Fingerprint}, []string{f.Class, f.Fingerprint})
	events := r.dump().Events
	same(r, "class of the last event", events[len(events)-1].Class, "WorkerLost")
}

// proves: Q3
func termsOfTheLastClaimCount(r *rig) {
	id := r.add()
	r.lose(r.take(under(policyTerms)))
	same(r, "class of a crash", r.last(id).Class, "WorkerLost")
	r.lose(r.take(under(job.Terms{Class: "Other"})))
	same(r, "class of a crash after a claim with other terms", r.last(id).Class, "Other")
	r.clock.Advance(time.Minute)
	r.lose(r.take())
	same(r, "class of a crash after a claim without terms", r.last(id).Class, job.ClassCrash)
}

// proves: Q3
func termsDecideTheSpread(r *rig) {
	id := r.add()
	for crashes := int32(1); crashes <= 3; crashes++ {
		r.clock.Advance(policyTerms.SpreadMax) // this is longer than any wait after a crash
		r.take(under(policyTerms))
		r.clock.Advance(lease)
		same(r, "number rescued", len(r.rescue(9).Jobs), 1)
		same(r, "due time after a crash", r.get(id).RunAt, r.in(policyTerms.CrashDelay(id, crashes)))
	}
}

// proves: D1, F10
func termsOfTheEnqueueDecideAnExpiry(r *rig) {
	id := r.add(given(policyTerms), func(n *job.New) { n.Deadline = r.now() })
	plain := r.add(func(n *job.New) { n.Deadline = r.now() })
	r.clock.Advance(time.Second)
	at := r.cursor()
	same(r, "number expired", len(r.exchange(store.Exchange{Want: []store.Want{want(1, under(job.Terms{ExpiredClass: "OfTheClaim"}))}}).Expired), 2)
	d := r.letter(id)
	same(r, "reason", d.Reason, job.DeadlineOver)
	same(r, "class and group", []string{d.Class, d.Fingerprint}, []string{"TooLate", job.Fingerprint(kind, "TooLate", job.CodeExpired)})
	d = r.letter(plain)
	same(r, "class and group without terms", []string{d.Class, d.Fingerprint}, []string{"", job.Fingerprint(kind, "", job.CodeExpired)})
	var classes []string
	for _, e := range r.events(at) {
		classes = append(classes, e.Class)
	}
	same(r, "classes of the events", classes, []string{"TooLate", ""})
}

// proves: D1
func termsOfTheClaimDecideALaterExpiry(r *rig) {
	id := r.add(given(job.Terms{ExpiredClass: "OfTheEnqueue"}), func(n *job.New) { n.Deadline = r.in(time.Minute) })
	r.end(failed(r.take(under(policyTerms)), "NetworkTimeout", 2*time.Minute))
	r.clock.Advance(3 * time.Minute)
	r.none()
	same(r, "class", r.letter(id).Class, "TooLate")
}

// proves: D1
//
// The store keeps the terms of a dead job. It needs the terms if the job is retried and reaches its
// deadline before the next claim.
func termsOfARetriedJob(r *rig) {
	deadline := r.in(time.Hour)
	id := r.add(given(policyTerms), func(n *job.New) { n.Deadline = deadline })
	r.end(died(r.take(under(policyTerms)), "InvalidInput", job.NonRetriable))
	r.ok(r.retry(id))
	r.clock.Advance(2 * time.Hour)
	r.none()
	same(r, "class", r.letter(id).Class, "TooLate")
}

// proves: R5
//
// A job that a rule has held is released by a retry, and no rule holds it again in any later life.
func releaseTravelsWithTheClaim(r *rig) {
	id := r.add()
	c := r.take()
	same(r, "a claim of the first life is released", c.Released, false)
	r.end(held(c))
	r.ok(r.retry(id))
	c = r.take()
	same(r, "a claim after the retry of a held job is released", c.Released, true)
	r.end(failed(c, "NetworkTimeout", 0))
	c = r.take()
	same(r, "the next claim of the same life is released", c.Released, true)
	r.end(died(c, "InvalidInput", job.NonRetriable))
	r.ok(r.retry(id))
	c = r.take()
	same(r, "a claim of the third life is released", c.Released, true)
	r.end(succeeded(c))

	other := r.add()
	r.end(died(r.take(), "InvalidInput", job.NonRetriable))
	r.ok(r.retry(other))
	same(r, "a claim after the retry of a job that was not held is released", r.take().Released, false)

	var many []job.ID // one step of an action retries all these jobs
	for range 3 {
		many = append(many, r.add())
	}
	for _, c := range r.claim(want(3)) {
		r.end(held(c))
	}
	through := r.letter(many[2]).Death
	_, err := r.Act(ctx(), person, store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{Reason: job.ManualReview}, Through: through})
	r.ok(err)
	for _, c := range r.claim(want(3)) {
		same(r, "a claim after a retry of many held jobs is released", c.Released, true)
	}
}

// proves: X3
func termsAreChecked(r *rig) {
	for _, terms := range []string{"\x02", "\x01", strings.Repeat("x", job.TermsMax+1)} {
		r.refuse(store.ErrInvalid, r.newJob(func(n *job.New) { n.Terms = terms }))
		r.unchanged(func() {
			_, err := r.Exchange(ctx(), store.Exchange{Holder: holder, Lease: lease, Want: []store.Want{want(1, func(w *store.Want) { w.Kinds[0].Terms = terms })}})
			r.is(err, store.ErrInvalid)
		})
	}
	long := job.Terms{Retrying: strings.Repeat("r", 3<<10), Dead: strings.Repeat("d", 3<<10)}
	id := r.add(given(long))
	r.lose(r.take(under(long)))
	same(r, "text of a crash", r.last(id).UserMessage, long.Retrying)
}
