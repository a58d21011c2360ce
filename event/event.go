// Package event defines the events of jobs and queues, in the order of the commits, and
// the packed form in which stores keep them: one row for each commit, written in the
// same transaction as the change that it reports.
package event

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive/redrive/job"
)

// Type is the type of an event. The numbers are stored, so a number never changes its
// meaning.
type Type uint8

// The types of events. If an event reports a change of a job's state, its type has the same
// name as the cause of the change.
const (
	JobEnqueued    Type = 1
	JobClaimed     Type = 2
	JobSucceeded   Type = 3
	JobFailed      Type = 4
	JobSnoozed     Type = 5
	JobDeferred    Type = 6
	JobInterrupted Type = 7
	JobCrashed     Type = 8
	JobCancelled   Type = 9
	JobExpired     Type = 10
	JobRetried     Type = 11
	JobHeld        Type = 12 // Note names the people to notify, as the policy says

	JobCancelAsked Type = 20 // a person asked to stop a running job
	JobProgressed  Type = 21 // the handler of a running job reported progress
	JobAltered     Type = 22 // a person changed a waiting or retrying job; Queue and DueAt are the present ones
	QueueChanged   Type = 30 // a person changed the mode or the settings of a queue
	PolicyChanged  Type = 31 // the policy of the store has changed; Reason is the hash of the new policy
	NotifyChanged  Type = 32 // the rules of notifications have changed; Reason is the hash of the new rules, "" if they were taken back

	DeadLetterChanged Type = 40 // a person or a time limit changed the status of a dead letter; Reason is the job.DeadAction
	DeadLetterPurged  Type = 41 // a dead letter was removed together with its job; Reason is "purge" or "retention"
	RedriveChanged    Type = 42 // the state of a redrive changed; Note is the redrive's number, Reason is its state
	ScheduleFired     Type = 43 // a cron entry fired; Note is the entry's name, DueAt the slot, Job the job that it enqueued
	ScheduleChanged   Type = 44 // a person paused, resumed or ran a cron entry; Note is the entry's name, Reason is "paused", "active" or "run", Job the first job of a run
	GroupChanged      Type = 45 // a person changed what people know about a cause, or a job died of a cause that was marked as resolved; Note is the fingerprint, Reason says what changed (see store.Causes)
	AccessChanged     Type = 46 // an access key was created or changed; Note is its id, Reason is "create", "change", "rotate" or "revoke"
	NoteAdded         Type = 47 // a person or a handler added a note; Reason is the store.NoteKind, and Note is the fingerprint for a note on a group

	WebhookChanged Type = 48 // an endpoint of webhooks was changed; Note is its name, Reason is "add", "change", "rotate", "off", "on" or "remove"

	// BatchChanged: the state of a batch changed, or it was published; Reason is the state in lower case
	// or "published", Done the number of completed members, Total that of all, Note the last outcome.
	BatchChanged Type = 50

	StreamChanged Type = 53 // a person paused or resumed a stream; Note is its name, Reason is "paused" or "open"
	PositionMoved Type = 54 // a person moved the position of a stream; Note is stream/topic/partition, Reason is "rewind" or "accept-gap", Done and Total are the old and the new offset

	ProcessStarted Type = 60 // a process has begun to work; Note is its name
	ProcessStopped Type = 61 // a process has ended; Note is its name
	ProcessSilent  Type = 62 // a process has not reported for store.SilentAfter; Note is its name
)

var typeNames = map[Type]string{
	JobEnqueued: "job.enqueued", JobClaimed: "job.claimed", JobSucceeded: "job.succeeded",
	JobFailed: "job.failed", JobSnoozed: "job.snoozed", JobDeferred: "job.deferred",
	JobInterrupted: "job.interrupted", JobCrashed: "job.crashed", JobCancelled: "job.cancelled",
	JobExpired: "job.expired", JobRetried: "job.retried", JobHeld: "job.held", JobCancelAsked: "job.cancel_requested",
	JobProgressed: "job.progressed", JobAltered: "job.altered", QueueChanged: "queue.changed", PolicyChanged: "policy.published", NotifyChanged: "notify.published",
	DeadLetterChanged: "dead_letter.changed", DeadLetterPurged: "dead_letter.purged", RedriveChanged: "redrive.changed",
	ScheduleFired: "schedule.fired", ScheduleChanged: "schedule.changed", GroupChanged: "group.changed", AccessChanged: "access.changed", NoteAdded: "note.added", WebhookChanged: "webhook.changed", BatchChanged: "batch.changed", StreamChanged: "stream.changed", PositionMoved: "position.moved", ProcessStarted: "process.started", ProcessStopped: "process.stopped", ProcessSilent: "process.silent",
}

