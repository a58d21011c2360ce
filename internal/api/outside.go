package api

import (
	"bytes"
	"encoding/json"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// Outside is a job as its owner sees it: without evidence, rules and workers. If the policy has names
// for retries, max_retries and next_retry_at (words.error), the object has these fields, too.
type Outside struct {
	ID          job.ID          `json:"id"`
	Kind        string          `json:"kind"`
	Status      string          `json:"status"` // the state, in the words of the policy
	Progress    *job.Progress   `json:"progress,omitempty"`
	Result      json.RawMessage `json:"result,omitempty"`
	Attempts    int32           `json:"attempts"`
	MaxAttempts int             `json:"max_attempts,omitempty"`
	// NextAttemptAt is when a waiting or retrying job may start.
	NextAttemptAt job.Micros `json:"next_attempt_at,omitempty"`
	// Message is the text for users about the last failure.
	Message string `json:"message,omitempty"`
	// Error is the last failure, in the fields that the policy names.
	Error     json.RawMessage `json:"error,omitempty"`
	CreatedAt job.Micros      `json:"created_at"`
	UpdatedAt job.Micros      `json:"updated_at"`
	// Can lists what the caller can do with the job now: retry, cancel, feedback.
	Can []string `json:"can"`
}

// outsideJob is an Outside with the fields that the policy adds.
type outsideJob struct {
	Outside
	more []byte // members of a JSON object
}

// MarshalJSON implements json.Marshaler.
func (o outsideJob) MarshalJSON() ([]byte, error) { return withMembers(o.Outside, o.more) }

// withMembers writes a struct as a JSON object, with more members at its end.
func withMembers(v any, more []byte) ([]byte, error) {
	var text bytes.Buffer
	if err := wire.Encode(&text, v, ""); err != nil || len(more) == 0 {
		return text.Bytes(), err
	}
	object := bytes.TrimRight(text.Bytes(), "\n")
	return append(append(append(object[:len(object)-1], ','), more...), '}'), nil
}

// words returns the words of the policy for the outside.
func (a *API) words() *policy.Words {
	w := a.client.Policy().Spec().Words
	return &w
}

// outside returns the outside view of a job with its last failure, which may be nil, in the given words.
func (a *API) outside(c *Call, j *job.Job, last *job.Failure, w *policy.Words) (outsideJob, error) {
	out := Outside{
		ID: j.ID, Kind: j.Kind, Status: w.State(j.State, j.Reason), Attempts: j.Counters.Attempts, CreatedAt: j.CreatedAt,
		UpdatedAt: max(j.CreatedAt, j.LifeAt, j.ClaimedAt, j.FinishedAt, j.Progress.At), Can: []string{},
	}
	var failures []job.Failure
	if last != nil {
		failures = []job.Failure{*last}
	}
	out.MaxAttempts = words.MaxAttempts(j, failures, a.o.Kinds[j.Kind].Attempts)
	if j.Progress != (job.Progress{}) {
		out.Progress = &j.Progress
	}
	if j.State == job.Completed && len(j.Result) > 0 {
		clean := *j
		clean.Result = wire.CleanedBytes(j.Result, a.cleaning())
		out.Result = wire.JobOf(&clean).Result
	}
	rules := a.o.Kinds[j.Kind].Owner
	if j.State.Ready() {
		out.NextAttemptAt = j.RunAt
		if rules.Cancel {
			out.Can = append(out.Can, "cancel")
		}
	}
	if j.State == job.Dead && rules.Retry {
		left, err := a.ownerRetriesLeft(c, j)
		if err != nil {
			return outsideJob{}, err
		}
		if left {
			out.Can = append(out.Can, "retry")
		}
	}
	if !rules.NoFeedback {
		out.Can = append(out.Can, "feedback")
	}
	values := errorValues(last, &retries{j.State, j.RunAt, j.Counters.Attempts, out.MaxAttempts}, job.At(a.o.Now()))
	if last != nil && (j.State == job.Retrying || j.State == job.Dead) {
		out.Message = words.JobUserText(j, last)
		values.Message, values.UserMessage = out.Message, out.Message
		out.Error = w.ErrorObject(values)
	}
	return outsideJob{out, w.RetryFields(values)}, nil
}

// retries says how the retries of a job stand.
type retries struct {
	state       job.State
	due         job.Micros
	attempts    int32
	maxAttempts int // 0 if it is not known
}

// errorValues returns what the outside sees of a failure, which may be nil: the texts for users, and how the
// retries of its job stand.
func errorValues(last *job.Failure, r *retries, now job.Micros) *policy.ErrorValues {
	v := &policy.ErrorValues{Retries: int(max(0, r.attempts-1)), MaxRetries: r.maxAttempts - 1}
	if r.state == job.Retrying && r.due > now { // a retry that is due has no time: it may start now
		v.NextRetryAt = r.due.Time()
	}
	if last != nil {
		v.Class, v.Code, v.Message, v.UserMessage = failure.Class(last.Class), last.Code, last.UserMessage, last.UserMessage
		v.Permanent, v.At, v.Attempt = last.Permanent, last.EndedAt.Time(), int(last.Attempt)
	}
	return v
}
