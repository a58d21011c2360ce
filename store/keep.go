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
	// Sweep removes data that is older than its retention, and makes ignored dead letters pending
	// again when their time has come. It handles up to limit rows (1 to SweepMax) of each kind of
	// data, in short transactions that never wait for a caller's transaction: rows that another
	// transaction has locked are left to a later sweep. Removals are counted in the transaction
	// that makes them. The actor SweepActor writes at most one audit row an hour about removals of
	// the same kind of data. A removal of pending dead letters is audited at once, in the
	// transaction that makes it. The answer beside an error says what was removed before the error.
	Sweep(ctx context.Context, r Retention, limit int) (Swept, error)
	// Fire enqueues the jobs for one slot of the named cron entry, and stores the slot with the
	// expression that defined it. Fire does nothing in three cases: if any process has already
	// fired that slot or a later slot, even with another expression; if the entry is paused; or if
	// the slot is not later than the time when the entry was last paused or resumed. A slot that is
	// later than the store's time is an ErrConflict.
	Fire(ctx context.Context, name, expression string, slot job.Micros, jobs []job.New) (Fired, error)
	// CronSlots returns the last fired slot of each cron entry, sorted by name. For an entry
	// that was paused before its first slot, the field Slot is 0.
	CronSlots(ctx context.Context) ([]CronSlot, error)
}

// BackgroundSweeper is a Keeper whose sweeps run in the background, so that they delay no
// other call. Such sweeps can follow each other closely and handle up to SweepMax rows each.
type BackgroundSweeper interface {
	// SweepsInBackground reports whether the sweeps run in the background.
	SweepsInBackground() bool
}

// The limits of the maintenance, and the actor that its audit rows name.
const (
	SweepMax = 5_000
	CronsMax = 1_000
	// ExpressionMax is the maximum size in bytes of a cron entry's expression, including its time
	// zone.
	ExpressionMax = 512
	SweepActor    = "redrive"
	// SweepAuditEvery is the minimum time between two audit rows about removals of the same
	// kind of data.
	SweepAuditEvery = time.Hour
)

// Retention says how long ended jobs and other data are kept; 0 means for ever.
type Retention struct {
	// Completed is for completed and cancelled jobs with their results. An idempotency key is
	// kept until the time in its KeyUntil, even if its job is removed earlier.
	Completed time.Duration
	// Failures is for failure records. The records of a dead job are kept as long as its dead
	// letter, and the records of a live job as long as the job.
	Failures time.Duration
	// Dead is for dead letters with their jobs and all failure records. The time is measured from
	// the death or from the last action on the dead letter. Some dead letters stay longer: a
	// pending dead letter stays for ever, a dead letter with a live job stays until that job ends,
	// and a dead letter that is ignored for a time stays until it becomes pending. A group is
	// removed when it has had no entries for this time, unless it is ignored.
	Dead time.Duration
	// DropPending removes dead letters of every status by their age, including pending
	// ones.
	DropPending bool
	Events      time.Duration
	// Batches is for batches that have ended, with their outcomes and the keys of their members. The
	// time is measured from the last end, or from the time at which the batch has expired. A batch
	// stays as long as one of its members does.
	Batches time.Duration
}

// Validate returns an ErrInvalid that names the field.
func (r *Retention) Validate() error {
	for _, d := range [...]struct {
		name  string
		value time.Duration
	}{{"completed", r.Completed}, {"failures", r.Failures}, {"dead", r.Dead}, {"events", r.Events}, {"batches", r.Batches}} {
		if d.value < 0 {
			return fmt.Errorf("retention: the time for %s is %s: it must not be negative: %w", d.name, d.value, ErrInvalid)
		}
	}
	return nil
}

// Swept is the result of a sweep. Its fields are numbers of removed rows; only Reopened is the
// number of dead letters that the sweep made pending again.
type Swept struct {
	Completed int64 `json:"completed"` // completed and cancelled jobs that were removed
	Failures  int64 `json:"failures"`
	Dead      int64 `json:"dead_letters"`
	Pending   int64 `json:"pending"` // removed dead letters that were pending
	Events    int64 `json:"events"`  // removed rows of events; a commit has one row
	Keys      int64 `json:"keys"`
	Batches   int64 `json:"batches"`
	Reopened  int64 `json:"reopened"`
	// More says that another sweep would now find more rows to remove.
	More bool `json:"-"`
}

