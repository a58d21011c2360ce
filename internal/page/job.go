package page

import (
	"errors"
	"net/http"
	"slices"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// jobView is one job: how it stands and why, what comes next, and its lives.
type jobView struct {
	frame
	Details  *words.Details
	Job      *job.Job
	Standing string // with its because
	Next     string
	Tries    string
	Facts    words.Facts
	Decision words.Facts // the last decision: evidence, rule, class, limits
	Last     *job.Failure
	Operator string
	Lives    []life
	Payload  []byte
	Hidden   bool   // the caller may not see payloads
	Changed  string // the difference to the original payload
	Original *redrive.Original
	Group    *redrive.Group
	Audit    []redrive.AuditEntry
	Death    int64
	Acts     []act
}

// life is a life of a job with its runs that failed, the newest first.
type life struct {
	N       int32
	Runs    []run
	Current bool
}

// run is a run that failed.
type run struct {
	*job.Failure
	Took  string
	Why   string
	Facts words.Facts
	Crash bool
}

// act is a button of a job. Why is set if it cannot be pressed, and says why.
type act struct {
	Do, Label, Why string
	Main           bool
}

func (p *Pages) job(a *api.API, c *api.Call) error {
	f, err := p.frame(a, c, "jobs", "Job "+words.Clean(c.R.PathValue("id")))
	if err != nil {
		return err
	}
	d, err := a.Details(c)
	if err != nil {
		return err
	}
	client, ctx, j := a.Client(), c.Context(), &d.Job
	f.Topics = "job:" + j.ID.String()
	v := jobView{frame: f, Details: d, Job: j, Facts: d.Facts(), Standing: d.Standing(f.Now) + d.Because(), Next: d.Next(wayOf), Last: d.Last()}
	v.Tries = triesOf(j, d.MaxAttempts())
	if v.Last != nil {
		v.Decision = words.RunFacts(v.Last)
		operators := words.Operators{Policy: client.StoredPolicy}
		v.Operator = operators.Text(ctx, v.Last)
	}
	v.Lives = livesOf(d)
	if v.Hidden = !a.SeesPayloads(c); !v.Hidden {
		v.Payload = j.Payload
	}
	original, err := client.Original(ctx, j.ID)
	switch {
	case err == nil:
		v.Original = &original
		if original.Payload != nil && !v.Hidden {
			v.Changed = words.Diff(original.Payload, j.Payload)
		}
	case !errors.Is(err, redrive.ErrNotFound):
		return err
	}
	if d.Letter != nil {
		v.Death = d.Letter.Death
		if fp := d.Letter.Fingerprint; fp != "" {
			groups, err := client.Groups(ctx, redrive.GroupFilter{Group: fp, Limit: 1})
			if err != nil {
				return err
			}
			if len(groups.Groups) > 0 {
				v.Group = &groups.Groups[0]
			}
		}
	}
	audit, err := client.Audit(ctx, redrive.AuditFilter{Target: j.ID.String(), Limit: happenedMax})
	if err != nil {
		return err
	}
	v.Audit = audit.Entries
	v.Acts = actsOf(d, f.MayOperate)
	v.Heading = j.Kind + " " + j.ID.String()
	return p.write(c.W, http.StatusOK, "job", &v)
}

// wayOf writes a step as the button that does it.
func wayOf(s words.Step) string {
	if s.Verb == words.RetryJob {
		return "Retry"
	}
	if s.Verb == words.ResumeQueue {
		return "Resume of queue " + s.Queue
	}
	return s.Does
}

// livesOf returns the lives of a job with their failed runs, the newest life first.
func livesOf(d *words.Details) (list []life) {
	for i := range d.Failures {
		f := &d.Failures[i]
		if len(list) == 0 || list[len(list)-1].N != f.Life {
			list = append(list, life{N: f.Life, Current: f.Life == d.Job.Life})
		}
		l := &list[len(list)-1]
		l.Runs = append(l.Runs, run{Failure: f, Took: words.Took(f), Why: words.Decision(f), Facts: words.RunFacts(f), Crash: f.How == job.ByCrash})
	}
	slices.Reverse(list)
	return list
}

// actsOf returns the buttons of a job. Those that its state or the caller's role do not allow say why.
func actsOf(d *words.Details, may bool) []act {
	j, l := &d.Job, d.Letter
	held := j.State == job.Dead && j.Reason == job.ManualReview
	acts := []act{{Do: "retry", Label: "Retry", Main: true}, {Do: "run", Label: "Run now"}, {Do: "cancel", Label: "Cancel"}}
	if held {
		acts[0].Label = "Release"
	}
	if j.State != job.Dead {
		acts[0].Why = "Only a dead job is retried; this one is " + j.State.String() + "."
		acts[0].Main = false
	}
	if j.State != job.Waiting && j.State != job.Retrying {
		acts[1].Why = "Only a job that waits can run now; this one is " + j.State.String() + "."
	}
	if j.State.Terminal() {
		acts[2].Why = "A job that is " + j.State.String() + " has nothing to cancel."
	}
	if l != nil && !l.Revived {
		switch l.Status {
		case job.Pending:
			resolve := act{Do: "resolve", Label: "Resolve"}
			if held {
				resolve.Label = "Refuse"
			}
			acts = append(acts, resolve, act{Do: "ignore", Label: "Ignore"})
		case job.Resolved, job.Ignored:
			acts = append(acts, act{Do: "reopen", Label: "Reopen"})
		case job.Redriven:
		}
	}
	if !may {
		for i := range acts {
			acts[i].Why, acts[i].Main = "Your role may look, not act; it needs the role operate.", false
		}
	}
	return acts
}
