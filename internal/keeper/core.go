// Package keeper does what a store needs beside the running of jobs: it takes
// redrives further, removes what is past its time, and enqueues the jobs of
// periodic schedules. Core decides, without goroutines, clock or I/O; the Keeper
// around it calls the store, one call at a time.
package keeper

import (
	"context"
	"time"

	"github.com/redrive/redrive/internal/cron"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// How often the store is asked. Notifications only make it earlier.
const (
	StepMin       = 50 * time.Millisecond  // after a step of redrives that has brought back nothing
	IdleStepMin   = time.Second            // between two steps while no redrive is under way
	IdleStepEvery = 30 * time.Second       // without a notification
	ActiveEvery   = 200 * time.Millisecond // while a redrive is under way: the ends of jobs do not notify
	SweepEvery    = time.Minute
	SweepMin      = 50 * time.Millisecond // between two sweeps of which the second is not the last
	AsideMin      = 5 * time.Millisecond  // the same of sweeps that keep nobody waiting
	RetryMin      = time.Second           // after an error; doubled up to RetryMax
	RetryMax      = time.Minute
)

// The pauses after a sweep that has not come to its end, as multiples of the time
// that it took: while something is removed a quarter of the time goes to sweeps, and
// while rows are only looked at a twentieth.
const (
	sweepPause = 3
	walkPause  = 19
)

// asidePause is what sweeps that keep nobody waiting leave out after they have removed
// something, as a share of the time that they took. They keep pace with the jobs that
// end, whose number does not depend on them.
const asidePause = 4

// Cron is a schedule in the hands of a keeper.
type Cron struct {
	Name       string
	Expression *cron.Expression
	// Catch is how late a slot may be fired; 0 means until the next one.
	Catch time.Duration
	// Since is when the program began to have the entry: if it has never fired, the
	// slots before do not count, unless Catch allows them.
	Since time.Time
	// Fire enqueues the jobs of a slot, unless another process has. The core does not
	// call it.
	Fire func(ctx context.Context, slot time.Time) (store.Fired, error)
}

// Config is what a core is made of.
type Config struct {
	Cron []Cron
	// Aside says that sweeps keep nobody waiting, see store.BackgroundSweeper.
	Aside bool
}

// Call is a call of the store that the core wants.
type Call uint8

// The calls.
const (
	None  Call = iota
	Load       // the schedules that have fired
	Fire       // a slot
	Step       // the redrives
	Sweep      // what is past its time
)

var callNames = [...]string{None: "wait", Load: "read the schedules", Fire: "fire a schedule", Step: "take redrives further", Sweep: "sweep"}

// String says what the call does.
func (c Call) String() string { return callNames[c] }

// Action is what the core wants: a call, or to be asked again at a time.
type Action struct {
	Call Call
	Cron int       // of Fire: which one
	Slot time.Time // of Fire
	At   time.Time // of None
}

// Core knows when what is to be done. Its methods take the time; it never goes back
// in it.
type Core struct {
	config Config
	loaded bool
	load   duty
	crons  []schedule
	step   duty
	active bool // a redrive is under way
	woken  bool // a notification came after the last step began
	sweep  duty
}

// duty is something that is done again and again.
type duty struct {
	began  time.Time
	ended  time.Time
	at     time.Time // when next
	failed int       // times in a row
}

// schedule is what is known of a Cron.
type schedule struct {
	duty
	last time.Time // the slot that was fired last, by anybody; zero when none is known
	next time.Time // no slot is due before
}

// NewCore returns a core that wants everything at once.
func NewCore(c Config) *Core {
	k := &Core{config: c}
	k.SetCrons(c.Cron)
	return k
}

// SetCrons replaces the entries. Their last slots are read again from the store; what
// is known of those that stay, by name, is kept.
func (k *Core) SetCrons(list []Cron) {
	crons := make([]schedule, len(list))
	for i := range list {
		for j := range k.crons {
			if k.config.Cron[j].Name == list[i].Name {
				crons[i].last = k.crons[j].last
			}
		}
	}
	k.config.Cron, k.crons = list, crons
	k.loaded = len(list) == 0
}

// Wake notes a notification of the store.
func (k *Core) Wake() { k.woken = true }

// Next returns what is to be done at a time. The caller does it and tells the core
// with Done or Failed before it asks again.
func (k *Core) Next(now time.Time) Action {
	if !k.loaded {
		if !now.Before(k.load.at) {
			k.load.began = now
			return Action{Call: Load}
		}
	}
	if k.loaded {
		for i := range k.crons {
			if slot, ok := k.due(i, now); ok {
				k.crons[i].began = now
				return Action{Call: Fire, Cron: i, Slot: slot}
			}
		}
	}
	if !now.Before(k.stepAt()) {
		k.step.began, k.woken = now, false
		return Action{Call: Step}
	}
	if !now.Before(k.sweep.at) {
		k.sweep.began = now
		return Action{Call: Sweep}
	}
	at := earliest(k.stepAt(), k.sweep.at)
	if !k.loaded {
		return Action{At: earliest(at, k.load.at)}
	}
	for i := range k.crons {
		at = earliest(at, latest(k.crons[i].next, k.crons[i].at))
	}
	return Action{At: at}
}

// stepAt is when the redrives are stepped next.
func (k *Core) stepAt() time.Time {
	switch {
	case !k.woken || k.step.failed > 0:
		return k.step.at
	case k.active:
		return earliest(k.step.at, k.step.ended.Add(StepMin))
	}
	return earliest(k.step.at, k.step.ended.Add(IdleStepMin))
}

// due returns the slot of a schedule that is to be fired: the latest one, if nobody
// has fired it and it is not too late.
func (k *Core) due(i int, now time.Time) (time.Time, bool) {
	c, s := &k.config.Cron[i], &k.crons[i]
	if now.Before(s.next) || now.Before(s.at) {
		return time.Time{}, false
	}
	slot, ok := c.Expression.Last(now)
	after := s.last
	if after.IsZero() && c.Catch == 0 {
		after = c.Since
	}
	if ok && slot.After(after) && (c.Catch == 0 || now.Sub(slot) <= c.Catch) {
		return slot, true
	}
	s.next = c.Expression.Next(now)
	if s.next.IsZero() { // beyond what the calendar of a schedule is looked at
		s.next = now.Add(cron.Horizon)
	}
	return time.Time{}, false
}

// Loaded takes in the schedules that have fired.
func (k *Core) Loaded(now time.Time, fired []store.CronSlot) {
	k.load.done(now, now)
	k.loaded = true
	for i := range k.crons {
		for j := range fired {
			if fired[j].Name == k.config.Cron[i].Name {
				k.crons[i].know(fired[j].Slot)
			}
		}
	}
}

// Fired takes in the answer to Fire.
func (k *Core) Fired(now time.Time, i int, f store.Fired) {
	s := &k.crons[i]
	s.know(f.Last.Slot)
	s.done(now, now)
}

// know takes in a slot that somebody has fired.
func (s *schedule) know(slot job.Micros) {
	if t := slot.Time(); slot > 0 && t.After(s.last) {
		s.last = t
	}
}

// Stepped takes in the answer to Step.
func (k *Core) Stepped(now time.Time, s store.RedriveStep) {
	k.active = s.Active > 0
	every := IdleStepEvery
	if k.active {
		every = ActiveEvery
	}
	wait := min(s.Wait, every)
	if s.Wait > 0 || s.Released == 0 { // it may only have searched
		wait = max(wait, StepMin)
	}
	if !k.active {
		wait = max(wait, IdleStepMin)
	}
	k.step.done(now, now.Add(wait))
}

// Swept takes in the answer to Sweep.
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

// Failed takes in that a call has failed, and returns how long it will not be asked
// again.
func (k *Core) Failed(now time.Time, a Action) time.Duration {
	d := map[Call]*duty{Load: &k.load, Step: &k.step, Sweep: &k.sweep}[a.Call]
	if a.Call == Fire {
		d = &k.crons[a.Cron].duty
	}
	wait := min(RetryMin<<min(d.failed, 16), RetryMax)
	d.failed++
	d.ended, d.at = now, now.Add(wait)
	return wait
}

func (d *duty) done(now, next time.Time) { d.ended, d.at, d.failed = now, next, 0 }

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
