package job

import "fmt"

// Status says what has happened with a dead letter since its job died.
type Status uint8

// The statuses of a dead letter. The numbers are stored, so they never change; new numbers
// can be added.
const (
	Pending  Status = 0 // no person has acted on the dead letter yet
	Redriven Status = 1 // the job was retried and its new life has not ended
	Resolved Status = 2
	Ignored  Status = 3
)

var statusNames = [...]string{"pending", "retried", "resolved", "ignored"}

// Statuses lists all statuses.
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

// DeadLetter is the entry of a job that has died. A job has at most one dead letter; it
// becomes pending again when the job dies again.
type DeadLetter struct {
	// Death is the number of the job's last death. A store numbers the deaths of all
	// its jobs in the order of time.
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
	Correlation string `json:"correlation,omitempty"`
	Batch       int64  `json:"batch,omitempty"`
	Aside       bool   `json:"aside,omitempty"`  // the job is neither in the total nor in the end of its batch
	Holder      string `json:"holder,omitempty"` // the process that ran the job last
	DiedAt      Micros `json:"died_at"`
	Revived     bool   `json:"revived"` // whether the job was retried and is live again

	// Action is the last action on the dead letter; the following fields describe that action.
	// When the job dies again, these fields are cleared.
	Action   DeadAction `json:"action,omitempty"`
	Note     string     `json:"note,omitempty"`      // the reason that the person gave for the action
	ActedAt  Micros     `json:"acted_at,omitempty"`  // the time of the action
	ActedBy  string     `json:"acted_by,omitempty"`  // the person who acted; for an automatic action, the person who retried the job before that action
	ReopenAt Micros     `json:"reopen_at,omitempty"` // the time at which an ignored dead letter becomes pending again; 0 means never
	Redrive  int64      `json:"redrive,omitempty"`   // the number of the redrive that retried the job
}

// DeadAction is an action on a dead letter. The words are stored, so they never change;
// new words can be added.
type DeadAction string

// The actions on a dead letter: first the actions of people, then the automatic actions.
const (
	ActionRetried   DeadAction = "retried"
	ActionResolved  DeadAction = "resolved"
	ActionIgnored   DeadAction = "ignored"
	ActionReopened  DeadAction = "reopened"  // the dead letter is pending again, because of a person or because ReopenAt has passed
	ActionMuted     DeadAction = "muted"     // the dead letter was ignored when it was made, because its whole group is ignored
	ActionCompleted DeadAction = "completed" // the retried job has completed
	ActionCancelled DeadAction = "cancelled" // the retried job was cancelled
)
