package storetest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func redrivePromises() []promise {
	return []promise{
		{"D7_CanaryIsSpreadAndWaits", canaryIsSpread},
		{"D7_GoodCanaryOpensTheRamp", goodCanary},
		{"D7_BadCanaryStopsTheRest", badCanary},
		{"D7_AnotherCauseStopsARedrive", anotherCause},
		{"D7_DeathsStopARedrive", deathsStop},
		{"D7_AResumedRedriveSendsACanaryAgain", resumeSendsCanary},
		{"D7_StopsAreHeardOf", stopsAreHeardOf},
		{"D7_CanaryOfWhichNoneCompletesStops", barrenCanary},
		{"D7_RampStopsByItself", rampStops},
		{"D7_LaterDeathsDoNotJoin", laterDeathsDoNotJoin},
		{"D5_RedrivePatchesPayloads", redrivePatches},
		{"D5_PatchedJobsTakeTheirNewKeys", redrivePatchKeys},
		{"D7_PatchRefusesCanaries", redrivePatchCanary},
		{"D7_RedriveWithoutStopDoesNotWait", redriveWithoutStop},
		{"D7_WhatIsReopenedIsBroughtBack", reopenedIsBroughtBack},
		{"D7_RateHolds", redriveRate},
		{"D7_PauseResumeProceedCancel", redriveControls},
		{"D7_AnswersAreCounted", redriveAnswers},
		{"D7_PriorityIsNotTheJobsOwn", redrivePriority},
		{"D7_PersonInBetween", redrivePerson},
		{"D7_ManySteppersBringBackOnce", manySteppers},
		{"D7_RedrivesAreAuditedAndPublished", redrivesAreAudited},
		{"D7_RedrivesAreListed", redrivesAreListed},
		{"D7_AKeyStartsOneRedrive", aKeyStartsOne},
		{"D7_RedriveKeepsItsFilter", redriveKeepsItsFilter},
		{"X3_RedriveBounds", redriveBounds},
	}
}

func canaryOf(n int) func(*store.RedriveSpec) {
	return func(s *store.RedriveSpec) { s.Canary = n }
}

func neverStops(s *store.RedriveSpec) { *s = s.WithoutStop() }

// waiting returns the sorted ids of the due jobs.
func (r *rig) waiting() (ids []job.ID) {
	for _, j := range r.dump().Jobs {
		if j.State == job.Waiting {
			ids = append(ids, j.ID)
		}
	}
	return ids
}

// answer claims n released jobs and ends their runs. The jobs die with the given class, or complete
// if the class is "".
func (r *rig) answer(n int, class string) {
	for _, c := range r.claim(want(n)) {
		if class == "" {
			r.end(succeeded(c))
		} else {
			r.end(died(c, class, job.NonRetriable))
		}
		n--
	}
	if n != 0 {
		r.fail("too few released jobs can be claimed: got %d jobs fewer than expected", n)
	}
}

// proves: D7
func canaryIsSpread(r *rig) {
	all := r.dieAll(10, "A")
	d := r.startRedrive(canaryOf(4))
	same(r, "redrive", []any{d.State, d.Total, d.Through, d.Released}, []any{store.RedriveCanary, int64(10), int64(10), int64(0)})
	s := r.step(100)
	same(r, "step", []any{s.Active, s.Released}, []any{1, int64(4)})
	same(r, "canaries", r.waiting(), []job.ID{all[0], all[3], all[6], all[9]})
	for range 3 {
		s = r.step(100)
		same(r, "step while the canaries run", []any{s.Active, s.Released, s.Wait}, []any{1, int64(0), store.Never})
	}
	r.answer(3, "")
	same(r, "step before the last answer", r.step(100).Released, int64(0))
	l := r.letter(all[0])
	same(r, "entry", []any{l.ActedBy, l.Redrive}, []any{fmt.Sprint("redrive ", d.ID), d.ID})
}

// proves: D7
func goodCanary(r *rig) {
	r.dieAll(10, "A")
	id := r.startRedrive(canaryOf(2)).ID
	r.step(100)
	r.answer(2, "")
	same(r, "released", r.step(100).Released, int64(8))
	same(r, "state", r.redrive(id).State, store.RedriveSettling)
	r.answer(8, "")
	s := r.step(100)
	same(r, "last step", []any{s.Active, s.Released, s.Wait}, []any{0, int64(0), store.Never})
	r.clock.Advance(time.Hour)
	d := r.redrive(id)
	same(r, "end", []any{d.State, d.Released, d.Answered, d.Again, d.Completed, d.EndedAt},
		[]any{store.RedriveCompleted, int64(10), int64(10), int64(0), int64(10), r.in(-time.Hour)})
}

