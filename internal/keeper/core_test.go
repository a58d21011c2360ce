package keeper_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/keeper"
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

func (r *rig) want(call keeper.Call) keeper.Action {
	r.Helper()
	a := r.core.Next(r.now)
	if a.Call == keeper.Close && call != keeper.Close {
		r.core.Closed(r.now, store.WindowStep{Wait: store.Never})
		a = r.core.Next(r.now)
	}
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
		case keeper.Close:
			r.core.Closed(r.now, store.WindowStep{Wait: store.Never})
		case keeper.None, keeper.Load, keeper.Fire, keeper.Rescue, keeper.Present:
			return
		}
	}
}

func (r *rig) to(at time.Time) {
	r.now = at
	r.quiet()
}

// part of: N2
func TestN2_WindowsCloseWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	next := func() time.Duration {
		t.Helper()
		for {
			switch a := r.core.Next(r.now); a.Call {
			case keeper.Close:
				return r.now.Sub(start)
			case keeper.None:
				r.now = a.At
			case keeper.Step:
				r.core.Stepped(r.now, store.RedriveStep{Wait: store.Never})
			case keeper.Sweep:
				r.core.Swept(r.now, store.Swept{})
			case keeper.Load, keeper.Fire, keeper.Rescue, keeper.Present:
				t.Fatalf("the core asks for %q, want a look at the windows", a.Call)
			}
		}
	}
	closed := func(s store.WindowStep, want time.Duration) {
		t.Helper()
		r.core.Closed(r.now, s)
		if got := next(); got != want {
			t.Fatalf("the next look is at %s, want %s", got, want)
		}
	}
	if got := next(); got != 0 {
		t.Fatalf("the first look is at %s, want it at the start", got)
	}
	closed(store.WindowStep{Wait: store.Never}, keeper.WindowEvery)
	closed(store.WindowStep{Wait: 12 * time.Second}, keeper.WindowEvery+12*time.Second)
	closed(store.WindowStep{Closed: 100}, keeper.WindowEvery+12*time.Second)         // there are more
	closed(store.WindowStep{}, keeper.WindowEvery+12*time.Second+keeper.IdleStepMin) // others hold the locks
	if got := r.core.Failed(r.now, keeper.Action{Call: keeper.Close}); got != keeper.RetryMin {
		t.Errorf("the pause after an error is %s, want %s", got, keeper.RetryMin)
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

func TestGoing(t *testing.T) {
	t.Parallel()
	// This redrive has released three canary jobs, of which two have ended.
	waits := store.Redrive{ID: 1, RedriveSpec: store.RedriveSpec{Canary: 3, Total: 9, Through: 9}.WithoutStop(), State: store.RedriveCanary,
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
