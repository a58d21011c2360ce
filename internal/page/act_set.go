package page

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/server/access"
)

// setView is the page that asks before an action on all rows that a filter selects: the frozen set in
// numbers, a reason, and the number itself if the set is large.
type setView struct {
	frame
	Act        *manyAct
	Path       string // address to which the form is sent; List is the list from which it came
	List       string
	Query      string
	Count      int64
	Through    int64
	At         int64 // with Through the end of a set of live jobs
	Kinds      []kindCount
	Owners     int64
	Skipped    int64
	Oldest     job.Micros
	Searched   job.Micros
	Worst      string // what it costs at worst, if the action runs them
	Typed      bool
	WholeGroup bool
	In         url.Values
	Wrong      []string
	So         string // what a first part has done
}

// deadSet asks before an action on all dead letters of a list.
func (p *Pages) deadSet(a *api.API, c *api.Call) error {
	query := c.R.URL.Query()
	m, err := manyOf(query.Get("do"))
	if err != nil {
		return err
	}
	query = listQuery(query)
	if m.dead == redrive.ActRetry {
		return p.to(c, "/ui/redrives/new?"+query.Encode())
	}
	return p.writeSet(a, c, m, query, http.StatusOK, nil, nil, "")
}

// listQuery returns the filter of a list without its paging.
func listQuery(query url.Values) url.Values {
	q := maps.Clone(query)
	for _, name := range [...]string{"do", "cursor", "limit", "page"} {
		q.Del(name)
	}
	return q
}

// liveSet asks before an action on all live jobs of a list.
func (p *Pages) liveSet(a *api.API, c *api.Call) error {
	query := c.R.URL.Query()
	m, err := manyOf(query.Get("do"))
	if err != nil {
		return err
	}
	return p.writeSet(a, c, m, listQuery(query), http.StatusOK, nil, nil, "")
}

// writeSet writes the page that asks for a confirmation. The argument in has what the person has
// typed, wrong has the reasons why it was refused, and so says what the action has done so far.
func (p *Pages) writeSet(a *api.API, c *api.Call, m *manyAct, query url.Values, status int, in url.Values, wrong []string, so string) error {
	section, list := "dead", "/ui/dead"
	if m.ofLive() {
		section, list = "jobs", "/ui/jobs"
	}
	f, err := p.frame(a, c, section, m.Label+" many jobs")
	if err != nil {
		return err
	}
	v := setView{frame: f, Act: m, Path: list + "/act", List: list + "?" + query.Encode(), Query: query.Encode(), In: in, Wrong: wrong, So: so}
	if m.ofLive() {
		err = v.countLive(a, c, query)
	} else {
		err = v.countDead(a, c, query)
	}
	if err != nil {
		return err
	}
	v.Typed = v.Count > typedAbove
	noun := "dead letter"
	if m.ofLive() {
		noun = "job"
	}
	v.Heading = m.Label + " " + words.Count(v.Count, noun)
	if m.Do == "run" {
		v.Heading = "Make " + words.Count(v.Count, noun) + " due now"
	}
	return p.write(c.W, status, "set", &v)
}

func (v *setView) countDead(a *api.API, c *api.Call, query url.Values) error {
	filter, err := a.DeadFilterOf(c, query)
	if err != nil {
		return err
	}
	counted, err := a.Preview(c, redrive.Action{Do: v.Act.dead, Filter: &filter})
	if err != nil {
		return err
	}
	v.Count, v.Through, v.Skipped, v.Oldest, v.Owners, v.Searched = counted.Count, counted.Through, counted.Skipped, counted.Oldest, int64(counted.Owners), counted.SearchedUntil
	v.Kinds = kindsOf(counted.ByKind)
	v.WholeGroup = filter.WholeGroup()
	v.Lead = "All dead letters as they are now"
	if text := words.Filter(&filter); text != "" {
		v.Lead = "The dead letters of this list as they are now: " + text
	}
	v.Lead += ". Jobs that die later are not in the set."
	v.Query = fixedTimes(query, &filter).Encode()
	return nil
}

// kindsOf sorts numbers of jobs by kind, the largest first.
func kindsOf(numbers map[string]int64) (list []kindCount) {
	for kind, n := range numbers {
		list = append(list, kindCount{kind, n})
	}
	slices.SortFunc(list, func(a, b kindCount) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Kind, b.Kind)) })
	return list
}

// The pages that are read for the details of a set of live jobs.
const livePages = 10

