package page

import (
	"html/template"
	"maps"
	"net/http"
	"strconv"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
)

// queuesView lists the queues.
type queuesView struct {
	frame
	Rows []api.QueueOut
	Next template.URL // the query of the next page

	Streams []wire.Stream
}

// queuesPage is the number of queues on a page.
const queuesPage = 50

func (p *Pages) queues(a *api.API, c *api.Call) error {
	f, err := p.frame(a, c, "queues", "Queues")
	if err != nil {
		return err
	}
	v := queuesView{frame: f}
	v.Topics = "all"
	if v.Rows, err = a.Queues(c.Context()); err != nil {
		return err
	}
	if v.Streams, err = wire.StreamsOf(c.Context(), a.Client(), f.Now); err != nil {
		return err
	}
	var paused, draining int64
	for i := range v.Rows {
		switch v.Rows[i].Mode {
		case redrive.QueuePaused.String():
			paused++
		case redrive.QueueDraining.String():
			draining++
		}
	}
	v.Heading = words.QueuesFinding(int64(len(v.Rows)), paused, draining)
	query := c.R.URL.Query()
	skip := 0
	if text := query.Get("skip"); text != "" {
		if skip, err = strconv.Atoi(text); err != nil || skip < 0 {
			return api.InvalidField.Mistaken(api.Mistake{Parameter: "skip", Detail: "must be a whole number, 0 or more"})
		}
	}
	v.Rows = v.Rows[min(skip, len(v.Rows)):]
	if len(v.Rows) > queuesPage {
		v.Rows = v.Rows[:queuesPage]
		query.Set("skip", strconv.Itoa(skip+queuesPage))
		v.Next = queryOf(query)
	}
	v.Lead = "A paused queue takes jobs and starts none. A draining queue runs its jobs and takes no new ones."
	return p.write(c.W, http.StatusOK, "queues", &v)
}

// workersView lists the processes that run jobs.
type workersView struct {
	frame
	Rows []workerRow
}

// workerRow is a process with its state in one word.
type workerRow struct {
	redrive.Process
	State string
	Sick  []string
}

func (p *Pages) workers(a *api.API, c *api.Call) error {
	f, err := p.frame(a, c, "workers", "Workers")
	if err != nil {
		return err
	}
	list, err := a.Client().Processes(c.Context())
	if err != nil {
		return err
	}
	v := workersView{frame: f}
	v.Topics = "all"
	v.Heading = words.WorkersFinding(list)
	for i := range list {
		v.Rows = append(v.Rows, workerRow{Process: list[i], State: words.ProcessState(&list[i]), Sick: words.ProcessSick(&list[i])})
	}
	return p.write(c.W, http.StatusOK, "workers", &v)
}

// auditView lists the actions of people, the newest first.
type auditView struct {
	frame
	Rows  []redrive.AuditEntry
	Chips []chip
	Next  template.URL

	Export string
}

func (p *Pages) audit(a *api.API, c *api.Call) error {
	f, err := p.frame(a, c, "audit", "Audit")
	if err != nil {
		return err
	}
	query := c.R.URL.Query()
	filter := redrive.AuditFilter{Actor: query.Get("actor"), Target: query.Get("target")}
	if action := query.Get("action"); action != "" {
		filter.Actions = []string{action}
	}
	if text := query.Get("before"); text != "" {
		if filter.Before, err = strconv.ParseInt(text, 10, 64); err != nil || filter.Before < 0 {
			return api.InvalidField.Mistaken(api.Mistake{Parameter: "before", Detail: "must be the number of a row"})
		}
	}
	page, err := a.Client().Audit(c.Context(), filter)
	if err != nil {
		return err
	}
	f.Topics = "all"
	v := auditView{frame: f, Rows: page.Entries, Chips: chipsOf(query, f.Zone, "actor", "action", "target")}
	exported := maps.Clone(query)
	exported.Del("before")
	v.Export = p.exportOf("/api/audit/export", exported)
	if page.Next != 0 {
		query.Set("before", strconv.FormatInt(page.Next, 10))
		v.Next = queryOf(query)
	}
	v.Heading = words.AuditFinding(int64(len(v.Rows)), len(v.Chips) > 0, page.Next != 0)
	v.Lead = "Who did what, when and why. Retention and redrives act by themselves and are listed as well."
	return p.write(c.W, http.StatusOK, "audit", &v)
}
