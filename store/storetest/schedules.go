package storetest

import (
	"strings"
	"sync"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func schedulePromises() []promise {
	return []promise{
		{"Q13_SlotIsFiredOnce", slotIsFiredOnce},
		{"Q13_ManySchedulersFireOnce", manySchedulers},
		{"Q13_FutureSlotIsRefused", futureSlot},
		{"Q13_RefusedEnqueueLeavesTheSlot", refusedEnqueue},
		{"Q13_SchedulesAreListed", schedulesAreListed},
		{"Q13_ExpressionIsStoredWithItsSlot", expressionIsStored},
		{"Q13_PausedScheduleIsNotFired", pausedIsNotFired},
		{"Q13_ScheduleIsPausedBeforeItsFirstSlot", pausedBeforeTheFirst},
		{"Q9_PauseOfAScheduleIsAudited", pauseIsAudited},
		{"Q9_RunOfAScheduleIsAudited", runIsAudited},
		{"Q13_RunOfAScheduleWithAKeyHappensOnce", runWithAKeyHappensOnce},
		{"X3_SlotBounds", slotBounds},
	}
}

// everyMinute is the expression of the cron entry whose slots the checks fire.
const everyMinute = "* * * * * UTC"

func (r *rig) fire(name string, slot job.Micros, jobs ...job.New) store.Fired {
	if jobs == nil {
		jobs = []job.New{r.newJob()}
	}
	answer, err := r.Fire(ctx(), name, everyMinute, slot, jobs)
	r.ok(err)
	return answer
}

// proves: Q13
func slotIsFiredOnce(r *rig) {
	slot := r.in(-time.Second)
	jobs := []job.New{r.newJob(), r.newJob()}
	got := r.fire("nightly", slot, jobs...)
	last := store.CronSlot{Name: "nightly", Slot: slot, At: r.now(), Job: jobs[0].ID, Expression: everyMinute}
	same(r, "fired", got, store.Fired{Fired: true, Last: last, Receipts: []job.Receipt{
		{ID: jobs[0].ID, State: job.Waiting}, {ID: jobs[1].ID, State: job.Waiting},
	}})
	events := r.dump().Events
	e := events[len(events)-1]
	same(r, "event", []any{e.Type, e.Note, e.DueAt, e.Job}, []any{event.ScheduleFired, "nightly", slot, jobs[0].ID})
	r.clock.Advance(time.Minute)
	again := r.newJob()
	r.unchanged(func() {
		same(r, "the same slot", r.fire("nightly", slot, again), store.Fired{Last: last})
		same(r, "an earlier slot", r.fire("nightly", slot-1, again), store.Fired{Last: last})
	})
	same(r, "the next slot", r.fire("nightly", slot+1).Fired, true)
	same(r, "another schedule", r.fire("hourly", slot).Fired, true)
	same(r, "jobs", len(r.dump().Jobs), 4)
}

// proves: Q13
func manySchedulers(r *rig) {
	const schedulers, slots = 6, 5
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		fired   = map[job.Micros]int{}
		failure error
	)
	r.clock.Advance(time.Second)
	jobs := make([]job.New, schedulers*slots)
	for i := range jobs {
		jobs[i] = r.newJob()
	}
	for i := range schedulers {
		wg.Go(func() {
			for k := range slots {
				slot := r.start + job.Micros(k)
				answer, err := r.Fire(ctx(), "s", everyMinute, slot, jobs[i*slots+k:i*slots+k+1])
				mu.Lock()
				if err != nil {
					failure = err
				} else if answer.Fired {
					fired[slot]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	r.ok(failure)
	for slot, n := range fired {
		if n != 1 {
			r.fail("slot %d was fired %d times, want once", slot, n)
		}
	}
	// A slot may have been skipped because another process had already fired a later slot. The last
	// slot was certainly fired.
	same(r, "the last slot", fired[r.start+slots-1], 1)
	same(r, "jobs", len(r.dump().Jobs), len(fired))
}

// proves: Q13
func futureSlot(r *rig) {
	n := r.newJob()
	r.unchanged(func() {
		_, err := r.Fire(ctx(), "s", everyMinute, r.now()+1, []job.New{n})
		r.is(err, store.ErrConflict)
	})
	same(r, "the slot of now", r.fire("s", r.now(), n).Fired, true)
}

// proves: Q13
func refusedEnqueue(r *rig) {
	r.add()
	r.set(store.QueueChange{Mode: new(store.Draining)})
	n := r.newJob(func(n *job.New) { n.Queue = "else" })
	refused := r.newJob()
	r.unchanged(func() {
		_, err := r.Fire(ctx(), "s", everyMinute, r.now(), []job.New{n, refused})
		r.is(err, store.ErrDraining)
	})
	r.set(store.QueueChange{Mode: new(store.Open)})
	same(r, "fired later", r.fire("s", r.now(), n, refused).Fired, true)
}

// proves: Q13
func schedulesAreListed(r *rig) {
	none, err := r.CronSlots(ctx())
	r.ok(err)
	same(r, "schedules", len(none), 0)
	var want []store.CronSlot
	for _, name := range []string{"a", "b", "c"} {
		want = append(want, r.fire(name, r.now()).Last)
		r.clock.Advance(time.Second)
	}
	want[0] = r.fire("a", r.now()).Last
	list, err := r.CronSlots(ctx())
	r.ok(err)
	same(r, "schedules", list, want)
}

// The store keeps the expression of the last fired slot. A refused slot does not change the
// stored expression.
//
// proves: Q13
func expressionIsStored(r *rig) {
	fire := func(expression string, slot job.Micros) (fired bool, stored string) {
		answer, err := r.Fire(ctx(), "s", expression, slot, []job.New{r.newJob()})
		r.ok(err)
		list, err := r.CronSlots(ctx())
		r.ok(err)
		same(r, "expressions in the answer and in the list", answer.Last.Expression, list[0].Expression)
		return answer.Fired, list[0].Expression
	}
	first := r.in(-time.Minute)
	for _, step := range []struct {
		what, expression string
		slot             job.Micros
		fired            bool
		stored           string
	}{
		{"the first slot", "0 * * * * Europe/Berlin", first, true, "0 * * * * Europe/Berlin"},
		{"the same slot, by another expression", "@every 1h0m0s", first, false, "0 * * * * Europe/Berlin"},
		{"a later slot, by another expression", "@every 1h0m0s", first + 1, true, "@every 1h0m0s"},
		{"a slot before the last one, by the first expression", "0 * * * * Europe/Berlin", first, false, "@every 1h0m0s"},
	} {
		fired, stored := fire(step.expression, step.slot)
		same(r, step.what+": whether it was fired, and the stored expression", []any{fired, stored}, []any{step.fired, step.stored})
	}
	same(r, "schedules in the dump", r.dump().Schedules[0].Expression, "@every 1h0m0s")
}

func (r *rig) setSchedule(name string, paused bool) store.CronSlot {
	c, err := r.SetSchedule(ctx(), person, name, paused)
	r.ok(err)
	return c
}

// Slots that pass during a pause are never fired, neither during the pause nor after it.
//
// part of: Q13
func pausedIsNotFired(r *rig) {
	last := r.fire("s", r.now()).Last
	before := r.in(time.Second) // the time of this slot passed before the pause, but nobody fired it
	r.clock.Advance(time.Minute)
	last.Paused, last.SetAt = true, r.now()
	same(r, "paused schedule", r.setSchedule("s", true), last)
	r.clock.Advance(time.Minute)
	during, another := r.now(), r.fire("other", r.now()).Fired
	same(r, "another schedule fires", another, true)
	n := r.newJob()
	r.unchanged(func() {
		for _, slot := range []job.Micros{before, last.SetAt, during} {
			same(r, "a slot of a paused schedule", r.fire("s", slot, n), store.Fired{Last: last})
		}
		same(r, "a second pause", r.setSchedule("s", true), last)
	})
	r.clock.Advance(time.Minute)
	last.Paused, last.SetAt = false, r.now()
	same(r, "resumed schedule", r.setSchedule("s", false), last)
	list, err := r.CronSlots(ctx())
	r.ok(err)
	same(r, "listed schedule", list[1], last)
	r.unchanged(func() {
		for _, slot := range []job.Micros{before, during, last.SetAt} {
			same(r, "a slot that passed before the end of the pause", r.fire("s", slot, n), store.Fired{Last: last})
		}
		same(r, "a second resumption", r.setSchedule("s", false), last)
	})
	r.clock.Advance(time.Second)
	got := r.fire("s", r.now(), n)
	same(r, "the first slot after the pause", got.Fired, true)
	same(r, "the time of the resumption", got.Last.SetAt, last.SetAt)
}

// part of: Q13
func pausedBeforeTheFirst(r *rig) {
	r.unchanged(func() {
		_, err := r.SetSchedule(ctx(), person, "s", false)
		r.is(err, store.ErrNotFound)
		_, err = r.SetSchedule(ctx(), person, "no good", true)
		r.is(err, store.ErrInvalid)
		_, err = r.SetSchedule(ctx(), store.By{}, "s", true)
		r.is(err, store.ErrInvalid)
	})
	paused := store.CronSlot{Name: "s", Paused: true, SetAt: r.now()}
	same(r, "paused schedule", r.setSchedule("s", true), paused)
	same(r, "schedules of the dump", r.dump().Schedules, []store.CronSlot{paused})
	r.clock.Advance(time.Minute)
	same(r, "a slot of the paused schedule", r.fire("s", r.now()), store.Fired{Last: paused})
	r.setSchedule("s", false)
	r.clock.Advance(time.Minute)
	same(r, "the first slot after the pause", r.fire("s", r.now()).Fired, true)
}

// part of: Q9
func pauseIsAudited(r *rig) {
	at := r.now()
	r.setSchedule("s", true)
	r.setSchedule("s", true)
	r.clock.Advance(time.Second)
	r.setSchedule("s", false)
	row := store.Audit{Seq: 1, At: at, Actor: person.Actor, Action: "schedule.pause", Target: "s", Reason: person.Reason, Before: "active", After: "paused"}
	end := row
	end.Seq, end.At, end.Action, end.Before, end.After = 2, r.now(), "schedule.resume", "paused", "active"
	same(r, "audit rows", r.audit(), []store.Audit{row, end})
	var got []string
	for _, e := range r.dump().Events {
		same(r, "type of the event", e.Type, event.ScheduleChanged)
		got = append(got, e.Note+" "+e.Reason)
	}
	same(r, "events", got, []string{"s paused", "s active"})
}

// A person runs a schedule whether it is paused or not. Its slots stay as they are.
//
// part of: Q9
func runIsAudited(r *rig) {
	slot := r.fire("s", r.now()).Last
	r.clock.Advance(time.Second)
	slot.Paused, slot.SetAt = true, r.now()
	r.setSchedule("s", true)
	run := func(name string, jobs ...job.New) {
		receipts, err := r.RunSchedule(ctx(), person, name, jobs)
		r.ok(err)
		for i := range jobs {
			same(r, "receipt", receipts[i], job.Receipt{ID: jobs[i].ID, State: job.Waiting})
		}
	}
	a, b := r.newJob(), r.newJob()
	run("s", a, b)
	run("never-fired", r.newJob())
	list, err := r.CronSlots(ctx())
	r.ok(err)
	same(r, "schedules", list, []store.CronSlot{slot})
	rows := r.audit()
	same(r, "audit rows", len(rows), 3)
	same(r, "audit row", rows[1], store.Audit{Seq: 2, At: r.now(), Actor: person.Actor, Action: "schedule.run", Target: "s",
		Reason: person.Reason, After: "job " + a.ID.String()})
	same(r, "jobs", len(r.dump().Jobs), 4)
	events := r.dump().Events
	last := events[len(events)-1]
	same(r, "event", []any{last.Type, last.Note, last.Reason, last.Job}, []any{event.ScheduleChanged, "never-fired", "run", r.dump().Jobs[3].ID})
	refused := r.newJob(func(n *job.New) { n.Queue = "else" })
	r.set(store.QueueChange{Mode: new(store.Draining)})
	inDraining := r.newJob()
	r.unchanged(func() {
		_, err := r.RunSchedule(ctx(), person, "s", []job.New{refused, inDraining})
		r.is(err, store.ErrDraining)
	})
}

// Two people who press the button with one key, at the same time or one after the other, make one
// job, one audit row and one event.
//
// proves: Q13
func runWithAKeyHappensOnce(r *rig) {
	const people = 6
	jobs := make([]job.New, people)
	for i := range jobs {
		jobs[i] = r.newJob(func(n *job.New) { n.Key, n.Digest = "press", []byte("press") })
	}
	var wg sync.WaitGroup
	receipts, errs := make([][]job.Receipt, people), make([]error, people)
	for i := range people {
		wg.Go(func() { receipts[i], errs[i] = r.RunSchedule(ctx(), person, "s", jobs[i:i+1]) })
	}
	wg.Wait()
	made := 0
	for i := range people {
		r.ok(errs[i])
		same(r, "job of each answer", receipts[i][0].ID, receipts[0][0].ID)
		if !receipts[i][0].Existing {
			made++
		}
	}
	same(r, "answers that made a job", made, 1)
	same(r, "jobs", len(r.dump().Jobs), 1)
	same(r, "audit rows", len(r.audit()), 1)
	n := r.newJob(func(n *job.New) { n.Key, n.Digest = "press", []byte("press") })
	r.unchanged(func() {
		again, err := r.RunSchedule(ctx(), person, "s", []job.New{n})
		r.ok(err)
		same(r, "a later press", again[0], job.Receipt{ID: receipts[0][0].ID, Existing: true, State: job.Waiting})
	})
}

// proves: X3
func slotBounds(r *rig) {
	n := r.newJob()
	r.unchanged(func() {
		for _, name := range []string{"", "no good", strings.Repeat("s", job.NameMax+1)} {
			_, err := r.Fire(ctx(), name, everyMinute, 1, []job.New{n})
			r.is(err, store.ErrInvalid)
		}
		_, err := r.Fire(ctx(), "s", everyMinute, 0, []job.New{n})
		r.is(err, store.ErrInvalid)
		_, err = r.Fire(ctx(), "s", everyMinute, 1, nil)
		r.is(err, store.ErrInvalid)
		_, err = r.RunSchedule(ctx(), person, "no good", []job.New{n})
		r.is(err, store.ErrInvalid)
		_, err = r.RunSchedule(ctx(), store.By{}, "s", []job.New{n})
		r.is(err, store.ErrInvalid)
		_, err = r.RunSchedule(ctx(), person, "s", nil)
		r.is(err, store.ErrInvalid)
		_, err = r.Fire(ctx(), "s", "", 1, []job.New{n})
		r.is(err, store.ErrInvalid)
		_, err = r.Fire(ctx(), "s", strings.Repeat("*", store.ExpressionMax+1), 1, []job.New{n})
		r.is(err, store.ErrTooLarge)
	})
}
