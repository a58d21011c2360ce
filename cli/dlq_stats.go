package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

type dlqStatsCmd struct {
	jsonFlag
	Window string `default:"24h" placeholder:"DURATION" help:"Judge retries over so long, up to 30d, in whole hours. Default 24h."`
}

// Help implements kong.HelpProvider.
func (*dlqStatsCmd) Help() string {
	return `Numbers of dead letters as they stand, and how well retries did in the window, with formulas and targets. A job counts as
retried when it had more than one attempt or was brought back by hand.

    redrive dlq stats
    redrive dlq stats --window 7d --json | jq '.success[] | select(.met == false)'`
}

// deadStatsView is the figures in JSON.
type deadStatsView struct {
	store.DeadStats
	Total   int64            `json:"total"`
	Status  map[string]int64 `json:"by_status"`
	Reason  map[string]int64 `json:"by_reason"`
	Class   map[string]int64 `json:"by_class"`
	Kind    map[string]int64 `json:"by_kind"`
	PerMin  addedView        `json:"additions_per_minute"`
	Success []figure         `json:"success"`
}

// addedView is the deaths per minute: of the present minute so far, of the last
// whole one, and the mean of more whole ones.
type addedView struct {
	Present int64   `json:"present"`
	Last    int64   `json:"last"`
	Mean10  float64 `json:"mean_10m"`
	Mean60  float64 `json:"mean_60m"`
}

// figure is a number that is judged.
type figure struct {
	Name    string  `json:"name"`
	Formula string  `json:"formula"`
	Window  string  `json:"window"`
	Part    float64 `json:"numerator"`
	Of      float64 `json:"denominator"`
	Value   float64 `json:"value"` // 0 when there is nothing to divide by
	Target  string  `json:"target"`
	Met     *bool   `json:"met"` // null: nothing to judge

	text string
}

func (c *dlqStatsCmd) Run(ctx context.Context, a *app) (err error) {
	window, err := parseSpan(c.Window)
	if err != nil || window < time.Hour || window > store.HoursKept {
		return usagef("--window %q: must be 1h to 30d", c.Window)
	}
	st, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	stats, err := st.DeadStats(ctx)
	if err != nil {
		return fmt.Errorf("count dead letters: %w", err)
	}
	v := viewStats(&stats, window)
	if c.JSON {
		return a.printJSON(v)
	}
	p := &page{w: a.out, style: a.styleOf(a.stdout), now: job.At(a.now())}
	p.stats(v)
	return nil
}

// entryOf is a dead letter of those that a number counts, for filters.
func entryOf(n *store.DeadCount) job.DeadLetter {
	return job.DeadLetter{Status: n.Status, Reason: n.Reason, Class: n.Class, Kind: n.Kind, Queue: n.Queue}
}

func viewStats(s *store.DeadStats, window time.Duration) *deadStatsView {
	v := &deadStatsView{
		DeadStats: *s, Status: map[string]int64{}, Reason: map[string]int64{}, Class: map[string]int64{}, Kind: map[string]int64{},
		PerMin: viewAdded(s.Added), Success: figures(s, window),
	}
	for _, status := range statuses {
		v.Status[status.String()] = 0
	}
	for i := range s.Counts {
		n := &s.Counts[i]
		v.Total += n.N
		v.Status[n.Status.String()] += n.N
		v.Reason[string(n.Reason)] += n.N
		v.Class[n.Class] += n.N
		v.Kind[n.Kind] += n.N
	}
	return v
}

// viewAdded leaves the present minute, which is not whole, out of the means.
func viewAdded(added []int64) addedView {
	whole := added[:max(len(added)-1, 0)]
	mean := func(minutes int) float64 {
		last := whole[max(len(whole)-minutes, 0):]
		sum := int64(0)
		for _, n := range last {
			sum += n
		}
		return float64(sum) / float64(max(len(last), 1))
	}
	v := addedView{Mean10: mean(10), Mean60: mean(store.AddedMinutes)}
	if len(added) > 0 {
		v.Present = added[len(added)-1]
	}
	if len(whole) > 0 {
		v.Last = whole[len(whole)-1]
	}
	return v
}

