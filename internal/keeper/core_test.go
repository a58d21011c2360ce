package keeper_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/cron"
	"github.com/redrive/redrive/internal/keeper"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var start = time.Date(2026, 1, 1, 10, 7, 0, 0, time.UTC)

// rig is a core with a time that the test sets.
type rig struct {
	*testing.T
	core       *keeper.Core
	now        time.Time
	expression string // the expression of the first cron entry
}

func newRig(t *testing.T, crons ...keeper.Cron) *rig {
	t.Helper()
	r := &rig{T: t, core: keeper.NewCore(keeper.Config{Cron: crons}), now: start}
	if len(crons) > 0 {
		r.expression = crons[0].Expression.Identity()
	}
	return r
}

func every(t *testing.T, schedule string, catch time.Duration) keeper.Cron {
	t.Helper()
	s, err := cron.Parse(schedule, nil)
	if err != nil {
		t.Fatal(err)
	}
	return keeper.Cron{Name: "c", Expression: s, Catch: catch, Since: start}
}

func (r *rig) want(call keeper.Call) keeper.Action {
	r.Helper()
	a := r.core.Next(r.now)
	if a.Call != call {
		r.Fatalf("at %s: the core asks for the call %q (next call at %s), want the call %q", r.now.Sub(start), a.Call, a.At.Sub(start), call)
	}
	return a
}

// sweep fails the test unless the core asks for a sweep after the steps of redrives. Then it
// reports the given result of the sweep.
func (r *rig) sweep(took time.Duration, s store.Swept) {
	r.Helper()
	for r.core.Next(r.now).Call == keeper.Step {
		r.core.Stepped(r.now, store.RedriveStep{Wait: store.Never})
	}
	r.want(keeper.Sweep)
	r.now = r.now.Add(took)
	r.core.Swept(r.now, s)
}

// rest fails the test unless the next call is due at the given time after the start.
func (r *rig) rest(until time.Duration) {
	r.Helper()
	if a := r.want(keeper.None); a.At.Sub(start) != until {
		r.Fatalf("at %s: the next call is due at %s, want %s", r.now.Sub(start), a.At.Sub(start), until)
	}
}

// quiet reports results for all steps and sweeps that are due.
func (r *rig) quiet() {
	r.Helper()
	for {
		switch a := r.core.Next(r.now); a.Call {
		case keeper.Step:
			r.core.Stepped(r.now, store.RedriveStep{Wait: store.Never})
		case keeper.Sweep:
			r.core.Swept(r.now, store.Swept{})
		case keeper.None, keeper.Load, keeper.Fire, keeper.Rescue, keeper.Present:
			return
		}
	}
}

func (r *rig) to(at time.Time) {
	r.now = at
	r.quiet()
}

