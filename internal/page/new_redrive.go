package page

import (
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

// newRedriveView is the page that starts a redrive: the frozen set in numbers, and the settings.
type newRedriveView struct {
	frame
	Filter   string // in words
	Query    template.URL
	Count    int64
	Through  int64
	Kinds    []kindCount
	Owners   int64
	Skipped  int64
	Oldest   job.Micros
	Searched job.Micros // kinds, owners, causes and skipped are only those of jobs that died later; 0 if of all
	Causes   []setCause // the most frequent first
	More     int64      // jobs of causes that are not in Causes
	First    int64      // jobs of causes of which a person has to change something first
	Others   []redrive.Redrive
	Worst    string // what it costs at worst
	Patch    patchView
	Typed    bool // the number has to be typed
	Values   url.Values
	Refusals []string
}

// OtherIDs are the ids of the redrives that the page has named, for its form.
func (v *newRedriveView) OtherIDs() string {
	ids := make([]string, len(v.Others))
	for i := range v.Others {
		ids[i] = strconv.FormatInt(v.Others[i].ID, 10)
	}
	return strings.Join(ids, ",")
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
	filter, err := a.DeadFilterOf(c, query)
	if err != nil {
		return err
	}
	v := newRedriveView{frame: f, Query: queryOf(fixedTimes(query, &filter)), Values: values, Refusals: refusals}
	counted, err := a.PreviewRetry(c, filter, 0)
	if err != nil {
		return err
	}
	v.Filter, v.Count, v.Through = words.Filter(&filter), counted.Count, counted.Through
	v.Owners, v.Skipped, v.Oldest = int64(counted.Owners), counted.Skipped, counted.Oldest
	v.Kinds, v.Searched = kindsOf(counted.ByKind), counted.SearchedUntil
	if err := v.causes(a, c, counted.ByGroup); err != nil {
		return err
	}
	for i := range v.Causes[:min(len(v.Causes), sinceRows)] {
		if v.Causes[i].Since, err = sinceLastDeath(a, c, &v.Causes[i].Group, f.Now); err != nil {
			return err
		}
	}
	if v.Others, err = besides(c, a.Client(), &filter, 0); err != nil {
		return err
	}
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
	v.Typed = v.Count > typedAbove
	v.Heading = "Redrive " + words.Count(v.Count, "dead job")
	if v.Filter != "" {
		v.Lead = "The dead letters of this list as they are now: " + v.Filter + ". Jobs that die later are not in the set."
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
