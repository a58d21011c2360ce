package wire

import (
	"encoding/json"

	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// Receipt is the answer to the enqueue of one job.
type Receipt struct {
	Line int    `json:"line,omitempty"` // number of the line in the file, if the job was read from a file
	ID   job.ID `json:"id"`
	// Existing is true if a job with the same key already existed, so that no job was created.
	Existing bool      `json:"existing"`
	State    job.State `json:"state"`
	// Status is "skipped" and Reason "already_processed" if that job has completed.
	Status string `json:"status,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Summary is the beginning of the result of that job.
	Summary string `json:"result_summary,omitempty"`
}

// ReceiptOf returns the wire form of a receipt. The line is that of the job in a file, or 0.
func ReceiptOf(r *job.Receipt, line int) Receipt {
	out := Receipt{Line: line, ID: r.ID, Existing: r.Existing, State: r.State}
	if r.Skipped() {
		out.Status, out.Reason = job.StatusSkipped, job.AlreadyProcessed
	}
	return out
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
	// MaxAttempts is the largest number of attempts in the current life, as far as it is known
	// now.
	MaxAttempts int          `json:"max_attempts,omitempty"`
	LastFailure *job.Failure `json:"last_failure,omitempty"` // the last failure of the job; set for jobs that are retrying or dead
}

// JobList is a page of jobs.
type JobList struct {
	Jobs []JobRow     `json:"jobs"`
	Next store.Cursor `json:"next,omitzero"` // token for the next page; left out on the last page
	// Searched is set if the page ended before it was full; see store.Page.
	Searched job.Micros `json:"searched,omitempty"`
}

// Failure is the record of a failed run.
type Failure struct {
	job.Failure
	Details  json.RawMessage `json:"details,omitempty"`
	Decision json.RawMessage `json:"decision,omitempty"`
	Stderr   string          `json:"stderr,omitempty"`
	Stdout   string          `json:"stdout,omitempty"`
	Stack    string          `json:"stack,omitempty"`
}

// FailureOf returns the JSON shape of a failure.
func FailureOf(f *job.Failure) Failure {
	return Failure{*f, raw(f.Details), raw(f.Decision), string(f.Stderr), string(f.Stdout), f.Stack}
}

func failuresOf(list []job.Failure) []Failure {
	out := make([]Failure, len(list))
	for i := range list {
		out[i] = FailureOf(&list[i])
	}
	return out
}

// JobDetails holds everything that is stored about a job.
type JobDetails struct {
	Job      Job             `json:"job"`
	Failures []Failure       `json:"failures"` // the failures of the job, the oldest first
	Letter   *job.DeadLetter `json:"dead_letter,omitempty"`
	Notes    []store.Note    `json:"notes,omitempty"` // notes and feedbacks, from the oldest to the newest
}

// DetailsOf returns the JSON shape of everything that is stored about a job.
func DetailsOf(d *words.Details) JobDetails {
	return JobDetails{Job: JobOf(&d.Job), Failures: failuresOf(d.Failures), Letter: d.Letter, Notes: d.Notes}
}

// Run is a failed run with the facts about the decision that followed.
type Run struct {
	Failure
	Facts    []policy.Fact `json:"facts,omitempty"`
	Operator string        `json:"operator,omitempty"` // text that says who must act, and how
}

// RunOf returns the JSON shape of a failed run.
func RunOf(f *job.Failure, operator string) Run {
	v := Run{Failure: FailureOf(f), Operator: operator}
	if r, err := policy.ParseRecord(f.Decision); err == nil {
		v.Facts = r.Facts()
	}
	return v
}

// Explanation says why a job is in its current state.
type Explanation struct {
	Job      job.ID    `json:"job"`
	Kind     string    `json:"kind"`
	Queue    string    `json:"queue"`
	State    job.State `json:"state"`
	Standing string    `json:"standing"`
	// Waits says why a waiting job does not run yet.
	Waits string `json:"waits,omitempty"`
	Next  string `json:"next,omitempty"`
	// Batch is the batch of which the job is a member.
	Batch *MemberBatch `json:"batch,omitempty"`
	Runs  []Run        `json:"runs"` // the failed runs, the oldest first
}

// JobAnswer is the result for one job of an action on several jobs.
type JobAnswer struct {
	ID    job.ID    `json:"id"`
	State job.State `json:"state,omitzero"`
	Asked bool      `json:"cancel_requested,omitempty"` // whether the running job was asked to stop
	Code  string    `json:"error_code,omitempty"`       // name of the kind of the error
	Error string    `json:"error,omitempty"`
}
