package page

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// ignoredFor is how long a dead letter is put aside if the form names no time.
const ignoredFor = 48 * time.Hour

// actOnJob does what a button of a job says, and tells the next page the result. The form says in
// which state the page has shown the job: if it has moved on, nothing is done, so a second click
// changes nothing.
func (p *Pages) actOnJob(a *api.API, c *api.Call) error {
	in, err := form(c)
	if err != nil {
		return err
	}
	id, err := c.ID()
	if err != nil {
		return err
	}
	d, err := p.doOnJob(a, c, id, c.R.PathValue("act"), in)
	if err != nil {
		if problem := api.ProblemOf(err); problem.Status >= 500 || problem.Kind() == api.NotFound {
			return err
		}
		d = done{Bad: true, Text: "Nothing was done: " + api.ProblemOf(err).Detail}
	}
	p.tell(a, c, d)
	back := local(in.Get("back"))
	if back == "/ui/" {
		back = "/ui/jobs/" + id.String()
	}
	return p.to(c, back)
}

func (p *Pages) doOnJob(a *api.API, c *api.Call, id job.ID, do string, in url.Values) (done, error) {
	client, ctx, by := a.Client(), c.Context(), c.By(in.Get("reason"))
	d, err := a.Details(c)
	if err != nil {
		return done{}, err
	}
	j := &d.Job
	if was := in.Get("state"); was != "" && was != j.State.String() || in.Get("life") != "" && in.Get("life") != strconv.Itoa(int(j.Life)) {
		return done{}, api.StateMoved.New("job %d is %s now, in life %d", id, j.State, j.Life)
	}
	if was := in.Get("death"); was != "" && was != "0" && (d.Letter == nil || was != strconv.FormatInt(d.Letter.Death, 10)) {
		return done{}, api.StateMoved.New("job %d has died again since the page was loaded", id)
	}
	by.Seen = &redrive.Seen{} // the store compares it again in the transaction of the action
	if in.Get("state") != "" {
		by.Seen.State = &j.State
	}
	if in.Get("life") != "" {
		by.Seen.Life = &j.Life
	}
	letter := func(act redrive.Act, said string) (done, error) {
		action := redrive.Action{Do: act, IDs: []job.ID{id}, Note: in.Get("reason")}
		if act == redrive.ActIgnore {
			if action.Until, err = a.Until(in.Get("until"), ignoredFor); err != nil {
				return done{}, err
			}
		}
		acted, err := client.Act(ctx, by, action, nil)
		if err == nil && len(acted.Errors) == 1 {
			err = acted.Errors[0]
		}
		return done{Text: fmt.Sprintf("The dead letter of job %d is %s.", id, said)}, err
	}
	switch do {
	case "retry":
		var change *redrive.Change
		if text := strings.TrimSpace(in.Get("payload")); in.Has("payload") && text != "" {
			change = &redrive.Change{Payload: []byte(text)}
		}
		if err := client.Retry(ctx, by, id, change); err != nil {
			return done{}, err
		}
		return done{Text: fmt.Sprintf("Job %d waits again, in life %d. It cannot be undone.", id, j.Life+1)}, nil
	case "run":
		now := time.Duration(0)
		return done{Text: fmt.Sprintf("Job %d is due now.", id)}, client.Alter(ctx, by, id, redrive.Change{Delay: &now})
	case "cancel":
		text := fmt.Sprintf("Job %d is cancelled.", id)
		if j.State == job.Running {
			text = fmt.Sprintf("Job %d was asked to stop.", id)
		}
		return done{Text: text}, client.Cancel(ctx, by, id)
	case "resolve":
		return letter(redrive.ActResolve, "resolved")
	case "ignore":
		return letter(redrive.ActIgnore, "ignored")
	case "reopen":
		return letter(redrive.ActReopen, "pending again")
	case "note":
		by.Seen = nil
		_, err := client.AddNote(ctx, by, redrive.Note{Job: id, What: redrive.PlainNote, Text: in.Get("text")})
		return done{Text: "The note is added."}, err
	}
	return done{}, api.NotFound.New("A job cannot %.40q.", do)
}

// actOnGroup does what a button of a cause says.
func (p *Pages) actOnGroup(a *api.API, c *api.Call) error {
	in, err := form(c)
	if err != nil {
		return err
	}
	g, err := a.Group(c)
	if err != nil {
		return err
	}
	d, err := p.doOnGroup(a, c, &g, c.R.PathValue("act"), in)
	if err != nil {
		if problem := api.ProblemOf(err); problem.Status >= 500 || problem.Kind() == api.NotFound {
			return err
		}
		d = done{Bad: true, Text: "Nothing was done: " + api.ProblemOf(err).Detail}
	}
	p.tell(a, c, d)
	return p.to(c, "/ui/groups/"+url.PathEscape(g.Fingerprint))
}

func (p *Pages) doOnGroup(a *api.API, c *api.Call, g *redrive.Group, do string, in url.Values) (done, error) {
	client, ctx, by := a.Client(), c.Context(), c.By(in.Get("reason"))
	if was := in.Get("state"); was != "" && was != string(g.State()) {
		return done{}, api.StateMoved.New("the cause is %s now", g.State())
	}
	set := func(change redrive.GroupChange, text string) (done, error) {
		change.Group = g.Fingerprint
		_, err := client.SetGroup(ctx, by, change)
		return done{Text: text}, err
	}
	filter := redrive.DeadFilter{Group: g.Fingerprint}
	switch do {
	case "assign":
		name := strings.TrimSpace(in.Get("assignee"))
		text := "Nobody has this cause now."
		if name != "" {
			text = words.Clean(name) + " has this cause now."
		}
		return set(redrive.GroupChange{Assignee: &name}, text)
	case "name":
		name := strings.TrimSpace(in.Get("name"))
		return set(redrive.GroupChange{Name: &name}, "The name is changed.")
	case "resolve":
		return set(redrive.GroupChange{Resolved: new(true)}, "The cause is resolved. If a job dies of it again, it is shown as regressed.")
	case "reopen":
		if g.Muted {
			filter.Statuses = []job.Status{job.Ignored}
			if _, err := client.Act(ctx, by, redrive.Action{Do: redrive.ActReopen, Filter: &filter, Note: in.Get("reason")}, nil); err != nil {
				return done{}, err
			}
		}
		return set(redrive.GroupChange{Resolved: new(false)}, "The cause is open again.")
	case "ignore":
		action := redrive.Action{Do: redrive.ActIgnore, Filter: &filter, Note: in.Get("reason")}
		var err error
		if count := in.Get("count"); count != "" {
			if action.Count, err = strconv.ParseInt(count, 10, 64); err != nil || action.Count < 1 {
				return done{}, api.InvalidField.New("The number of further deaths must be a whole number, 1 or more.")
			}
		}
		if action.Count == 0 || in.Get("until") != "" {
			if action.Until, err = a.Until(in.Get("until"), ignoredFor); err != nil {
				return done{}, err
			}
		}
		acted, err := client.Act(ctx, by, action, nil)
		return done{Text: words.Count(acted.Done, "dead letter") + " of this cause ignored. Reopen takes it back."}, err
	case "note":
		_, err := client.AddNote(ctx, by, redrive.Note{Group: g.Fingerprint, What: redrive.PlainNote, Text: in.Get("text")})
		return done{Text: "The note is added."}, err
	}
	return done{}, api.NotFound.New("A cause cannot %.40q.", do)
}
