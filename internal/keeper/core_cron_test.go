package keeper_test

import (
	"testing"
	"time"

	"github.com/redrive/redrive/internal/cron"
	"github.com/redrive/redrive/internal/keeper"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

func every(t *testing.T, schedule string, catch time.Duration) keeper.Cron {
	t.Helper()
	s, err := cron.Parse(schedule, nil)
	if err != nil {
		t.Fatal(err)
	}
	return keeper.Cron{Name: "c", Expression: s, Catch: catch, Since: start}
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
