package page

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"net/http"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/api"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// chartsView shows figures over time: throughput, failures, times and how well retries work.
type chartsView struct {
	frame
	Large        bool // there are too many queues and kinds for the window
	Windows, Bys []tab
	WindowName   string // such as 24h
	Window       string // in words, such as "the last 24 hours"
	By           string
	Kind, Queue  string
	Kinds        []string
	Queues       []string
	Chips        []chip
	Flow         flow
	Times        times
	Rows         []seriesRow
	More         int // rows that are left out
	Figures      []words.Figure
	Classes      []words.ClassRetries
	Step         string // the length of a column in words
}

// seriesRow is a queue, a kind or a class with its figures and their course.
type seriesRow struct {
	Name, Link  string
	F           store.Figures
	Ran, Failed spark
	Share       string // of attempts that failed
	Run, Wait   string // mean times
}

// window is a time to look back.
type window struct {
	name, words string
	span        time.Duration
}

var windows = [...]window{
	{"6h", "the last 6 hours", 6 * time.Hour},
	{"24h", "the last 24 hours", 24 * time.Hour},
	{"7d", "the last 7 days", 7 * 24 * time.Hour},
	{"30d", "the last 30 days", 30 * 24 * time.Hour},
}

// The columns of the large charts at most, the parts of a row's bars, and the rows of a page.
const (
	flowColumns = 96
	rowParts    = 24
	seriesRows  = 30
)

func (p *Pages) charts(a *api.API, c *api.Call) error {
	f, err := p.frame(a, c, "charts", "Charts")
	if err != nil {
		return err
	}
	query := c.R.URL.Query()
	w, by := windows[1], cmp.Or(query.Get("by"), "kind")
	if name := query.Get("window"); name != "" {
		i := slices.IndexFunc(windows[:], func(w window) bool { return w.name == name })
		if i < 0 {
			return api.InvalidField.Mistaken(api.Mistake{Parameter: "window", Detail: "must be 6h, 24h, 7d or 30d"})
		}
		w = windows[i]
	}
	if !slices.Contains([]string{"kind", "queue", "class"}, by) {
		return api.InvalidField.Mistaken(api.Mistake{Parameter: "by", Detail: "must be kind, queue or class"})
	}
	v := chartsView{frame: f, WindowName: w.name, Window: w.words, By: by, Kind: query.Get("kind"), Queue: query.Get("queue"), Chips: chipsOf(query, f.Zone, "kind", "queue")}
	for _, other := range windows {
		q := c.R.URL.Query()
		q.Set("window", other.name)
		v.Windows = append(v.Windows, tab{Name: other.words[len("the last "):], Query: queryOf(q), Current: other == w})
	}
	for _, other := range [...]string{"kind", "queue", "class"} {
		q := c.R.URL.Query()
		q.Set("by", other)
		v.Bys = append(v.Bys, tab{Name: "By " + other, Query: queryOf(q), Current: other == by})
	}
	if err := v.read(a, c, w); err != nil {
		return err
	}
	return p.write(c.W, http.StatusOK, "charts", &v)
}

// read reads the figures of the window and draws them.
func (v *chartsView) read(a *api.API, c *api.Call, w window) error {
	client, ctx := a.Client(), c.Context()
	step := words.NiceStep(w.span, flowColumns)
	q := redrive.SeriesQuery{Queue: v.Queue, Kind: v.Kind, Since: v.Now.Add(-w.span), Until: v.Now, Step: step}
	if err := q.Validate(); err != nil {
		return err
	}
	points, err := client.Series(ctx, q)
	if err != nil {
		return err
	}
	cols := columnsOf(points, q.Since, q.Until, step)
	v.Step = words.Span(step)
	v.Flow, v.Times = flowOf(v.Zone, &cols), timesOf(v.Zone, &cols)
	v.Heading, v.Lead = words.ThroughputFinding(&cols.sum, w.words), words.ThroughputLead(&cols.sum)
	q.By = redrive.SeriesBy(v.By)
	named, err := v.named(ctx, client, &q)
	if err != nil {
		return err
	}
	v.rows(named, &q)
	v.Figures = words.Figures(v.dead, w.span)
	if v.By != "class" {
		q.By = "class"
		if named, err = v.named(ctx, client, &q); err != nil {
			return err
		}
	}
	v.Classes = words.RetriesByClass(named)
	v.Classes = v.Classes[:min(len(v.Classes), seriesRows)]
	if v.Kinds, err = a.KindNames(c); err != nil {
		return err
	}
	queues, err := a.Queues(ctx)
	for i := range queues {
		v.Queues = append(v.Queues, queues[i].Name)
	}
	return err
}

