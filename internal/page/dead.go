package page

import (
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// deadView lists dead letters.
type deadView struct {
	frame
	Tabs     []jobTab
	Rows     []redrive.DeadEntry
	Many     manyView
	Chips    []chip
	Next     template.URL
	Query    template.URL // the filter, for the page that starts a redrive of it
	Export   string
	Searched job.Micros
	Filtered bool
}

// deadFilters are the filters that a list of dead letters shows as chips.
var deadFilters = [...]string{"task_type", "class", "queue", "owner", "reason", "group", "correlation", "text", "redrive", "from_date", "to_date"}

func (p *Pages) dead(a *api.API, c *api.Call) error {
	f, err := p.frame(a, c, "dead", "Dead letters")
	if err != nil {
		return err
	}
	v := deadView{frame: f}
	v.Topics = "dead"
	filter, page, next, err := a.DeadLetters(c)
	if err != nil {
		return err
	}
	v.Rows, v.Searched = page.Entries, page.Searched
	query := c.R.URL.Query()
	if next != "" {
		q := c.R.URL.Query()
		q.Set("cursor", next)
		v.Next = queryOf(q)
	}
	v.Chips = chipsOf(query, f.Zone, deadFilters[:]...)
	v.Filtered = len(v.Chips) > 0
	stats := f.dead
	n := make(map[job.Status]int64)
	for i := range stats.Counts {
		n[stats.Counts[i].Status] += stats.Counts[i].N
	}
	current := strings.Join(query["status"], ",")
	for _, name := range append([]string{""}, statusWords()...) {
		q := c.R.URL.Query()
		q.Del("cursor")
		if q.Del("status"); name != "" {
			q.Set("status", name)
		}
		t := jobTab{tab: tab{Name: "All", Query: queryOf(q), Current: current == name}, Many: !v.Filtered && name != ""}
		if name != "" {
			t.Name = strings.ToUpper(name[:1]) + name[1:]
		}
		for _, s := range job.Statuses {
			if s.String() == name {
				t.N = n[s]
			}
		}
		v.Tabs = append(v.Tabs, t)
	}
	q := c.R.URL.Query()
	q.Del("cursor")
	q.Del("limit")
	q.Del("order")
	v.Query, v.Export = queryOf(q), p.exportOf("/api/admin/dlq/export", q)
	all := []string{"retry", "resolve", "ignore", "reopen"}
	if f.MayAdminister {
		all = append(all, "purge")
	}
	v.Many = manyFor("/ui/dead", q, []string{"retry", "resolve", "ignore", "reopen"}, all)
	v.Heading = words.DeadFinding(f.Pending, stats.OldestPending, f.Now)
	if v.Filtered || len(filter.Statuses) > 0 && !slices.Equal(filter.Statuses, []job.Status{job.Pending}) {
		total, known, err := a.CountDead(c.Context(), filter)
		if err != nil {
			return err
		}
		if !known {
			total = api.Counted{N: int64(len(page.Entries)), More: next != ""}
		}
		v.Heading = words.DeadListFinding(total.N, total.Pending, filter.Statuses, total.More || !known)
	}
	v.Lead = words.Filter(&filter)
	if v.Lead != "" {
		v.Lead = "Shown: " + v.Lead + "."
	}
	return p.write(c.W, http.StatusOK, "dead", &v)
}

func statusWords() (names []string) {
	for _, s := range job.Statuses {
		names = append(names, s.String())
	}
	return names
}
