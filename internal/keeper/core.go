// Package keeper maintains a store while jobs run. It makes the steps of redrives (bulk retries
// of dead jobs), closes windows of notifications, removes rows that are past their retention time, and enqueues the jobs of cron
// entries. Core decides which call of the store is due, without goroutines, clock or I/O.
// Keeper makes the calls one at a time.
package keeper

import (
	"context"
	"slices"
	"time"

	"github.com/redrive/redrive/internal/cron"
	"github.com/redrive/redrive/store"
)

// The intervals between two calls to the store. After a notification from the store, the
// next call is made earlier.
const (
	StepMin       = 50 * time.Millisecond  // the shortest pause after a step of the redrives that released no job
	IdleStepMin   = time.Second            // the shortest pause between two steps while no redrive is active
	IdleStepEvery = 30 * time.Second       // the pause between two steps of the redrives if no notification comes
	ActiveEvery   = 200 * time.Millisecond // the pause between two steps while a redrive is active, because the end of a job sends no notification
	SweepEvery    = time.Minute
	SweepMin      = 50 * time.Millisecond  // the shortest pause between two sweeps if there is more to remove
	WindowEvery   = time.Minute            // the longest pause between two looks for windows of notifications that are due
	AsideMin      = 5 * time.Millisecond   // the shortest pause between two background sweeps if there is more to remove
	RescueMin     = 100 * time.Millisecond // the shortest pause between two rescues, unless the first rescue has reached its limit
	RetryMin      = time.Second            // the pause after an error; it doubles with each further error, up to RetryMax
	RetryMax      = time.Minute
)

// The pause after a sweep that has more to do is the duration of the sweep times one of these
// factors: sweepPause if the sweep removed rows, or walkPause if it only read rows. So sweeps
// take at most a quarter or a twentieth of the time.
const (
	sweepPause = 3
	walkPause  = 19
)

// After a background sweep that removed rows, the pause is the duration of the sweep
// divided by asidePause. Background sweeps delay no other call, so they can be frequent
// enough to keep up with the jobs that end.
const asidePause = 4

// Cron is a cron entry with the values that a keeper needs. A slot is a time of its
// schedule.
type Cron struct {
	Name       string
	Expression *cron.Expression
	// Catch is the longest delay with which a missed slot may still be fired. 0 means that a
	// slot may be fired until the next slot.
	Catch time.Duration
	// Since is when the program added the entry. If the entry has never fired, or if its
	// last slot was fired by another expression, slots up to this time are not fired,
	// unless Catch allows them.
	Since time.Time
	// Changed is when the program replaced the expression of the entry. It is zero if the
	// program has not replaced it. Slots up to this time are never fired.
	Changed time.Time
	// Fire enqueues the jobs of a slot, unless another process has already enqueued them.
	// The keeper calls it, not the core.
	Fire func(ctx context.Context, slot time.Time) (store.Fired, error)
}

// Config is the configuration of a Core.
type Config struct {
	Cron []Cron
	// Aside is true if sweeps run in the background; see store.BackgroundSweeper.
	Aside bool
	// RescueEvery is the longest time between two searches for runs whose lease is over.
	// 0 means that the keeper ends no such runs, because an engine in the process does.
	RescueEvery time.Duration
	// PresentEvery is the time between two signs of life of the process. 0 means that the
	// keeper sends none, because an engine in the process does.
	PresentEvery time.Duration
}

// Call is a kind of store call that the core asks for.
type Call uint8

// The kinds of store calls.
const (
	None    Call = iota
	Load         // read the last fired slots of the cron entries
	Fire         // fire a slot, which enqueues its jobs
	Step         // make a step of the redrives
	Sweep        // remove rows that are past their retention time
	Rescue       // end runs whose lease is over
	Present      // report that the process is alive
	Close        // close windows of notifications
)

var callNames = [...]string{None: "wait", Load: "read the schedules", Fire: "fire a schedule", Step: "take redrives further", Sweep: "sweep",
	Rescue: "rescue jobs of crashed workers", Present: "report that the process is alive", Close: "close windows of notifications"}

// String returns the kind of call in words, for log lines.
func (c Call) String() string { return callNames[c] }

// Action is the result of Next: the call to make, or the time at which to call Next again.
type Action struct {
	Call Call
	Cron int       // for Fire: the index of the cron entry
	Slot time.Time // for Fire: the slot to fire
	At   time.Time // for None: the time at which to call Next again
}

// Core decides when each call of the store is due. Its methods take the current time, which
// must not go back.
type Core struct {
	config Config
	loaded bool
	load   duty
	crons  []schedule
	step   duty
	active bool // whether a redrive is active
	woken  bool // whether a notification came after the last step began
	sweep  duty
	rescue duty
	sign   duty
	window duty
}

// duty is the schedule of one kind of call.
type duty struct {
	began  time.Time
	ended  time.Time
	at     time.Time // the time of the next call of this kind
	failed int       // the number of calls of this kind in a row that have failed
}

// schedule is the state of a cron entry.
type schedule struct {
	duty
	last   fired     // the last slot of the entry that any process has fired
	next   time.Time // the earliest time at which a slot may be due
	asked  time.Time // the slot of the last call of Fire
	passed time.Time // slots up to this time are not fired any more, for example because the entry was paused
	// paused says whether the entry was paused when the store was last asked. While an entry is
	// paused, Load is called for each slot instead of Fire.
	paused bool
}