// named reads a series by name. With many queues and kinds, minutes have too many figures, and it is read
// by the hour; if these are too many, too, the series is left out and the page says so.
func (v *chartsView) named(ctx context.Context, client *redrive.Client, q *redrive.SeriesQuery) ([]redrive.Point, error) {
	points, err := client.Series(ctx, *q)
	if errors.Is(err, store.ErrTooLarge) && q.Step < time.Hour {
		q.Step, q.Since = time.Hour, q.Since-q.Since%job.Micros(time.Hour/time.Microsecond)
		points, err = client.Series(ctx, *q)
	}
	if errors.Is(err, store.ErrTooLarge) {
		v.Large, err = true, nil
	}
	return points, err
}

// rows makes a row of each name in a series, those with the most attempts first.
func (v *chartsView) rows(points []redrive.Point, q *redrive.SeriesQuery) {
	type course struct {
		sum         store.Figures
		ran, failed []int64
	}
	byName := make(map[string]*course)
	span := max(q.Until-q.Since, 1)
	for i := range points {
		pt := &points[i]
		one := byName[pt.Name]
		if one == nil {
			one = &course{ran: make([]int64, rowParts), failed: make([]int64, rowParts)}
			byName[pt.Name] = one
		}
		one.sum.Add(&pt.Figures)
		at := min(max(int(int64(pt.At-q.Since)*rowParts/int64(span)), 0), rowParts-1)
		one.ran[at] += pt.Completed
		one.failed[at] += pt.Failed + pt.Crashed
	}
	part := time.Duration(span) * time.Microsecond / rowParts
	for name, one := range byName {
		r := seriesRow{Name: name, F: one.sum, Ran: barsOf(one.ran, "completed", part), Failed: barsOf(one.failed, "failed", part), Share: "-", Run: "-", Wait: "-"}
		if n := one.sum.Completed + one.sum.Failed; n > 0 && v.By != "class" {
			r.Share = percent(one.sum.Failed, n)
			r.Run = words.Span(one.sum.MeanRun())
		}
		if one.sum.Started > 0 {
			r.Wait = words.Span(one.sum.MeanWait())
		}
		switch v.By {
		case "class":
			r.Link = "/ui/dead?class=" + template.URLQueryEscaper(name)
		default:
			r.Link = "/ui/jobs?" + v.By + "=" + template.URLQueryEscaper(name)
		}
		v.Rows = append(v.Rows, r)
	}
	slices.SortFunc(v.Rows, func(a, b seriesRow) int {
		return cmp.Or(cmp.Compare(b.F.Failed+b.F.Completed, a.F.Failed+a.F.Completed), cmp.Compare(a.Name, b.Name))
	})
	if len(v.Rows) > seriesRows {
		v.More = len(v.Rows) - seriesRows
		v.Rows = v.Rows[:seriesRows]
	}
}

// columns are the figures of the columns of a chart.
type columns struct {
	since job.Micros
	step  time.Duration
	list  []store.Figures
	sum   store.Figures
}

// columnsOf adds up points to columns of one step each; the first begins at a whole step.
func columnsOf(points []redrive.Point, since, until job.Micros, step time.Duration) columns {
	each := job.Micros(step / time.Microsecond)
	c := columns{since: since - since%each, step: step}
	c.list = make([]store.Figures, max(1, int((until-c.since+each-1)/each)))
	for i := range points {
		if at := int((points[i].At - c.since) / each); points[i].At >= c.since && at < len(c.list) {
			c.list[at].Add(&points[i].Figures)
			c.sum.Add(&points[i].Figures)
		}
	}
	return c
}

// at returns the time at which a column begins, in words that fit the length of the chart.
func (c *columns) at(zone *time.Location, i int) string {
	t := c.since.Add(time.Duration(i) * c.step).Time().In(zone)
	if c.step*time.Duration(len(c.list)) > 36*time.Hour {
		return t.Format("2 Jan")
	}
	return t.Format("15:04")
}

// long returns the time at which a column begins, for a table.
func (c *columns) long(zone *time.Location, i int) string {
	return c.since.Add(time.Duration(i) * c.step).Time().In(zone).Format("2 Jan 15:04")
}
