package page

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// groupsPage is the number of causes on a page.
const groupsPage = 50

// groupsView lists the causes of dead jobs.
type groupsView struct {
	frame
	Tabs   []tab
	Rows   []groupRow
	Shares []share
	Filter redrive.GroupFilter
	State  string
	Next   template.URL // the query of the next page
	Chips  []chip
	Export string
}

// tab is a link to a part of a list.
type tab struct {
	Name    string
	Query   template.URL
	Current bool
}

// groupRow is a cause with what a person does about it.
type groupRow struct {
	redrive.Group
	Active *redrive.Redrive // the redrive of the group that is under way
	Help   int64            // the share of retries that helped in percent; -1 if there were none
	Next   string
	First  bool   // a person has to change something before a retry can help
	Since  string // sentence on the jobs of the kind that have completed since the last death
}

// share is a part of a bar, in percent of its width.
type share struct {
	X, Width float64
	Active   bool
	Text     string
}

// The states in the tabs of the causes. Ignored is not a state of a group: ignored groups have no
// pending dead letters.
var groupTabs = [...]tab{{Name: "Pending", Query: ""}, {Name: "Regressed", Query: "state=regressed"}, {Name: "Resolved", Query: "state=resolved"}, {Name: "All", Query: "state=all"}}

func (p *Pages) groups(a *api.API, c *api.Call) error {
	f, err := p.frame(a, c, "groups", "Failures")
	if err != nil {
		return err
	}
	query := c.R.URL.Query()
	v := groupsView{frame: f, State: query.Get("state")}
	v.Topics = "dead"
	v.Filter = redrive.GroupFilter{Kind: query.Get("kind"), Class: query.Get("class"), Assignee: query.Get("assignee"), Largest: query.Get("order") != "newest", Limit: groupsPage}
	switch v.State {
	case "":
		v.Filter.Pending, v.Filter.Merge = true, true
	case "all":
	case string(redrive.GroupResolved), string(redrive.GroupRegressed), string(redrive.GroupOpen):
		v.Filter.State = redrive.GroupState(v.State)
	default:
		return api.InvalidField.Mistaken(api.Mistake{Parameter: "state", Detail: suggest.Unknown("state", v.State, []string{"open", "resolved", "regressed", "all"})})
	}
	if text := query.Get("skip"); text != "" {
		if v.Filter.Skip, err = strconv.Atoi(text); err != nil || v.Filter.Skip < 0 {
			return api.InvalidField.Mistaken(api.Mistake{Parameter: "skip", Detail: "must be a whole number, 0 or more"})
		}
	}
	page, err := a.Client().Groups(c.Context(), v.Filter)
	if err != nil {
		return err
	}
	redrives, err := a.Client().Redrives(c.Context())
	if err != nil {
		return err
	}
	for i := range page.Groups {
		v.Rows = append(v.Rows, groupRowOf(&page.Groups[i], redrives))
		if i < sinceRows && v.Rows[i].Active == nil {
			if v.Rows[i].Since, err = sinceLastDeath(a, c, &page.Groups[i], f.Now); err != nil {
				return err
			}
		}
	}
	if end := v.Filter.Skip + len(page.Groups); end < page.Total {
		next := query
		next.Set("skip", strconv.Itoa(end))
		v.Next = queryOf(next)
	}
	for _, t := range groupTabs {
		t.Current = t.Query == "" && v.State == "" || string(t.Query) == "state="+v.State
		v.Tabs = append(v.Tabs, t)
	}
	exported := url.Values{}
	for name, values := range query {
		if name != "skip" && name != "order" && (name != "state" || v.State != "all") {
			exported[name] = values
		}
	}
	if v.State == "" {
		exported.Set("pending", "true")
	}
	v.Export = p.exportOf("/api/groups/export", exported)
	v.Chips = chipsOf(query, f.Zone, "kind", "class", "assignee")
	v.Heading = words.CausesFinding(f.Pending, int64(f.Groups))
	v.Lead = words.CausesLead(page.Groups, f.Pending, int64(f.Groups))
	if v.State != "" || len(v.Chips) > 0 {
		v.Heading, v.Lead = words.CausesListFinding(int64(page.Total), v.State), words.CausesListLead(v.State)
	}
	if v.State == "" && len(v.Chips) == 0 && v.Filter.Skip == 0 {
		v.Shares = sharesOf(v.Rows, f.Pending)
	}
	return p.write(c.W, http.StatusOK, "groups", &v)
}

