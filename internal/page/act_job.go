package page

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// ignoredFor is how long a dead letter is put aside if the form names no time.
const ignoredFor = 48 * time.Hour

// actOnJob carries out the action of a button of a job, and the next page shows the result. The form
// has the state that the page has shown: if the job has another state now, nothing is done. A form
// into which a person has typed is shown again with its mistakes.
func (p *Pages) actOnJob(a *api.API, c *api.Call) error {
	in, err := form(c)
	if err != nil {
		return err
	}
	id, err := c.ID()
	if err != nil {
		return err
	}
	do := c.R.PathValue("act")
	if do == "check" {
		return p.writeJob(a, c, http.StatusOK, in, nil)
	}
	back := local(in.Get("back"))
	if back == "/ui/" {
		back = "/ui/jobs/" + id.String()
	}
	return p.onceTyped(a, c, in, back, func() (done, error) { return p.doOnJob(a, c, id, do, in) }, p.writeJob)
}

// onceTyped calls once to carry out the action of a form. A form with text fields also sends a field named "form". If
// the action of such a form is refused, onceTyped calls write, which shows the page again with the typed texts and the reasons.
func (p *Pages) onceTyped(a *api.API, c *api.Call, in url.Values, back string, act func() (done, error),
	write func(a *api.API, c *api.Call, status int, in url.Values, wrong []string) error,
) error {
	if in.Get("form") == "" {
		return p.once(a, c, in, back, act)
	}
	var refused *api.Problem
	why := ""
	err := p.once(a, c, in, back, func() (done, error) {
		d, err := act()
		if err != nil {
			if refused = api.ProblemOf(err); refused.Status < http.StatusInternalServerError && refused.Kind() != api.NotFound {
				why, err = detailOf(err), errTyped
			}
		}
		return d, err
	})
	if errors.Is(err, errTyped) {
		return write(a, c, refused.Status, in, wrongOf(refused, why))
	}
	return err
}

// wrongOf lists why a form was refused.
func wrongOf(problem *api.Problem, why string) []string {
	wrong := []string{"Nothing was done: " + why}
	for i := range problem.Errors {
		if detail := words.Clean(problem.Errors[i].Detail); detail != why {
			wrong = append(wrong, detail)
		}
	}
	return wrong
}

// errTyped says that a form is shown again with what was typed.
var errTyped = errors.New("the form is shown again")

// stillShown returns an error if the job has moved on since the page of the form was loaded.
func stillShown(d *words.Details, in url.Values) error {
	j := &d.Job
	if was := in.Get("state"); was != "" && was != j.State.String() || in.Get("life") != "" && in.Get("life") != strconv.Itoa(int(j.Life)) {
		return api.StateMoved.New("job %d is %s now, in life %d", j.ID, j.State, j.Life)
	}
	if was := in.Get("death"); was != "" && was != "0" && (d.Letter == nil || was != strconv.FormatInt(d.Letter.Death, 10)) {
		return api.StateMoved.New("job %d has died again since the page was loaded", j.ID)
	}
	return nil
}

// seenOf is what the page of the form has shown of the job. The store compares it again in the
// transaction of the action.
func seenOf(j *job.Job, in url.Values) *redrive.Seen {
	seen := &redrive.Seen{}
	if in.Get("state") != "" {
		seen.State = &j.State
	}
	if in.Get("life") != "" {
		seen.Life = &j.Life
	}
	return seen
}

func (p *Pages) doOnJob(a *api.API, c *api.Call, id job.ID, do string, in url.Values) (done, error) {
	client, ctx, by := a.Client(), c.Context(), c.By(in.Get("reason"))
	if err := api.CheckReason(by.Reason); err != nil {
		return done{}, err
	}
	d, err := a.Details(c)
	if err != nil {
		return done{}, err
	}
	j := &d.Job
	if err := stillShown(d, in); err != nil {
		return done{}, err
	}
	if do != "note" {
		by.Seen = seenOf(j, in)
	}
	switch do {
	case "retry":
		change, err := changeOf(a, j, in)
		if err != nil {
			return done{}, err
		}
		if err := client.Retry(ctx, by, id, &change); err != nil {
			return done{}, err
		}
		text := fmt.Sprintf("Job %d waits again, in life %d.", id, j.Life+1)
		if change.Payload != nil {
			text = fmt.Sprintf("Job %d waits again with the new payload, in life %d.", id, j.Life+1)
		}
		return done{Text: text + " It cannot be undone."}, nil
	case "run":
		now := time.Duration(0)
		return done{Text: fmt.Sprintf("Job %d is due now.", id)}, client.Alter(ctx, by, id, redrive.Change{Delay: &now})
	case "move":
		return p.move(a, c, by, j, in)
	case "cancel":
		text := fmt.Sprintf("Job %d is cancelled.", id)
		if j.State == job.Running {
			text = fmt.Sprintf("Job %d was asked to stop.", id)
		}
		return done{Text: text}, client.Cancel(ctx, by, id)
	case "resolve", "ignore", "reopen":
		return p.onLetter(a, c, by, d, do, in)
	case "note":
		_, err := client.AddNote(ctx, by, redrive.Note{Job: id, What: redrive.PlainNote, Text: strings.ReplaceAll(in.Get("text"), "\r\n", "\n")})
		return done{Text: "The note is added."}, err
	}
	return done{}, api.NotFound.New("A job cannot %.40q.", do)
}

