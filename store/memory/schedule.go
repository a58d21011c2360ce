package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Fire implements store.Keeper.
func (s *Store) Fire(ctx context.Context, name, expression string, slot job.Micros, jobs []job.New) (store.Fired, error) {
	t, err := s.begin(ctx, "fire")
	if err != nil {
		return store.Fired{}, err
	}
	defer t.end()
	if err := store.ValidateSlot(name, expression, slot, jobs); err != nil {
		return store.Fired{}, t.errorf("%w", err)
	}
	last, known := t.schedules[name]
	switch {
	case slot > t.now:
		return store.Fired{}, t.errorf("schedule %q: slot %s is in the future: %w", name, slot.Time(), store.ErrConflict)
	case known && slot <= last.Slot:
		return store.Fired{Last: last}, nil
	case !known && len(t.schedules) >= store.CronsMax:
		return store.Fired{}, t.errorf("schedule %q: the store has %d already, the most it keeps: %w", name, len(t.schedules), store.ErrTooLarge)
	}
	receipts, err := t.enqueue(jobs)
	if err != nil {
		return store.Fired{}, t.errorf("schedule %q: %w", name, err)
	}
	last = store.CronSlot{Name: name, Slot: slot, At: t.now, Job: receipts[0].ID, Expression: expression}
	t.schedules[name] = last
	t.emit(event.Event{Type: event.ScheduleFired, Note: name, DueAt: slot, Job: last.Job})
	return store.Fired{Fired: true, Receipts: receipts, Last: last}, nil
}

// CronSlots implements store.Keeper.
func (s *Store) CronSlots(ctx context.Context) ([]store.CronSlot, error) {
	t, err := s.begin(ctx, "schedules")
	if err != nil {
		return nil, err
	}
	defer t.end()
	return t.sortedSchedules(), nil
}

func (t *tx) sortedSchedules() []store.CronSlot {
	list := make([]store.CronSlot, 0, len(t.schedules))
	for _, name := range slices.Sorted(maps.Keys(t.schedules)) {
		list = append(list, t.schedules[name])
	}
	return list
}
