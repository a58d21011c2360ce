package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func redriveStepPromises() []promise {
	return []promise{
		{"D7_CanaryKeepsTheRate", canaryKeepsTheRate},
		{"D7_RedrivesShareAStep", redrivesShare},
		{"D7_ReleasesAreAuditedByState", releasesAreAudited},
		{"X3_RedriveNeedsRoomForItsLanes", redriveNeedsRoom},
		{"X3_CanaryStopsWhereLanesEnd", canaryStopsWhereLanesEnd},
		{"X3_RampStopsWhereLanesEnd", rampStopsWhereLanesEnd},
	}
}

// proves: D7
func canaryKeepsTheRate(r *rig) {
	r.dieAll(30, "A")
	r.startRedrive(canaryOf(20), func(s *store.RedriveSpec) { s.Rate = 2 })
	released := int64(0)
	for half := range int64(8) { // one round of the loop is half a second
		s := r.step(100)
		if released += s.Released; released > half+1 {
			r.fail("%d canaries were released after %d half seconds, want at most %d", released, half, half+1)
		}
		if s := r.step(100); s.Wait > time.Second/2 || s.Wait <= 0 {
			r.fail("step of a redrive with a rate of 2 per second: got a wait of %s, want above 0 and at most 500ms", s.Wait)
		}
		r.clock.Advance(time.Second / 2)
	}
	if released < 7 {
		r.fail("%d canaries were released in 4 s at a rate of 2 per second, want at least 7", released)
	}
	r.clock.Advance(time.Hour)
	same(r, "after an hour", r.step(100).Released, int64(2))
}

// proves: D7
func redrivesShare(r *rig) {
	for _, class := range []string{"A", "B", "C"} {
		r.dieAll(40, class)
	}
	var ids []int64
	for _, class := range []string{"A", "B", "C"} {
		ids = append(ids, r.startRedrive(canaryOf(-1), func(s *store.RedriveSpec) { s.Filter.Class = class }).ID)
	}
	released := func() (n []int64) {
		for _, id := range ids {
			n = append(n, r.redrive(id).Released)
		}
		return n
	}
	same(r, "step", r.step(30), store.RedriveStep{Active: 3, Released: 30})
	same(r, "shares", released(), []int64{10, 10, 10})
	for range 3 {
		r.step(1) // a step with a limit of 1 job serves only one redrive, so the redrives take turns
	}
	same(r, "shares of small steps", released(), []int64{11, 11, 11})
	_, err := r.ControlRedrive(ctx(), person, ids[0], store.RedrivePause)
	r.ok(err)
	same(r, "step", r.step(40).Released, int64(40)) // the paused redrive takes no share of the 40 jobs
	same(r, "shares without the first", released(), []int64{11, 31, 31})
}

// proves: D7, Q9
func releasesAreAudited(r *rig) {
	r.dieAll(30, "A")
	id := r.startRedrive(canaryOf(2), func(s *store.RedriveSpec) { s.Rate = 1 }).ID
	control := func(do store.RedriveOp) {
		_, err := r.ControlRedrive(ctx(), person, id, do)
		r.ok(err)
	}
	seconds := func(n int) {
		for range n {
			r.clock.Advance(time.Second)
			same(r, "released in a second", r.step(100).Released, int64(1))
		}
	}
	seconds(2)
	r.answer(2, "")
	seconds(5)
	control(store.RedrivePause)
	control(store.RedriveResume)
	seconds(3)
	control(store.RedriveCancel)
	var rows []string
	for _, a := range r.audit() {
		rows = append(rows, a.Action+" "+a.After)
	}
	same(r, "audit", rows[1:], []string{
		`redrive.release {"done":3}`, // the two canaries, and one job that was released after both had ended
		`redrive.release {"done":4}`, "redrive.pause paused", "redrive.resume ramping",
		`redrive.release {"done":3}`, "redrive.cancel cancelled",
	})
}

// fillLanes makes lanes until the store has room for only the given number of further lanes.
func (r *rig) fillLanes(room int) {
	jobs := r.batch(job.LanesMax - len(r.lanes()) - room)
	for i := range jobs {
		jobs[i].Queue, jobs[i].Deps = "full", fmt.Sprint("dep", i)
	}
	r.enqueue(jobs...)
}

// lanes returns the different pairs of queue and kind of all jobs. All jobs have the same
// dependencies.
func (r *rig) lanes() map[string]bool {
	lanes := make(map[string]bool)
	for _, j := range r.dump().Jobs {
		lanes[j.Queue+" "+j.Kind] = true
	}
	return lanes
}

// proves: X3
func redriveNeedsRoom(r *rig) {
	for _, k := range []string{"k1", "k2", kind} {
		id := r.add(func(n *job.New) { n.Kind = k })
		c := r.takeID(id)
		r.end(died(c, "A", job.NonRetriable))
	}
	r.fillLanes(2)
	total := r.preview(store.Action{Do: store.ActRetry, Filter: &store.DeadFilter{}})
	spec := store.RedriveSpec{Through: total.Through, Total: total.Done, Canary: -1, Change: store.Change{Queue: "night"}}
	r.unchanged(func() {
		_, err := r.StartRedrive(ctx(), person, spec)
		r.is(err, store.ErrTooLarge)
	})
	part := spec // this redrive moves two jobs of two kinds, which need two lanes
	part.Through, part.Total = 2, 2
	_, err := r.StartRedrive(ctx(), person, part)
	r.ok(err)
	same(r, "released", r.step(10).Released, int64(2))
	spec.Change.Queue = queue // the new queue is the queue in which the jobs already are
	_, err = r.StartRedrive(ctx(), person, spec)
	r.ok(err)
	same(r, "released", r.step(10).Released, int64(1))
}

// When the redrive begins, the store has room for the lane that its jobs need. Then another job
// takes the last lane, so the redrive must stop.
func redriveStopsWhereLanesEnd(r *rig, canary int) {
	all := []job.ID{r.die("A"), r.die("A")}
	r.fillLanes(1)
	id := r.startRedrive(canaryOf(canary), func(s *store.RedriveSpec) { s.Change.Queue = "night" }).ID
	began := r.redrive(id).State
	r.add(func(n *job.New) { n.Queue = "thief" })
	step := func() {
		got := r.step(10)
		d := r.redrive(id)
		same(r, "step", got, store.RedriveStep{Wait: store.Never, Ended: []store.Redrive{d}})
		same(r, "state", []any{d.State, d.Released, d.EndedAt}, []any{store.RedriveStopped, int64(0), r.now()})
		if !strings.Contains(d.Why, "0 of 2 jobs are released") || !strings.Contains(d.Why, fmt.Sprint(job.LanesMax)) {
			r.fail("stopped redrive: got the reason %q, want a reason that contains \"0 of 2 jobs are released\" and the maximum number of lanes", d.Why)
		}
	}
	step()
	_, err := r.ControlRedrive(ctx(), person, id, store.RedriveResume)
	r.ok(err)
	same(r, "resumed", r.redrive(id).State, began)
	step() // the store has no room for another lane
	for _, id := range all {
		r.state(id, job.Dead)
	}
}

// proves: X3
// part of: D7
func canaryStopsWhereLanesEnd(r *rig) { redriveStopsWhereLanesEnd(r, 2) }

// proves: X3
// part of: D7
func rampStopsWhereLanesEnd(r *rig) { redriveStopsWhereLanesEnd(r, -1) }
