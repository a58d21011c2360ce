package page

import (
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// eventsView lists the log of events, the newest first.
type eventsView struct {
	frame
	Rows  []eventRow
	Types []eventType
	Chips []chip
	Next  template.URL
	Back  job.Micros // how far back the search came
	Kept  bool       // the log goes on before Back
}

// eventRow is an event in words.
type eventRow struct {
	event.Event
	Text, Link, Of string // Link is the path of the page about it, Of its words
}

// eventType is a type of events that the filter offers.
type eventType struct {
	Name    string
	Current bool
}

// eventsShown is how many events a page shows.
const eventsShown = 100

// eventFilters are the filters of the log.
var eventFilters = [...]string{"type", "to", "kind", "queue", "owner", "job", "since"}

func (p *Pages) events(a *api.API, c *api.Call) error {
	f, err := p.frame(a, c, "events", "Events")
	if err != nil {
		return err
	}
	query := c.R.URL.Query()
	wants, err := wantedEvents(func(name string) string { return strings.TrimSpace(query.Get(name)) })
	if err != nil {
		return err
	}
	var before *event.Cursor
	if text := query.Get("before"); text != "" {
		cursor, err := event.ParseCursor(text)
		if err != nil {
			return api.InvalidField.Mistaken(api.Mistake{Parameter: "before", Detail: err.Error()})
		}
		before = &cursor
	}
	since, err := a.Since(query)
	if err != nil {
		return err
	}
	shown := eventsShown
	if f.Live { // an open page keeps the events that it shows when newer ones have come
		shown = 2 * eventsShown
	}
	limit := shown
	if !since.IsZero() && before == nil {
		limit = api.CountMost // their number is the finding of the page
	}
	found, err := a.Latest(c.Context(), before, since, wants, limit)
	if err != nil {
		return err
	}
	total, whole := int64(len(found.Events)), found.Before == nil
	if len(found.Events) > shown {
		found.Events = found.Events[:shown]
		found.Before = &found.Events[shown-1].Cursor
	}
	v := eventsView{frame: f, Chips: chipsOf(query, f.Zone, eventFilters[:]...), Kept: found.Before != nil}
	if before == nil {
		v.Topics = "all"
	}
	for i := range found.Events {
		v.Rows = append(v.Rows, eventRowOf(&found.Events[i]))
	}
	if found.Scanned > 0 {
		v.Back = job.At(found.Back)
	}
	if found.Before != nil {
		query.Set("before", found.Before.String())
		v.Next = queryOf(query)
	}
	for _, t := range event.Types() {
		v.Types = append(v.Types, eventType{t.String(), query.Get("type") == t.String()})
	}
	v.Heading = words.EventsFinding(int64(len(v.Rows)), len(v.Chips) > 0, v.Kept, before != nil)
	if !since.IsZero() && before == nil {
		v.Heading = words.EventsTotal(total, job.At(since), f.Now, !whole)
	}
	v.Lead = "What happened to jobs, queues and redrives, the newest first. Events are kept for as long as the retention says."
	return p.write(c.W, http.StatusOK, "events", &v)
}

// wantedEvents returns the filter of a query.
func wantedEvents(of func(string) string) (func(*event.Event) bool, error) {
	kind, queue, owner := of("kind"), of("queue"), of("owner")
	types, states := listOf(of("type")), listOf(of("to"))
	var id job.ID
	var err error
	if text := of("job"); text != "" {
		if id, err = job.ParseID(text); err != nil {
			return nil, api.InvalidField.Mistaken(api.Mistake{Parameter: "job", Detail: "must be the id of a job"})
		}
	}
	var names []string
	for _, t := range event.Types() {
		names = append(names, t.String())
	}
	for _, name := range types {
		if !slices.Contains(names, name) {
			return nil, api.InvalidField.Mistaken(api.Mistake{Parameter: "type", Detail: suggest.Unknown("event", name, names)})
		}
	}
	for _, name := range states {
		if _, err := job.ParseState(name); err != nil {
			return nil, api.InvalidField.Mistaken(api.Mistake{Parameter: "to", Detail: err.Error()})
		}
	}
	return func(e *event.Event) bool {
		return (kind == "" || e.Kind == kind) && (queue == "" || e.Queue == queue) && (owner == "" || e.Owner == owner) &&
			(id == 0 || e.Job == id) && (len(types) == 0 || slices.Contains(types, e.Type.String())) && (len(states) == 0 || slices.Contains(states, e.To.String()))
	}, nil
}

// listOf returns the words of a parameter with commas.
func listOf(text string) (list []string) {
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			list = append(list, word)
		}
	}
	return list
}

// eventRowOf writes an event in words.
func eventRowOf(e *event.Event) eventRow {
	r := eventRow{Event: *e, Text: words.EventText(e)}
	switch {
	case e.Job != 0:
		r.Link, r.Of = "/ui/jobs/"+e.Job.String(), "job "+e.Job.String()
	case e.Type == event.RedriveChanged:
		r.Link, r.Of = "/ui/redrives/"+e.Note, "redrive "+e.Note
	case e.Type == event.GroupChanged:
		r.Link, r.Of = "/ui/groups/"+template.URLQueryEscaper(e.Note), "the cause "+words.ShortGroup(e.Note)
	case e.Type == event.QueueChanged:
		r.Link, r.Of = "/ui/queues", "queue "+e.Queue
	}
	return r
}