// Of returns the type of the event for a job's transition with the given cause.
func Of(cause job.Cause) Type { return Type(cause) }

// Types returns the types of events, sorted by their number.
func Types() []Type { return slices.Sorted(maps.Keys(typeNames)) }

// String returns the event's name, such as "job.failed".
func (t Type) String() string {
	if name, ok := typeNames[t]; ok {
		return name
	}
	return fmt.Sprintf("event(%d)", uint8(t))
}

// MarshalText implements encoding.TextMarshaler.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Cursor identifies an event by the number of its commit and the event's index within that
// commit. Cursors define the order of events. The numbers of commits can have gaps. The zero
// cursor is before the first event.
type Cursor struct {
	Seq   int64
	Index int
}

// String returns the cursor in the form "seq.index". ParseCursor reads this form.
func (c Cursor) String() string {
	return strconv.FormatInt(c.Seq, 10) + "." + strconv.Itoa(c.Index)
}

// MarshalText implements encoding.TextMarshaler.
func (c Cursor) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (c *Cursor) UnmarshalText(text []byte) (err error) {
	*c, err = ParseCursor(string(text))
	return err
}

// ParseCursor reads a cursor in the form that String returns; "" means the zero cursor.
func ParseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	seq, index, ok := strings.Cut(s, ".")
	n, err1 := strconv.ParseInt(seq, 10, 64)
	i, err2 := strconv.Atoi(index)
	if !ok || err1 != nil || err2 != nil || n < 0 || i < 0 {
		return Cursor{}, fmt.Errorf("event cursor %.40q: must be two whole numbers with a dot between them, such as 120.3", s)
	}
	return Cursor{Seq: n, Index: i}, nil
}

// Before reports whether c comes before the other cursor.
func (c Cursor) Before(other Cursor) bool {
	return c.Seq < other.Seq || c.Seq == other.Seq && c.Index < other.Index
}

// Event is one event. Fields that its type does not use are zero.
//
// At is the time at which the transaction of the event read the store's clock. The other times of
// the transaction follow from it: a retry with a wait of 200 ms has a DueAt of At plus 200 ms, and
// a job that was claimed at At was claimed before its deadline. Events are ordered by Cursor, in
// the order of their commits. On PostgreSQL transactions overlap, so an event can have an At a
// little before that of an earlier event.
type Event struct {
	Cursor Cursor     `json:"id"`
	At     job.Micros `json:"at"` // the time of the transaction, by the store's clock: see Event
	Type   Type       `json:"type"`

	Job     job.ID     `json:"job,omitempty"`
	Kind    string     `json:"kind,omitempty"`
	Queue   string     `json:"queue,omitempty"`
	Owner   string     `json:"owner,omitempty"`
	Batch   int64      `json:"batch,omitempty"`
	From    job.State  `json:"from,omitzero"`
	To      job.State  `json:"to,omitzero"`
	Life    int32      `json:"life,omitempty"`
	Token   job.Token  `json:"run,omitempty"`
	Attempt int32      `json:"attempt,omitempty"` // the number of attempts so far in this life
	DueAt   job.Micros `json:"due_at,omitempty"`  // the time at which a waiting job is due
	Class   string     `json:"class,omitempty"`   // the class of a failure
	Reason  string     `json:"reason,omitempty"`  // for a dead job: why it is dead; for a queue: what changed; otherwise see Type
	Done    int64      `json:"done,omitempty"`    // progress: the amount of work done
	Total   int64      `json:"total,omitempty"`   // progress: the total amount of work
	Note    string     `json:"note,omitempty"`    // progress: the handler's note; otherwise see Type

	// Correlation is the correlation id of a new job. Only events of the type JobEnqueued
	// have it.
	Correlation string `json:"correlation,omitempty"`
}
