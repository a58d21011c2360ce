package page

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// redrivesView lists redrives.
type redrivesView struct {
	frame
	Rows []redriveRow
}

// redriveRow is a redrive with its progress in percent.
type redriveRow struct {
	redrive.Redrive
	What, Standing string
	Percent        int64 // of its jobs that are retried
	Good, Bad      int64 // of its jobs that completed, and that are dead again, in percent
}

func redriveRowOf(r *redrive.Redrive) redriveRow {
	return redriveRow{Redrive: *r, What: words.RedriveWhat(r), Standing: words.RedriveStanding(r), Percent: 100 * r.Released / max(r.Total, 1),
		Good: 100 * r.Completed / max(r.Total, 1), Bad: 100 * r.Dead / max(r.Total, 1)}
}

func (p *Pages) redrives(a *api.API, c *api.Call) error {
	f, err := p.frame(a, c, "redrives", "Redrives")
	if err != nil {
		return err
	}
	list, err := a.Client().Redrives(c.Context())
	if err != nil {
		return err
	}
	f.Topics = "dead"
	v := redrivesView{frame: f}
	var active, stopped int64
	for i := range list {
		switch {
		case list[i].State.Active():
			active++
		case list[i].State == redrive.RedriveStopped:
			stopped++
		}
		v.Rows = append(v.Rows, redriveRowOf(&list[i]))
	}
	v.Heading = words.RedrivesFinding(active, stopped)
	v.Lead = "A redrive retries many dead jobs: a few first, then more and more while they succeed. It stops by itself when they fail again."
	return p.write(c.W, http.StatusOK, "redrives", &v)
}

// redriveView is one redrive.
type redriveView struct {
	frame
	Row    redriveRow
	Facts  words.Facts
	Shares []*stopShare
	Acts   []act
}

// stopShare is a share of failures or deaths against the rule that stops the redrive.
type stopShare struct {
	redrive.RedriveStop
	Name     string
	Causes   string // the most frequent causes
	Percent  float64
	Limit    float64 // in percent; 100 means that the share never stops it
	Bounded  bool
	Verdict  string
	BarWidth float64
}

func (p *Pages) redrive(a *api.API, c *api.Call) error {
	f, err := p.frame(a, c, "redrives", "Redrive "+words.Clean(c.R.PathValue("n")))
	if err != nil {
		return err
	}
	r, err := redriveOf(a, c)
	if err != nil {
		return err
	}
	f.Topics = fmt.Sprintf("redrive:%d", r.ID)
	v := redriveView{frame: f, Row: redriveRowOf(&r), Facts: words.RedriveFacts(&r, f.Now)}
	v.Heading = words.RedriveFinding(&r)
	v.Lead = v.Row.Standing + "."
	if r.Live == nil {
		for _, s := range r.StopShares() {
			v.Shares = append(v.Shares, stopShareOf(&r, s))
		}
	}
	v.Acts = redriveActs(&r, f.MayOperate)
	return p.write(c.W, http.StatusOK, "redrive", &v)
}

func redriveOf(a *api.API, c *api.Call) (redrive.Redrive, error) {
	n, err := strconv.ParseInt(c.R.PathValue("n"), 10, 64)
	if err != nil {
		return redrive.Redrive{}, api.NotFound.New("There is no redrive %.20q.", c.R.PathValue("n"))
	}
	return a.Client().GetRedrive(c.Context(), n)
}

func stopShareOf(r *redrive.Redrive, stop redrive.RedriveStop) *stopShare {
	s := &stopShare{RedriveStop: stop, Name: words.StopName(stop.Rule), Causes: words.StopCauses(r, stop.Rule), Limit: 100 * stop.Limit,
		Bounded: stop.Limit < 1, Verdict: "no result yet"}
	if s.Of > 0 {
		s.Percent = 100 * float64(s.N) / float64(s.Of)
		s.Verdict = "below the limit"
		if s.Bounded && s.Percent > s.Limit {
			s.Verdict = "above the limit"
		}
	}
	s.BarWidth = min(100, s.Percent)
	return s
}

// Desc is the share and its limit in a sentence.
func (s *stopShare) Desc() string { return words.StopShare(s.RedriveStop) }

func redriveActs(r *redrive.Redrive, may bool) (acts []act) {
	switch {
	case r.State.Active():
		if r.State == redrive.RedriveCanary {
			acts = append(acts, act{Do: string(redrive.RedriveProceed), Label: "Go on without the canary"})
		}
		acts = append(acts, act{Do: string(redrive.RedrivePause), Label: "Pause", Main: true})
	case r.State == redrive.RedrivePaused, r.State == redrive.RedriveStopped:
		acts = append(acts, act{Do: string(redrive.RedriveResume), Label: "Resume", Main: true})
	default:
		return nil
	}
	acts = append(acts, act{Do: string(redrive.RedriveCancel), Label: "Cancel the rest"})
	if !may {
		for i := range acts {
			acts[i].Why, acts[i].Main = "Your role may look, not act; it needs the role operate.", false
		}
	}
	return acts
}