// part of: Q13
func TestQ13_TheLatestMissedSlotIsFired(t *testing.T) {
	t.Parallel()
	at := func(clock string) time.Time {
		p, err := time.Parse("02 15:04", clock)
		if err != nil {
			t.Fatal(err)
		}
		return time.Date(2026, 1, p.Day(), p.Hour(), p.Minute(), 0, 0, time.UTC)
	}
	for _, tt := range []struct {
		name   string
		catch  time.Duration
		last   string // the last slot that was fired before the process started
		now    string // day and time at which the core is asked
		want   string // the slot that must be fired; empty for no slot
		resume string // the next slot, if no slot must be fired
	}{
		{"never fired: not what was before", 0, "", "01 10:07", "", "01 11:00"},
		{"never fired: the next", 0, "", "01 11:00", "01 11:00", ""},
		{"never fired, with what may be caught", 10 * time.Minute, "", "01 10:07", "01 10:00", ""},
		{"never fired, too late to be caught", 6 * time.Minute, "", "01 10:07", "", "01 11:00"},
		{"missed", 0, "01 03:00", "01 10:07", "01 10:00", ""},
		{"missed, late, to the next", 0, "01 03:00", "02 10:59", "02 10:00", ""},
		{"missed, too late", 30 * time.Minute, "01 03:00", "01 10:31", "", "01 11:00"},
		{"missed, at the edge", 30 * time.Minute, "01 03:00", "01 10:30", "01 10:00", ""},
		{"fired by another", 0, "01 10:00", "01 10:07", "", "01 11:00"},
		{"fired by a process whose clock is ahead", 0, "01 11:00", "01 10:07", "", "01 11:00"},
		{"fired by a process whose clock is ahead, and that time has come", 0, "01 11:00", "01 11:30", "", "01 12:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, every(t, "0 * * * *", tt.catch))
			r.want(keeper.Load)
			var fired []store.CronSlot
			if tt.last != "" {
				fired = []store.CronSlot{{Name: "b"}, {Name: "c", Slot: job.At(at(tt.last)), Expression: "0 * * * * UTC"}}
			}
			r.core.Loaded(r.now, fired)
			r.to(at(tt.now))
			a := r.core.Next(r.now)
			switch {
			case tt.want == "" && a.Call != keeper.None:
				t.Errorf("the core asks for the call %q (slot %s), want no call", a.Call, a.Slot)
			case tt.want != "" && (a.Call != keeper.Fire || !a.Slot.Equal(at(tt.want))):
				t.Errorf("the core asks for the call %q (slot %s), want the call that fires the slot %s", a.Call, a.Slot, tt.want)
			case tt.want == "":
				r.to(at(tt.resume).Add(-time.Second))
				if a := r.core.Next(r.now); a.Call != keeper.None || a.At.After(at(tt.resume)) {
					t.Errorf("a second before the next slot: the core asks for the call %q, and its next call is at %s; want no call before the slot", a.Call, a.At)
				}
			}
		})
	}
}

// The last slot was fired by another expression than the present expression of the entry, which
// was set at 10:07.
//
// part of: Q13
func TestQ13_ANewExpressionFiresNoSlotOfThePast(t *testing.T) {
	t.Parallel()
	clock := func(text string) time.Time {
		p, err := time.Parse("15:04", text)
		if err != nil {
			t.Fatal(err)
		}
		return time.Date(2026, 1, 1, p.Hour(), p.Minute(), 0, 0, time.UTC)
	}
	for _, tt := range []struct {
		name     string
		catch    time.Duration
		stored   string // the expression of the last slot, which was 09:00
		at       string // when the last slot was fired
		replaced bool   // whether the expression was replaced at 10:07 while the program was running
		now      string
		want     string // the slot that must be fired; empty for no slot
	}{
		{"the same expression", 0, "*/5 * * * * UTC", "09:00", false, "10:07", "10:05"},
		{"another expression, after a restart", 0, "0 9 * * * UTC", "09:00", false, "10:07", ""},
		{"another time zone, after a restart", 0, "*/5 * * * * Europe/Berlin", "09:00", false, "10:07", ""},
		{"another expression: its next slot", 0, "0 9 * * * UTC", "09:00", false, "10:10", "10:10"},
		{"another expression, and the slot is within Catch", 10 * time.Minute, "0 9 * * * UTC", "09:00", false, "10:07", "10:05"},
		{"another expression, and the last slot was fired later than the slot within Catch", 10 * time.Minute, "0 9 * * * UTC", "10:06", false, "10:07", ""},
		{"replaced while the program ran", 0, "0 9 * * * UTC", "09:00", true, "10:07", ""},
		{"replaced while the program ran: its next slot", 0, "0 9 * * * UTC", "09:00", true, "10:10", "10:10"},
		{"replaced while the program ran, and the slot is within Catch", 10 * time.Minute, "0 9 * * * UTC", "09:00", true, "10:07", ""},
		{"replaced while the program ran, and another process fires by the new expression", 0, "*/5 * * * * UTC", "09:00", true, "10:07", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			entry := every(t, "*/5 * * * *", tt.catch)
			if tt.replaced {
				entry.Changed = entry.Since
			}
			r := newRig(t, entry)
			r.want(keeper.Load)
			r.core.Loaded(r.now, []store.CronSlot{{Name: "c", Slot: job.At(clock("09:00")), At: job.At(clock(tt.at)), Expression: tt.stored}})
			r.to(clock(tt.now))
			switch a := r.core.Next(r.now); {
			case tt.want == "" && a.Call != keeper.None:
				t.Errorf("the core asks for the call %q (slot %s), want no call", a.Call, a.Slot)
			case tt.want != "" && (a.Call != keeper.Fire || !a.Slot.Equal(clock(tt.want))):
				t.Errorf("the core asks for the call %q (slot %s), want the call that fires the slot %s", a.Call, a.Slot, tt.want)
			}
		})
	}
}

