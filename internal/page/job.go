package page

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

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
	Standing string
	Because  string
	Next     string
	Waits    string // why it waits
	Tries    string
	Facts    words.Facts
	Decision words.Facts // the last decision: evidence, rule, class, limits
	Last     *job.Failure
	// Past names the last failure if it did not cause the present state of the job: the job has ended for another
	// reason, or the failure is from an earlier life.
	Past     string
	Operator string
	Line     timeline
	Payload  payloadView
	Status   string // the state as the owner reads it, if it has another name
	Outside  string // what the API answers to the owner
	Group    *redrive.Group
	Batch    *redrive.Batch // batch of the job; nil without one
	Audit    []redrive.AuditEntry
	Death    int64
	Acts     []act
	More     []act // those that take a reason or a setting
	Curl     []string
	// In is what was typed into a form that was refused, and Wrong says why.
	In    url.Values
	Wrong []string
	At    string // the form that was refused
}

// act is a button of a job. Why is set if it cannot be pressed, and says why.
type act struct {
	Do, Label, Why string
	Main           bool
}

func (p *Pages) job(a *api.API, c *api.Call) error { return p.writeJob(a, c, http.StatusOK, nil, nil) }

// writeJob writes the page of a job. in is what was typed into a form that leads back to the page, and
// wrong is why it was refused; both may be nil.
func (p *Pages) writeJob(a *api.API, c *api.Call, status int, in url.Values, wrong []string) error {
	f, err := p.frame(a, c, "jobs", "Job "+words.Clean(c.R.PathValue("id")))
	if err != nil {
		return err
	}
	d, err := a.Details(c)
	if err != nil {
		return err
	}
	client, ctx, j := a.Client(), c.Context(), &d.Job
	f.Path = f.Base + "/ui/jobs/" + j.ID.String()
	f.besideButtons()
	f.Topics = "job:" + j.ID.String()
	v := jobView{frame: f, Details: d, Job: j, Facts: d.Facts(), Next: d.Next(wayOf(d)), Last: d.Last(), In: in}
	v.Standing, v.Because = standingOf(d, f.Now)
	v.Tries = triesOf(j, d.MaxAttempts())
	if v.Waits, err = a.Waits(ctx, d); err != nil {
		return err
	}
	if v.Last != nil {
		v.Decision = words.RunFacts(v.Last)
		v.Past = words.PastFailure(d, f.Now)
		operators := words.Operators{Policy: client.StoredPolicy}
		v.Operator = words.Acts(operators.Text(ctx, v.Last), j.State == job.Dead)
	}
	original, err := client.Original(ctx, j.ID)
	if err != nil && !errors.Is(err, redrive.ErrNotFound) {
		return err
	}
	v.Payload = payloadOf(j, &original, !a.SeesPayloads(c))
	v.Payload.check(a, j, in)
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
	if v.Batch, err = a.BatchOfJob(c, j); err != nil {
		return err
	}
	audit, err := client.Audit(ctx, redrive.AuditFilter{Target: j.ID.String(), Limit: auditMax})
	if err != nil {
		return err
	}
	v.Audit = audit.Entries[:min(len(audit.Entries), happenedMax)]
	v.Line = timelineOf(d, audit.Entries, f.Now)
	outside, err := a.OwnerViewOf(c, d)
	if err != nil {
		return err
	}
	if outside.Status != j.State.String() {
		v.Status = outside.Status
	}
	var object bytes.Buffer
	if json.Indent(&object, bytes.TrimSpace(outside.Object), "", "  ") == nil {
		v.Outside = words.CleanBlock(object.String())
	}
	v.Acts, v.More = actsOf(d, f.MayOperate), moreOf(d, f.MayOperate)
	if v.Group != nil && words.PersonFirst(v.Group) {
		v.Acts[0].Main = false // it is not what a person does next
	}
	v.Curl = curlOf(c, p.o.Base, j)
	v.Heading = j.Kind + " " + j.ID.String()
	if wrong != nil {
		v.Done, v.Beside, v.At, v.Wrong = nil, false, in.Get("form"), wrong
	}
	return p.write(c.W, status, "job", &v)
}

// auditMax is the number of actions on a job that its time line looks at.
const auditMax = 100

// curlOf returns commands that show and change the job by the API.
func curlOf(c *api.Call, base string, j *job.Job) []string {
	scheme := "http"
	if c.R.TLS != nil {
		scheme = "https"
	}
	at := fmt.Sprintf("%s://%s%s/api/jobs/%d", scheme, words.Clean(c.R.Host), base, j.ID)
	const key = `curl -H "Authorization: Bearer $REDRIVE_KEY" `
	list := []string{key + at, key + at + "/explain"}
	switch {
	case j.State == job.Dead:
		list = append(list, fmt.Sprintf(`%s-H "Content-Type: application/json" -d '{"note":"","expect":{"life":%d}}' %s/retry`, key, j.Life, at))
	case !j.State.Terminal():
		list = append(list, fmt.Sprintf(`%s-H "Content-Type: application/json" -d '{"note":""}' %s/cancel`, key, at))
	}
	return list
}

