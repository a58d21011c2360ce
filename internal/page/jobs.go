package page

import (
	"html/template"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// jobsView lists jobs.
type jobsView struct {
	frame
	Tabs     []jobTab
	Rows     []jobRow
	Many     manyView
	Filter   redrive.JobFilter
	Query    url.Values
	Chips    []chip
	Next     template.URL
	Export   string
	Searched job.Micros
	Payloads bool // the caller may see payloads
}

// jobTab is a link to the jobs of a state, with their number.
type jobTab struct {
	tab
	N    int64
	Many bool // N is a number that the store counts
}

// jobRow is a row of the list, with the beginning of the payload.
type jobRow struct {
	wire.JobRow
	Tries, When, Payload string
}

// payloadShown is the number of characters of a payload that a list shows.
const payloadShown = 100

// jobFilters are the filters that a list of jobs shows as chips.
var jobFilters = [...]string{"kind", "queue", "owner", "batch", "worker", "correlation", "key", "attr", "class", "group", "text", "reason", "since", "until", "order"}

func (p *Pages) jobs(a *api.API, c *api.Call) error {
	f, err := p.frame(a, c, "jobs", "Jobs")
	if err != nil {
		return err
	}
	v := jobsView{frame: f, Query: c.R.URL.Query(), Payloads: a.SeesPayloads(c)}
	v.Topics = "all"
	filter, rows, next, searched, err := a.Jobs(c)
	if err != nil {
		return err
	}
	v.Filter, v.Searched = filter, searched
	found := len(rows)
	if rows, err = p.withShown(a, c, rows); err != nil {
		return err
	}
	if next != "" {
		q := c.R.URL.Query()
		q.Set("cursor", next)
		v.Next = queryOf(q)
	}
	for i := range rows {
		if j := &rows[i].Job; v.Payloads && j.State != job.Completed && j.State != job.Cancelled {
			if whole, err := a.Client().Get(c.Context(), j.ID); err == nil { // a list has no payloads
				j.Payload = whole.Payload
			}
		}
		v.Rows = append(v.Rows, jobRowOf(&rows[i], f.Now))
	}
	if v.Tabs, err = p.jobTabs(a, c, &filter); err != nil {
		return err
	}
	v.Export = p.exportOf("/api/jobs/export", listQuery(v.Query))
	v.Many = manyFor("/ui/jobs", v.Query, []string{"cancel", "run", "retry"}, []string{"cancel", "run", "move"})
	v.Chips = chipsOf(v.Query, f.Zone, jobFilters[:]...)
	states := make([]string, len(filter.States))
	for i, s := range filter.States {
		states[i] = s.String()
	}
	v.Heading = words.ListFinding(int64(found), states, next != "" || v.Query.Get("cursor") != "")
	if next != "" || v.Query.Get("cursor") != "" {
		if total, known, err := a.CountJobs(c.Context(), filter); err != nil {
			return err
		} else if known && total.N > 0 {
			v.Heading = words.TotalFinding(total.N, states, total.More)
		}
	}
	return p.write(c.W, http.StatusOK, "jobs", &v)
}

func jobRowOf(r *wire.JobRow, now job.Micros) jobRow {
	return jobRow{JobRow: *r, When: words.When(&r.Job, now), Tries: triesOf(&r.Job, r.MaxAttempts), Payload: beginning(r.Payload)}
}

// beginning returns the first characters of a payload in one line.
func beginning(payload []byte) string {
	text := string(payload[:min(len(payload), 4*payloadShown)]) // a character has at most 4 bytes
	return words.Shorten(words.Clean(strings.Join(strings.Fields(text), " ")), payloadShown)
}

// triesOf returns the badge of attempts, such as "2/3": from the first retry on, and never above the
// limit. Before the first retry it is "".
func triesOf(j *job.Job, most int) string {
	n := int(j.Counters.Attempts)
	if j.State == job.Running || j.State == job.Retrying {
		n++ // the attempt that runs or comes next
	}
	if n < 2 {
		return ""
	}
	if most > 0 {
		return strconv.Itoa(min(n, most)) + "/" + strconv.Itoa(most)
	}
	return strconv.Itoa(n)
}

// jobTabs returns a tab for each state. Its number is that of the kind and queue of the filter; with
// other filters no number is known.
func (p *Pages) jobTabs(a *api.API, c *api.Call, f *redrive.JobFilter) ([]jobTab, error) {
	counts, err := a.Client().Counts(c.Context())
	if err != nil {
		return nil, err
	}
	bare := *f
	bare.States, bare.Kind, bare.Queue, bare.Order, bare.Limit, bare.From = nil, "", "", 0, 0, redrive.JobCursor{}
	counted := reflect.ValueOf(bare).IsZero()
	n := make(map[job.State]int64)
	for _, count := range counts {
		if (f.Kind == "" || f.Kind == count.Kind) && (f.Queue == "" || f.Queue == count.Queue) {
			n[count.State] += count.N
		}
	}
	with := func(states string) template.URL {
		q := c.R.URL.Query()
		q.Del("cursor")
		if q.Del("state"); states != "" {
			q.Set("state", states)
		}
		return queryOf(q)
	}
	current := strings.Join(c.R.URL.Query()["state"], ",")
	tabs := []jobTab{{tab: tab{Name: "All", Query: with(""), Current: current == ""}}}
	for _, s := range job.States {
		word := s.String()
		tabs = append(tabs, jobTab{tab: tab{Name: strings.ToUpper(word[:1]) + word[1:], Query: with(word), Current: current == word}, N: n[s],
			Many: counted && s != job.Completed && s != job.Cancelled})
	}
	return tabs, nil
}