func groupRowOf(g *store.Group, redrives []redrive.Redrive) groupRow {
	r := groupRow{Group: *g, Help: words.HelpShare(g), Next: words.NextStep(g), First: words.PersonFirst(g)}
	for i := range redrives {
		if redrives[i].State.Active() && slices.Contains(redrives[i].Filter.Fingerprints(), g.Fingerprint) && g.Fingerprint != "" {
			r.Active = &redrives[i]
		}
	}
	return r
}

// queryOf returns a query in the type that a template writes as it is: it has been encoded.
func queryOf(q url.Values) template.URL { return template.URL(q.Encode()) } //nolint:gosec // encoded by package net/url

// exportOf returns the address that exports a list, with its filter.
func (p *Pages) exportOf(path string, filter url.Values) string {
	return p.o.Base + path + "?" + filter.Encode()
}

// sharesOf divides a bar among the causes by their pending dead letters. Small ones are one part.
func sharesOf(rows []groupRow, pending int64) (list []share) {
	const most, gap = 8, 0.2
	x := 0.0
	add := func(n int64, active bool, text string) {
		width := 100 * float64(n) / float64(max(pending, 1))
		if width > 0 && x < 100 {
			list = append(list, share{X: x, Width: max(min(width, 100-x)-gap, gap), Active: active, Text: text})
			x += width
		}
	}
	rest := pending
	for i := range rows[:min(len(rows), most)] {
		add(rows[i].Pending, rows[i].Active != nil, fmt.Sprintf("%s %s", words.Number(rows[i].Pending), causeOf(&rows[i].Group)))
		rest -= rows[i].Pending
	}
	if rest > 0 && len(rows) > 0 {
		add(rest, false, words.Number(rest)+" in more causes")
	}
	return list
}

// groupView is one cause with everything about it.
type groupView struct {
	frame
	Group    groupRow
	Facts    words.Facts
	Standing string
	Dead     []redrive.DeadEntry
	Sample   *job.Failure // the last failure of the first job
	Operator string
	Redrives []redrive.Redrive
	Notes    []redrive.Note
	Audit    []redrive.AuditEntry
	Idle     string          // sentence that nothing has to be done
	Came     string          // sentence on the build since which it came back
	Since    string          // sentence on the jobs of the kind that have completed since the last death
	Classes  []failure.Class // that later failures may be given
	// In is what was typed into a form that was refused, At names the form, and Wrong says why.
	In    url.Values
	At    string
	Wrong []string
}

// Typed returns what was typed into a field of the form that was refused, and the given text for other forms.
func (v *groupView) Typed(form, field, otherwise string) string {
	if v.At == form {
		return v.In.Get(field)
	}
	return otherwise
}

func (p *Pages) group(a *api.API, c *api.Call) error {
	return p.writeGroup(a, c, http.StatusOK, nil, nil)
}

