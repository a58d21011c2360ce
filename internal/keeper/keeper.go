package keeper

import (
	"context"
	"log/slog"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// These constants are the largest numbers of rows that one call may change. They keep
// transactions short, so that other calls do not wait long. Background sweeps may remove up to
// store.SweepMax rows instead, and steps of redrives up to store.StepMax jobs: see NextLimit.
const (
	stepLimit   = 500
	sweepLimit  = 1_000
	rescueLimit = 100
	windowLimit = 100
)

// A pass makes all calls that are due, but at most passMax. It also ends after searchMax
// consecutive steps of redrives that release no job. Normal passes make far fewer calls. With these limits,
// a pass ends even if the store always returns the same answer.
const (
	passMax   = 100_000
	searchMax = 1_000
)

// stepTime is the time that a step of redrives should take. A step that changes more jobs costs less a job,
// mostly when it cancels live jobs.
const stepTime = 20 * time.Millisecond

// NextLimit returns how many jobs the next step of redrives may change after a step with the given limit: as
// many as the next step can change in the target time, but at least the given number and at most store.StepMax.
func NextLimit(limit, least int, s store.RedriveStep, took, target time.Duration) int {
	if s.Released == 0 || took <= 0 {
		return limit
	}
	return min(max(int(float64(s.Released)*float64(target)/float64(took)), least), store.StepMax, 2*limit)
}

// Store is the part of a store that a keeper uses.
type Store interface {
	StepRedrives(ctx context.Context, limit int) (store.RedriveStep, error)
	StepBatches(ctx context.Context, limit int) (store.BatchStep, error)
	CloseWindows(ctx context.Context, limit int) (store.WindowStep, error)
	Sweep(ctx context.Context, r store.Retention, limit int) (store.Swept, error)
	CronSlots(ctx context.Context) ([]store.CronSlot, error)
	Notify(ch chan<- struct{}) (stop func())
}

// Options configures a Keeper.
type Options struct {
	Config
	Store     Store
	Retention store.Retention
	// Rescue ends runs whose lease is over, at most the given number; it is needed if
	// RescueEvery is set.
	Rescue func(ctx context.Context, limit int) (store.Rescue, error)
	// Present reports that the process is alive; it is needed if PresentEvery is set.
	Present func(ctx context.Context) (store.Orders, error)
	Now     func() time.Time
	After   func(d time.Duration, f func()) (stop func() bool)
	Logger  *slog.Logger
}

// Keeper maintains one store.
type Keeper struct {
	o     Options
	core  *Core
	wake  chan struct{}
	crons chan []Cron // a channel for the cron entries of the last call of SetCrons
	pass  chan chan<- bool
	moved bool // whether the keeper has made jobs ready since the last pass
	// searching is true if the last step of the redrives found no job to release, but can be
	// continued at once.
	searching  bool
	sweepLimit int
	stepLimit  int
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
		sweepLimit: limit, stepLimit: stepLimit,
	}
}

// Run maintains the store until ctx ends. Call it once.
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

// wait returns at the given time, after a notification, with new cron entries, or at the end of
// ctx. If Pass is called in the meantime, wait makes its calls.
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
		select { // this pass includes the entries that were set before the call of Pass
		case list := <-k.crons:
			k.takeCrons(list)
		default:
		}
		moved <- k.passOnce(ctx)
	case <-ctx.Done():
	}
}

// Nudge makes the next step of the redrives due soon. It has the same effect as a notification
// of the store.
func (k *Keeper) Nudge() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// SetCrons replaces the cron entries. The change takes effect soon after SetCrons returns.
// Do not call it concurrently.
func (k *Keeper) SetCrons(list []Cron) {
	select {
	case <-k.crons: // discard an older list of entries that the keeper has not used yet
	default:
	}
	k.crons <- list
}

func (k *Keeper) takeCrons(list []Cron) {
	k.o.Cron = list
	k.core.SetCrons(list)
}

// Pass makes all calls that are due, and makes steps of the redrives even if no step is due. It
// reports whether the keeper has made jobs ready since the last pass. It returns false after
// Run has ended.
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

