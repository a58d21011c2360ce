package faultstore

import (
	"context"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// DeadLetters implements store.DeadLetters.
func (s *Store) DeadLetters(ctx context.Context, f store.DeadFilter, p store.DeadPaging) (store.DeadPage, error) {
	return do(ctx, s, "DeadLetters", func() (store.DeadPage, error) { return s.inner.DeadLetters(ctx, f, p) })
}

// Groups implements store.DeadLetters.
func (s *Store) Groups(ctx context.Context, f store.GroupFilter) (store.GroupPage, error) {
	return do(ctx, s, "Groups", func() (store.GroupPage, error) { return s.inner.Groups(ctx, f) })
}

// DeadStats implements store.DeadLetters.
func (s *Store) DeadStats(ctx context.Context) (store.DeadStats, error) {
	return do(ctx, s, "DeadStats", func() (store.DeadStats, error) { return s.inner.DeadStats(ctx) })
}

// Preview implements store.DeadLetters.
func (s *Store) Preview(ctx context.Context, a store.Action) (store.Acted, error) {
	return do(ctx, s, "Preview", func() (store.Acted, error) { return s.inner.Preview(ctx, a) })
}

// Act implements store.DeadLetters.
func (s *Store) Act(ctx context.Context, by store.By, a store.Action) (store.Acted, error) {
	return do(ctx, s, "Act", func() (store.Acted, error) { return s.inner.Act(ctx, by, a) })
}

// Original implements store.DeadLetters.
func (s *Store) Original(ctx context.Context, id job.ID) (store.Original, error) {
	return do(ctx, s, "Original", func() (store.Original, error) { return s.inner.Original(ctx, id) })
}

// SetGroup implements store.Causes.
func (s *Store) SetGroup(ctx context.Context, by store.By, c store.GroupChange) (store.Group, error) {
	return do(ctx, s, "SetGroup", func() (store.Group, error) { return s.inner.SetGroup(ctx, by, c) })
}

// MergeGroups implements store.Causes.
func (s *Store) MergeGroups(ctx context.Context, by store.By, set string, groups []string) (int, error) {
	return do(ctx, s, "MergeGroups", func() (int, error) { return s.inner.MergeGroups(ctx, by, set, groups) })
}

// AddNote implements store.Causes.
func (s *Store) AddNote(ctx context.Context, by store.By, n store.Note) (store.Note, error) {
	return do(ctx, s, "AddNote", func() (store.Note, error) { return s.inner.AddNote(ctx, by, n) })
}

// Notes implements store.Causes.
func (s *Store) Notes(ctx context.Context, f store.NoteFilter) ([]store.Note, error) {
	return do(ctx, s, "Notes", func() ([]store.Note, error) { return s.inner.Notes(ctx, f) })
}

// BeginRequest implements store.Requests.
func (s *Store) BeginRequest(ctx context.Context, r store.Request) (store.Request, bool, error) {
	existing := false
	stored, err := do(ctx, s, "BeginRequest", func() (stored store.Request, err error) {
		stored, existing, err = s.inner.BeginRequest(ctx, r)
		return stored, err
	})
	return stored, existing && err == nil, err
}

// EndRequest implements store.Requests.
func (s *Store) EndRequest(ctx context.Context, scope, key string, status int, body []byte) error {
	_, err := do(ctx, s, "EndRequest", func() (none, error) { return none{}, s.inner.EndRequest(ctx, scope, key, status, body) })
	return err
}

// StartRedrive implements store.Redrives.
func (s *Store) StartRedrive(ctx context.Context, by store.By, r store.RedriveSpec) (store.Redrive, error) {
	return do(ctx, s, "StartRedrive", func() (store.Redrive, error) { return s.inner.StartRedrive(ctx, by, r) })
}

// Redrive implements store.Redrives.
func (s *Store) Redrive(ctx context.Context, id int64) (store.Redrive, error) {
	return do(ctx, s, "Redrive", func() (store.Redrive, error) { return s.inner.Redrive(ctx, id) })
}

// RedriveList implements store.Redrives.
func (s *Store) RedriveList(ctx context.Context) ([]store.Redrive, error) {
	return do(ctx, s, "RedriveList", func() ([]store.Redrive, error) { return s.inner.RedriveList(ctx) })
}

// ControlRedrive implements store.Redrives.
func (s *Store) ControlRedrive(ctx context.Context, by store.By, id int64, op store.RedriveOp) (store.Redrive, error) {
	return do(ctx, s, "ControlRedrive", func() (store.Redrive, error) { return s.inner.ControlRedrive(ctx, by, id, op) })
}

// StepRedrives implements store.Redrives.
func (s *Store) StepRedrives(ctx context.Context, limit int) (store.RedriveStep, error) {
	return do(ctx, s, "StepRedrives", func() (store.RedriveStep, error) { return s.inner.StepRedrives(ctx, limit) })
}

// Sweep implements store.Keeper.
func (s *Store) Sweep(ctx context.Context, r store.Retention, limit int) (store.Swept, error) {
	return do(ctx, s, "Sweep", func() (store.Swept, error) { return s.inner.Sweep(ctx, r, limit) })
}

// Fire implements store.Keeper.
func (s *Store) Fire(ctx context.Context, name, expression string, slot job.Micros, jobs []job.New) (store.Fired, error) {
	return do(ctx, s, "Fire", func() (store.Fired, error) { return s.inner.Fire(ctx, name, expression, slot, jobs) })
}

// SetSchedule implements store.Admin.
func (s *Store) SetSchedule(ctx context.Context, by store.By, name string, paused bool) (store.CronSlot, error) {
	return do(ctx, s, "SetSchedule", func() (store.CronSlot, error) { return s.inner.SetSchedule(ctx, by, name, paused) })
}

// RunSchedule implements store.Admin.
func (s *Store) RunSchedule(ctx context.Context, by store.By, name string, jobs []job.New) ([]job.Receipt, error) {
	return do(ctx, s, "RunSchedule", func() ([]job.Receipt, error) { return s.inner.RunSchedule(ctx, by, name, jobs) })
}

// CronSlots implements store.Keeper.
func (s *Store) CronSlots(ctx context.Context) ([]store.CronSlot, error) {
	return do(ctx, s, "Schedules", func() ([]store.CronSlot, error) { return s.inner.CronSlots(ctx) })
}

// Present implements store.Presence.
func (s *Store) Present(ctx context.Context, p store.Process) (store.Orders, error) {
	return do(ctx, s, "Present", func() (store.Orders, error) { return s.inner.Present(ctx, p) })
}

// Processes implements store.Presence.
func (s *Store) Processes(ctx context.Context) ([]store.Process, error) {
	return do(ctx, s, "Processes", func() ([]store.Process, error) { return s.inner.Processes(ctx) })
}

// OrderProcess implements store.Presence.
func (s *Store) OrderProcess(ctx context.Context, by store.By, name string, quiet bool) error {
	_, err := do(ctx, s, "OrderProcess", func() (none, error) { return none{}, s.inner.OrderProcess(ctx, by, name, quiet) })
	return err
}

// Alter implements store.Live.
func (s *Store) Alter(ctx context.Context, by store.By, ids []job.ID, c store.Change) ([]error, error) {
	return do(ctx, s, "Alter", func() ([]error, error) { return s.inner.Alter(ctx, by, ids, c) })
}

// PreviewLive implements store.Live.
func (s *Store) PreviewLive(ctx context.Context, a store.LiveAction) (store.LiveActed, error) {
	return do(ctx, s, "PreviewLive", func() (store.LiveActed, error) { return s.inner.PreviewLive(ctx, a) })
}

// ActLive implements store.Live.
func (s *Store) ActLive(ctx context.Context, by store.By, a store.LiveAction) (store.LiveActed, error) {
	return do(ctx, s, "ActLive", func() (store.LiveActed, error) { return s.inner.ActLive(ctx, by, a) })
}
