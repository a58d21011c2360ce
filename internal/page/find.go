package page

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// findView is what a text names: jobs by id, key, correlation id, owner, attribute and the text of
// their error, causes, kinds and queues by name, and batches by key and name.
type findView struct {
	frame
	Text   string
	Places []*place
	Slow   []*place // searches that look at one job after the other
}

// place is where something was looked for.
type place struct {
	Name, Path string // Path is the list with all that is there
	Rows       []job.Job
	More       bool       // the list goes on
	Searched   job.Micros // how far back the search came, if it has not come to the end
	Onward     string     // the path at which the search goes on
}

// Title is the heading of the place.
func (p *place) Title() string { return capital(words.Clean(p.Name)) }

// foundMax is how many jobs of a place are shown; lookUps is in how many kinds a key is looked up.
const (
	foundMax = 5
	lookUps  = 200
	findMax  = 256
)

// find leads to a job if the text is its id alone, to a list if the text has filters such as
// kind:render, and otherwise shows all that the text names.
func (p *Pages) find(a *api.API, c *api.Call) error {
	text := strings.TrimSpace(c.R.URL.Query().Get("q"))
	if len(text) > findMax {
		return api.TooLarge.New("The text has %d bytes; at most %d are searched for.", len(text), findMax)
	}
	if filters := filtersIn(text); filters != nil {
		return p.to(c, "/ui/jobs?"+filters.Encode())
	}
	f, err := p.frame(a, c, "jobs", "Find")
	if err != nil {
		return err
	}
	v := findView{frame: f, Text: text}
	if text != "" {
		if err := v.fast(a, c); err != nil {
			return err
		}
		if len(v.Places) == 1 && v.Places[0].Name == "id" {
			return p.to(c, v.Places[0].Path)
		}
		if err := v.slow(a, c); err != nil {
			return err
		}
	}
	n := int64(len(v.Places))
	for i := range v.Slow {
		if len(v.Slow[i].Rows) > 0 {
			n++
		}
	}
	v.Heading = words.FoundFinding(text, n)
	if text == "" {
		v.Heading = "Find a job"
	}
	return p.write(c.W, http.StatusOK, "find", &v)
}

// filtersIn returns the filters of a text such as "kind:render owner:acme", nil if it has none. The
// value of a single filter may have blanks.
func filtersIn(text string) url.Values {
	named := func(part string) (name, value string, ok bool) {
		name, value, ok = strings.Cut(part, ":")
		return name, strings.TrimSpace(value), ok && slices.Contains(append(jobFilters[:], "state"), name)
	}
	filters := make(url.Values)
	for part := range strings.FieldsSeq(text) {
		name, value, ok := named(part)
		if !ok {
			filters = nil
			break
		}
		filters.Set(name, value)
	}
	if name, value, ok := named(text); ok && len(filters) == 0 {
		filters = url.Values{name: {value}}
	}
	if len(filters) == 0 {
		return nil
	}
	return filters
}

// fast looks where an index leads: an id, a key, a correlation id, an owner, and names.
func (v *findView) fast(a *api.API, c *api.Call) error {
	client, ctx, text := a.Client(), c.Context(), v.Text
	if id, err := job.ParseID(text); err == nil {
		j, err := client.Get(ctx, id)
		if err == nil {
			v.Places = append(v.Places, &place{Name: "id", Path: "/ui/jobs/" + id.String(), Rows: []job.Job{j}})
		} else if !errors.Is(err, redrive.ErrNotFound) {
			return err
		}
	}
	kinds, err := a.KindNames(c)
	if err != nil {
		return err
	}
	var held []job.ID
	for _, kind := range kinds[:min(len(kinds), lookUps)] {
		id, err := client.Lookup(ctx, "", kind, text)
		switch {
		case err == nil:
			held = append(held, id)
		case !errors.Is(err, redrive.ErrNotFound) && !errors.Is(err, redrive.ErrInvalid):
			return err
		}
	}
	if len(held) > 0 {
		rows, err := client.GetAll(ctx, held[:min(len(held), foundMax)])
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			v.Places = append(v.Places, &place{Name: "key", Path: "/ui/jobs/" + rows[0].ID.String(), Rows: rows})
		}
	}
	for _, by := range [...]string{"correlation", "owner"} {
		f := redrive.JobFilter{Limit: foundMax, Correlation: text}
		if by == "owner" {
			f.Owner, f.Correlation = text, ""
		}
		page, err := client.List(ctx, f)
		if errors.Is(err, redrive.ErrInvalid) {
			continue
		}
		if err != nil {
			return err
		}
		if len(page.Jobs) > 0 {
			v.Places = append(v.Places, &place{Name: by, Path: "/ui/jobs?" + url.Values{by: {text}}.Encode(), Rows: page.Jobs, More: !page.Next.IsZero()})
		}
	}
	return v.names(a, c, kinds)
}