// passOnce makes the calls that are due now, and makes steps of the redrives as long as they
// make progress. It ends even if calls take long or always return the same answer.
func (k *Keeper) passOnce(ctx context.Context) (moved bool) {
	now := k.o.Now()
	for range passMax {
		a := k.core.Next(now)
		if a.Call == None || ctx.Err() != nil {
			break
		}
		k.do(ctx, a)
	}
	// A redrive may continue because jobs have just ended.
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

// do makes a call and reports its result to the core. It returns whether the call has made
// jobs ready.
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
			k.logFired(ctx, a, f)
		}
	case Step:
		var s store.RedriveStep
		k.searching = false
		began := k.o.Now()
		if s, err = k.o.Store.StepRedrives(ctx, k.stepLimit); err == nil {
			k.stepLimit = NextLimit(k.stepLimit, stepLimit, s, k.o.Now().Sub(began), stepTime)
			var b store.BatchStep
			if b, err = k.o.Store.StepBatches(ctx, store.StepMax); err != nil {
				break
			}
			// Batches with a task are stepped as active redrives are.
			s.Released, s.Active, s.Wait = s.Released+b.Done, s.Active+b.Active, min(s.Wait, b.Wait)
			k.core.Stepped(k.o.Now(), s)
			moved = s.Released > 0
			k.searching = !moved && s.Active > 0 && s.Wait == 0
			k.logEnded(ctx, s.Ended)
		}
	case Sweep:
		var s store.Swept
		if s, err = k.o.Store.Sweep(ctx, k.o.Retention, k.sweepLimit); err == nil {
			k.core.Swept(k.o.Now(), s)
			k.logSwept(ctx, s)
		}
	case Rescue:
		var r store.Rescue
		if r, err = k.o.Rescue(ctx, rescueLimit); err == nil {
			k.core.Rescued(k.o.Now(), r, len(r.Jobs) >= rescueLimit)
			k.logRescued(ctx, r.Jobs)
			moved = len(r.Jobs) > 0
		}
	case Present:
		var o store.Orders
		if o, err = k.o.Present(ctx); err == nil {
			k.core.Reported(k.o.Now(), o)
		}
	case Close:
		var s store.WindowStep
		if s, err = k.o.Store.CloseWindows(ctx, windowLimit); err == nil {
			k.core.Closed(k.o.Now(), s)
			moved = s.Notices > 0
		}
	case None:
	}
	if err != nil {
		k.logFailed(ctx, a, err)
	}
	return moved
}

func (k *Keeper) logFired(ctx context.Context, a Action, f store.Fired) {
	if !f.Fired {
		return
	}
	for _, r := range f.Receipts {
		k.o.Logger.InfoContext(ctx, "schedule fired", "schedule", k.o.Cron[a.Cron].Name, "slot", a.Slot, "job", r.ID.String())
	}
}

// logEnded logs the redrives that have ended by themselves.
func (k *Keeper) logEnded(ctx context.Context, list []store.Redrive) {
	for i := range list {
		r := &list[i]
		level, message, attrs := slog.LevelInfo, "redrive ended", []any{"redrive", r.ID, "state", string(r.State)}
		if r.State == store.RedriveStopped {
			level, message, attrs = slog.LevelWarn, "redrive stopped by itself", append(attrs, "why", r.Why)
		}
		attrs = append(attrs, "jobs", r.Total, "retried", r.Released, "completed", r.Completed, "dead", r.Dead, "by", r.By)
		k.o.Logger.Log(ctx, level, message, attrs...)
	}
}

func (k *Keeper) logRescued(ctx context.Context, runs []store.Rescued) {
	for _, r := range runs {
		attrs := []any{"job", r.ID.String(), "kind", r.Kind, "queue", r.Queue, "run", int64(r.Token),
			"crashes", int(r.Crashes), "worker", r.Holder, "state", r.To.String()}
		k.o.Logger.WarnContext(ctx, "job rescued: the lease of its run was over", attrs...)
		if r.To == job.Dead {
			k.o.Logger.ErrorContext(ctx, "job is dead", attrs...)
		}
	}
}

func (k *Keeper) logSwept(ctx context.Context, s store.Swept) {
	if !s.Removed() && s.Reopened == 0 {
		return
	}
	level := slog.LevelDebug
	if s.Pending > 0 {
		level = slog.LevelWarn
	}
	k.o.Logger.Log(ctx, level, "removed rows past their retention time", "completed", s.Completed, "failures", s.Failures,
		"dead_letters", s.Dead, "pending", s.Pending, "events", s.Events, "keys", s.Keys, "batches", s.Batches, "reopened", s.Reopened)
}

// logFailed reports a failed call to the core and logs the error, unless ctx has ended. Among
// several errors in a row, the first is logged as a warning and all others as debug lines. The
// engine logs when the store works again.
func (k *Keeper) logFailed(ctx context.Context, a Action, err error) {
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
	k.o.Logger.Log(ctx, level, "maintenance call failed", attrs...)
}
