package job

import "fmt"

// Status is what people have done about a dead letter.
type Status uint8

// The statuses of a dead letter. The numbers are stored and append-only.
const (
	Pending  Status = 0 // nobody has acted yet
	Redriven Status = 1 // retried, its new life has not ended
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
	Code        string `json:"code,omitempty"` // of the failure that it died of
	Fingerprint string `json:"group,omitempty"`
	Message     string `json:"message,omitempty"` // of that failure, sanitised
	Kind        string `json:"kind"`
	Queue       string `json:"queue"`
	Owner       string `json:"owner,omitempty"`
	DiedAt      Micros `json:"died_at"`
	Revived     bool   `json:"revived"` // a retry has taken the job out of the dead

	// What was done about it last. A second death clears all of it.
	Action   DeadAction `json:"action,omitempty"`
	Note     string     `json:"note,omitempty"`      // what a person said
	ActedAt  Micros     `json:"acted_at,omitempty"`  // when
	ActedBy  string     `json:"acted_by,omitempty"`  // who; of an automatic end, who had retried
	ReopenAt Micros     `json:"reopen_at,omitempty"` // of an ignored one: pending again then; 0 is never
	Redrive  int64      `json:"redrive,omitempty"`   // the redrive that has brought the job back
}

// DeadAction is what was done about a dead letter. The words are stored and
// append-only.
type DeadAction string

// The actions. Those of people come first.
const (
	ActionRetried   DeadAction = "retried"
	ActionResolved  DeadAction = "resolved"
	ActionIgnored   DeadAction = "ignored"
	ActionReopened  DeadAction = "reopened"  // pending again, by a person or because the time to ignore it is over
	ActionMuted     DeadAction = "muted"     // ignored as it came, because its group is
	ActionCompleted DeadAction = "completed" // the retried job has completed
	ActionCancelled DeadAction = "cancelled" // the retried job was cancelled
)
