package keeper

import (
	"context"
	"log/slog"
	"time"

	"github.com/redrive/redrive/store"
)

// The most that one call changes: transactions stay short, so that others have
// their turn. Sweeps that keep nobody waiting remove as much as they may.
const (
	stepLimit  = 500
	sweepLimit = 1_000
)

// The bounds of a pass: of the calls that are due when it begins, and of the steps
// of redrives in a row that bring back nothing. They are far above what there is to
// do, so that a store that always answers the same cannot hold up the caller.
const (
	passMax   = 100_000
	searchMax = 1_000
)

// Store is what a keeper needs of a store.
type Store interface {
	StepRedrives(ctx context.Context, limit int) (store.RedriveStep, error)
	Sweep(ctx context.Context, r store.Retention, limit int) (store.Swept, error)
	CronSlots(ctx context.Context) ([]store.CronSlot, error)
	Notify(ch chan<- struct{}) (stop func())
}

// Options are what a keeper is made of, beside what its core is.
type Options struct {
	Config
	Store     Store
	Retention store.Retention
	Now       func() time.Time
	After     func(d time.Duration, f func()) (stop func() bool)
	Logger    *slog.Logger
}

// Keeper keeps one store in order.
type Keeper struct {
	o     Options
	core  *Core
	wake  chan struct{}
	crons chan []Cron // the newest that SetCrons was given
	pass  chan chan<- bool
	moved bool // jobs have become ready since the last pass
	// searching says that the last step of the redrives has found nothing to bring
	// back where it has looked, and that it can look further at once.
	searching  bool
	sweepLimit int
	ended      chan struct{}
}

// New returns a keeper.
func New(o Options) *Keeper {
	limit := sweepLimit
	if s, ok := o.Store.(store.BackgroundSweeper); ok && s.SweepsInBackground() {
		o.Aside, limit = true, store.SweepMax
	}
	return &Keeper{
		o: o, core: NewCore(o.Config), wake: make(chan struct{}, 1), crons: make(chan []Cron, 1), pass: make(chan chan<- bool), ended: make(chan struct{}),
		sweepLimit: limit,
	}
}

// Run keeps the store in order until ctx ends. A keeper runs once.
func (k *Keeper) Run(ctx context.Context) {
	defer close(k.ended)
	defer k.o.Store.Notify(k.wake)()
	for ctx.Err() == nil {
		a := k.core.Next(k.o.Now())
		if a.Call != None {
			k.do(ctx, a)
			continue
		}
		k.wait(ctx, a.At)
	}
}

// wait waits for a time, a notification, or the end of ctx, and serves who asks for
// a pass meanwhile.
func (k *Keeper) wait(ctx context.Context, at time.Time) {
	due := make(chan struct{})
	stop := k.o.After(at.Sub(k.o.Now()), func() { close(due) })
	defer stop()
	select {
	case <-due:
	case <-k.wake:
		k.core.Wake()
	case list := <-k.crons:
		k.takeCrons(list)
	case moved := <-k.pass:
		select { // what was set before a pass counts in it
		case list := <-k.crons:
			k.takeCrons(list)
		default:
		}
		moved <- k.passOnce(ctx)
	case <-ctx.Done():
	}
}

// Nudge has the redrives looked at soon, as a notification of the store does.
func (k *Keeper) Nudge() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// SetCrons replaces the cron entries, soon. One call at a time.
func (k *Keeper) SetCrons(list []Cron) {
	select {
	case <-k.crons: // an older list that was not taken yet
	default:
	}
	k.crons <- list
}

func (k *Keeper) takeCrons(list []Cron) {
	k.o.Cron = list
	k.core.SetCrons(list)
}

// Pass does all that is due, redrives in any case, and reports whether jobs have
// become ready by the keeper since the last pass. False also when Run has ended.
func (k *Keeper) Pass(ctx context.Context) (moved bool) {
	answer := make(chan bool, 1)
	select {
	case k.pass <- answer:
	case <-k.ended:
		return false
	case <-ctx.Done():
		return false
	}
	return <-answer
}

