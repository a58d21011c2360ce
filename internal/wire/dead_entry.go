package wire

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// DeadEntry is a dead letter together with its job: a row of an export, and an entry of the HTTP
// API.
type DeadEntry struct {
	Job  job.ID `json:"job_id"`
	Kind string `json:"task_type"`
	// Payload is null if the payload is not kept any more, or if the caller may not see it.
	Payload    json.RawMessage `json:"payload"`
	Metadata   DeadMetadata    `json:"metadata"`
	Reason     job.Reason      `json:"dlq_reason"`
	DiedAt     job.Micros      `json:"dlq_timestamp"`
	Status     job.Status      `json:"status"`
	Resolution *DeadResolution `json:"resolution" jsonschema:"nullable"` // the last action on the dead letter; null while the dead letter is pending
	ActedAt    *job.Micros     `json:"resolved_at" jsonschema:"nullable"`
	ActedBy    *string         `json:"resolved_by" jsonschema:"nullable"`
}

// DeadResolution is the last action on a dead letter.
type DeadResolution struct {
	Action job.DeadAction `json:"action"`
	Notes  string         `json:"notes"`
}

// DeadMetadata holds what is known of a dead letter and its job beside the other fields.
type DeadMetadata struct {
	// CreatedAt is when the job was enqueued; null if the job is not kept any more.
	CreatedAt *job.Micros `json:"created_at" jsonschema:"nullable"`
	// RetryCount is the number of retries in the present life, after its first attempt; null if the
	// job is not kept any more.
	RetryCount *int32 `json:"retry_count" jsonschema:"nullable"`
	// MaxRetry is the largest number of retries in a life; null if it is not known.
	MaxRetry  *int32     `json:"max_retry" jsonschema:"nullable"`
	LastError *DeadError `json:"last_error" jsonschema:"nullable"`
	// LastRetryAt is when the last retry began; null if there was none, or if it is not known.
	LastRetryAt    *job.Micros `json:"last_retry_at" jsonschema:"nullable"`
	IdempotencyKey *string     `json:"idempotency_key" jsonschema:"nullable"`

	Queue       string          `json:"queue,omitempty"`
	Priority    int8            `json:"priority,omitempty"`
	Owner       string          `json:"owner,omitempty"`
	Correlation string          `json:"correlation,omitempty"`
	Attrs       json.RawMessage `json:"attrs,omitempty"`
	Class       string          `json:"class,omitempty"`
	Code        string          `json:"code,omitempty"`
	Group       string          `json:"group,omitempty"`
	Message     string          `json:"message,omitempty"`
	Life        int32           `json:"life"`
	State       job.State       `json:"state,omitzero"`     // the state of the job now, unless it is not kept any more
	Attempts    int32           `json:"attempts,omitempty"` // number of attempts in the present life
	Runs        job.Token       `json:"runs,omitempty"`
	Death       int64           `json:"death,omitempty"` // the number of the last death of the job
	Redrive     int64           `json:"redrive,omitempty"`
	ReopenAt    job.Micros      `json:"reopen_at,omitempty"`
}

// DeadError is the failure of which a job has died.
type DeadError struct {
	Type      string           `json:"type"` // the class of the failure
	Message   string           `json:"message"`
	Timestamp job.Micros       `json:"timestamp"`
	Context   DeadErrorContext `json:"context"`
}

// DeadErrorContext says more about a failure, as far as it is known.
type DeadErrorContext struct {
	Code       string `json:"code,omitempty"`
	HTTPStatus int    `json:"http_status,omitempty"`
	Attempt    int32  `json:"attempt,omitempty"`
	Worker     string `json:"worker,omitempty"`
}

// DeadEntryOf returns the JSON shape of a dead letter with its job. The last failure of the job may
// be nil; then max_retry is known only if scheduled is not 0, or if the retries were used up. Parameter scheduled
// is the number of attempts in the retry schedule of the kind. If clean is not nil, secrets are
// removed from the payload, the attributes, the message and the notes.
func DeadEntryOf(d *store.DeadEntry, last *job.Failure, scheduled int, clean *failure.SanitizeOptions) *DeadEntry {
	l := &d.DeadLetter
	message := l.Message
	if clean != nil {
		message = failure.Sanitize(message, clean)
	}
	e := &DeadEntry{
		Job: l.Job, Kind: l.Kind, Reason: l.Reason, DiedAt: l.DiedAt, Status: l.Status,
		Metadata: DeadMetadata{
			Queue: l.Queue, Owner: l.Owner, Correlation: l.Correlation, Class: l.Class, Code: l.Code, Group: l.Fingerprint, Message: message,
			Life: l.Life, Death: l.Death, Redrive: l.Redrive, ReopenAt: l.ReopenAt,
		},
	}
	m := &e.Metadata
	if l.Class != "" || l.Message != "" {
		m.LastError = &DeadError{Type: l.Class, Message: message, Timestamp: l.DiedAt, Context: DeadErrorContext{Code: l.Code, Worker: l.Holder}}
	}
	if j := d.Job; j != nil {
		e.Payload = payloadValue(j.Payload, clean)
		m.Priority, m.Attempts, m.Runs, m.State, m.Attrs = j.Priority, j.Counters.Attempts, j.Token, j.State, cleanJSON(j.Attrs, clean)
		m.CreatedAt, m.RetryCount = &j.CreatedAt, new(max(0, j.Counters.Attempts-1))
		if j.Key != "" {
			m.IdempotencyKey = &j.Key
		}
		if *m.RetryCount > 0 && j.State == job.Dead && j.ClaimedAt > 0 {
			m.LastRetryAt = &j.ClaimedAt
		}
		m.MaxRetry = maxRetry(j, last, scheduled)
	}
	if last != nil && m.LastError != nil && last.Life == l.Life {
		m.LastError.Timestamp = last.EndedAt
		m.LastError.Context = DeadErrorContext{Code: last.Code, HTTPStatus: last.HTTPStatus, Attempt: last.Attempt, Worker: last.Holder}
	}
	if l.Action != "" {
		e.Resolution = &DeadResolution{Action: l.Action, Notes: l.Note}
		if clean != nil {
			e.Resolution.Notes = failure.Sanitize(l.Note, clean)
		}
		e.ActedAt, e.ActedBy = &l.ActedAt, &l.ActedBy
	}
	return e
}

// maxRetry returns the largest number of retries in a life of a job, or nil if it is not known.
func maxRetry(j *job.Job, last *job.Failure, scheduled int) *int32 {
	var failures []job.Failure
	if last != nil {
		failures = []job.Failure{*last}
	}
	n := words.MaxAttempts(j, failures, scheduled)
	switch {
	case n > 0:
		return new(int32(n - 1))
	case j.State == job.Dead && j.Reason == job.MaxRetries:
		return new(max(0, j.Counters.Attempts-1))
	}
	return nil
}

// payloadValue returns a payload as JSON. Valid JSON stays unchanged, other text becomes a JSON
// string, and other bytes become {"base64": …}.
func payloadValue(b []byte, clean *failure.SanitizeOptions) json.RawMessage {
	switch b = CleanedBytes(b, clean); {
	case len(b) == 0:
		return nil
	case isJSON(b):
		return b
	case utf8.Valid(b):
		return quoted(string(b))
	}
	return json.RawMessage(`{"base64":"` + base64.StdEncoding.EncodeToString(b) + `"}`)
}

func cleanJSON(b []byte, clean *failure.SanitizeOptions) json.RawMessage {
	if clean == nil || len(b) == 0 {
		return b
	}
	return failure.SanitizeJSON(b, clean)
}