// standingOf returns how a job stands, and why.
func standingOf(d *words.Details, now job.Micros) (standing, because string) {
	standing, because = d.Standing(now), strings.TrimLeft(d.Because(), ",; ")
	if j := &d.Job; j.State == job.Dead {
		why, _, _ := strings.Cut(words.Reason(j.Reason), " (")
		standing = "Dead, " + why
	}
	if because != "" {
		because = strings.ToUpper(because[:1]) + because[1:] + "."
	}
	return standing, because
}

// wayOf returns a function that names the button which carries out a step for the job.
func wayOf(d *words.Details) words.Way {
	labels := make(map[string]string)
	for _, a := range actsOf(d, true) {
		labels[a.Do] = a.Label
		if a.Do == "retry" && a.Why != "" {
			labels[a.Do] = retryWith
		}
	}
	return func(s words.Step) string {
		if s.Verb == words.ResumeQueue {
			return "Resume of queue " + s.Queue
		}
		return cmp.Or(map[words.Verb]string{words.RetryJob: labels["retry"], words.ResolveDead: labels["resolve"]}[s.Verb], s.Does)
	}
}

// noRole says why a caller that may only view cannot press a button.
const noRole = "Your role may look, not act; it needs the role operate."

// forbid switches buttons off for a caller that may only view.
func forbid(acts []act, may bool) []act {
	for i := range acts {
		if !may {
			acts[i].Why, acts[i].Main = noRole, false
		}
	}
	return acts
}

// retryWith is the label of the button that retries a job with the values of the form beside it.
const retryWith = "Retry with these"

// actsOf returns the buttons of a job. Those that its state or the caller's role do not allow say why.
func actsOf(d *words.Details, may bool) []act {
	j := &d.Job
	acts := []act{{Do: "retry", Label: "Retry", Main: true}, {Do: "run", Label: "Run now"}, {Do: "cancel", Label: "Cancel"}}
	if heldBack(j) {
		acts[0].Label = "Release"
	}
	if j.State != job.Dead {
		acts[0].Why, acts[0].Main = "Only a dead job is retried; this one is "+j.State.String()+".", false
	}
	if j.State == job.Dead && words.RetriesOff(d.LastOfLife()) {
		acts[0].Why, acts[0].Main = "The policy switches the retries of this job off (retry: false); "+retryWith+", below, still runs it once more.", false
	}
	if j.State != job.Waiting && j.State != job.Retrying {
		acts[1].Why = "Only a job that waits can run now; this one is " + j.State.String() + "."
	}
	if j.State.Terminal() {
		acts[2].Why = "A job that is " + j.State.String() + " has nothing to cancel."
	}
	letter := slices.DeleteFunc(letterActs(d), func(a act) bool { return a.Do == "ignore" }) // it needs a reason, for which the other form asks
	return forbid(append(acts, letter...), may)
}

// heldBack reports whether a rule holds the job until a person decides.
func heldBack(j *job.Job) bool { return j.State == job.Dead && j.Reason == job.ManualReview }

// letterActs returns the buttons of the dead letter of a job.
func letterActs(d *words.Details) []act {
	l := d.Letter
	if l == nil || l.Revived {
		return nil
	}
	switch l.Status {
	case job.Pending:
		resolve := act{Do: "resolve", Label: "Resolve"}
		if heldBack(&d.Job) {
			resolve.Label = "Refuse"
		}
		return []act{resolve, {Do: "ignore", Label: "Ignore"}}
	case job.Resolved, job.Ignored:
		return []act{{Do: "reopen", Label: "Reopen"}}
	case job.Redriven:
	}
	return nil
}

// moreOf returns the buttons of the form that takes a reason, a queue, a priority and times.
func moreOf(d *words.Details, may bool) []act {
	j := &d.Job
	var acts []act
	switch {
	case j.State == job.Dead:
		retry := act{Do: "retry", Label: retryWith}
		if heldBack(j) {
			retry.Label = "Release with these"
		}
		acts = append([]act{retry}, letterActs(d)...)
	case j.State.Ready():
		acts = []act{{Do: "move", Label: "Move"}, {Do: "cancel", Label: "Cancel"}}
	case j.State == job.Running:
		acts = []act{{Do: "cancel", Label: "Cancel"}}
	}
	return forbid(acts, may)
}