func (v *setView) countLive(a *api.API, c *api.Call, query url.Values) error {
	filter, err := a.JobFilterOf(query)
	if err != nil {
		return err
	}
	action := redrive.LiveAction{Do: v.Act.live, Filter: filter}
	action.Filter.Limit = 0
	if v.Act.live == redrive.LiveAlter {
		action.Change.Priority = job.PriorityMin // the change itself is typed on this page
	}
	seen, err := a.Client().PreviewLive(c.Context(), action)
	if err != nil {
		return err
	}
	v.Count, v.Through, v.At = seen.Done, int64(seen.Through), int64(seen.At)
	kinds, owners := make(map[string]int64), make(map[string]bool)
	var first []job.ID
	filter.Limit = job.PageMax
	for range livePages {
		page, err := a.Client().List(c.Context(), filter)
		if err != nil {
			return err
		}
		for i := range page.Jobs {
			j := &page.Jobs[i]
			if !j.State.Ready() && (j.State != job.Running || v.Act.live != redrive.LiveCancel) {
				v.Skipped++
				continue
			}
			kinds[j.Kind]++
			owners[j.Owner] = true
			if len(first) < costRead {
				first = append(first, j.ID)
			}
			if v.Oldest == 0 || j.CreatedAt < v.Oldest {
				v.Oldest = j.CreatedAt
			}
		}
		filter.From, v.Searched = page.Next, page.Searched
		if page.Next.IsZero() {
			v.Searched = 0
			break
		}
		v.Searched = max(page.Searched, 1)
	}
	v.Owners, v.Kinds = int64(len(owners)), kindsOf(kinds)
	if v.Act.live == redrive.LiveAlter {
		if v.Worst, err = worstOfLive(c.Context(), a.Client(), first, v.Kinds, v.Count); err != nil {
			return err
		}
	}
	v.Lead = "All live jobs of the list, as they are now. Jobs that are enqueued later are not in the set."
	return nil
}

// actOnDead carries out an action on dead letters: on the rows that were ticked, or on a frozen set.
func (p *Pages) actOnDead(a *api.API, c *api.Call) error { return p.actOnMany(a, c, "/ui/dead") }

// actOnJobs carries out an action on jobs: on the rows that were ticked, or on a frozen set.
func (p *Pages) actOnJobs(a *api.API, c *api.Call) error { return p.actOnMany(a, c, "/ui/jobs") }

func (p *Pages) actOnMany(a *api.API, c *api.Call, list string) error {
	in, err := form(c)
	if err != nil {
		return err
	}
	m, err := manyOf(in.Get("do"))
	if err != nil {
		return err
	}
	back := local(in.Get("back"))
	if back == "/ui/" {
		back = list
	}
	if !in.Has("query") {
		return p.once(a, c, in, back, func() (done, error) { return p.actOnTicked(a, c, m, in) })
	}
	query, err := url.ParseQuery(in.Get("query"))
	if err != nil {
		return api.InvalidField.New("The filter of the form cannot be read.")
	}
	if m.ofLive() != (list == "/ui/jobs") || m.dead == redrive.ActRetry {
		return api.NotFound.New("This list cannot %.40q.", m.Do)
	}
	if m.dead == redrive.ActPurge && !c.Caller.Roles.Any(access.Administer) {
		return api.Forbidden.New("A purge needs the role administer.")
	}
	s, wrong := setOf(in)
	if len(wrong) > 0 {
		return p.writeSet(a, c, m, query, http.StatusBadRequest, in, wrong, "")
	}
	back = list + "?" + query.Encode()
	if m.ofLive() {
		return p.actOnLive(a, c, m, query, in, s, back)
	}
	return p.actOnDeadSet(a, c, m, query, in, s, back)
}

// frozenSet is a set that the page has shown.
type frozenSet struct{ count, through, at int64 }

// setOf reads the frozen set of a form, and says what is missing in the form.
func setOf(in url.Values) (s frozenSet, wrong []string) {
	for _, n := range [...]struct {
		name string
		to   *int64
	}{{"count", &s.count}, {"through", &s.through}, {"at", &s.at}} {
		var err error
		if *n.to, err = strconv.ParseInt(cmp.Or(in.Get(n.name), "0"), 10, 64); err != nil || *n.to < 0 {
			wrong = append(wrong, "The set of the form cannot be read. This page shows it as it is now.")
			return s, wrong
		}
	}
	if in.Get("reason") == "" {
		wrong = append(wrong, "Give a reason: it is kept in the audit log.")
	}
	if typed := in.Get("typed"); s.count > typedAbove && typed != strconv.FormatInt(s.count, 10) && typed != words.Number(s.count) {
		wrong = append(wrong, fmt.Sprintf("Type %d to change that many jobs.", s.count))
	}
	if s.count == 0 && in.Get("group") == "" {
		wrong = append(wrong, "The set is empty: nothing in it can be changed.")
	}
	return s, wrong
}