// proves: D7
func badCanary(r *rig) {
	all := r.dieAll(20, "A")
	id := r.startRedrive(canaryOf(5)).ID
	r.step(100)
	r.answer(3, "")
	r.answer(2, "A") // two failures of five jobs are more than the default stop share of one fifth
	s := r.step(100)
	same(r, "step", []any{s.Active, s.Released, s.Wait}, []any{0, int64(0), store.Never})
	d := r.redrive(id)
	same(r, "state", []any{d.State, d.Answered, d.Again, d.EndedAt}, []any{store.RedriveStopped, int64(5), int64(2), r.now()})
	if !strings.Contains(d.Why, "2 of 5") {
		r.fail("stopped redrive: got the reason %q, want a reason that contains \"2 of 5\"", d.Why)
	}
	dead := 0
	for _, id := range all {
		if r.get(id).State == job.Dead {
			dead++
		}
	}
	same(r, "still dead", dead, 17)
}

// If all jobs of the canary die, the redrive stops, even if they die with another class than
// before. Such deaths do not prove that the old cause is gone.
//
// proves: D7
func barrenCanary(r *rig) {
	r.dieAll(6, "A")
	id := r.startRedrive(canaryOf(3)).ID
	r.step(100)
	r.answer(3, "B")
	same(r, "released", r.step(100).Released, int64(0))
	d := r.redrive(id)
	same(r, "state", d.State, store.RedriveStopped)
	if !strings.Contains(d.Why, "3 of 3") {
		r.fail("got the reason %q, want it to have \"3 of 3\"", d.Why)
	}
	_, err := r.ControlRedrive(ctx(), person, id, store.RedriveResume)
	r.ok(err)
	same(r, "released after a person went on", r.step(100).Released, int64(3))
}

// proves: D7
func rampStops(r *rig) {
	r.dieAll(200, "A")
	id := r.startRedrive(canaryOf(-1)).ID
	same(r, "state without a canary", r.redrive(id).State, store.RedriveRamping)
	same(r, "first window", r.step(500).Released, int64(100))
	same(r, "no more without an answer", r.step(500).Released, int64(0))
	r.answer(9, "A")
	same(r, "released with too few answers to stop", r.step(500).Released > 0, true)
	r.answer(1, "A")
	same(r, "released after it stopped", r.step(500).Released, int64(0))
	d := r.redrive(id)
	same(r, "state", []any{d.State, d.Again}, []any{store.RedriveStopped, int64(10)})
	if d.Released > 130 {
		r.fail("the redrive released %d jobs that fail again, want at most 130", d.Released)
	}
	// A person resumes the redrive. Jobs that failed before that time do not count in the stop
	// rule any more.
	_, err := r.ControlRedrive(ctx(), person, id, store.RedriveResume)
	r.ok(err)
	if r.step(500).Released == 0 {
		r.fail("a step of a resumed redrive released no job, want at least one")
	}
}

// proves: D7
func laterDeathsDoNotJoin(r *rig) {
	r.dieAll(3, "A")
	id := r.startRedrive(canaryOf(1)).ID
	late := r.die("A")
	r.step(100)
	r.answer(1, "A") // the job dies again, and this death has a new number
	r.step(100)      // this step stops the redrive
	_, err := r.ControlRedrive(ctx(), person, id, store.RedriveResume)
	r.ok(err)
	for range 2 {
		same(r, "released", r.step(100).Released, int64(1))
		r.answer(1, "")
	}
	r.step(100)
	d := r.redrive(id)
	same(r, "end", []any{d.State, d.Released, d.Completed, d.Dead}, []any{store.RedriveEnded, int64(3), int64(2), int64(1)})
	r.state(late, job.Dead)
	same(r, "what died again", r.listed(store.DeadFilter{Redrive: id, Statuses: []job.Status{job.Pending}}, 5), []job.ID{1})
}

// If a person reopens a dead letter after the redrive has counted its set, the redrive also retries
// and counts that job. The counters of the redrive never contradict each other.
//
// proves: D7
func reopenedIsBroughtBack(r *rig) {
	ids := r.dieAll(3, "A")
	r.ok(r.actOn(store.ActResolve, ids[1]))
	id := r.startRedrive(canaryOf(-1)).ID
	same(r, "total", r.redrive(id).Total, int64(2))
	r.ok(r.actOn(store.ActReopen, ids[1]))
	same(r, "released", r.step(100).Released, int64(3))
	d := r.redrive(id)
	same(r, "numbers", []int64{d.Total, d.Released}, []int64{3, 3})
}

// proves: D7
func redriveRate(r *rig) {
	r.dieAll(50, "A")
	id := r.startRedrive(canaryOf(-1), func(s *store.RedriveSpec) { s.Rate = 10 }).ID
	released := int64(0)
	for tenth := range int64(40) { // one round of the loop is a tenth of a second
		released += r.step(100).Released
		if most := tenth + 1; released > most {
			r.fail("%d jobs were released after %d tenths of a second, want at most %d", released, tenth, most)
		}
		if s := r.step(100); s.Wait > 100*time.Millisecond || s.Wait <= 0 {
			r.fail("step of a redrive with a rate of 10 per second: got a wait of %s, want above 0 and at most 100ms", s.Wait)
		}
		r.clock.Advance(100 * time.Millisecond)
	}
	if released < 38 {
		r.fail("%d jobs were released in 4 s at a rate of 10 per second, want at least 38", released)
	}
	r.clock.Advance(time.Hour) // after a time without releases, the jobs of at most one second may be released at once
	same(r, "after an hour", r.step(100).Released, int64(10))
	same(r, "state", r.redrive(id).State, store.RedriveRamping)
}

