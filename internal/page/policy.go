package page

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// policyView is the policy in force, and what it decides about an error that a person gives.
type policyView struct {
	frame
	Name, Hash string
	Since      job.Micros
	By         string
	Kinds      []string // for the choice of the kind
	Kind       string   // "" means a kind without settings of its own
	Rows       []policyRow
	Limits     policy.Limits
	Stored     []redrive.StoredPolicy
	Source     string // the beginning of the file of the policy that is shown
	Cut        bool   // the file is longer
	Shown      string // the name of the policy whose source is shown
	In         questionForm
	Answer     *wire.Ruling
	Decided    string // the decision in one line
	Answered   badge
	Waits      []waitRow
	End        string // how the job ends if it goes on failing
}

// policyRow is what the policy does after a failure of a class.
type policyRow struct {
	policy.Resolved
	About string
}

// questionForm is the form that asks the policy, as it was typed, and the mistakes by field.
type questionForm struct {
	Error, Kind, Queue, Owner, Attempt, Status, Exit, Attrs string
	Timeout                                                 bool
	Wrong                                                   map[string]string
}

// waitRow is one of the next waits if the job goes on failing.
type waitRow struct {
	Attempt     int
	Wait, Range string
	Formula     string
	From, Width float64 // the range on the line, in percent of the longest wait
}

// policiesMax is how many stored policies a page lists, waitsShown how many waits, and sourceShown how
// many bytes of a policy file.
const (
	policiesMax = 20
	waitsShown  = 12
	sourceShown = 48 << 10
)

func (p *Pages) policy(a *api.API, c *api.Call) error {
	query := c.R.URL.Query()
	return p.writePolicy(a, c, questionForm{Kind: query.Get("kind"), Error: query.Get("error"), Attempt: "1"}, http.StatusOK, query.Get("error") != "")
}

// askPolicy answers what the policy decides about the error of a form. Nothing is stored.
func (p *Pages) askPolicy(a *api.API, c *api.Call) error {
	in, err := form(c)
	if err != nil {
		return err
	}
	q := questionForm{
		Error: in.Get("error"), Kind: in.Get("kind"), Queue: in.Get("queue"), Owner: in.Get("owner"), Attempt: in.Get("attempt"),
		Status: in.Get("status"), Exit: in.Get("exit_code"), Attrs: in.Get("attrs"), Timeout: in.Has("timeout"),
	}
	return p.writePolicy(a, c, q, http.StatusOK, true)
}

func (p *Pages) writePolicy(a *api.API, c *api.Call, in questionForm, status int, ask bool) error {
	f, err := p.frame(a, c, "policy", "Policy")
	if err != nil {
		return err
	}
	client, ctx := a.Client(), c.Context()
	now := client.Policy()
	v := policyView{frame: f, Name: now.Name(), Hash: now.Hash(), Kind: in.Kind, Limits: now.Limits(), In: in, Shown: now.Name()}
	if v.Stored, err = client.StoredPolicies(ctx); err != nil {
		return err
	}
	for i := range v.Stored {
		if v.Stored[i].Hash == v.Hash {
			v.Since, v.By = v.Stored[i].At, v.Stored[i].By
		}
	}
	v.Stored = v.Stored[:min(len(v.Stored), policiesMax)]
	v.Source = string(now.Source())
	if hash := c.R.URL.Query().Get("show"); hash != "" {
		stored, err := client.StoredPolicy(ctx, hash)
		if err != nil {
			return err
		}
		v.Source, v.Shown = string(stored.Body), stored.Name+" "+stored.Hash[:min(8, len(stored.Hash))]
	}
	if v.Cut = len(v.Source) > sourceShown; v.Cut {
		v.Source = strings.ToValidUTF8(v.Source[:sourceShown], "")
	}
	if v.Kinds, err = a.KindNames(c); err != nil {
		return err
	}
	for kind := range now.Spec().Kinds {
		if !slices.Contains(v.Kinds, kind) {
			v.Kinds = append(v.Kinds, kind)
		}
	}
	slices.Sort(v.Kinds)
	retried := int64(0)
	for _, class := range now.Classes() {
		r := policyRow{Resolved: now.Resolve(v.Kind, class), About: now.Info(class).Summary}
		if r.Retries > 0 {
			retried++
		}
		v.Rows = append(v.Rows, r)
	}
	v.Heading = words.PolicyFinding(v.Name, retried, int64(len(v.Rows)))
	v.Lead = "Give an error and a kind, and read the decision that the engine would make. Nothing is stored, and no job is touched."
	if ask {
		if err := v.ask(a); err != nil {
			return err
		}
		if v.Answer == nil {
			status = http.StatusBadRequest
		}
	}
	return p.write(c.W, status, "policy", &v)
}

