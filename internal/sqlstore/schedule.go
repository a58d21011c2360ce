package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var (
	selSchedule    = ask("selSchedule")
	allSchedules   = ask("allSchedules")
	countSchedules = ask("countSchedules")
	putSchedule    = ask("putSchedule")
	setSchedule    = ask("setSchedule")
)

// Fire implements store.Keeper.
func (s *Core) Fire(ctx context.Context, name, expression string, slot job.Micros, jobs []job.New) (fired store.Fired, err error) {
	if err := store.ValidateSlot(name, expression, slot, jobs); err != nil {
		return store.Fired{}, err
	}
	err = s.db.Write(ctx, func(t *Txn) error {
		fired, err = t.fire(name, expression, slot, jobs)
		return err
	})
	if err != nil {
		return store.Fired{}, err
	}
	return fired, nil
}

// fire enqueues the jobs of a slot. It writes the slot after the jobs, because the row
// of the schedule names the first job.
func (t *Txn) fire(name, expression string, slot job.Micros, jobs []job.New) (store.Fired, error) {
	if slot > t.now {
		return store.Fired{}, fmt.Errorf("schedule %q: the slot %s is in the future; the store's time is %s: %w",
			name, slot.Time(), t.now.Time(), store.ErrConflict)
	}
	if err := t.lockName("schedule:" + name); err != nil {
		return store.Fired{}, err
	}
	var last store.CronSlot
	err := t.rows(selSchedule, func(r Row) error { last = scanSchedule(r); return nil }, text(name))
	if err != nil {
		return store.Fired{}, err
	}
	if last.Name != "" && !last.Takes(slot) {
		t.reliesOnEarlier = true
		return store.Fired{Last: last}, nil
	}
	if last.Name == "" {
		if err := t.roomForSchedule(name); err != nil {
			return store.Fired{}, err
		}
	}
	receipts, err := t.enqueue(jobs)
	if err != nil {
		return store.Fired{}, fmt.Errorf("schedule %q: %w", name, err)
	}
	last = store.CronSlot{Name: name, Slot: slot, At: t.now, Job: receipts[0].ID, Expression: expression, SetAt: last.SetAt}
	n, err := t.exec(putSchedule, text(name), num(slot), num(t.now), num(last.Job), text(expression))
	if err == nil && n == 0 {
		err = fmt.Errorf("schedule %q: the slot was not written, because the row already has a later slot", name) // This cannot happen: the row was read in this transaction.
	}
	if err != nil {
		return store.Fired{}, err
	}
	t.events.Add(&event.Event{Type: event.ScheduleFired, Note: name, DueAt: slot, Job: last.Job})
	return store.Fired{Fired: true, Receipts: receipts, Last: last}, nil
}

func (t *Txn) roomForSchedule(name string) error {
	if err := t.lockName("schedules"); err != nil {
		return err
	}
	n, err := ReadInt(t.s, countSchedules)
	if err == nil && n >= store.CronsMax {
		err = fmt.Errorf("schedule %q: the store already has %d schedules, which is the maximum: %w", name, n, store.ErrTooLarge)
	}
	return err
}

// SetSchedule implements store.Admin.
func (s *Core) SetSchedule(ctx context.Context, by store.By, name string, paused bool) (c store.CronSlot, err error) {
	if err := errors.Join(by.Validate(), store.ValidName("schedule", name)); err != nil {
		return c, err
	}
	err = s.db.Write(ctx, func(t *Txn) error {
		c, err = t.setSchedule(by, name, paused)
		return err
	})
	return c, err
}

func (t *Txn) setSchedule(by store.By, name string, paused bool) (c store.CronSlot, err error) {
	t.noDeadLetters = true
	if err := t.lockName("schedule:" + name); err != nil {
		return c, err
	}
	err = t.rows(selSchedule, func(r Row) error { c = scanSchedule(r); return nil }, text(name))
	switch {
	case err != nil:
		return c, err
	case c.Name == "" && !paused:
		return c, fmt.Errorf("schedule %q: it was never fired and never paused: %w", name, store.ErrNotFound)
	case c.Paused == paused:
		t.reliesOnEarlier = true
		return c, nil
	case c.Name == "":
		if err := t.roomForSchedule(name); err != nil {
			return c, err
		}
	}
	c.Name, c.Paused, c.SetAt = name, paused, t.now
	if _, err := t.exec(setSchedule, text(name), bit(paused), num(t.now)); err != nil {
		return store.CronSlot{}, err
	}
	t.events.Add(&event.Event{Type: event.ScheduleChanged, Note: name, Reason: store.ScheduleState(paused)})
	return c, t.audit(by, store.ScheduleAction(paused), name, store.ScheduleState(!paused), store.ScheduleState(paused))
}

// RunSchedule implements store.Admin.
func (s *Core) RunSchedule(ctx context.Context, by store.By, name string, jobs []job.New) (receipts []job.Receipt, err error) {
	if err := errors.Join(by.Validate(), store.ValidateRun(name, jobs)); err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, func(t *Txn) error {
		receipts, err = t.runSchedule(by, name, jobs)
		return err
	})
	if err != nil {
		return nil, err
	}
	return receipts, nil
}

func (t *Txn) runSchedule(by store.By, name string, jobs []job.New) ([]job.Receipt, error) {
	receipts, err := t.enqueue(jobs)
	if err != nil {
		return nil, fmt.Errorf("schedule %q: %w", name, err)
	}
	if !slices.ContainsFunc(receipts, func(r job.Receipt) bool { return !r.Existing }) {
		return receipts, nil
	}
	t.events.Add(&event.Event{Type: event.ScheduleChanged, Note: name, Reason: store.ScheduleRan, Job: receipts[0].ID})
	return receipts, t.audit(by, store.ScheduleRun, name, "", "job "+receipts[0].ID.String())
}

// CronSlots implements store.Keeper.
func (s *Core) CronSlots(ctx context.Context) (list []store.CronSlot, err error) {
	err = s.db.Read(ctx, func(c Session) error {
		list, err = readSchedules(c)
		return err
	})
	return list, err
}

// readSchedules returns the last fired slots, sorted by the name of the schedule.
func readSchedules(c Session) (list []store.CronSlot, err error) {
	err = c.Rows(allSchedules, func(r Row) error { list = append(list, scanSchedule(r)); return nil })
	return list, err
}

func scanSchedule(r Row) store.CronSlot {
	return store.CronSlot{Name: r.Text(0), Slot: job.Micros(r.Int(1)), At: job.Micros(r.Int(2)), Job: job.ID(r.Int(3)), Expression: r.Text(4),
		Paused: r.Int(5) != 0, SetAt: job.Micros(r.Int(6))}
}
