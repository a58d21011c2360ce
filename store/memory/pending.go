package memory

import (
	"context"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

var errPending = store.ErrUnavailable

func (s *Store) DeadLetters(ctx context.Context, f store.DeadFilter, p store.DeadPaging) (store.DeadPage, error) {
	return store.DeadPage{}, errPending
}
func (s *Store) Groups(ctx context.Context, f store.GroupFilter) (store.GroupPage, error) {
	return store.GroupPage{}, errPending
}
func (s *Store) DeadStats(ctx context.Context) (store.DeadStats, error) {
	return store.DeadStats{}, errPending
}
func (s *Store) Preview(ctx context.Context, a store.Action) (store.Acted, error) {
	return store.Acted{}, errPending
}
func (s *Store) Act(ctx context.Context, by store.By, a store.Action) (store.Acted, error) {
	return store.Acted{}, errPending
}
func (s *Store) Original(ctx context.Context, id job.ID) (store.Original, error) {
	return store.Original{}, errPending
}
func (s *Store) StartRedrive(ctx context.Context, by store.By, r store.RedriveSpec) (store.Redrive, error) {
	return store.Redrive{}, errPending
}
func (s *Store) Redrive(ctx context.Context, id int64) (store.Redrive, error) {
	return store.Redrive{}, errPending
}
func (s *Store) RedriveList(ctx context.Context) ([]store.Redrive, error) { return nil, errPending }
func (s *Store) ControlRedrive(ctx context.Context, by store.By, id int64, do store.RedriveOp) (store.Redrive, error) {
	return store.Redrive{}, errPending
}
func (s *Store) StepRedrives(ctx context.Context, limit int) (store.RedriveStep, error) {
	return store.RedriveStep{}, errPending
}
func (s *Store) Sweep(ctx context.Context, r store.Retention, limit int) (store.Swept, error) {
	return store.Swept{}, errPending
}
func (s *Store) Fire(ctx context.Context, name string, slot job.Micros, jobs []job.New) (store.Fired, error) {
	return store.Fired{}, errPending
}
func (s *Store) Schedules(ctx context.Context) ([]store.Schedule, error) { return nil, errPending }