// part of: Q13
func TestQ13_ASlotIsAskedAgainUntilItIsFired(t *testing.T) {
	t.Parallel()
	r := newRig(t, every(t, "*/5 * * * *", 0))
	for _, wait := range []time.Duration{time.Second, 2 * time.Second} {
		a := r.want(keeper.Load)
		if got := r.core.Failed(r.now, a); got != wait {
			t.Errorf("after an error, the last slots are read again after %s, want %s", got, wait)
		}
		r.to(r.now.Add(wait - 1))
		r.want(keeper.None)
		r.now = r.now.Add(1)
	}
	r.want(keeper.Load)
	r.core.Loaded(r.now, nil)
	r.to(start.Add(3 * time.Minute))
	slot := r.now
	for range 3 {
		a := r.want(keeper.Fire)
		if !a.Slot.Equal(slot) {
			t.Errorf("the core fires the slot %s, want %s", a.Slot, slot)
		}
		r.to(r.now.Add(r.core.Failed(r.now, a)))
	}
	a := r.want(keeper.Fire)
	r.core.Fired(r.now, a.Cron, store.Fired{Last: store.CronSlot{Slot: job.At(slot), At: job.At(r.now), Expression: r.expression}}) // another process has fired the slot
	r.quiet()
	r.want(keeper.None)
	for range 12 { // firing fails so long that the next slot becomes due and is fired instead
		if a := r.core.Next(r.now); a.Call == keeper.Fire {
			slot = a.Slot
			r.core.Failed(r.now, a)
		}
		r.to(r.now.Add(time.Minute))
	}
	if want := start.Add(13 * time.Minute); !slot.Equal(want) {
		t.Errorf("after 12 minutes of failures, the core fires the slot %s, want %s", slot, want)
	}
}

// part of: D7
func TestD7_StepsGoByWhatTheStoreSays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	step := func(s store.RedriveStep) {
		t.Helper()
		r.want(keeper.Step)
		r.core.Stepped(r.now, s)
	}
	step(store.RedriveStep{Active: 1, Released: 5})       // the next step may release more jobs at once
	step(store.RedriveStep{Active: 1, Wait: store.Never}) // the redrive waits until its jobs end
	r.want(keeper.Sweep)
	r.core.Swept(r.now, store.Swept{})
	r.rest(keeper.ActiveEvery)
	r.core.Wake()
	r.rest(keeper.StepMin)
	r.now = r.now.Add(keeper.StepMin)
	step(store.RedriveStep{Active: 1, Wait: 120 * time.Millisecond}) // the redrive waits because its rate is limited
	r.rest(keeper.StepMin + 120*time.Millisecond)
	r.now = r.now.Add(120 * time.Millisecond)
	step(store.RedriveStep{Active: 1, Wait: time.Microsecond})
	r.rest(keeper.StepMin + 120*time.Millisecond + keeper.StepMin)
	r.now = r.now.Add(keeper.StepMin)
	step(store.RedriveStep{Active: 1}) // the step searched and released no job
	r.rest(2*keeper.StepMin + 120*time.Millisecond + keeper.StepMin)
	r.now = r.now.Add(keeper.StepMin)
	step(store.RedriveStep{Wait: store.Never}) // no redrive is active anymore
	idle := r.now.Sub(start)
	r.rest(idle + keeper.IdleStepEvery)
	r.core.Wake()
	r.core.Wake()
	r.rest(idle + keeper.IdleStepMin)
	r.now = start.Add(idle + keeper.IdleStepMin)
	a := r.want(keeper.Step)
	r.core.Failed(r.now, a)
	r.core.Wake() // a notification must not shorten the wait after an error
	r.rest(idle + keeper.IdleStepMin + keeper.RetryMin)
}

