package storetest

import (
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
)

// A canary whose jobs fail by another cause than before stops the redrive, if they are too many, and the
// reason names the cause.
//
// proves: D7
func anotherCause(r *rig) {
	r.dieAll(20, "A")
	id := r.startRedrive(canaryOf(10), func(s *store.RedriveSpec) { s.StopDead = 1 }).ID
	r.step(100)
	r.answer(4, "")
	for range 6 {
		r.end(failed(r.take(), "B", time.Hour)) // the jobs now fail with another fingerprint
	}
	s := r.step(100)
	d := r.redrive(id)
	same(r, "step", []any{s.Released, len(s.Ended)}, []any{int64(0), 1})
	same(r, "redrive of the step", s.Ended[0], d)
	same(r, "answers", []any{d.State, d.Answered, d.Again, d.Other, d.Dead}, []any{store.RedriveStopped, int64(10), int64(0), int64(6), int64(0)})
	for _, part := range []string{"6 of 10", "another cause", "50 %", "6 B"} {
		if !strings.Contains(d.Why, part) {
			r.fail("stopped redrive: got the reason %q, want a reason that contains %q", d.Why, part)
		}
	}
	same(r, "causes", d.Causes, []store.RedriveCause{{Fingerprint: "B|" + kind, Class: "B", Message: failure("B").Message, Other: 6}})
}

// Deaths stop a redrive whatever their cause, and also if the first attempt did not fail like that.
//
// proves: D7
func deathsStop(r *rig) {
	r.dieAll(60, "A")
	id := r.startRedrive(canaryOf(-1)).ID
	r.step(30)
	r.answer(16, "")
	for range 4 { // 4 of 20 jobs that have ended are dead: a fifth, which is allowed
		c := r.take()
		r.end(failed(c, "C", 0))
		r.end(died(r.takeID(c.ID), "B", job.MaxRetries))
	}
	same(r, "released with a fifth dead", r.step(1).Released, int64(1))
	r.answer(1, "B")
	s := r.step(100)
	same(r, "step", []any{s.Released, s.Active, len(s.Ended)}, []any{int64(0), 0, 1})
	d := r.redrive(id)
	same(r, "redrive", []any{d.State, d.Dead, d.Other}, []any{store.RedriveStopped, int64(5), int64(5)})
	for _, part := range []string{"5 of 21 jobs", "dead", "20 %", "5 B"} {
		if !strings.Contains(d.Why, part) {
			r.fail("stopped redrive: got the reason %q, want a reason that contains %q", d.Why, part)
		}
	}
	n := func(class string, other, dead int64) store.RedriveCause {
		return store.RedriveCause{Fingerprint: class + "|" + kind, Class: class, Message: failure(class).Message, Other: other, Dead: dead}
	}
	same(r, "causes", d.Causes, []store.RedriveCause{n("B", 1, 5), n("C", 4, 0)})
}

// A redrive that has stopped sends a canary again when a person resumes it. What happened before does not
// count.
//
// proves: D7
func resumeSendsCanary(r *rig) {
	r.dieAll(60, "A")
	id := r.startRedrive(canaryOf(5)).ID
	resume := func() {
		_, err := r.ControlRedrive(ctx(), person, id, store.RedriveResume)
		r.ok(err)
		same(r, "canary after a resume", []any{r.step(100).Released, r.redrive(id).State}, []any{int64(5), store.RedriveCanary})
		same(r, "released before the canary has answered", r.step(100).Released, int64(0))
	}
	r.step(100)
	r.answer(5, "A")
	r.step(100)
	same(r, "state after a bad canary", r.redrive(id).State, store.RedriveStopped)
	resume()
	r.answer(4, "")
	r.answer(1, "A") // a fifth, which is allowed
	same(r, "released in the ramp", r.step(30).Released, int64(30))
	r.answer(5, "")
	r.answer(25, "A")
	r.step(100)
	same(r, "state of a bad ramp", r.redrive(id).State, store.RedriveStopped)
	resume()
	r.answer(5, "")
	same(r, "released at last", r.step(100).Released, int64(15))
	r.answer(15, "")
	r.step(100)
	d := r.redrive(id)
	same(r, "end", []any{d.State, d.Released, d.Answered, d.Again, d.Completed, d.Dead, d.Causes},
		[]any{store.RedriveEnded, int64(60), int64(60), int64(31), int64(29), int64(31), []store.RedriveCause(nil)})
}

// People hear of a redrive that was stopped by itself, each time, and of no other end of one.
//
// part of: D7, N2
func stopsAreHeardOf(r *rig) {
	r.publishRules(rulesOf(notify.Rule{On: []notify.Event{notify.RedriveStopped}, Channel: "mail", To: []string{"ops"}, Team: true}))
	r.dieAll(20, "A")
	id := r.startRedrive(canaryOf(5)).ID
	r.step(100)
	r.answer(5, "A")
	const stopped = "redrive.stopped ops@example.com"
	same(r, "notices of a canary that fails", r.newNotices(func() { r.step(100) }), stopped)
	r.clock.Advance(time.Second)
	_, err := r.ControlRedrive(ctx(), person, id, store.RedriveResume)
	r.ok(err)
	r.step(100)
	r.answer(5, "A")
	same(r, "notices of the next canary", r.newNotices(func() { r.step(100) }), stopped)
	_, err = r.ControlRedrive(ctx(), person, id, store.RedriveCancel)
	r.ok(err)
	same(r, "notices of a redrive that is cancelled", r.newNotices(func() { r.step(100) }), "")
}
