package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/access"
)

// seesPayloads reports whether the caller may see payloads.
func (a *API) seesPayloads(c *Call) bool {
	return c.Caller.Roles.Any(access.Operate) || a.o.ViewersSeePayloads
}

// explainJob answers why a job is in its state.
func (a *API) explainJob(c *Call) error {
	d, err := a.Details(c)
	if err != nil {
		return err
	}
	waits, err := a.Waits(c.Context(), d)
	if err != nil {
		return err
	}
	now, j := job.At(a.o.Now()), &d.Job
	b, err := a.BatchOfJob(c, j)
	if err != nil {
		return err
	}
	e := wire.Explanation{
		Job: j.ID, Kind: j.Kind, Queue: j.Queue, State: j.State,
		Standing: d.Standing(now) + d.Because(), Waits: waits, Next: d.Next(a.way), Batch: wire.MemberBatchOf(b, j, now), Runs: []wire.Run{},
	}
	operators := words.Operators{Policy: a.client.StoredPolicy}
	for i := range d.Failures {
		e.Runs = append(e.Runs, wire.RunOf(&d.Failures[i], operators.Text(c.Context(), &d.Failures[i])))
	}
	return c.JSON(http.StatusOK, e)
}

// way returns the route of a step that a person can do next.
func (a *API) way(s words.Step) string {
	base := a.o.Base + "/api"
	switch s.Verb {
	case words.RetryJob:
		return fmt.Sprintf("POST %s/jobs/%d/retry", base, s.Job)
	case words.ShowJob:
		return fmt.Sprintf("GET %s/jobs/%d", base, s.Job)
	case words.ExplainJob:
		return fmt.Sprintf("GET %s/jobs/%d/explain", base, s.Job)
	case words.ResolveDead:
		return fmt.Sprintf("POST %s/admin/dlq/%d/resolve", base, s.Job)
	case words.IgnoreDead:
		return fmt.Sprintf("POST %s/admin/dlq/%d/ignore", base, s.Job)
	case words.ReopenDead:
		return fmt.Sprintf("POST %s/admin/dlq/%d/reopen", base, s.Job)
	case words.RedriveGroup:
		return fmt.Sprintf("POST %s/redrives", base)
	case words.ListRedriven:
		return fmt.Sprintf("GET %s/admin/dlq?redrive=%d&status=pending", base, s.Redrive)
	case words.ShowRedrive, words.WatchRedrive:
		return fmt.Sprintf("GET %s/redrives/%d", base, s.Redrive)
	case words.ProceedRedrive:
		return fmt.Sprintf("POST %s/redrives/%d/proceed", base, s.Redrive)
	case words.PauseRedrive:
		return fmt.Sprintf("POST %s/redrives/%d/pause", base, s.Redrive)
	case words.ResumeRedrive:
		return fmt.Sprintf("POST %s/redrives/%d/resume", base, s.Redrive)
	case words.CancelRedrive:
		return fmt.Sprintf("POST %s/redrives/%d/cancel", base, s.Redrive)
	case words.ResumeQueue:
		return fmt.Sprintf("POST %s/queues/%s/resume", base, s.Queue)
	case words.ShowBatch:
		return fmt.Sprintf("GET %s/batches/%d", base, s.Batch)
	case words.AddMembers:
		return fmt.Sprintf("POST %s/batches/%d/members", base, s.Batch)
	case words.PublishBatch:
		return fmt.Sprintf("POST %s/batches/%d/publish", base, s.Batch)
	case words.WaitBatch:
		return fmt.Sprintf("GET %s/batches/%d?wait=30s&until=ended", base, s.Batch)
	case words.RetryBatch:
		return fmt.Sprintf("POST %s/batches/%d/retry", base, s.Batch)
	case words.ListDeadMembers:
		return fmt.Sprintf("GET %s/batches/%d/members?state=dead", base, s.Batch)
	}
	return ""
}

// payload answers with the bytes of the payload.
func (a *API) payload(c *Call) error {
	j, err := a.pathJob(c)
	if err != nil {
		return err
	}
	if j.Payload == nil {
		return NotFound.New("job %d: its payload is not kept: it is %s", j.ID, j.State)
	}
	media := "application/json"
	if !utf8.Valid(j.Payload) || !json.Valid(j.Payload) {
		media = "application/octet-stream"
		c.W.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="job-%d-payload"`, j.ID))
	}
	return c.Bytes(http.StatusOK, media, j.Payload)
}

// OriginalOut is a job as it was before its first change.
type OriginalOut struct {
	redrive.Original
	wire.Payload
}

// original answers with a job as it was before its first change.
func (a *API) original(c *Call) error {
	j, err := a.pathJob(c)
	if err != nil {
		return err
	}
	o, err := a.client.Original(c.Context(), j.ID)
	if err != nil {
		return err
	}
	out := OriginalOut{Original: o, Payload: wire.PayloadOf(o.Payload)}
	if !a.seesPayloads(c) {
		out.Payload = wire.Payload{}
	}
	return c.JSON(http.StatusOK, out)
}