// actOnDeadSet changes the dead letters of a frozen set. If there are so many that the time of a request
// is over, the page asks to go on with the same set.
func (p *Pages) actOnDeadSet(a *api.API, c *api.Call, m *manyAct, query, in url.Values, s frozenSet, back string) error {
	filter, err := a.DeadFilterOf(c, query)
	if err != nil {
		return err
	}
	action := redrive.Action{Do: m.dead, Filter: &filter, Through: max(1, s.through), Note: in.Get("reason")}
	if m.dead == redrive.ActIgnore {
		if action.Count, err = strconv.ParseInt(cmp.Or(in.Get("deaths"), "0"), 10, 64); err != nil || action.Count < 0 {
			return p.writeSet(a, c, m, query, http.StatusBadRequest, in, []string{"The number of further deaths must be a whole number."}, "")
		}
		if action.Count == 0 || in.Get("until") != "" {
			if action.Until, err = a.Until(in.Get("until"), ignoredFor); err != nil {
				return p.writeSet(a, c, m, query, http.StatusBadRequest, in, []string{detailOf(err)}, "")
			}
		}
	}
	if err := api.CheckReason(action.Note); err != nil {
		return err
	}
	more, sofar := false, int64(0)
	err = p.once(a, c, in, back, func() (done, error) {
		var n int64
		if n, more, err = a.ActOnSet(c, action); err != nil || more {
			if sofar = n; more {
				return done{}, errTyped
			}
			return done{}, err
		}
		d := done{Text: fmt.Sprintf("%s of %s %s.", words.Number(n), words.Count(s.count, "dead letter"), m.Done)}
		if n < s.count {
			d.Bad = true
			d.Text += fmt.Sprintf(" %s had changed since the page was loaded.", words.Number(s.count-n))
		}
		if m.dead == redrive.ActResolve || m.dead == redrive.ActIgnore {
			d.Link, d.Of = "/ui/dead/act?do=reopen&"+withStatus(query, m.dead).Encode(), "Undo"
		}
		return d, nil
	})
	if more {
		in.Set("typed", "")
		return p.writeSet(a, c, m, query, http.StatusOK, in, nil, fmt.Sprintf("%s %s so far. Go on with the rest.", words.Count(sofar, "dead letter"), m.Done))
	}
	return err
}

// withStatus returns the filter of what an action has changed, for the page that takes it back.
func withStatus(query url.Values, do redrive.Act) url.Values {
	q := maps.Clone(query)
	q.Set("status", map[redrive.Act]string{redrive.ActResolve: job.Resolved.String(), redrive.ActIgnore: job.Ignored.String()}[do])
	return q
}

// actOnLive changes the live jobs of a frozen set: a small set at once, a large one step by step by the
// running processes, so that a person can stop it half way.
func (p *Pages) actOnLive(a *api.API, c *api.Call, m *manyAct, query, in url.Values, s frozenSet, back string) error {
	filter, err := a.JobFilterOf(query)
	if err != nil {
		return err
	}
	filter.Limit = 0
	change, err := liveChange(m, in)
	if err != nil {
		return p.writeSet(a, c, m, query, http.StatusBadRequest, in, []string{detailOf(err)}, "")
	}
	action := redrive.LiveAction{Do: m.live, Filter: filter, Change: change, Through: job.ID(s.through), At: job.Micros(s.at)}
	by := c.By(in.Get("reason"))
	if err := api.CheckReason(by.Reason); err != nil {
		return err
	}
	return p.once(a, c, in, back, func() (done, error) {
		if s.count > typedAbove {
			r, err := a.Client().StartLive(c.Context(), by, action, redrive.LiveActed{Done: s.count, Through: action.Through, At: action.At}, 0)
			return done{Text: fmt.Sprintf("%s are being changed, step by step. It can be paused and cancelled here.", words.Count(s.count, "job")), To: fmt.Sprintf("/ui/redrives/%d", r.ID)}, err
		}
		did, err := a.Client().ActLive(c.Context(), by, action, nil)
		d := done{Text: fmt.Sprintf("%s of %s %s.", words.Number(did.Done), words.Count(s.count, "job"), m.Done)}
		if did.Done < s.count {
			d.Bad = true
			d.Text += fmt.Sprintf(" %s had moved on since the page was loaded.", words.Number(s.count-did.Done))
		}
		return d, err
	})
}
