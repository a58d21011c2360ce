package store

import (
	"context"
	"fmt"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/job"
)

// Keeper does the maintenance of a store: retention and periodic jobs.
type Keeper interface {
	// Sweep removes what is older than its retention, and makes ignored dead letters
	// pending again when their time has come. It handles up to limit rows (1 to
	// SweepMax) of each kind of data, in short transactions that never wait for a
	// caller's transaction: rows that another transaction has locked are left to a
	// later sweep. Removals are counted in the same transaction. The actor SweepActor
	// writes at most one audit row about them an hour. Removals of pending dead letters
	// are audited at once, in the same transaction.
	Sweep(ctx context.Context, r Retention, limit int) (Swept, error)
	// Fire enqueues the jobs of a slot of the cron entry name, and stores the slot with
	// the expression that defined it. It does nothing if any process has already fired
	// that slot or a later one, also with another expression, if the entry is paused, or
	// if the slot is not later than the last pause or resumption of the entry. A slot in
	// the store's future is an ErrConflict.
	Fire(ctx context.Context, name, expression string, slot job.Micros, jobs []job.New) (Fired, error)
	// CronSlots returns the last fired slot of each cron entry, sorted by name. An entry
	// that was paused before its first slot has the Slot 0.
	CronSlots(ctx context.Context) ([]CronSlot, error)
}

// BackgroundSweeper is a Keeper whose sweeps may delay no other call because they run in
// the background. Such sweeps can follow each other closely and handle up to SweepMax
// rows each.
type BackgroundSweeper interface {
	// SweepsInBackground reports whether the sweeps run in the background.
	SweepsInBackground() bool
}

// Limits and names of the maintenance.
const (
	SweepMax = 5_000
	CronsMax = 1_000
	// ExpressionMax is the longest expression of a cron entry, with its time zone, in
	// bytes.
	ExpressionMax = 512
	SweepActor    = "redrive"
	// SweepAuditEvery is the shortest time between two audit rows about removals of the
	// same kind.
	SweepAuditEvery = time.Hour
)

// Retention is how long ended jobs and other data are kept; 0 means for ever.
type Retention struct {
	// Completed applies to completed and cancelled jobs with their results. An
	// idempotency key is kept until its KeyUntil, independent of this.
	Completed time.Duration
	// Failures applies to failure records. The records of a dead job are kept as long
	// as its dead letter, and the records of a live job as long as the job.
	Failures time.Duration
	// Dead applies to dead letters with their jobs and all failure records. The time
	// counts from the death or from the last action on the dead letter. Some dead
	// letters stay longer: a pending one for ever, one with a live job until that job
	// ends, and one that is ignored for a time until it becomes pending. A group is
	// removed when it has had no entries for this long, unless it is ignored.
	Dead time.Duration
	// DropPending removes dead letters of every status by their age, including pending
	// ones.
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

// Swept is the result of a sweep. It counts removed rows.
type Swept struct {
	Completed int64 `json:"completed"` // completed and cancelled jobs that were removed
	Failures  int64 `json:"failures"`
	Dead      int64 `json:"dead_letters"`
	Pending   int64 `json:"pending"` // removed dead letters that were pending
	Events    int64 `json:"events"`  // removed rows of events; a commit has one row
	Keys      int64 `json:"keys"`
	Reopened  int64 `json:"reopened"`
	// More says that another sweep would find more rows to remove now.
	More bool `json:"-"`
}

// Removed reports whether anything was removed.
func (s *Swept) Removed() bool {
	return s.Completed+s.Failures+s.Dead+s.Events+s.Keys > 0
}

// CronSlot is the last fired slot of a cron entry.
type CronSlot struct {
	Name string     `json:"name"`
	Slot job.Micros `json:"slot"` // the last slot that was fired; 0 if no slot was fired yet
	At   job.Micros `json:"at"`   // time at which it was fired
	Job  job.ID     `json:"job"`  // the first job that this slot enqueued
	// Expression is the expression that defined the slot, with its time zone, such as
	// "30 2 * * * Europe/Berlin" or "@every 1h30m0s". An entry whose expression differs
	// was changed after the slot was fired, or another client has another expression.
	Expression string `json:"expression"`
	// Paused says that a person has paused the entry: its slots are not fired.
	Paused bool `json:"paused,omitempty"`
	// SetAt is when a person last paused or resumed the entry; 0 means never. Slots up to
	// this time are not fired any more, so slots that passed during a pause are left out.
	SetAt job.Micros `json:"set_at,omitempty"`
}

// Takes reports whether a slot of the entry may be fired, by what is stored.
func (c *CronSlot) Takes(slot job.Micros) bool {
	return slot > c.Slot && slot > c.SetAt && !c.Paused
}

// ScheduleState returns the word for a paused or active cron entry, for audit rows and
// events.
func ScheduleState(paused bool) string {
	if paused {
		return "paused"
	}
	return "active"
}

// ScheduleAction returns the audit action of SetSchedule.
func ScheduleAction(paused bool) string {
	if paused {
		return "schedule.pause"
	}
	return "schedule.resume"
}

// Fired is the answer to Fire.
type Fired struct {
	Fired    bool
	Receipts []job.Receipt // receipts of the jobs, if this call fired the slot
	Last     CronSlot      // the last fired slot after the call
}

// ValidateSlot returns an ErrInvalid or ErrTooLarge when a slot and its jobs cannot be
// fired.
func ValidateSlot(name, expression string, slot job.Micros, jobs []job.New) error {
	if err := ValidName("schedule", name); err != nil {
		return err
	}
	switch {
	case expression == "":
		return fmt.Errorf("schedule %q: the expression is empty: set the expression that defines the slot: %w", name, ErrInvalid)
	case len(expression) > ExpressionMax:
		return fmt.Errorf("schedule %q: expression with time zone of %d bytes: at most %d bytes are allowed: %w",
			name, len(expression), ExpressionMax, ErrTooLarge)
	case slot <= 0:
		return fmt.Errorf("schedule %q: slot %d: must be after 1970: %w", name, slot, ErrInvalid)
	case len(jobs) < 1 || len(jobs) > job.EnqueueMax:
		return fmt.Errorf("schedule %q has %d jobs: the number must be 1 to %d: %w", name, len(jobs), job.EnqueueMax, ErrInvalid)
	}
	for i := range jobs {
		if err := Validate(&jobs[i]); err != nil {
			return fmt.Errorf("schedule %q: %w", name, err)
		}
	}
	return nil
}

// The functions below make the events of changes to dead letters and redrives. Every
// store writes the same events; the store sets their cursors.

// DeadLetterEvent returns the event for a change of an entry.
func DeadLetterEvent(d *job.DeadLetter, did job.DeadAction) event.Event {
	return event.Event{Type: event.DeadLetterChanged, Job: d.Job, Kind: d.Kind, Queue: d.Queue, Owner: d.Owner,
		Life: d.Life, Class: d.Class, Reason: string(did)}
}

// PurgeEvent returns the event for the removal of an entry and its job. The cause is
// "purge" or "retention".
func PurgeEvent(d *job.DeadLetter, by string) event.Event {
	e := DeadLetterEvent(d, "")
	e.Type, e.Reason = event.DeadLetterPurged, by
	return e
}

// RedriveEvent returns the event for a new state of a redrive.
func RedriveEvent(r *Redrive) event.Event {
	return event.Event{Type: event.RedriveChanged, Note: fmt.Sprint(r.ID), Reason: string(r.State)}
}