// The pauses between background sweeps are short as long as they remove rows.
// part of: Q6
func TestQ6_BackgroundSweepsKeepPace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.core = keeper.NewCore(keeper.Config{Aside: true})
	r.sweep(100*time.Millisecond, store.Swept{More: true, Completed: 5_000})
	r.rest(125 * time.Millisecond)
	r.now = start.Add(125 * time.Millisecond)
	r.sweep(time.Millisecond, store.Swept{More: true, Completed: 5_000})
	r.rest(126*time.Millisecond + keeper.AsideMin)
	r.now = start.Add(200 * time.Millisecond)
	r.sweep(10*time.Millisecond, store.Swept{More: true}) // the sweep removed no rows
	r.rest(400 * time.Millisecond)
}

// part of: Q6
func TestQ6_SweepsLeaveTimeToOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sweep(100*time.Millisecond, store.Swept{More: true, Completed: 1_000})
	r.rest(400 * time.Millisecond)
	r.now = start.Add(400 * time.Millisecond)
	r.sweep(100*time.Millisecond, store.Swept{More: true, Reopened: 5})
	r.rest(800 * time.Millisecond)
	r.now = start.Add(800 * time.Millisecond)
	r.sweep(100*time.Millisecond, store.Swept{More: true}) // the sweep removed no rows
	r.rest(2800 * time.Millisecond)
	r.now = start.Add(2800 * time.Millisecond)
	r.sweep(time.Microsecond, store.Swept{More: true, Events: 1})
	r.rest(2800*time.Millisecond + time.Microsecond + keeper.SweepMin)
	r.now = start.Add(4 * time.Second)
	r.sweep(0, store.Swept{Keys: 1})
	r.quiet()
	r.now = start.Add(4*time.Second + keeper.SweepEvery - 1)
	r.quiet()
	r.rest(4*time.Second + keeper.SweepEvery)
	r.now = r.now.Add(1)
	for _, wait := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		for r.core.Next(r.now).Call == keeper.Step {
			r.core.Stepped(r.now, store.RedriveStep{Wait: store.Never})
		}
		if got := r.core.Failed(r.now, r.want(keeper.Sweep)); got != wait*time.Second {
			t.Errorf("the next sweep after an error is due in %s, want %d s", got, wait)
		}
		r.now = r.now.Add(wait * time.Second)
	}
}

// Entries that are set while the keeper runs fire their slots from then on. Entries that were
// set before do not fire a slot twice.
//
// part of: Q13
func TestQ13_EntriesAreReplaced(t *testing.T) {
	t.Parallel()
	hourly := every(t, "0 * * * *", 0)
	r := newRig(t, hourly)
	fire := func(slot time.Time) {
		t.Helper()
		if a := r.want(keeper.Fire); !a.Slot.Equal(slot) {
			t.Fatalf("the core fires the slot %s, want %s", a.Slot, slot)
		}
		r.core.Fired(r.now, 0, store.Fired{Last: store.CronSlot{Slot: job.At(slot), At: job.At(r.now), Expression: r.expression}})
		r.quiet()
	}
	r.want(keeper.Load)
	r.core.Loaded(r.now, nil)
	at := func(hour, minute int) time.Time { return time.Date(2026, 1, 1, hour, minute, 0, 0, time.UTC) }
	r.to(at(11, 0))
	fire(at(11, 0))

	late := every(t, "30 * * * *", 0)
	late.Name, late.Since = "late", at(11, 40)
	r.to(at(11, 40))
	r.core.SetCrons([]keeper.Cron{hourly, late})
	r.want(keeper.Load) // another process may have fired a slot of the new entry
	r.core.Loaded(r.now, nil)
	r.want(keeper.None) // the slot of 11:00 must not fire again, and no slot from before the entry was set
	r.to(at(12, 0))
	fire(at(12, 0))
	r.core.SetCrons([]keeper.Cron{late})
	r.want(keeper.Load)
	r.core.Loaded(r.now, nil)
	r.to(at(12, 30))
	fire(at(12, 30))
	r.core.SetCrons(nil)
	r.to(at(13, 30))
	r.want(keeper.None)
}

