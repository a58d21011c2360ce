package keeper_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redrive/redrive/internal/keeper"
	"github.com/redrive/redrive/store"
)

// answers is a fake store. Its steps of redrives return what the test has set.
type answers struct {
	steps atomic.Int64
	step  func(n int64) store.RedriveStep
	now   atomic.Int64 // the current time in nanoseconds since 1970
	takes time.Duration
}

func (a *answers) StepRedrives(context.Context, int) (store.RedriveStep, error) {
	a.now.Add(int64(a.takes))
	return a.step(a.steps.Add(1)), nil
}

func (*answers) StepBatches(context.Context, int) (store.BatchStep, error) {
	return store.BatchStep{Wait: store.Never}, nil
}

func (*answers) CloseWindows(context.Context, int) (store.WindowStep, error) {
	return store.WindowStep{Wait: store.Never}, nil
}

func (*answers) Sweep(context.Context, store.Retention, int) (store.Swept, error) {
	return store.Swept{More: true}, nil
}

func (*answers) CronSlots(context.Context) ([]store.CronSlot, error) { return nil, nil }

func (*answers) Notify(chan<- struct{}) (stop func()) { return func() {} }

// A pass makes steps of the redrives as long as they make progress; a step that only searches
// also counts as progress. The pass ends even if the store always returns the same answer or
// the clock stands still.
//
// part of: D7
func TestD7_APassEnds(t *testing.T) {
	t.Parallel()
	stuck := func(int64) store.RedriveStep { return store.RedriveStep{Active: 1} }
	for _, tt := range []struct {
		name  string
		takes time.Duration // how long each step takes
		step  func(n int64) store.RedriveStep
		moved bool
		least int64 // the smallest expected number of steps
	}{
		{"stuck", 0, stuck, false, 2},
		{"stuck, and steps take long", time.Second, stuck, false, 2},
		{"found after a search", 0, func(n int64) store.RedriveStep {
			switch {
			case n < 20:
				return store.RedriveStep{Active: 1}
			case n == 20:
				return store.RedriveStep{Active: 1, Released: 5}
			}
			return store.RedriveStep{Active: 1, Wait: store.Never}
		}, true, 21},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &answers{step: tt.step, takes: tt.takes}
			s.now.Store(start.UnixNano())
			k := keeper.New(keeper.Options{
				Store: s, Logger: slog.New(slog.DiscardHandler),
				Now:   func() time.Time { return time.Unix(0, s.now.Load()) },
				After: func(time.Duration, func()) func() bool { return func() bool { return true } },
			})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); k.Run(ctx) }()
			moved := k.Pass(t.Context())
			cancel()
			<-ended
			if n := s.steps.Load(); moved != tt.moved || n < tt.least {
				t.Errorf("the pass made jobs ready: %t, after %d steps; want %t, after at least %d steps", moved, n, tt.moved, tt.least)
			}
		})
	}
}

// away is a store whose calls all fail.
type away struct{ answers }

var errAway = errors.New("the store cannot be reached")

func (a *away) StepRedrives(context.Context, int) (store.RedriveStep, error) {
	a.steps.Add(1)
	return store.RedriveStep{}, errAway
}

func (*away) Sweep(context.Context, store.Retention, int) (store.Swept, error) {
	return store.Swept{}, errAway
}

// warnings counts log lines of level WARN or higher.
type warnings struct {
	slog.Handler
	n atomic.Int64
}

func (*warnings) Enabled(context.Context, slog.Level) bool { return true }

func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		w.n.Add(1)
	}
	return nil
}

// If the store fails, each kind of call logs one warning for all its attempts.
func TestAFailureThatRepeatsIsLoggedOnce(t *testing.T) {
	t.Parallel()
	s, logged := &away{}, &warnings{}
	s.now.Store(start.UnixNano())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	k := keeper.New(keeper.Options{
		Store: s, Logger: slog.New(logged),
		Now: func() time.Time { return time.Unix(0, s.now.Load()) },
		After: func(d time.Duration, f func()) func() bool { // the wait ends at once, and the clock is set forward
			s.now.Add(int64(d))
			if s.steps.Load() >= 10 {
				cancel()
			}
			go f()
			return func() bool { return true }
		},
	})
	k.Run(ctx)
	if n := logged.n.Load(); n != 2 {
		t.Errorf("got %d warnings after %d steps, want 2: one for the steps and one for the sweeps", n, s.steps.Load())
	}
}

// beside is a store with background sweeps.
type beside struct {
	answers
	limits []int
	over   func()
}

func (*beside) SweepsInBackground() bool { return true }

func (b *beside) Sweep(_ context.Context, _ store.Retention, limit int) (store.Swept, error) {
	if b.limits = append(b.limits, limit); len(b.limits) == 3 {
		b.over()
	}
	return store.Swept{Completed: 1, More: true}, nil
}

// part of: Q6
func TestQ6_BackgroundSweepsTakeAllTheyMay(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := &beside{over: cancel}
	s.step = func(int64) store.RedriveStep { return store.RedriveStep{Wait: store.Never} }
	s.now.Store(start.UnixNano())
	k := keeper.New(keeper.Options{
		Store: s, Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Unix(0, s.now.Load()) },
		After: func(d time.Duration, f func()) func() bool { // the wait ends at once, and the clock is set forward
			s.now.Add(int64(d))
			go f()
			return func() bool { return true }
		},
	})
	k.Run(ctx)
	if took := s.now.Load() - start.UnixNano(); !slices.Equal(s.limits, []int{store.SweepMax, store.SweepMax, store.SweepMax}) ||
		took != int64(2*keeper.AsideMin) {
		t.Errorf("the sweeps had the limits %v and ended after %s, want three limits of store.SweepMax and an end after twice AsideMin", s.limits, time.Duration(took))
	}
}

// A step changes as many jobs as fit into its target time.
func TestTheNextStepFitsIntoItsTime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                  string
		limit, released, want int
		took                  time.Duration
	}{
		{"a fast step doubles the limit", 500, 500, 1_000, time.Millisecond},
		{"never above the store's limit", 1_800, 1_800, store.StepMax, time.Millisecond},
		{"a slow step lowers it", 2_000, 2_000, 1_000, 40 * time.Millisecond},
		{"never below the least", 2_000, 2_000, 500, 10 * time.Second},
		{"a step that changed nothing", 700, 0, 700, time.Millisecond},
		{"a clock that stands still", 700, 700, 700, 0},
		{"a clock that was set back", 700, 700, 700, -time.Second},
	} {
		s := store.RedriveStep{Released: int64(tt.released)}
		if got := keeper.NextLimit(tt.limit, 500, s, tt.took, 20*time.Millisecond); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}
