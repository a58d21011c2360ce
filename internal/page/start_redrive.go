package page

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
)

// startRedrive starts a redrive with the form of the page. It acts on the set that the page has shown: if nothing of it is
// left, or more than was shown, nothing is started.
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
	if in.Has("try") { // shows what the patch does
		return p.writeNewRedrive(a, c, query, in, nil)
	}
	spec, wrong := specOf(in)
	spec.Filter = filter
	list, err := a.Client().Redrives(c.Context())
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(list, func(r redrive.Redrive) bool { return spec.Key != "" && r.Key == spec.Key }); i >= 0 {
		p.tell(a, c, done{Text: words.RedriveKnown(&list[i]), Bad: !list[i].State.Active()})
		return p.to(c, fmt.Sprintf("/ui/redrives/%d", list[i].ID))
	}
	if len(wrong) > 0 {
		return p.writeNewRedrive(a, c, query, in, wrong)
	}
	if err := api.CheckReason(in.Get("reason")); err != nil {
		return err
	}
	shown := spec.Total
	refused, err := p.stillAsShown(a, c, &spec, in, list)
	if err != nil {
		return err
	}
	if refused != "" {
		return p.writeNewRedrive(a, c, query, in, []string{refused})
	}
	r, err := a.Client().Redrive(c.Context(), c.By(in.Get("reason")), spec)
	if problem := api.ProblemOf(err); err != nil && problem.Status < http.StatusInternalServerError {
		return p.writeNewRedrive(a, c, query, in, []string{detailOf(err)})
	}
	if err != nil {
		return err
	}
	p.tell(a, c, done{Text: words.RedriveStarted(&r, shown)})
	return p.to(c, fmt.Sprintf("/ui/redrives/%d", r.ID))
}

// specOf reads the form of a redrive, and says what is wrong in it.
func specOf(in url.Values) (spec redrive.RedriveSpec, wrong []string) {
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
	if nonce := in.Get("nonce"); nonce != "" {
		spec.Key = "page:" + nonce
	}
	spec.Through = number("through", "The set", 0, 1<<62)
	spec.Total = number("count", "The number of jobs", 0, 1<<62)
	if spec.Canary = int(number("canary", "Jobs first", 0, redrive.RedriveCanaryMax)); spec.Canary == 0 {
		spec.Canary = -1
	}
	spec.Rate = int(number("rate", "The rate", 0, redrive.RedriveRateMax))
	spec.StopShare = float64(number("stop_share", "The percentage of first attempts that fail again by the same cause, above which the redrive stops,", 1, 100)) / 100
	spec.StopOther = float64(number("stop_other", "The percentage of first attempts that fail by another cause, above which the redrive stops,", 1, 100)) / 100
	spec.StopDead = float64(number("stop_dead", "The percentage of ended jobs that are dead, above which the redrive stops,", 1, 100)) / 100
	if text := strings.TrimSpace(in.Get("patch")); text != "" {
		spec.Patch = []byte(text)
	}
	change, err := placeOf(in)
	if err != nil {
		wrong = append(wrong, detailOf(err))
	} else if spec.Change, err = change.Encode(); err != nil {
		wrong = append(wrong, detailOf(err))
	}
	if spec.Total > typedAbove && in.Get("typed") != strconv.FormatInt(spec.Total, 10) && in.Get("typed") != words.Number(spec.Total) {
		wrong = append(wrong, fmt.Sprintf("Type %d to retry that many jobs.", spec.Total))
	}
	if in.Get("reason") == "" {
		wrong = append(wrong, "Give a reason: it is kept in the audit log.")
	}
	if spec.Total == 0 {
		wrong = append(wrong, "Nothing was done: no dead letter of the set can be retried.")
	}
	return spec, wrong
}

// stillAsShown counts the set again, and sets the number of jobs if it has become smaller. It returns why nothing is
// started: nothing of the set is left, it has grown, what a person has to change first is not changed, or a redrive that the
// page has not named takes jobs of the set.
func (p *Pages) stillAsShown(a *api.API, c *api.Call, spec *redrive.RedriveSpec, in url.Values, list []redrive.Redrive) (refused string, err error) {
	counted, err := a.PreviewRetry(c, spec.Filter, spec.Through)
	if err != nil {
		return "", err
	}
	if counted.Count == 0 || counted.Count > spec.Total {
		return words.RedriveNotStarted(spec.Total, counted.Count), nil
	}
	if !in.Has("ready") {
		v := newRedriveView{}
		if err := v.causes(a, c, counted.ByGroup); err != nil {
			return "", err
		}
		if v.First > 0 {
			return words.RedriveTooEarly(v.First), nil
		}
	}
	named := strings.Split(in.Get("beside"), ",")
	for i := range list {
		if r := &list[i]; takesFrom(r, &spec.Filter) && !slices.Contains(named, strconv.FormatInt(r.ID, 10)) {
			return fmt.Sprintf("Nothing was done: redrive %d has been started since the page was read, and may take jobs of the same set. Look at it first.", r.ID), nil
		}
	}
	spec.Through, spec.Total = counted.Through, counted.Count
	return "", nil
}
