package api

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// seriesPoints is about how many steps a series has whose step is not named.
const seriesPoints = 60

// series answers with figures over time.
func (a *API) series(c *Call) error {
	q := &queryReader{values: c.R.URL.Query(), now: a.o.Now()}
	query := redrive.SeriesQuery{Queue: q.text("queue"), Kind: q.text("kind"), By: redrive.SeriesBy(q.text("by")), Since: q.time("since"), Until: q.time("until")}
	if names := []string{"queue", "kind", "class"}; query.By != "" && !slices.Contains(names, string(query.By)) {
		q.add("by", suggest.Unknown("name", string(query.By), names), nil)
	}
	if query.Until == 0 {
		query.Until = job.At(q.now)
	}
	if query.Since == 0 {
		query.Since = query.Until.Add(-time.Hour)
	}
	if query.Since >= query.Until {
		q.add("since", "must be before until", nil)
	}
	query.Step = q.duration("step", words.NiceStep(query.Until.Sub(query.Since), seriesPoints))
	if query.Step%time.Minute != 0 {
		q.add("step", "must be a whole number of minutes, such as 5m, 1h or 1d", nil)
	}
	if steps := int64(query.Until.Sub(query.Since) / max(query.Step, time.Minute)); steps > stepsMax {
		q.add("step", fmt.Sprintf("gives %d steps: at most %d are allowed", steps, stepsMax), stepsMax)
	}
	if err := q.problem(); err != nil {
		return err
	}
	if err := query.Validate(); err != nil {
		return kindOf(err).New("%s", plain(err))
	}
	points, err := a.client.Series(c.Context(), query)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, wire.SeriesOf(&query, points, nil, nil))
}

// stepsMax is the largest number of steps of a series.
const stepsMax = 5_000

// due answers with the number of retries that fall due in each of the next minutes.
func (a *API) due(c *Call) error {
	q := &queryReader{values: c.R.URL.Query()}
	minutes := q.number("minutes", 1, redrive.DueMinutesMax, 60)
	if err := q.problem(); err != nil {
		return err
	}
	due, err := a.client.Due(c.Context(), int(minutes))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, due)
}

// Overview has the numbers of jobs, dead letters, redrives and processes of a store.
type Overview struct {
	At job.Micros `json:"at"` // when it was read
	// Jobs is the number of jobs by state.
	Jobs map[string]int64 `json:"jobs"`
	// Pending is the number of dead letters that nobody has dealt with.
	Pending int64 `json:"pending"`
	// Redrives are the redrives that are active.
	Redrives []ActiveRedrive `json:"redrives"`
	// OldestDue is when the oldest due job was due.
	OldestDue job.Micros `json:"oldest_due,omitempty"`
	// Processes is the number of living processes that run jobs; Silent is the number of those that
	// have not reported for a minute.
	Processes int `json:"processes"`
	Silent    int `json:"silent"`
	// Slots is how many jobs they can run at a time; Running is how many they run.
	Slots   int `json:"slots"`
	Running int `json:"running"`
	// Policy is the hash of the policy of this server.
	Policy string `json:"policy"`
}

// ActiveRedrive is a redrive that is active.
type ActiveRedrive struct {
	ID    int64  `json:"id"`
	State string `json:"state"`
}

// FiguresOut are the figures of success with their formulas and goals.
type FiguresOut struct {
	WindowSeconds int64       `json:"window_seconds"`
	Figures       []FigureOut `json:"figures"`
}

// FigureOut is one figure of success.
type FigureOut struct {
	Name    string  `json:"name"`
	Formula string  `json:"formula"`
	Target  string  `json:"target,omitempty"`
	Part    float64 `json:"part"` // the numerator
	Of      float64 `json:"of"`   // the denominator
	Value   float64 `json:"value"`
	Text    string  `json:"text"`    // the value with its unit
	Verdict string  `json:"verdict"` // met, missed, or nothing yet
}

func (a *API) overview(c *Call) error {
	o, err := a.overviews.get(a.o.Now(), func() (Overview, error) { return a.readOverview(c) })
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, o)
}

