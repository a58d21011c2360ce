package job

import "fmt"

// Status is the handling state of a dead letter.
type Status uint8

// The statuses of a dead letter. The numbers are stored and append-only.
const (
	Pending  Status = 0 // no person has acted yet
	Redriven Status = 1 // retried; the new life of the job has not ended
	Resolved Status = 2
	Ignored  Status = 3
)

var statusNames = [...]string{"pending", "retried", "resolved", "ignored"}

// Statuses are all statuses.
var Statuses = [...]Status{Pending, Redriven, Resolved, Ignored}

// String returns the status's word.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// MarshalText implements encoding.TextMarshaler.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// DeadLetter is the entry of a job that failed for good: one per job, reopened
// when the job dies again.
type DeadLetter struct {
	// Death numbers the deaths of a store in the order of time. When the job dies
	// again its entry gets the number of that death.
	Death       int64  `json:"death"`
	Job         ID     `json:"job"`
	Life        int32  `json:"life"`
	Status      Status `json:"status"`
	Reason      Reason `json:"reason"`
	Class       string `json:"class,omitempty"`
	Code        string `json:"code,omitempty"` // the code of the last failure
	Fingerprint string `json:"group,omitempty"`
	Message     string `json:"message,omitempty"` // the message of the last failure, sanitised
	Kind        string `json:"kind"`
	Queue       string `json:"queue"`
	Owner       string `json:"owner,omitempty"`
	DiedAt      Micros `json:"died_at"`
	Revived     bool   `json:"revived"` // whether a retry has made the job live again

	// Action is what was done last. When the job dies again, these fields are cleared.
	Action   DeadAction `json:"action,omitempty"`
	Note     string     `json:"note,omitempty"`      // the reason that the person gave
	ActedAt  Micros     `json:"acted_at,omitempty"`  // the time of the action
	ActedBy  string     `json:"acted_by,omitempty"`  // the person who acted; for an automatic action, the person who had retried
	ReopenAt Micros     `json:"reopen_at,omitempty"` // when an ignored dead letter becomes pending again; 0 means never
	Redrive  int64      `json:"redrive,omitempty"`   // the number of the redrive that has retried the job
}

// DeadAction is an action on a dead letter. The words are stored and append-only.
type DeadAction string

// The actions on a dead letter; those of people come first.
const (
	ActionRetried   DeadAction = "retried"
	ActionResolved  DeadAction = "resolved"
	ActionIgnored   DeadAction = "ignored"
	ActionReopened  DeadAction = "reopened"  // pending again, by a person or because ReopenAt has passed
	ActionMuted     DeadAction = "muted"     // ignored at once, because the whole group is ignored
	ActionCompleted DeadAction = "completed" // the retried job has completed
	ActionCancelled DeadAction = "cancelled" // the retried job was cancelled
)
