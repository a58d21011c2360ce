package wire

import (
	"encoding/json"

	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// Receipt is the answer for a job that was enqueued.
type Receipt struct {
	Line int    `json:"line,omitempty"` // Line is the line of the file that the job was read from.
	ID   job.ID `json:"id"`
	// Existing is true when a job with the same key existed, so no job was created.
	Existing bool      `json:"existing"`
	State    job.State `json:"state"`
}

// Job is a job with its payload and result.
type Job struct {
	job.Job
	Attrs json.RawMessage `json:"attrs,omitempty"`
	Payload
	Result json.RawMessage `json:"result,omitempty"`
}

// JobOf returns the JSON shape of a job.
func JobOf(j *job.Job) Job {
	return Job{Job: *j, Attrs: raw(j.Attrs), Payload: PayloadOf(j.Payload), Result: raw(j.Result)}
}

// JobRow is a job in a list, without its payload and its result.
type JobRow struct {
	job.Job
	// MaxAttempts is how many attempts the present life may have, as far as it is known
	// now.
	MaxAttempts int          `json:"max_attempts,omitempty"`
	LastFailure *job.Failure `json:"last_failure,omitempty"` // LastFailure is set for retrying and dead jobs.
}

// JobList is a page of jobs.
type JobList struct {
	Jobs []JobRow `json:"jobs"`
	Next job.ID   `json:"next,omitempty"` // Next is the token of the next page, left out on the last page.
}

// Failure is the record of a failed run.
type Failure struct {
	job.Failure
	Details  json.RawMessage `json:"details,omitempty"`
	Decision json.RawMessage `json:"decision,omitempty"`
	Stderr   string          `json:"stderr,omitempty"`
	Stack    string          `json:"stack,omitempty"`
}

// FailureOf returns the JSON shape of a failure.
func FailureOf(f *job.Failure) Failure {
	return Failure{*f, raw(f.Details), raw(f.Decision), string(f.Stderr), f.Stack}
}

func failuresOf(list []job.Failure) []Failure {
	out := make([]Failure, len(list))
	for i := range list {
		out[i] = FailureOf(&list[i])
	}
	return out
}

// JobDetails is all that is stored about a job.
type JobDetails struct {
	Job      Job             `json:"job"`
	Failures []Failure       `json:"failures"` // Failures are ordered from the oldest to the newest.
	Letter   *job.DeadLetter `json:"dead_letter,omitempty"`
}

// DetailsOf returns the JSON shape of what is stored about a job.
func DetailsOf(d *words.Details) JobDetails {
	return JobDetails{Job: JobOf(&d.Job), Failures: failuresOf(d.Failures), Letter: d.Letter}
}

// Run is a failed run with the facts of the decision that was made about it.
type Run struct {
	Failure
	Facts    []policy.Fact `json:"facts,omitempty"`
	Operator string        `json:"operator,omitempty"` // Operator says who has to act, and how.
}

// RunOf returns the JSON shape of a failed run.
func RunOf(f *job.Failure, operator string) Run {
	v := Run{Failure: FailureOf(f), Operator: operator}
	if r, err := policy.ParseRecord(f.Decision); err == nil {
		v.Facts = r.Facts()
	}
	return v
}

// Explanation says why a job is in the state that it is in.
type Explanation struct {
	Job      job.ID    `json:"job"`
	Kind     string    `json:"kind"`
	Queue    string    `json:"queue"`
	State    job.State `json:"state"`
	Standing string    `json:"standing"`
	Next     string    `json:"next,omitempty"`
	Runs     []Run     `json:"runs"` // Runs are the failed runs, oldest first.
}

// JobAnswer is the result for one job when an action is applied to several.
type JobAnswer struct {
	ID    job.ID    `json:"id"`
	State job.State `json:"state,omitzero"`
	Asked bool      `json:"cancel_requested,omitempty"` // Asked is true when the running job was asked to stop.
	Code  string    `json:"error_code,omitempty"`       // Code is the kind of the error.
	Error string    `json:"error,omitempty"`
}