// proves: D7
func redriveAnswers(r *rig) {
	r.dieAll(9, "A")
	id := r.startRedrive(canaryOf(9)).ID
	r.step(100)
	numbers := func(want ...int64) { // the numbers are, in this order: answered, again, completed, dead, cancelled
		d := r.redrive(id)
		same(r, "numbers", []int64{d.Answered, d.Again, d.Completed, d.Dead, d.Cancelled}, want)
	}
	c := r.take()
	r.end(failed(c, "A", 0)) // the end of the first attempt counts as the answer of the job
	numbers(1, 1, 0, 0, 0)
	r.end(succeeded(r.takeID(c.ID))) // later attempts do not count as answers
	numbers(1, 1, 1, 0, 0)
	c = r.take()
	r.end(waits(c, job.Snoozed, 0)) // this run counts as no attempt, so it is not an answer
	numbers(1, 1, 1, 0, 0)
	r.end(failed(r.takeID(c.ID), "B", 0))
	numbers(2, 1, 1, 0, 0)
	r.end(died(r.takeID(c.ID), "A", job.MaxRetries)) // the job dies at its second attempt, which is not an answer
	numbers(2, 1, 1, 1, 0)
	r.end(outcome(r.take(), job.Cancel, job.Cancelled))
	numbers(3, 1, 1, 1, 1)
	r.ok(r.cancel(r.waiting()[0]))
	numbers(4, 1, 1, 1, 2)
	o := held(r.take())
	r.end(o)
	numbers(5, 1, 1, 2, 2)
	c = r.take(func(w *store.Want) { w.Kinds[0].MaxCrashes = 1 })
	r.lose(c)
	numbers(6, 1, 1, 3, 2)
	c = r.take()
	r.ok(r.cancel(c.ID)) // a person asks to cancel the job while it runs
	r.end(failed(c, "A", 0))
	numbers(7, 2, 1, 3, 3)
	r.end(died(r.take(), "A", job.NonRetriable))
	numbers(8, 3, 1, 4, 3)
	o = succeeded(r.take())
	r.end(o)
	same(r, "settle again", r.settle(o), nil)
	numbers(9, 3, 2, 4, 3)
}

// proves: D7
func redrivePriority(r *rig) {
	id := r.die("A", func(n *job.New) { n.Priority = 1 })
	d := r.startRedrive(canaryOf(-1), func(s *store.RedriveSpec) { s.Change = store.Change{Queue: "night", Override: []byte(`{"p":1}`)} })
	r.step(100)
	j := r.get(id)
	same(r, "brought back", []any{j.Priority, j.Queue, string(j.Override)}, []any{int8(store.RedrivePriority), "night", `{"p":1}`})
	o, err := r.Original(ctx(), id)
	r.ok(err)
	same(r, "original", []any{o.Queue, o.Priority, o.By}, []any{queue, int8(1), fmt.Sprint("redrive ", d.ID)})
	r.end(died(r.takeID(id), "A", job.NonRetriable))
	same(r, "priority after the second death", r.get(id).Priority, int8(1))
	same(r, "redrive of the entry", r.letter(id).Redrive, d.ID)
	r.ok(r.retry(id))
	j = r.get(id)
	same(r, "retried by hand", []any{j.Priority, j.Queue}, []any{int8(1), "night"})

	plain := r.die("A") // a redrive changes the priority of this job for one life only, so the store keeps no original values
	r.startRedrive(canaryOf(-1))
	r.step(100)
	r.state(plain, job.Waiting)
	_, err = r.Original(ctx(), plain)
	r.is(err, store.ErrNotFound)
}

// proves: D7, D5
func manySteppers(r *rig) {
	all := r.dieAll(120, "A")
	id := r.startRedrive(canaryOf(20)).ID
	var (
		wg       sync.WaitGroup
		mu       sync.Mutex
		released int64
		failure  error
	)
	for round := range 2 {
		for range 4 {
			wg.Go(func() {
				for range 10 {
					s, err := r.StepRedrives(ctx(), 7)
					mu.Lock()
					released += s.Released
					if err != nil {
						failure = err
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		r.ok(failure)
		if round == 0 {
			same(r, "canaries", released, int64(20))
			r.answer(20, "")
		}
	}
	same(r, "released", released, int64(len(all)))
	same(r, "released, as counted", r.redrive(id).Released, int64(len(all)))
	events := map[job.ID]int{}
	for _, e := range r.dump().Events {
		if e.Type == event.JobRetried {
			events[e.Job]++
		}
	}
	for _, id := range all {
		same(r, "retries and life", []int{events[id], int(r.get(id).Life)}, []int{1, 2})
	}
}