// Removed reports whether anything was removed.
func (s *Swept) Removed() bool {
	return s.Completed+s.Failures+s.Dead+s.Events+s.Keys+s.Batches > 0
}

// CronSlot is the last fired slot of a cron entry.
type CronSlot struct {
	Name string     `json:"name"`
	Slot job.Micros `json:"slot"` // the last slot that was fired; 0 if no slot has been fired
	At   job.Micros `json:"at"`   // time at which the last slot was fired
	Job  job.ID     `json:"job"`  // the first job that was enqueued for this slot
	// Expression is the expression that defined the slot, with its time zone, such as "30 2 *
	// * * Europe/Berlin" or "@every 1h30m0s". If the entry has a different expression now,
	// then it was changed after the slot was fired, or another client uses another expression.
	Expression string `json:"expression"`
	// Paused says that a person has paused the entry. The slots of a paused entry are not
	// fired.
	Paused bool `json:"paused,omitempty"`
	// SetAt is the time at which a person last paused or resumed the entry; 0 means never. Slots up
	// to this time are not fired any more, so slots that passed during a pause are never fired.
	SetAt job.Micros `json:"set_at,omitempty"`
}

// Takes reports whether the stored data of the entry allow the slot to be fired.
func (c *CronSlot) Takes(slot job.Micros) bool {
	return slot > c.Slot && slot > c.SetAt && !c.Paused
}

// ScheduleState returns "paused" or "active", the state of a cron entry in audit rows and
// events.
func ScheduleState(paused bool) string {
	if paused {
		return "paused"
	}
	return "active"
}

// ScheduleAction returns the name of the audit action for SetSchedule.
func ScheduleAction(paused bool) string {
	if paused {
		return "schedule.pause"
	}
	return "schedule.resume"
}

// ScheduleRun is the audit action of RunSchedule, and ScheduleRan the Reason of its event.
const (
	ScheduleRun = "schedule.run"
	ScheduleRan = "run"
)

// Fired is the answer to Fire.
type Fired struct {
	Fired    bool
	Receipts []job.Receipt // receipts of the enqueued jobs, if this call has fired the slot
	Last     CronSlot      // the last fired slot of the entry after the call
}

// ValidateSlot returns an ErrInvalid or ErrTooLarge when the arguments of Fire are not
// allowed.
func ValidateSlot(name, expression string, slot job.Micros, jobs []job.New) error {
	if err := ValidName("schedule", name); err != nil {
		return err
	}
	switch {
	case expression == "":
		return fmt.Errorf("schedule %q: the expression is empty: set the expression that defines the slot: %w", name, ErrInvalid)
	case len(expression) > ExpressionMax:
		return fmt.Errorf("schedule %q: the expression and its time zone have %d bytes: at most %d bytes are allowed: %w",
			name, len(expression), ExpressionMax, ErrTooLarge)
	case slot <= 0:
		return fmt.Errorf("schedule %q: slot %d: its time must be after 1970: %w", name, slot, ErrInvalid)
	}
	return ValidateRun(name, jobs)
}

// ValidateRun returns an ErrInvalid or ErrTooLarge when RunSchedule cannot enqueue the jobs.
func ValidateRun(name string, jobs []job.New) error {
	if err := ValidName("schedule", name); err != nil {
		return err
	}
	switch {
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

// The functions below make the events for changes of dead letters and redrives. Every store
// writes the same events; the store sets the cursors of the events.

// DeadLetterEvent returns the event for a change of a dead letter.
func DeadLetterEvent(d *job.DeadLetter, did job.DeadAction) event.Event {
	return event.Event{Type: event.DeadLetterChanged, Job: d.Job, Kind: d.Kind, Queue: d.Queue, Owner: d.Owner,
		Life: d.Life, Class: d.Class, Reason: string(did)}
}

// PurgeEvent returns the event for the removal of a dead letter and its job. The cause is
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
