package keeper_test

import (
	"slices"
	"testing"

	"github.com/redrive/redrive/internal/keeper"
	"github.com/redrive/redrive/store"
)

func TestGoing(t *testing.T) {
	t.Parallel()
	// Three canaries are out, two have answered.
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
			t.Errorf("%s: %d go on, %v wait; want %d and %v", name, going, waiting, tt.going, tt.waiting)
		}
	}
}
