package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// JobOut is everything that is stored about a job.
type JobOut struct {
	wire.JobDetails
	// AttemptsMax is the largest number of attempts in the present life, as far as it is known.
	AttemptsMax int `json:"attempts_max,omitempty"`
	// LastFailure is the last of the failures.
	LastFailure *wire.Failure `json:"last_failure,omitempty"`
	// Links are the paths of related answers, by name.
	Links map[string]string `json:"links"`
}

// Outside is a job as its owner sees it: without evidence, rules and workers.
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

// getJob answers with a job.
func (a *API) getJob(c *Call) error {
	id, err := c.ID()
	if err != nil {
		return err
	}
	j, err := a.await(c, id)
	if err != nil {
		return err
	}
	if c.Outside() {
		failed, err := a.latest(c, []job.Job{j})
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, a.outside(&j, failed[id]))
	}
	d, err := a.details(c, &j)
	if err != nil {
		return err
	}
	tag := tagOf(d)
	c.W.Header().Set("Etag", tag)
	if hasTag(c.R.Header.Get("If-None-Match"), tag) {
		c.W.WriteHeader(http.StatusNotModified)
		return nil
	}
	if !a.seesPayloads(c) {
		d.Job.Payload = nil
	}
	return c.JSON(http.StatusOK, a.jobOut(d))
}

// visible returns a job that the caller may see. For a job of another owner, the answer is, byte
// for byte, the same as for a job that does not exist.
func (a *API) visible(c *Call, id job.ID) (job.Job, error) {
	j, err := a.client.Get(c.Context(), id)
	if err == nil && !c.Sees(&j) || errors.Is(err, redrive.ErrNotFound) {
		return job.Job{}, NotFound.New("job %d: there is no such job", id)
	}
	return j, err
}

// details reads everything that is stored about a job.
func (a *API) details(c *Call, j *job.Job) (*words.Details, error) {
	d := &words.Details{Job: *j, Scheduled: a.o.Kinds[j.Kind].Attempts}
	ctx := c.Context()
	var err error
	if d.Failures, err = a.client.Failures(ctx, j.ID); err != nil {
		return nil, fmt.Errorf("read the failures of job %d: %w", j.ID, err)
	}
	letter, err := a.client.DeadLetter(ctx, j.ID)
	switch {
	case err == nil:
		d.Letter = &letter
	case !errors.Is(err, redrive.ErrNotFound):
		return nil, fmt.Errorf("read the dead letter of job %d: %w", j.ID, err)
	}
	if d.Notes, err = a.client.Notes(ctx, redrive.NoteFilter{Job: j.ID, Limit: job.PageMax}); err != nil {
		return nil, fmt.Errorf("read the notes of job %d: %w", j.ID, err)
	}
	slices.Reverse(d.Notes)
	queues, err := a.client.Queues(ctx)
	if err != nil {
		return nil, fmt.Errorf("read queues: %w", err)
	}
	for _, q := range queues {
		if q.Name == j.Queue {
			d.Queue = q
		}
	}
	return d, nil
}

func (a *API) jobOut(d *words.Details) JobOut {
	out := JobOut{JobDetails: wire.DetailsOf(d), AttemptsMax: d.MaxAttempts()}
	if n := len(out.Failures); n > 0 {
		out.LastFailure = &out.Failures[n-1]
	}
	self := a.o.Base + "/api/jobs/" + d.Job.ID.String()
	out.Links = map[string]string{"self": self, "explain": self + "/explain", "payload": self + "/payload"}
	if d.Letter != nil {
		out.Links["dead_letter"] = a.o.Base + "/api/admin/dlq/" + d.Job.ID.String()
	}
	return out
}

// outside returns the outside view of a job with its last failure, which may be nil.
func (a *API) outside(j *job.Job, last *job.Failure) Outside {
	w := a.client.Policy().Spec().Words
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
		out.Result = wire.JobOf(j).Result
	}
	rules := a.o.Kinds[j.Kind].Owner
	if j.State.Ready() {
		out.NextAttemptAt = j.RunAt
		if rules.Cancel {
			out.Can = append(out.Can, "cancel")
		}
	}
	if j.State == job.Dead && rules.Retry && (rules.MaxRetries == 0 || int(j.Life) <= rules.MaxRetries) {
		out.Can = append(out.Can, "retry")
	}
	if !rules.NoFeedback {
		out.Can = append(out.Can, "feedback")
	}
	if last != nil && (j.State == job.Retrying || j.State == job.Dead) {
		out.Message = last.UserMessage
		out.Error = w.ErrorObject(&policy.ErrorValues{
			Class: failure.Class(last.Class), Code: last.Code, Message: last.UserMessage, UserMessage: last.UserMessage, Permanent: last.Permanent,
			At: last.EndedAt.Time(), Attempt: int(last.Attempt), Retries: int(max(0, j.Counters.Attempts-1)), MaxRetries: max(0, out.MaxAttempts-1),
			NextRetryAt: nextRetry(j, job.At(a.o.Now())),
		})
	}
	return out
}

// nextRetry returns when a retrying job may start, or the zero time if it may start now or is not
// retried.
func nextRetry(j *job.Job, now job.Micros) time.Time {
	if j.State != job.Retrying || j.RunAt <= now {
		return time.Time{}
	}
	return j.RunAt.Time()
}