func (a *API) readOverview(c *Call) (Overview, error) {
	ctx := c.Context()
	o := Overview{At: job.At(a.o.Now()), Jobs: make(map[string]int64), Redrives: []ActiveRedrive{}, Policy: a.client.Policy().Hash()}
	for _, s := range job.States {
		o.Jobs[s.String()] = 0
	}
	counts, err := a.client.Counts(ctx)
	if err != nil {
		return o, err
	}
	for _, n := range counts {
		o.Jobs[n.State.String()] += n.N
	}
	dead, err := a.client.DeadStats(ctx)
	if err != nil {
		return o, err
	}
	for _, n := range dead.Counts {
		if n.Status == job.Pending {
			o.Pending += n.N
		}
	}
	redrives, err := a.client.Redrives(ctx)
	if err != nil {
		return o, err
	}
	for i := range redrives {
		if redrives[i].State.Active() {
			o.Redrives = append(o.Redrives, ActiveRedrive{redrives[i].ID, string(redrives[i].State)})
		}
	}
	heads, err := a.client.Heads(ctx)
	if err != nil {
		return o, err
	}
	for _, h := range heads {
		if h.Due != 0 && (o.OldestDue == 0 || h.Due < o.OldestDue) {
			o.OldestDue = h.Due
		}
	}
	processes, err := a.client.Processes(ctx)
	if err != nil {
		return o, err
	}
	for i := range processes {
		p := &processes[i]
		switch {
		case len(p.Kinds) == 0 && p.Slots == 0: // it does not run jobs
		case p.Silent:
			o.Silent++
		default:
			o.Processes++
			o.Slots += p.Slots
			o.Running += p.Running
		}
	}
	return o, nil
}

// figures answers with the figures of success.
func (a *API) figures(c *Call) error {
	q := &queryReader{values: c.R.URL.Query()}
	window := q.duration("window", 24*time.Hour)
	if window > redrive.HoursKept {
		q.add("window", fmt.Sprintf("must be at most %s", words.Span(redrive.HoursKept)), int64(redrive.HoursKept/time.Second))
	}
	if err := q.problem(); err != nil {
		return err
	}
	stats, err := a.client.DeadStats(c.Context())
	if err != nil {
		return err
	}
	out := FiguresOut{WindowSeconds: int64(window / time.Second), Figures: []FigureOut{}}
	for _, f := range words.Figures(&stats, window) {
		out.Figures = append(out.Figures, FigureOut{Name: f.Name, Formula: f.Formula, Target: f.Target, Part: f.Part, Of: f.Of, Value: f.Value, Text: f.Text, Verdict: f.Verdict()})
	}
	return c.JSON(http.StatusOK, out)
}

// AuditList is a page of the audit log.
type AuditList struct {
	Items []redrive.AuditEntry `json:"items"` // the newest first
	Next  string               `json:"next,omitempty"`
	// SearchedUntil is the time up to which the search came, if a next page follows.
	SearchedUntil job.Micros `json:"searched_until,omitempty"`
}

// auditFilter reads the filter of the audit log.
func (q *queryReader) auditFilter() redrive.AuditFilter {
	return redrive.AuditFilter{
		Actor: q.text("actor"), Actions: q.list("action"), Target: q.text("target"), Since: q.time("since"), Until: q.time("until"),
		Limit: int(q.number("limit", 1, PageMax, PageDefault)),
	}
}

// audit answers with a page of the audit log.
func (a *API) audit(c *Call) error {
	q := &queryReader{values: c.R.URL.Query(), now: a.o.Now()}
	f := q.auditFilter()
	if cursor := q.values.Get("cursor"); cursor != "" {
		n, err := strconv.ParseInt(cursor, 10, 64)
		if err != nil || n < 1 {
			return InvalidCursor.Mistaken(Mistake{Parameter: "cursor", Detail: "is not a cursor; use the next of an earlier page"})
		}
		f.Before = n
	}
	if err := q.problem(); err != nil {
		return err
	}
	page, err := a.client.Audit(c.Context(), f)
	if err != nil {
		return err
	}
	list := AuditList{Items: append([]redrive.AuditEntry{}, page.Entries...), SearchedUntil: page.Searched}
	if page.Next > 0 {
		list.Next = strconv.FormatInt(page.Next, 10)
	}
	return c.JSON(http.StatusOK, list)
}