// fired describes a slot that was fired. It is zero if no slot is known.
type fired struct {
	slot       time.Time
	at         time.Time // when the slot was fired
	expression string    // the identity (cron.Expression.Identity) of the cron expression that the slot belongs to
}

// NewCore returns a core for which all kinds of calls are due at once.
func NewCore(c Config) *Core {
	k := &Core{config: c}
	k.SetCrons(c.Cron)
	return k
}

// SetCrons replaces the cron entries. Their last fired slots are read from the store again.
// An entry with the name of an earlier entry keeps its last known slot.
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

// Wake records a notification of the store.
func (k *Core) Wake() { k.woken = true }

// Next returns what the caller has to do now. The caller makes the call, and reports its result
// before it calls Next again. To report the result, it calls the method for this kind of call,
// or Failed.
func (k *Core) Next(now time.Time) Action {
	if !k.loaded {
		if !now.Before(k.load.at) {
			k.load.began = now
			return Action{Call: Load}
		}
	}
	if k.loaded {
		for i := range k.crons {
			s := &k.crons[i]
			slot, ok := k.due(i, now)
			switch {
			case !ok:
			case !s.paused:
				s.began, s.asked = now, slot
				return Action{Call: Fire, Cron: i, Slot: slot}
			case !now.Before(k.load.at):
				k.load.began = now
				return Action{Call: Load}
			}
		}
	}
	if k.config.PresentEvery > 0 && !now.Before(k.sign.at) {
		k.sign.began = now
		return Action{Call: Present}
	}
	if k.config.RescueEvery > 0 && !now.Before(k.rescue.at) {
		k.rescue.began = now
		return Action{Call: Rescue}
	}
	if !now.Before(k.stepAt()) {
		k.step.began, k.woken = now, false
		return Action{Call: Step}
	}
	if !now.Before(k.sweep.at) {
		k.sweep.began = now
		return Action{Call: Sweep}
	}
	if !now.Before(k.window.at) {
		k.window.began = now
		return Action{Call: Close}
	}
	at := earliest(earliest(k.stepAt(), k.sweep.at), k.window.at)
	if k.config.PresentEvery > 0 {
		at = earliest(at, k.sign.at)
	}
	if k.config.RescueEvery > 0 {
		at = earliest(at, k.rescue.at)
	}
	if !k.loaded {
		return Action{At: earliest(at, k.load.at)}
	}
	for i := range k.crons {
		due := latest(k.crons[i].next, k.crons[i].at)
		if k.crons[i].paused {
			due = latest(due, k.load.at)
		}
		at = earliest(at, due)
	}
	return Action{At: at}
}

// stepAt returns when the next step of the redrives is due.
func (k *Core) stepAt() time.Time {
	switch {
	case !k.woken || k.step.failed > 0:
		return k.step.at
	case k.active:
		return earliest(k.step.at, k.step.ended.Add(StepMin))
	}
	return earliest(k.step.at, k.step.ended.Add(IdleStepMin))
}

// due returns the slot of a schedule that has to be fired now. This is the latest slot, if
// no process has fired it and it is not too late.
func (k *Core) due(i int, now time.Time) (time.Time, bool) {
	c, s := &k.config.Cron[i], &k.crons[i]
	if now.Before(s.next) || now.Before(s.at) {
		return time.Time{}, false
	}
	slot, ok := c.Expression.Last(now)
	if ok && slot.After(k.after(i)) && (c.Catch == 0 || now.Sub(slot) <= c.Catch) {
		return slot, true
	}
	s.next = c.Expression.Next(now)
	if s.next.IsZero() { // the schedule has no slot within the horizon
		s.next = now.Add(cron.Horizon)
	}
	return time.Time{}, false
}

// after returns the time after which the slots of a schedule may be fired. It is the time of
// the last fired slot, or the time from which the expression is valid, if that time is later.
func (k *Core) after(i int) time.Time {
	c, last := &k.config.Cron[i], &k.crons[i].last
	after := latest(latest(last.slot, c.Changed), k.crons[i].passed)
	if last.expression == c.Expression.Identity() {
		return after
	}
	// The expression has become valid at some time between last.at and Since. Without Catch, it
	// counts as valid from Since on. With Catch, slots after last.at may be fired late.
	// Otherwise, a program that runs only from time to time would never fire a slot.
	from := c.Since
	if c.Catch > 0 {
		from = earliest(from, last.at)
	}
	return latest(after, from)
}

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

// Going counts the active redrives that may still release jobs for a worker that has no other
// work. The worker reads the redrives twice: before and after a search for a job that found no
// job. If a redrive waits for the end of its released jobs, and none of these jobs has ended
// between the two reads, other workers run these jobs. Going does not count such a redrive, and
// returns its number in the second result.
func Going(before, after []store.Redrive) (going int64, waiting []int64) {
	for i := range after {
		r := &after[i]
		if !r.State.Active() {
			continue
		}
		same := slices.ContainsFunc(before, func(b store.Redrive) bool { return b.ID == r.ID && numbersOf(&b) == numbersOf(r) })
		if same && r.AwaitsOutcomes() {
			waiting = append(waiting, r.ID)
		} else {
			going++
		}
	}
	return going, waiting
}

func numbersOf(r *store.Redrive) [5]int64 {
	return [...]int64{r.Released, r.Answered, r.Completed, r.Dead, r.Cancelled}
}
