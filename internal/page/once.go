package page

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// A form has a nonce. The store keeps what the form with a nonce has done, so that a second click
// or a repeated request is answered by any server as the first one was, and does nothing.
const (
	// onceKept is how long a repeated form gets the answer of the first one. A page that is older
	// has a new nonce, or its button says what has changed since.
	onceKept = time.Minute
	// onceBusy is how long a form without an answer is taken for one that is being carried out.
	onceBusy = 10 * time.Second
)

// once carries out the action of a form and leads to the page that shows what it did. An action that
// was refused is shown there as well.
func (p *Pages) once(a *api.API, c *api.Call, in url.Values, back string, act func() (done, error)) error {
	r := requestOf(c, in)
	if r != nil {
		stored, existing, err := a.Client().BeginRequest(c.Context(), *r)
		age := job.At(a.Options().Now()).Sub(stored.At)
		switch {
		case errors.Is(err, redrive.ErrConflict): // a form that was changed after it was sent
			r = nil
		case err != nil:
			return err
		case existing && stored.Status == http.StatusSeeOther && age <= onceKept:
			var k keptDone
			if json.Unmarshal(stored.Body, &k) == nil {
				p.tell(a, c, k.done)
				return p.to(c, local(k.To))
			}
		case existing && stored.Status == 0 && age <= onceBusy:
			p.tell(a, c, done{Bad: true, Text: "This form is being carried out already. Read the page again to see its result."})
			return p.to(c, back)
		case existing:
			r = nil
		}
	}
	d, err := act()
	if errors.Is(err, errTyped) {
		p.endOnce(a, c, r, http.StatusBadRequest, nil)
		return err
	}
	if err != nil {
		problem := api.ProblemOf(err)
		if problem.Status >= http.StatusInternalServerError || problem.Kind() == api.NotFound {
			return err
		}
		d = refusal(c, problem, detailOf(err))
	}
	if d.To == "" {
		d.To = back
	}
	body, err := json.Marshal(keptDone{d, d.To})
	if err != nil {
		return err
	}
	p.endOnce(a, c, r, http.StatusSeeOther, body)
	p.tell(a, c, d)
	return p.to(c, d.To)
}

// endOnce stores the answer to a form. Without it, a repeated form meets the changed state.
func (p *Pages) endOnce(a *api.API, c *api.Call, r *redrive.Request, status int, body []byte) {
	if r == nil {
		return
	}
	if err := a.Client().EndRequest(c.Context(), r.Scope, r.Key, status, body); err != nil {
		a.Options().Logger.WarnContext(c.Context(), "the answer to a form was not stored; the same form, sent again, may be carried out again", "request", c.RequestID, "error", err)
	}
}

// keptDone is the answer to a form, as the store keeps it.
type keptDone struct {
	done
	To string `json:"to"`
}

// requestOf returns the request under which the store keeps what a form does, or nil for a form without
// a nonce.
func requestOf(c *api.Call, in url.Values) *redrive.Request {
	nonce := in.Get("nonce")
	if nonce == "" || len(nonce) > job.NameMax {
		return nil
	}
	scope := sha256.Sum256([]byte(c.Caller.Actor + "\x00" + c.R.URL.Path))
	content := sha256.Sum256([]byte(in.Encode()))
	return &redrive.Request{Scope: "page " + base64.RawURLEncoding.EncodeToString(scope[:12]), Key: nonce, Digest: content[:]}
}

// detailOf says in a line why an action was refused.
func detailOf(err error) string {
	if problem, ok := errors.AsType[*api.Problem](err); ok {
		return words.Clean(problem.Detail)
	}
	return words.Clean(api.Plain(err))
}

var namesJob = regexp.MustCompile(`\bjob (\d+)`)

// refusal says that nothing was done, and why. If another job is the cause, it leads there.
func refusal(c *api.Call, problem *api.Problem, detail string) done {
	d := done{Bad: true, Text: "Nothing was done: " + detail, Do: c.R.PathValue("act")}
	for i := range problem.Errors {
		if detail := problem.Errors[i].Detail; detail != "" && detail != problem.Detail {
			d.List = append(d.List, words.Shorten(words.Clean(detail), textShown))
		}
	}
	for _, found := range namesJob.FindAllStringSubmatch(problem.Detail, -1) {
		if found[1] != c.R.PathValue("id") {
			d.Link, d.Of = "/ui/jobs/"+found[1], "See job "+found[1]
			return d
		}
	}
	if problem.Kind() == api.QueueDraining {
		d.Link, d.Of = "/ui/queues", "See the queues"
	}
	return d
}

// textShown is the largest number of characters of a text in a message.
const textShown = 160