// ask fills the answer, or the mistakes of the form.
func (v *policyView) ask(a *api.API) error {
	in := &v.In
	wrong := make(map[string]string)
	whole := func(name, text string, otherwise int) int {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if text != "" && err != nil {
			wrong[name] = "must be a whole number"
		}
		if text == "" || err != nil {
			return otherwise
		}
		return n
	}
	q := api.QuestionIn{Error: strings.ReplaceAll(in.Error, "\r\n", "\n"), Kind: in.Kind, Queue: in.Queue, Owner: in.Owner}
	q.Attempt, q.Status = whole("attempt", in.Attempt, 1), whole("status", in.Status, 0)
	if in.Exit != "" {
		code := whole("exit_code", in.Exit, 0)
		q.ExitCode = &code
	}
	if in.Timeout {
		q.How = "timeout"
	}
	if text := strings.TrimSpace(in.Attrs); text != "" {
		if q.Attrs = json.RawMessage(text); !json.Valid(q.Attrs) {
			wrong["attrs"] = `must be a JSON object, such as {"tier":"free"}`
			q.Attrs = nil
		}
	}
	r, err := a.Ask(&q)
	problem, refused := errors.AsType[*api.Problem](err)
	switch {
	case refused:
		for _, m := range problem.Errors {
			name := strings.TrimPrefix(m.Pointer, "/")
			if name == "" {
				name = "error"
			}
			if wrong[name] == "" {
				wrong[name] = m.Detail
			}
		}
	case err != nil:
		return err
	}
	if in.Wrong = wrong; len(wrong) > 0 {
		return nil
	}
	v.Answer = &r
	v.Decided = capital(cmp.Or(r.Held, r.Reason))
	v.Answered = badgeOf(job.Dead.String())
	if d, err := policy.ParseRecord(r.Decision); err == nil && d.Action == policy.Retry.String() {
		v.Answered = badgeOf(job.Retrying.String())
		v.waits(a, q)
	}
	return nil
}

// waits lists the next waits if the job goes on failing in the same way.
func (v *policyView) waits(a *api.API, q api.QuestionIn) {
	type draw struct{ low, middle, high time.Duration }
	var draws []draw
	longest := time.Duration(1)
	for range waitsShown {
		r, err := a.Ask(&q)
		if err != nil || r.Attempt != q.Attempt {
			break
		}
		d, err := policy.ParseRecord(r.Decision)
		if err != nil || d.Action != policy.Retry.String() {
			v.End = strings.TrimPrefix(r.Reason, "dead: ")
			break
		}
		wait := time.Duration(d.Wait) * time.Microsecond
		w := draw{wait, wait, wait}
		if r.Draw != nil {
			w.low, w.high = time.Duration(r.Draw.Low)*time.Millisecond, time.Duration(r.Draw.High)*time.Millisecond
		}
		longest = max(longest, w.high)
		draws = append(draws, w)
		row := waitRow{Attempt: q.Attempt + 1, Wait: words.Span(w.middle)}
		if w.low != w.high {
			row.Range = words.Span(w.low) + " to " + words.Span(w.high)
		}
		for _, fact := range r.Facts {
			if fact.Name == "formula" {
				row.Formula, _, _ = strings.Cut(fact.Text, ", random number ") // the next draw is not known
			}
		}
		v.Waits = append(v.Waits, row)
		q.Attempt++
	}
	for i, w := range draws {
		v.Waits[i].From = 100 * float64(w.low) / float64(longest)
		v.Waits[i].Width = max(1, 100*float64(w.high-w.low)/float64(longest))
		v.Waits[i].From = min(v.Waits[i].From, 100-v.Waits[i].Width)
	}
}

// Longest is the longest wait of the list, which the line of each wait shows.
func (v *policyView) Longest() string {
	text := ""
	most := 0.0
	for i := range v.Waits {
		if w := &v.Waits[i]; w.From+w.Width >= most {
			most, text = w.From+w.Width, w.Wait
			if _, high, ok := strings.Cut(w.Range, " to "); ok {
				text = high
			}
		}
	}
	return text
}

// capital writes the first letter of a sentence large.
func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