// passOnce does what is due now, and takes the redrives as far as they go. It ends
// however long a call takes, and whatever the store answers.
func (k *Keeper) passOnce(ctx context.Context) (moved bool) {
	now := k.o.Now()
	for range passMax {
		a := k.core.Next(now)
		if a.Call == None || ctx.Err() != nil {
			break
		}
		k.do(ctx, a)
	}
	// Whatever has ended a moment ago may let a redrive go on.
	for searched := 0; searched < searchMax && ctx.Err() == nil; searched++ {
		if k.do(ctx, Action{Call: Step}) {
			searched = 0
		} else if !k.searching {
			break
		}
	}
	moved, k.moved = k.moved, false
	return moved
}

// do makes a call and tells the core of its end. It reports whether jobs have
// become ready by it.
func (k *Keeper) do(ctx context.Context, a Action) (moved bool) {
	var err error
	defer func() { k.moved = k.moved || moved }()
	switch a.Call {
	case Load:
		var fired []store.CronSlot
		if fired, err = k.o.Store.CronSlots(ctx); err == nil {
			k.core.Loaded(k.o.Now(), fired)
		}
	case Fire:
		var f store.Fired
		if f, err = k.o.Cron[a.Cron].Fire(ctx, a.Slot); err == nil {
			k.core.Fired(k.o.Now(), a.Cron, f)
			moved = f.Fired
			k.tellFired(ctx, a, f)
		}
	case Step:
		var s store.RedriveStep
		k.searching = false
		if s, err = k.o.Store.StepRedrives(ctx, stepLimit); err == nil {
			k.core.Stepped(k.o.Now(), s)
			moved = s.Released > 0
			k.searching = !moved && s.Active > 0 && s.Wait == 0
		}
	case Sweep:
		var s store.Swept
		if s, err = k.o.Store.Sweep(ctx, k.o.Retention, k.sweepLimit); err == nil {
			k.core.Swept(k.o.Now(), s)
			k.tellSwept(ctx, s)
		}
	case None:
	}
	if err != nil {
		k.tellFailed(ctx, a, err)
	}
	return moved
}

func (k *Keeper) tellFired(ctx context.Context, a Action, f store.Fired) {
	if !f.Fired {
		return
	}
	for _, r := range f.Receipts {
		k.o.Logger.InfoContext(ctx, "schedule fired", "schedule", k.o.Cron[a.Cron].Name, "slot", a.Slot, "job", r.ID.String())
	}
}

func (k *Keeper) tellSwept(ctx context.Context, s store.Swept) {
	if !s.Removed() && s.Reopened == 0 {
		return
	}
	level := slog.LevelDebug
	if s.Pending > 0 {
		level = slog.LevelWarn
	}
	k.o.Logger.Log(ctx, level, "removed what was past its time", "completed", s.Completed, "failures", s.Failures,
		"dead_letters", s.Dead, "pending", s.Pending, "events", s.Events, "keys", s.Keys, "reopened", s.Reopened)
}

// tellFailed logs an error and puts the call off. What ends with ctx is none. Of
// several in a row people are told the first: a store that is away for long is away
// for everyone, and the engine says when it is back.
func (k *Keeper) tellFailed(ctx context.Context, a Action, err error) {
	again := k.core.Failed(k.o.Now(), a)
	if ctx.Err() != nil {
		return
	}
	attrs := []any{"call", a.Call.String(), "again_in", again, "error", err}
	if a.Call == Fire {
		attrs = append(attrs, "schedule", k.o.Cron[a.Cron].Name, "slot", a.Slot)
	}
	level := slog.LevelWarn
	if again > RetryMin {
		level = slog.LevelDebug
	}
	k.o.Logger.Log(ctx, level, "keeping the store in order has failed", attrs...)
}