// While an entry is paused, the core reads the schedules at each slot and does not fire the
// slot. After the pause, it fires only later slots.
//
// part of: Q13
func TestQ13_APausedEntryIsAskedForOnceForEachSlot(t *testing.T) {
	t.Parallel()
	r := newRig(t, every(t, "0 * * * *", 0))
	hour := func(h int) time.Time { return time.Date(2026, 1, 1, h, 0, 0, 0, time.UTC) }
	stored := store.CronSlot{Name: "c", Slot: job.At(hour(10)), At: job.At(hour(10)), Expression: r.expression}
	r.want(keeper.Load)
	r.core.Loaded(r.now, []store.CronSlot{stored})
	r.quiet()

	r.to(hour(11)) // the core does not know yet that the entry was paused at 10:30
	stored.Paused, stored.SetAt = true, job.At(hour(10).Add(30*time.Minute))
	a := r.want(keeper.Fire)
	r.core.Fired(r.now, a.Cron, store.Fired{Last: stored})
	r.quiet()
	r.want(keeper.None)

	r.to(hour(12))
	r.want(keeper.Load)
	r.core.Loaded(r.now, []store.CronSlot{stored})
	r.quiet()
	r.want(keeper.None)

	r.to(hour(13))
	a = r.want(keeper.Load)
	wait := r.core.Failed(r.now, a) // the read of the schedules fails, so the core waits before it reads them again
	r.quiet()
	if a := r.want(keeper.None); a.At.After(r.now.Add(wait)) {
		t.Errorf("after a failed read of the schedules, the next call is due at %s, want %s after the failure at the latest", a.At.Sub(r.now), wait)
	}
	r.to(r.now.Add(wait))
	r.want(keeper.Load)
	stored.Paused, stored.SetAt = false, job.At(r.now.Add(-time.Second)) // the entry was resumed after the slot of 13:00
	r.core.Loaded(r.now, []store.CronSlot{stored})
	r.quiet()
	r.want(keeper.None)

	r.to(hour(14))
	if a := r.want(keeper.Fire); !a.Slot.Equal(hour(14)) {
		t.Errorf("after the pause the core fires the slot %s, want 14:00", a.Slot)
	}
}

func TestGoing(t *testing.T) {
	t.Parallel()
	// This redrive has released three canary jobs, of which two have ended.
	waits := store.Redrive{ID: 1, RedriveSpec: store.RedriveSpec{Canary: 3, Total: 9, Through: 9, StopShare: 1}, State: store.RedriveCanary,
		Released: 3, Answered: 2, Completed: 2}
	change := func(f func(*store.Redrive)) store.Redrive {
		r := waits
		f(&r)
		return r
	}
	for name, tt := range map[string]struct {
		before, after store.Redrive
		going         int64
		waiting       []int64
	}{
		"waits for jobs of others": {waits, waits, 0, []int64{1}},
		"one has ended meanwhile":  {change(func(r *store.Redrive) { r.Answered, r.Completed = 1, 1 }), waits, 1, nil},
		"it was started meanwhile": {change(func(r *store.Redrive) { r.ID = 7 }), waits, 1, nil},
		"it can release more":      {change(func(r *store.Redrive) { r.Released = 2 }), change(func(r *store.Redrive) { r.Released = 2 }), 1, nil},
		"a rate holds it back": {change(func(r *store.Redrive) { r.State, r.Rate, r.LastAt = store.RedriveRamping, 1, 1<<50 }),
			change(func(r *store.Redrive) { r.State, r.Rate, r.LastAt = store.RedriveRamping, 1, 1<<50 }), 1, nil},
		"a step will end it": {change(func(r *store.Redrive) { r.State, r.Completed = store.RedriveSettling, 3 }),
			change(func(r *store.Redrive) { r.State, r.Completed = store.RedriveSettling, 3 }), 1, nil},
		"it settles elsewhere": {change(func(r *store.Redrive) { r.State = store.RedriveSettling }),
			change(func(r *store.Redrive) { r.State = store.RedriveSettling }), 0, []int64{1}},
		"paused": {waits, change(func(r *store.Redrive) { r.State = store.RedrivePaused }), 0, nil},
	} {
		going, waiting := keeper.Going([]store.Redrive{tt.before}, []store.Redrive{tt.after})
		if going != tt.going || !slices.Equal(waiting, tt.waiting) {
			t.Errorf("%s: %d redrives may release jobs, and the redrives %v wait for other workers; want %d redrives, and the redrives %v waiting", name, going, waiting, tt.going, tt.waiting)
		}
	}
}
