package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
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
		out, err := a.outside(c, &j, failed[id], a.words())
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, out)
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
	return c.JSON(http.StatusOK, a.jobOut(wire.Cleaned(d, a.cleaning())))
}

// cleaning returns the options for removing secrets from payloads, attributes and results. Only the
// routes of payloads show a payload as it was sent.
func (a *API) cleaning() *failure.SanitizeOptions {
	return &failure.SanitizeOptions{Emails: a.o.HideEmails, KeepPaths: true, KeepAddresses: true}
}

// pathJob returns the job whose id is in the path of the request, as visible does.
func (a *API) pathJob(c *Call) (job.Job, error) {
	id, err := c.ID()
	if err != nil {
		return job.Job{}, err
	}
	return a.visible(c, id)
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
	if d.Job.Batch != 0 {
		out.Links["batch"] = fmt.Sprintf("%s/api/batches/%d", a.o.Base, d.Job.Batch)
	}
	if d.Letter != nil {
		out.Links["dead_letter"] = a.o.Base + "/api/admin/dlq/" + d.Job.ID.String()
	}
	return out
}