// names looks for a cause, a kind and a queue.
func (v *findView) names(a *api.API, c *api.Call, kinds []string) error {
	if groups, err := a.Client().Groups(c.Context(), redrive.GroupFilter{Group: v.Text, Limit: 1}); err == nil && len(groups.Groups) > 0 {
		v.Places = append(v.Places, &place{Name: "cause", Path: "/ui/groups/" + url.PathEscape(v.Text)})
	}
	if slices.Contains(kinds, v.Text) {
		v.Places = append(v.Places, &place{Name: "kind", Path: "/ui/jobs?" + url.Values{"kind": {v.Text}}.Encode()})
	}
	if err := v.batches(a, c); err != nil {
		return err
	}
	queues, err := a.Queues(c.Context())
	if err != nil {
		return err
	}
	if slices.ContainsFunc(queues, func(q api.QueueOut) bool { return q.Name == v.Text }) {
		v.Places = append(v.Places, &place{Name: "queue", Path: "/ui/jobs?" + url.Values{"queue": {v.Text}}.Encode()})
	}
	return nil
}

// batches looks for a batch by its key, and for those whose name has the text.
func (v *findView) batches(a *api.API, c *api.Call) error {
	page, err := a.Client().Batches(c.Context(), redrive.BatchFilter{Key: v.Text, Limit: 2})
	if err != nil {
		return err
	}
	if len(page.Batches) == 1 {
		v.Places = append(v.Places, &place{Name: "batch", Path: "/ui/batches/" + strconv.FormatInt(page.Batches[0].ID, 10)})
		return nil
	}
	list := url.Values{"key": {v.Text}}
	if len(page.Batches) == 0 {
		list = url.Values{"name": {v.Text}}
		if page, err = a.Client().Batches(c.Context(), redrive.BatchFilter{Name: v.Text, Limit: 1}); err != nil {
			return err
		}
	}
	if len(page.Batches) > 0 {
		v.Places = append(v.Places, &place{Name: "batches", Path: "/ui/batches?" + list.Encode()})
	}
	return nil
}

// slow searches the attribute that the text names as name=value, and the texts of errors. Each looks
// at a limited number of jobs and says how far back it came.
func (v *findView) slow(a *api.API, c *api.Call) error {
	search := func(name string, f redrive.JobFilter, query url.Values) error {
		f.Limit = foundMax
		page, err := a.Client().List(c.Context(), f)
		if errors.Is(err, redrive.ErrInvalid) {
			return nil
		}
		if err != nil {
			return err
		}
		pl := &place{Name: name, Path: "/ui/jobs?" + query.Encode(), Rows: page.Jobs, More: !page.Next.IsZero(), Searched: page.Searched}
		pl.Onward = pl.Path
		v.Slow = append(v.Slow, pl)
		return nil
	}
	if name, value, ok := strings.Cut(v.Text, "="); ok && name != "" {
		if err := search("attribute "+name, redrive.JobFilter{Attr: redrive.JobAttr{Name: name, Value: value}}, url.Values{"attr": {v.Text}}); err != nil {
			return err
		}
	}
	return search("text of an error", redrive.JobFilter{Text: v.Text}, url.Values{"text": {v.Text}})
}
