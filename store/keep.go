package store

import (
	"context"
	"fmt"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// Keeper is what keeps a store in order while it is used.
type Keeper interface {
	// Sweep removes what is past its time, and makes ignored dead letters pending
	// again whose time has come: up to limit rows (1 to SweepMax) of each kind of
	// thing, in short transactions that wait for no caller's own: what these hold is
	// left to a later sweep. What was removed is added up in the same transaction, and
	// audited by the actor SweepActor at most once an hour; dead letters that were
	// pending, at once and in the same transaction.
	Sweep(ctx context.Context, r Retention, limit int) (Swept, error)
	// Fire enqueues the jobs of a schedule's slot, unless that slot or a later one
	// has been fired by anybody. A slot in the future of the store is an
	// ErrConflict.
	Fire(ctx context.Context, name string, slot job.Micros, jobs []job.New) (Fired, error)
	// Schedules returns the schedules that have fired, by name.
	Schedules(ctx context.Context) ([]Schedule, error)
}

// BackgroundSweeper is a Keeper whose sweeps may keep nobody waiting, as they run beside
// all else: then they can follow each other closely, up to SweepMax rows at a time.
type BackgroundSweeper interface {
	// SweepsInBackground reports whether they do.
	SweepsInBackground() bool
}

// Bounds of what keeps order.
const (
	SweepMax   = 5_000
	CronsMax   = 1_000
	SweepActor = "redrive"
	// SweepAuditEvery is how often removals are audited at most.
	SweepAuditEvery = time.Hour
)

// Retention is how long things are kept; 0 is for ever.
type Retention struct {
	// Completed is for completed and cancelled jobs with their results. What is
	// known by idempotency keys stays as long as these say.
	Completed time.Duration
	// Failures is for failure records. Those of a dead job stay as long as its
	// dead letter, those of a live job as long as that.
	Failures time.Duration
	// Dead is for dead letters, with their jobs and all failure records, counted
	// from the death or from what was done last. Pending ones stay for ever, one
	// whose job lives as long as that, and an ignored one that is to be pending
	// again until then. A group goes when it has had no entries for as
	// long, unless it is ignored.
	Dead time.Duration
	// DropPending removes dead letters by their age whatever their status.
	DropPending bool
	Events      time.Duration
}

// Validate returns an ErrInvalid that names the field.
func (r *Retention) Validate() error {
	for _, d := range [...]struct {
		name  string
		value time.Duration
	}{{"completed", r.Completed}, {"failures", r.Failures}, {"dead", r.Dead}, {"events", r.Events}} {
		if d.value < 0 {
			return fmt.Errorf("retention: %s %s: must not be negative: %w", d.name, d.value, ErrInvalid)
		}
	}
	return nil
}

// Swept is what a sweep did, in rows.
type Swept struct {
	Completed int64 `json:"completed"` // and cancelled jobs
	Failures  int64 `json:"failures"`
	Dead      int64 `json:"dead_letters"`
	Pending   int64 `json:"pending"` // of these
	Events    int64 `json:"events"`  // commits
	Keys      int64 `json:"keys"`
	Reopened  int64 `json:"reopened"`
	// More says that another sweep would find more now.
	More bool `json:"-"`
}

// Removed reports whether anything was removed.
func (s *Swept) Removed() bool {
	return s.Completed+s.Failures+s.Dead+s.Events+s.Keys > 0
}

// Schedule is a schedule that has fired.
type Schedule struct {
	Name string     `json:"name"`
	Slot job.Micros `json:"slot"` // the last that was fired
	At   job.Micros `json:"at"`   // when it was
	Job  job.ID     `json:"job"`  // the first of what it enqueued
}

// Fired is the answer to Fire.
type Fired struct {
	Fired    bool
	Receipts []job.Receipt // when it was fired by this call
	Last     Schedule      // as it is now
}

// ValidateSlot returns an ErrInvalid or ErrTooLarge when a slot cannot be fired.
func ValidateSlot(name string, slot job.Micros, jobs []job.New) error {
	if err := ValidName("schedule", name); err != nil {
		return err
	}
	switch {
	case slot <= 0:
		return fmt.Errorf("schedule %q: slot %d: must be after 1970: %w", name, slot, ErrInvalid)
	case len(jobs) < 1 || len(jobs) > job.EnqueueMax:
		return fmt.Errorf("schedule %q: %d jobs: must be 1 to %d: %w", name, len(jobs), job.EnqueueMax, ErrInvalid)
	}
	for i := range jobs {
		if err := Validate(&jobs[i]); err != nil {
			return fmt.Errorf("schedule %q: %w", name, err)
		}
	}
	return nil
}

// The events of what people do with dead letters and redrives, alike in every
// store.

// DeadLetterEvent tells of a change of an entry. The store sets the cursor.
func DeadLetterEvent(d *job.DeadLetter, did job.DeadAction) event.Event {
	return event.Event{Type: event.DeadLetterChanged, Job: d.Job, Kind: d.Kind, Queue: d.Queue, Owner: d.Owner,
		Life: d.Life, Class: d.Class, Reason: string(did)}
}

// PurgeEvent tells that an entry and its job are gone, by "purge" or "retention".
func PurgeEvent(d *job.DeadLetter, by string) event.Event {
	e := DeadLetterEvent(d, "")
	e.Type, e.Reason = event.DeadLetterPurged, by
	return e
}

// RedriveEvent tells of a redrive's state.
func RedriveEvent(r *Redrive) event.Event {
	return event.Event{Type: event.RedriveChanged, Note: fmt.Sprint(r.ID), Reason: string(r.State)}
}
