package memory

import (
	"cmp"
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
	case known && !last.Takes(slot):
		return store.Fired{Last: last}, nil
	case !known && len(t.schedules) >= store.CronsMax:
		return store.Fired{}, t.errorf("schedule %q: the store already has %d schedules, which is the maximum: %w", name, len(t.schedules), store.ErrTooLarge)
	}
	receipts, err := t.enqueue(jobs)
	if err != nil {
		return store.Fired{}, t.errorf("schedule %q: %w", name, err)
	}
	last = store.CronSlot{Name: name, Slot: slot, At: t.now, Job: receipts[0].ID, Expression: expression, SetAt: last.SetAt}
	t.schedules[name] = last
	t.emit(event.Event{Type: event.ScheduleFired, Note: name, DueAt: slot, Job: last.Job})
	return store.Fired{Fired: true, Receipts: receipts, Last: last}, nil
}

// SetSchedule implements store.Admin.
func (s *Store) SetSchedule(ctx context.Context, by store.By, name string, paused bool) (store.CronSlot, error) {
	t, err := s.begin(ctx, "set schedule")
	if err != nil {
		return store.CronSlot{}, err
	}
	defer t.end()
	if err := cmp.Or(by.Validate(), store.ValidName("schedule", name)); err != nil {
		return store.CronSlot{}, t.errorf("%w", err)
	}
	c, known := t.schedules[name]
	switch {
	case !known && !paused:
		return store.CronSlot{}, t.errorf("schedule %q: it was never fired and never paused: %w", name, store.ErrNotFound)
	case c.Paused == paused:
		return c, nil
	case !known && len(t.schedules) >= store.CronsMax:
		return store.CronSlot{}, t.errorf("schedule %q: the store already has %d schedules, which is the maximum: %w", name, len(t.schedules), store.ErrTooLarge)
	}
	c.Name, c.Paused, c.SetAt = name, paused, t.now
	t.schedules[name] = c
	t.note(by, store.ScheduleAction(paused), name, store.ScheduleState(!paused), store.ScheduleState(paused))
	t.emit(event.Event{Type: event.ScheduleChanged, Note: name, Reason: store.ScheduleState(paused)})
	return c, nil
}

// RunSchedule implements store.Admin.
func (s *Store) RunSchedule(ctx context.Context, by store.By, name string, jobs []job.New) ([]job.Receipt, error) {
	t, err := s.begin(ctx, "run schedule")
	if err != nil {
		return nil, err
	}
	defer t.end()
	if err := cmp.Or(by.Validate(), store.ValidateRun(name, jobs)); err != nil {
		return nil, t.errorf("%w", err)
	}
	receipts, err := t.enqueue(jobs)
	if err != nil {
		return nil, t.errorf("schedule %q: %w", name, err)
	}
	if slices.ContainsFunc(receipts, func(r job.Receipt) bool { return !r.Existing }) {
		t.note(by, store.ScheduleRun, name, "", "job "+receipts[0].ID.String())
		t.emit(event.Event{Type: event.ScheduleChanged, Note: name, Reason: store.ScheduleRan, Job: receipts[0].ID})
	}
	return receipts, nil
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