// The targets of the figures.
const (
	recoveredLeast = 0.60
	deadMost       = 0.02
	costMost       = 0.10 // US dollars
)

// figures judges what became of jobs in the hours of a window.
func figures(s *store.DeadStats, window time.Duration) []figure {
	var sum store.Hour
	from := s.At.Add(-window)
	for _, h := range s.Hours {
		if h.At.Add(time.Hour) <= from {
			continue
		}
		sum.Completed += h.Completed
		sum.Recovered += h.Recovered
		sum.Dead += h.Dead
		sum.Exhausted += h.Exhausted
		sum.Retries += h.Retries
		sum.RetryCost += h.RetryCost
	}
	last := "the last " + span(window)
	share := func(v float64) string { return fmt.Sprintf("%.1f %%", v*100) }
	dollars := func(v float64) string { return fmt.Sprintf("$%.4f", v) }
	return []figure{
		judge(figure{Name: "retried jobs that succeed", Formula: "recovered / (recovered + exhausted)", Window: last,
			Part: float64(sum.Recovered), Of: float64(sum.Recovered + sum.Exhausted), Target: "> 60 %"},
			share, func(v float64) bool { return v > recoveredLeast }),
		judge(figure{Name: "jobs that end dead", Formula: "dead / (completed + dead)", Window: last,
			Part: float64(sum.Dead), Of: float64(sum.Completed + sum.Dead), Target: "< 2 %"},
			share, func(v float64) bool { return v < deadMost }),
		judge(figure{Name: "average cost of a retry", Formula: "cost of retries / retries", Window: last,
			Part: float64(sum.RetryCost) / 1e6, Of: float64(sum.Retries), Target: "< $0.10"},
			dollars, func(v float64) bool { return v < costMost }),
	}
}

func judge(f figure, write func(float64) string, good func(float64) bool) figure {
	f.text = "-"
	if f.Of > 0 {
		f.Value = f.Part / f.Of
		met := good(f.Value)
		f.Met, f.text = &met, write(f.Value)
	}
	return f
}

func (p *page) stats(v *deadStatsView) {
	f := facts{}
	f.add("dead letters", number(v.Total))
	for _, status := range statuses {
		f.add(status.String(), number(v.Status[status.String()]))
	}
	if v.OldestPending > 0 {
		f.add("oldest", fmt.Sprintf("pending since %s (%s)", clockTime(v.OldestPending), away(v.OldestPending, p.now)))
	}
	f.add("per minute", fmt.Sprintf("%s in this one so far, %s in the last, mean of 10 %.1f, of %d %.1f",
		number(v.PerMin.Present), number(v.PerMin.Last), v.PerMin.Mean10, store.AddedMinutes-1, v.PerMin.Mean60))
	if p.style.terminal {
		f.add("", sparkline(v.Added))
	}
	f.print(p)
	p.counts("REASON", v.Reason)
	p.counts("CLASS", v.Class)
	p.counts("KIND", v.Kind)
	p.figures(v.Success)
}

// counts prints numbers by name, the largest first.
func (p *page) counts(title string, by map[string]int64) {
	if len(by) == 0 {
		return
	}
	names := sortedKeys(by)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(by[b], by[a]) })
	t := table{columns: []column{{title: "  DEAD", right: true}, {title: title, loose: true}}}
	for _, name := range names {
		t.add(number(by[name]), cmp.Or(name, "-"))
	}
	fmt.Fprintln(p.w)
	t.print(p.w, p.style)
}

func (p *page) figures(list []figure) {
	t := table{columns: []column{
		{title: "  VALUE", right: true}, {title: "TARGET"}, {title: ""}, {title: "FIGURE"}, {title: "FORMULA", loose: true}, {title: "OVER"},
	}}
	for i := range list {
		f := &list[i]
		verdict := "nothing yet"
		if f.Met != nil && *f.Met {
			verdict = "met"
		} else if f.Met != nil {
			verdict = "missed"
		}
		t.add(f.text, f.Target, verdict, f.Name, f.Formula, f.Window)
	}
	fmt.Fprintln(p.w)
	t.print(p.w, p.style)
}