// writeGroup writes the page of a cause. in is what was typed into a form of the page, and wrong is why it was
// refused; both may be nil.
func (p *Pages) writeGroup(a *api.API, c *api.Call, status int, in url.Values, wrong []string) error {
	f, err := p.frame(a, c, "groups", "Cause")
	if err != nil {
		return err
	}
	g, err := a.Group(c)
	if err != nil {
		return err
	}
	client, ctx := a.Client(), c.Context()
	f.besideButtons()
	f.Topics = "group:" + g.Fingerprint
	f.Path = f.Base + "/ui/groups/" + url.PathEscape(g.Fingerprint)
	v := groupView{frame: f, Facts: words.CauseFacts(&g, f.Now), Standing: words.CauseStanding(&g, f.Now)}
	if wrong != nil {
		v.Done, v.Beside, v.In, v.At, v.Wrong = nil, false, in, in.Get("form"), wrong
	}
	redrives, err := client.Redrives(ctx)
	if err != nil {
		return err
	}
	v.Group = groupRowOf(&g, redrives)
	for i := range redrives {
		if slices.Contains(redrives[i].Filter.Fingerprints(), g.Fingerprint) {
			v.Redrives = append(v.Redrives, redrives[i])
		}
	}
	dead, err := client.DeadLetters(ctx, redrive.DeadFilter{Group: g.Fingerprint}, redrive.DeadPaging{Limit: groupDead, Jobs: true})
	if err != nil {
		return err
	}
	v.Dead = dead.Entries
	if failures, err := client.Failures(ctx, g.Sample); err == nil && len(failures) > 0 {
		v.Sample = &failures[len(failures)-1]
		operators := words.Operators{Policy: client.StoredPolicy}
		v.Operator = words.Acts(operators.Text(ctx, v.Sample), true)
	}
	if v.Notes, err = client.Notes(ctx, redrive.NoteFilter{Group: g.Fingerprint, Limit: notesMax}); err != nil {
		return err
	}
	audit, err := client.Audit(ctx, redrive.AuditFilter{Target: g.Fingerprint, Limit: happenedMax})
	if err != nil {
		return err
	}
	v.Audit = audit.Entries
	if v.Came, err = cameBack(a, c, &g, f.Now); err != nil {
		return err
	}
	if v.Since, err = sinceLastDeath(a, c, &g, f.Now); err != nil {
		return err
	}
	for i := range v.Notes {
		n := &v.Notes[i]
		if l, ok := policy.ParseLabel(n.Text); ok && n.What == redrive.Label {
			n.Text = "Later failures like these are " + string(l.Class) + "."
		}
	}
	v.Classes = client.Policy().Classes()
	v.Idle = words.CauseIdle(&g)
	v.Title, v.Heading = causeOf(&g), causeOf(&g)
	v.Lead = words.GroupStanding(&g, f.Now)
	return p.write(c.W, status, "group", &v)
}

// cameBack says since when, and in which build, jobs die again of a cause that was resolved.
func cameBack(a *api.API, c *api.Call, g *redrive.Group, now job.Micros) (string, error) {
	if g.RegressedAt == 0 {
		return "", nil
	}
	text := fmt.Sprintf("Came back %s, after %s had resolved it", words.Away(g.RegressedAt, now), words.Clean(g.ResolvedBy))
	first, err := a.Client().DeadLetters(c.Context(), redrive.DeadFilter{Group: g.Fingerprint, Since: g.RegressedAt, Until: g.RegressedAt + 1}, redrive.DeadPaging{Limit: 1})
	if err != nil || len(first.Entries) == 0 {
		return text, err
	}
	failures, err := a.Client().Failures(c.Context(), first.Entries[0].DeadLetter.Job)
	if err != nil {
		return text, err
	}
	for i := range failures {
		if f := &failures[i]; f.EndedAt == g.RegressedAt && f.Build != "" {
			text += ", in build " + words.Clean(f.Build)
		}
	}
	return text, nil
}

// sinceLastDeath says how many jobs of the kind of a cause have completed since the last death by it. Of a death
// that is longer ago than sinceMost, it looks at this time only. It is "" until a whole step has passed.
func sinceLastDeath(a *api.API, c *api.Call, g *redrive.Group, now job.Micros) (string, error) {
	if g.Pending == 0 || g.Kind == "" {
		return "", nil
	}
	from, step := max(g.LastAt, now.Add(-sinceMost)), time.Minute
	if now.Sub(from) > sinceByMinute {
		step = time.Hour
	}
	size := job.Micros(step / time.Microsecond)
	if from = (from/size + 1) * size; from >= now {
		return "", nil
	}
	points, err := a.Client().Series(c.Context(), redrive.SeriesQuery{Since: from, Until: now, Step: step, Kind: g.Kind})
	if err != nil {
		return "", err
	}
	completed := int64(0)
	for i := range points {
		completed += points[i].Completed
	}
	return words.AfterLastDeath(words.Clean(g.Kind), completed), nil
}

// sinceMost is how far back completed jobs are counted after a death; up to sinceByMinute it is done by minute.
const (
	sinceMost     = 7 * 24 * time.Hour
	sinceByMinute = 2 * time.Hour
	// sinceRows is for how many causes of a list it is done: each needs a read.
	sinceRows = 10
)

const (
	groupDead = 10
	notesMax  = 100
)
