package store

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/redrive/redrive/job"
)

// Change says what a retry or Alter changes in a job. A zero field does not change the job's value.
// DeadLetters.Original returns the values that the job had before the first change.
type Change struct {
	Payload  []byte // the new payload; nil does not change the payload; allowed only for a single id
	Queue    string
	Priority int8
	// Once says that the priority applies to this life only, as in a redrive. When the job dies in
	// that life, it gets its earlier priority back. A change that only sets a priority for one life
	// does not make the store keep an Original. Only a retry can set Once.
	Once     bool
	Override []byte // the job's new override; nil does not change the override, empty removes it
	// Delay makes the job due this long after the store's current time; 0 makes it due now. Nil
	// does not change the due time of Alter; a job that is retried without a delay is due now.
	Delay *time.Duration
}

// IsZero reports whether the change changes nothing.
func (c *Change) IsZero() bool {
	return c.Payload == nil && c.Queue == "" && c.Priority == 0 && !c.Once && c.Override == nil && c.Delay == nil
}

// OneLifePriority reports whether the change sets a priority for one life only.
func (c *Change) OneLifePriority() bool { return c.Once && c.Priority != 0 }

// DueAt returns when a job that is retried with the change is due.
func (c *Change) DueAt(now job.Micros) job.Micros {
	if c.Delay == nil {
		return now
	}
	return now.Add(*c.Delay)
}

// shownChange is the JSON form of a change in the audit log.
type shownChange struct {
	Payload  *shownBytes     `json:"payload,omitempty"`
	Queue    string          `json:"queue,omitempty"`
	Priority int8            `json:"priority,omitempty"`
	Once     bool            `json:"once,omitempty"`
	Override json.RawMessage `json:"policy,omitempty"`
	Delay    string          `json:"delay,omitempty"`
}

type shownBytes struct {
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"` // the first half of the hash, in hexadecimal digits
}

// MarshalJSON returns the change as the audit shows it to people. A payload may be
// large or secret, so only its size and the start of its SHA-256 are shown. A
// removed override is null.
func (c Change) MarshalJSON() ([]byte, error) {
	shown := shownChange{Queue: c.Queue, Priority: c.Priority, Once: c.OneLifePriority()}
	if c.Payload != nil {
		shown.Payload = shownHash(c.Payload)
	}
	switch {
	case c.Override == nil:
	case len(c.Override) == 0:
		shown.Override = json.RawMessage("null")
	case json.Valid(c.Override):
		shown.Override = c.Override
	default:
		shown.Override = json.RawMessage(strconv.Quote(hex.EncodeToString(c.Override)))
	}
	if c.Delay != nil {
		shown.Delay = c.Delay.String()
	}
	return json.Marshal(shown)
}

// AuditRetry returns the text After for the audit row of a retry by id: the state of the job
// and the changes in the job.
func (c *Change) AuditRetry() string {
	if c.IsZero() {
		return job.Waiting.String()
	}
	return c.AuditAlter(job.Waiting)
}

// AuditAlter returns the After text of the audit row of Alter: the state of the job and
// what was changed in it.
func (c *Change) AuditAlter(state job.State) string {
	return auditJSON(struct {
		State  string `json:"state"`
		Change Change `json:"change"`
	}{state.String(), *c})
}

// AuditStep returns the text After for the audit row of a step by filter: the result of the
// step and the changes in the jobs.
func (a *Action) AuditStep(done int64) string {
	shown := struct {
		Done    int64   `json:"done"`
		Through int64   `json:"through"`
		After   int64   `json:"after"`
		Change  *Change `json:"change,omitempty"`
	}{done, a.Through, a.After, nil}
	if !a.Change.IsZero() {
		shown.Change = &a.Change
	}
	return auditJSON(shown)
}

// Audit returns the text After for the audit row of a redrive's start.
func (r *RedriveSpec) Audit() string {
	return auditJSON(struct {
		*RedriveSpec
		Change Change      `json:"change"`
		Patch  *shownBytes `json:"patch,omitempty"`
	}{r, r.Change, r.shownPatch()})
}

func auditJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return strconv.Quote(err.Error()) // this cannot fail, because structs of checked values can always be written as JSON
	}
	return string(text)
}

// Original holds the values of a job before a retry or Alter changed them for the first
// time.
type Original struct {
	Job      job.ID     `json:"job"`
	At       job.Micros `json:"at"` // time of the first change
	By       string     `json:"by"`
	Queue    string     `json:"queue"`
	Priority int8       `json:"priority"`
	Override []byte     `json:"-"`
	// Payload is the payload before it was changed for the first time. It is nil when nobody
	// has changed the payload; then the job still has its first payload.
	Payload []byte `json:"-"`
}

// DelayMax is the longest delay of a change: about 100 years.
const DelayMax = 36_525 * 24 * time.Hour

func (c *Change) validate() error {
	switch {
	case len(c.Payload) > job.PayloadMax:
		return fmt.Errorf("payload of %d bytes: at most %d bytes are allowed: %w", len(c.Payload), job.PayloadMax, ErrTooLarge)
	case len(c.Override) > job.PolicyMax:
		return fmt.Errorf("settings of %d bytes: at most %d bytes are allowed: %w", len(c.Override), job.PolicyMax, ErrTooLarge)
	case c.Priority < 0 || c.Priority > job.PriorityMax:
		return fmt.Errorf("priority %d: it must be %d to %d: %w", c.Priority, job.PriorityMin, job.PriorityMax, ErrInvalid)
	case c.Delay != nil && (*c.Delay < 0 || *c.Delay > DelayMax):
		return fmt.Errorf("delay %s: it must be 0 to %s: %w", c.Delay, DelayMax, ErrInvalid)
	case c.Queue != "":
		return ValidName("queue", c.Queue)
	}
	return nil
}
