package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/store"
)

// processName identifies one start of a process: the name of the process and the instance.
type processName struct{ name, instance string }

// Present implements store.Presence.
func (s *Store) Present(ctx context.Context, p store.Process) (store.Orders, error) {
	t, err := s.begin(ctx, "present")
	if err != nil {
		return store.Orders{}, err
	}
	defer t.end()
	if err := p.Validate(); err != nil {
		return store.Orders{}, t.errorf("%w", err)
	}
	id := processName{p.Name, p.Instance}
	known := t.processes[id]
	if !p.Left && known == nil && len(t.processes) >= store.ProcessesMax {
		return store.Orders{}, t.errorf("process %q: the store already has %d processes, which is the maximum: %w", p.Name, len(t.processes), store.ErrTooLarge)
	}
	t.findSilent(id)
	switch {
	case p.Left && known == nil:
		return store.Orders{NextExpiry: store.Never}, nil
	case p.Left:
		delete(t.processes, id)
		t.emit(store.ProcessEvent(event.ProcessStopped, p.Name))
		return store.Orders{NextExpiry: store.Never}, nil
	case known == nil:
		p.Queues, p.Kinds, p.Sick = slices.Clone(p.Queues), slices.Clone(p.Kinds), append([]store.Sickness(nil), p.Sick...)
		p.StartedAt, p.Quiet, p.Silent = t.now, false, false
		known = &p
		t.processes[id] = known
		t.emit(store.ProcessEvent(event.ProcessStarted, p.Name))
	case known.Silent:
		t.emit(store.ProcessEvent(event.ProcessStarted, p.Name))
	}
	known.SeenAt, known.Policy, known.Slots, known.Running, known.Silent = t.now, p.Policy, p.Slots, p.Running, false
	known.Sick = append([]store.Sickness(nil), p.Sick...)
	return store.Orders{Quiet: known.Quiet, NextExpiry: t.nextExpiry()}, nil
}

// findSilent marks processes that have become silent, except the calling process. It removes
// the entries of silent processes that are too old or that the calling process replaces.
func (t *tx) findSilent(by processName) {
	for _, p := range t.sortedProcesses() {
		id := processName{p.Name, p.Instance}
		if id == by || !p.SilentBy(t.now) {
			continue
		}
		if !p.Silent {
			t.processes[id].Silent = true
			t.emit(store.ProcessEvent(event.ProcessSilent, p.Name))
		}
		if p.Name == by.name || t.now.Sub(p.SeenAt) >= store.SilentKept {
			delete(t.processes, id)
		}
	}
}

// Processes implements store.Presence.
func (s *Store) Processes(ctx context.Context) ([]store.Process, error) {
	t, err := s.begin(ctx, "processes")
	if err != nil {
		return nil, err
	}
	defer t.end()
	list := t.sortedProcesses()
	for i := range list {
		list[i].Silent = list[i].SilentBy(t.now)
	}
	return list, nil
}

// sortedProcesses returns copies of the processes, sorted by name and instance.
func (t *tx) sortedProcesses() []store.Process {
	list := make([]store.Process, 0, len(t.processes))
	for _, p := range t.processes {
		c := *p
		c.Queues, c.Kinds, c.Sick = slices.Clone(p.Queues), slices.Clone(p.Kinds), append([]store.Sickness(nil), p.Sick...)
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b store.Process) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Instance, b.Instance))
	})
	return list
}

// OrderProcess implements store.Presence.
func (s *Store) OrderProcess(ctx context.Context, by store.By, name string, quiet bool) error {
	t, err := s.begin(ctx, "order process")
	if err != nil {
		return err
	}
	defer t.end()
	if err := cmp.Or(by.Validate(), store.ValidProcess(name)); err != nil {
		return t.errorf("%w", err)
	}
	known, changed := false, false
	for id, p := range t.processes {
		if id.name == name {
			known, changed = true, changed || p.Quiet != quiet
			p.Quiet = quiet
		}
	}
	if !known {
		return t.errorf("process %.80q: %w", name, store.ErrNotFound)
	}
	if changed {
		action, before, after := store.ProcessAudit(quiet)
		t.note(by, action, name, before, after)
	}
	return nil
}