// newRedriveView is the page that starts a redrive: the frozen set in numbers, and the settings.
type newRedriveView struct {
	frame
	Filter   string         // in words
	Cause    *redrive.Group // if the filter names one
	Query    template.URL
	Count    int64
	Through  int64
	Kinds    []kindCount
	Owners   int64
	Skipped  int64
	Oldest   job.Micros
	Worst    string // what it costs at worst
	Patch    patchView
	Typed    bool // the number has to be typed
	Values   url.Values
	Refusals []string
}

// kindCount is the number of jobs of a kind in a set.
type kindCount struct {
	Kind string
	N    int64
}

// typedAbove is the number of jobs above which a person types the number.
const typedAbove = 1_000

func (p *Pages) newRedrive(a *api.API, c *api.Call) error {
	return p.writeNewRedrive(a, c, c.R.URL.Query(), nil, nil)
}

// writeNewRedrive shows the form with what was typed, and why it was refused.
func (p *Pages) writeNewRedrive(a *api.API, c *api.Call, query, values url.Values, refusals []string) error {
	f, err := p.frame(a, c, "redrives", "New redrive")
	if err != nil {
		return err
	}
	v := newRedriveView{frame: f, Query: queryOf(query), Values: values, Refusals: refusals}
	filter, err := a.DeadFilterOf(c, query)
	if err != nil {
		return err
	}
	counted, err := a.PreviewRetry(c, filter)
	if err != nil {
		return err
	}
	v.Filter, v.Count, v.Through = words.Filter(&filter), counted.Count, counted.Through
	v.Owners, v.Skipped, v.Oldest = int64(counted.Owners), counted.Skipped, counted.Oldest
	v.Kinds = kindsOf(counted.ByKind)
	if v.Worst, err = worstOfDead(c.Context(), a.Client(), filter, v.Through, v.Count); err != nil {
		return err
	}
	if text := strings.TrimSpace(values.Get("patch")); text != "" && v.Count > 0 {
		v.Patch, err = p.tryPatch(a, c, filter, v.Through, text)
		if problem := api.ProblemOf(err); err != nil {
			if problem.Status >= http.StatusInternalServerError {
				return err
			}
			v.Refusals = append(v.Refusals, "The patch cannot be used: "+detailOf(err))
		}
	}
	if filter.Group != "" {
		groups, err := a.Client().Groups(c.Context(), redrive.GroupFilter{Group: filter.Group, Limit: 1})
		if err != nil {
			return err
		}
		if len(groups.Groups) > 0 {
			v.Cause = &groups.Groups[0]
		}
	}
	v.Typed = v.Count > typedAbove
	v.Heading = "Retry " + words.Count(v.Count, "dead job")
	if v.Filter != "" {
		v.Lead = "All dead letters with " + v.Filter + ", as they are now. Jobs that die later are not in the set."
	}
	status := http.StatusOK
	if len(v.Refusals) > 0 {
		status = http.StatusBadRequest
	}
	return p.write(c.W, status, "new_redrive", &v)
}

// patchView is what a JSON Patch does to a set.
type patchView struct {
	Tried   bool
	Done    int64 // jobs to which it applies
	Refused int64
	Why     []string
	Example string // the first job that it changes
	Lines   []diffLine
}

// tryPatch applies a patch to each payload of a set, and changes nothing.
func (p *Pages) tryPatch(a *api.API, c *api.Call, f redrive.DeadFilter, through int64, patch string) (v patchView, err error) {
	did, err := a.Client().RetryPatched(c.Context(), c.By(""), redrive.Action{Do: redrive.ActRetry, Filter: &f, Through: through}, []byte(patch), true, nil)
	if err != nil {
		return v, err
	}
	v = patchView{Tried: true, Done: did.Done, Refused: did.RefusedN}
	for _, r := range did.Refused[:min(len(did.Refused), shownResults)] {
		v.Why = append(v.Why, words.Shorten(detailOf(r.Err), textShown))
	}
	if did.Example.Job != 0 && a.SeesPayloads(c) {
		v.Example, v.Lines = did.Example.Job.String(), diffOf(did.Example.Before, did.Example.After)
	}
	return v, nil
}