// changeOf reads what a form changes in a job.
func changeOf(a *api.API, j *job.Job, in url.Values) (redrive.Change, error) {
	change, err := placeOf(in)
	if err != nil {
		return change, err
	}
	if payload := typedPayload(in, j.Payload); payload != nil {
		if wrong := mistakesOf(a, j, payload); len(wrong) > 0 {
			list := make([]api.Mistake, len(wrong))
			for i, text := range wrong {
				list[i] = api.Mistake{Pointer: "/payload", Detail: text}
			}
			return change, api.PayloadInvalid.Mistaken(list...)
		}
		change.Payload = payload
	}
	if change.Queue == j.Queue {
		change.Queue = ""
	}
	if change.Priority == int(j.Priority) {
		change.Priority = 0
	}
	return change, nil
}

// placeOf reads the queue, the priority and the delay of a form.
func placeOf(in url.Values) (change redrive.Change, err error) {
	change.Queue = strings.TrimSpace(in.Get("queue"))
	if text := in.Get("priority"); text != "" {
		if change.Priority, err = strconv.Atoi(text); err != nil || change.Priority < job.PriorityMin || change.Priority > job.PriorityMax {
			return change, api.InvalidField.New("The priority must be %d to %d.", job.PriorityMin, job.PriorityMax)
		}
	}
	if text := strings.TrimSpace(in.Get("delay")); text != "" {
		delay, err := human.ParseDuration(text)
		if err != nil || delay < 0 {
			return change, api.InvalidField.New("%.40q: the time until it may start must be %s.", text, human.DurationForms)
		}
		change.Delay = &delay
	}
	return change, nil
}

// move changes the queue, the priority or the time of a job that waits.
func (p *Pages) move(a *api.API, c *api.Call, by redrive.By, j *job.Job, in url.Values) (done, error) {
	change, err := changeOf(a, j, in)
	if err != nil {
		return done{}, err
	}
	if change.Queue == "" && change.Priority == 0 && change.Delay == nil && change.Payload == nil {
		return done{}, api.InvalidField.New("Nothing changes: give another queue, another priority or a time.")
	}
	d := done{Text: fmt.Sprintf("Job %d is moved.", j.ID)}
	if change.Delay == nil && change.Payload == nil {
		d.Undo = &undo{Path: "/ui/jobs/" + j.ID.String() + "/move", Fields: map[string]string{
			"queue": j.Queue, "priority": strconv.Itoa(int(j.Priority)), "state": j.State.String(), "life": strconv.Itoa(int(j.Life)), "reason": "undo"}}
	}
	return d, a.Client().Alter(c.Context(), by, j.ID, change)
}

// onLetter resolves, ignores or reopens the dead letter of a job.
func (p *Pages) onLetter(a *api.API, c *api.Call, by redrive.By, d *words.Details, do string, in url.Values) (done, error) {
	id := d.Job.ID
	action := redrive.Action{IDs: []job.ID{id}, Note: in.Get("reason")}
	said := ""
	switch do {
	case "resolve":
		action.Do, said = redrive.ActResolve, "resolved"
	case "reopen":
		action.Do, said = redrive.ActReopen, "pending again"
	case "ignore":
		err := api.NeedReason(redrive.ActIgnore, action.Note)
		if err != nil {
			return done{}, err
		}
		if action.Until, err = a.Until(in.Get("until"), ignoredFor); err != nil {
			return done{}, err
		}
		action.Do, said = redrive.ActIgnore, "ignored, and pending again "+words.Away(action.Until, job.At(a.Options().Now()))
	}
	acted, err := a.Client().Act(c.Context(), by, action, nil)
	if err == nil {
		err = errors.Join(acted.Errors...)
	}
	if err != nil {
		return done{}, err
	}
	out := done{Text: fmt.Sprintf("The dead letter of job %d is %s.", id, said)}
	if do == "resolve" && heldBack(&d.Job) {
		out.Text = fmt.Sprintf("Job %d is refused: its dead letter is %s.", id, said)
	}
	if do != "reopen" {
		out.Undo = &undo{Path: "/ui/jobs/" + id.String() + "/reopen", Fields: map[string]string{
			"state": d.Job.State.String(), "life": strconv.Itoa(int(d.Job.Life)), "death": strconv.FormatInt(d.Letter.Death, 10), "reason": "undo"}}
	}
	return out, nil
}
