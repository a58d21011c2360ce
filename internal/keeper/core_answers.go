package keeper

import (
	"time"

	"github.com/redrive/redrive/store"
)

// Loaded records the result of Load: the last slots that were fired.
func (k *Core) Loaded(now time.Time, slots []store.CronSlot) {
	k.load.done(now, now)
	k.loaded = true
	for i := range k.crons {
		for j := range slots {
			if slots[j].Name == k.config.Cron[i].Name {
				k.crons[i].know(&slots[j])
			}
		}
		if s := &k.crons[i]; s.paused {
			if slot, ok := k.config.Cron[i].Expression.Last(now); ok {
				s.passed = latest(s.passed, slot)
			}
		}
	}
}

// Fired reports that Fire succeeded.
func (k *Core) Fired(now time.Time, i int, f store.Fired) {
	s := &k.crons[i]
	s.know(&f.Last)
	if !f.Fired {
		s.passed = latest(s.passed, s.asked)
	}
	s.done(now, now)
}

// know records the state of an entry that was read from the store.
func (s *schedule) know(c *store.CronSlot) {
	s.paused = c.Paused
	if c.SetAt > 0 {
		s.passed = latest(s.passed, c.SetAt.Time())
	}
	if slot := c.Slot.Time(); c.Slot > 0 && slot.After(s.last.slot) {
		s.last = fired{slot: slot, at: c.At.Time(), expression: c.Expression}
	}
}

// Stepped records the result of Step, and computes when the next Step is due.
func (k *Core) Stepped(now time.Time, s store.RedriveStep) {
	k.active = s.Active > 0
	every := IdleStepEvery
	if k.active {
		every = ActiveEvery
	}
	wait := min(s.Wait, every)
	if s.Wait > 0 || s.Released == 0 { // without a released job, the next step must not follow at once
		wait = max(wait, StepMin)
	}
	if !k.active {
		wait = max(wait, IdleStepMin)
	}
	k.step.done(now, now.Add(wait))
}

// Swept records the result of Sweep.
func (k *Core) Swept(now time.Time, s store.Swept) {
	wait := SweepEvery
	if took := now.Sub(k.sweep.began); s.More {
		switch removed := s.Removed() || s.Reopened > 0; {
		case removed && k.config.Aside:
			wait = max(took/asidePause, AsideMin)
		case removed:
			wait = max(sweepPause*took, SweepMin)
		default:
			wait = max(walkPause*took, SweepMin)
		}
	}
	k.sweep.done(now, now.Add(wait))
}

// Closed records the result of Close. A window that opens is due after more than WindowEvery, so no
// notification has to wake the core.
func (k *Core) Closed(now time.Time, s store.WindowStep) {
	wait := min(s.Wait, WindowEvery)
	if s.Closed == 0 {
		wait = max(wait, IdleStepMin)
	}
	k.window.done(now, now.Add(wait))
}

// Rescued records the result of Rescue. The last argument is true if the call has reached its
// limit, so that there may be more runs to end.
func (k *Core) Rescued(now time.Time, r store.Rescue, more bool) {
	wait := min(max(r.NextExpiry, RescueMin), k.config.RescueEvery)
	if more {
		wait = 0
	}
	k.rescue.done(now, now.Add(wait))
}

// Reported records the result of Present.
func (k *Core) Reported(now time.Time, o store.Orders) {
	k.sign.done(now, k.sign.began.Add(k.config.PresentEvery))
	if k.rescue.failed == 0 {
		k.rescue.at = earliest(k.rescue.at, latest(now.Add(min(o.NextExpiry, k.config.RescueEvery)), k.rescue.ended.Add(RescueMin)))
	}
}

// Failed reports that a call has failed, and returns the time until it is due again.
func (k *Core) Failed(now time.Time, a Action) time.Duration {
	d := map[Call]*duty{Load: &k.load, Step: &k.step, Sweep: &k.sweep, Rescue: &k.rescue, Present: &k.sign, Close: &k.window}[a.Call]
	if a.Call == Fire {
		d = &k.crons[a.Cron].duty
	}
	wait := min(RetryMin<<min(d.failed, 16), RetryMax)
	d.failed++
	d.ended, d.at = now, now.Add(wait)
	return wait
}

func (d *duty) done(now, next time.Time) { d.ended, d.at, d.failed = now, next, 0 }