// startRedrive starts a redrive with the form of the page.
func (p *Pages) startRedrive(a *api.API, c *api.Call) error {
	in, err := form(c)
	if err != nil {
		return err
	}
	query, err := url.ParseQuery(in.Get("query"))
	if err != nil {
		return api.InvalidField.New("The filter of the form cannot be read.")
	}
	filter, err := a.DeadFilterOf(c, query)
	if err != nil {
		return err
	}
	spec := redrive.RedriveSpec{Filter: filter, Key: "page:" + in.Get("nonce")}
	var wrong []string
	number := func(name, what string, least, most int64) int64 {
		text := in.Get(name)
		if text == "" {
			return 0
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < least || n > most {
			wrong = append(wrong, fmt.Sprintf("%s must be a whole number from %s to %s.", what, words.Number(least), words.Number(most)))
		}
		return n
	}
	spec.Through = number("through", "The set", 0, 1<<62)
	spec.Total = number("count", "The number of jobs", 0, 1<<62)
	if spec.Canary = int(number("canary", "Jobs first", 0, redrive.RedriveCanaryMax)); spec.Canary == 0 {
		spec.Canary = -1
	}
	spec.Rate = int(number("rate", "The rate", 0, redrive.RedriveRateMax))
	spec.StopShare = float64(number("stop_share", "The share of the same cause that stops it", 1, 100)) / 100
	spec.StopOther = float64(number("stop_other", "The share of other causes that stops it", 1, 100)) / 100
	spec.StopDead = float64(number("stop_dead", "The share of dead jobs that stops it", 1, 100)) / 100
	if text := strings.TrimSpace(in.Get("patch")); text != "" {
		spec.Patch = []byte(text)
	}
	change, err := placeOf(in)
	if err != nil {
		wrong = append(wrong, detailOf(err))
	} else if spec.Change, err = change.Encode(); err != nil {
		wrong = append(wrong, detailOf(err))
	}
	if in.Has("try") { // shows what the patch does
		return p.writeNewRedrive(a, c, query, in, nil)
	}
	if spec.Total > typedAbove && in.Get("typed") != strconv.FormatInt(spec.Total, 10) && in.Get("typed") != words.Number(spec.Total) {
		wrong = append(wrong, fmt.Sprintf("Type %d to retry that many jobs.", spec.Total))
	}
	if in.Get("reason") == "" {
		wrong = append(wrong, "Give a reason: it is kept in the audit log.")
	}
	if spec.Total == 0 {
		wrong = append(wrong, "The set is empty: no dead letter in it can be retried.")
	}
	if len(wrong) > 0 {
		return p.writeNewRedrive(a, c, query, in, wrong)
	}
	if err := api.CheckReason(in.Get("reason")); err != nil {
		return err
	}
	r, err := a.Client().Redrive(c.Context(), c.By(in.Get("reason")), spec)
	if problem := api.ProblemOf(err); err != nil && problem.Status < http.StatusInternalServerError {
		return p.writeNewRedrive(a, c, query, in, []string{detailOf(err)})
	}
	if err != nil {
		return err
	}
	d := done{Text: fmt.Sprintf("Redrive %d has started with %s.", r.ID, words.Count(r.Total, "job"))}
	if r.State == redrive.RedriveCanary && r.Released == 0 {
		d.Undo = &undo{Path: fmt.Sprintf("/ui/redrives/%d/cancel", r.ID), Fields: map[string]string{"state": string(r.State), "reason": "undo"}}
	}
	p.tell(a, c, d)
	return p.to(c, fmt.Sprintf("/ui/redrives/%d", r.ID))
}

// controlRedrive returns the handler of a button of a redrive.
func (p *Pages) controlRedrive(do redrive.RedriveOp) func(*api.API, *api.Call) error {
	said := map[redrive.RedriveOp]string{redrive.RedrivePause: "is paused", redrive.RedriveResume: "goes on", redrive.RedriveProceed: "goes on without its canary", redrive.RedriveCancel: "is cancelled"}
	return func(a *api.API, c *api.Call) error {
		in, err := form(c)
		if err != nil {
			return err
		}
		r, err := redriveOf(a, c)
		if err != nil {
			return err
		}
		return p.once(a, c, in, "/ui/redrives/"+c.R.PathValue("n"), func() (done, error) {
			by := c.By(in.Get("reason"))
			if was := in.Get("state"); was != "" {
				if was != string(r.State) {
					return done{}, api.RedriveState.New("redrive %d is %s, not %s", r.ID, r.State, words.Clean(was))
				}
				by.Seen = &redrive.Seen{Redrive: &r.State}
			}
			r, err := a.Client().ControlRedrive(c.Context(), by, r.ID, do)
			return done{Text: fmt.Sprintf("Redrive %d %s.", r.ID, said[do])}, err
		})
	}
}
