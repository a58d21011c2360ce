package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type dlqStatsCmd struct {
	jsonFlag
	deadFlags
	Window span `placeholder:"DURATION" help:"Time that the figures about retries cover, 1h to 30d, in whole hours. Default 24h."`
}

// Help implements kong.HelpProvider.
func (*dlqStatsCmd) Help() string {
	return `The command counts dead letters. It also shows how many retries succeeded in the window, with formulas and targets. A
retried job is one that had more than one attempt, or that was retried by hand. The figures by class leave out retries by hand:
a job counts for each class of which a failure was retried in its last life.

    redrive dlq stats
    redrive dlq stats --owner ann --since 1d
    redrive dlq stats --window 7d --json | jq '.success[] | select(.met | not)'

With filters, the command counts only the dead letters that match. It leaves out the figures about retries, which are of
all jobs. It reads up to 10,000 dead letters, the newest ones, and says so when there are more. --status, --reason, --class,
--kind and --queue have counters, so the counts are complete with these.`
}

func (c *dlqStatsCmd) Run(ctx context.Context, a *app) (err error) {
	window, filtered := time.Duration(c.Window), !c.isZero()
	switch {
	case filtered && window != 0:
		return usagef("--window is for the figures about the retries of all jobs; leave it out, or remove the filters")
	case filtered:
	case window == 0:
		window = 24 * time.Hour
	case window < time.Hour || window > redrive.HoursKept:
		return usagef("--window %s: must be 1h to 30d", words.Span(window))
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	if filtered {
		return c.count(ctx, a, client)
	}
	stats, err := client.DeadStats(ctx)
	if err != nil {
		return fmt.Errorf("count dead letters: %w", err)
	}
	points, err := client.Series(ctx, redrive.SeriesQuery{Since: stats.At.Add(-window), Step: time.Hour, By: redrive.ByClass})
	if err != nil {
		return fmt.Errorf("read figures by class: %w", err)
	}
	v, classes := wire.StatsOf(&stats, window), words.RetriesByClass(points)
	v.SuccessByClass = wire.RetriesOf(classes)
	if c.JSON {
		return a.printJSON(v)
	}
	p := a.page()
	p.stats(v, words.Figures(&stats, window))
	p.retriesByClass(classes)
	return nil
}

// count counts the dead letters that the filters select.
func (c *dlqStatsCmd) count(ctx context.Context, a *app, client *redrive.Client) error {
	f, err := c.filter(ctx, a, client)
	if err != nil {
		return err
	}
	over := a.busy("counting dead letters")
	t, err := client.TallyDead(ctx, f)
	over()
	if err != nil {
		return fmt.Errorf("count dead letters: %w", err)
	}
	v := wire.StatsOf(&t.DeadStats, 0)
	v.Hours, v.Searched = []redrive.Hour{}, t.Searched
	if v.Total == 0 {
		if err := c.explainNothing(ctx, a, client); err != nil {
			return err
		}
	}
	if c.JSON {
		return a.printJSON(v)
	}
	if !f.Counted() {
		a.warnSearched(t.Searched)
	}
	a.page().stats(v, nil)
	return nil
}

// entryOf returns a dead letter with the status, reason, class, kind and queue of a count. So a
// filter for dead letters can be tested on counts.
func entryOf(n *redrive.DeadCount) job.DeadLetter {
	return job.DeadLetter{Status: n.Status, Reason: n.Reason, Class: n.Class, Kind: n.Kind, Queue: n.Queue}
}

func (p *page) stats(v *wire.DeadStats, figures []words.Figure) {
	f := words.Facts{}
	f.Add("dead letters", words.Number(v.Total))
	for _, status := range job.Statuses {
		f.Add(status.String(), words.Number(v.Status[status.String()]))
	}
	if v.OldestPending > 0 {
		f.Add("oldest", fmt.Sprintf("pending since %s (%s)", words.Time(v.OldestPending), words.Away(v.OldestPending, p.now)))
	}
	f.Add("per minute", words.AddedOf(v.Added).String())
	if p.style.terminal {
		f.Add("", words.Sparkline(v.Added))
	}
	p.facts(f)
	p.counts("REASON", v.Reason)
	p.counts("CLASS", v.Class)
	p.counts("KIND", v.Kind)
	if figures != nil {
		p.figures(figures)
	}
}

// counts prints names with their counts, the largest count first.
func (p *page) counts(title string, by map[string]int64) {
	if len(by) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(by))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(by[b], by[a]) })
	t := table{columns: []column{{title: "  DEAD", right: true}, {title: title, loose: true}}}
	for _, name := range names {
		t.add(words.Number(by[name]), cmp.Or(name, "-"))
	}
	fmt.Fprintln(p.w)
	t.print(p.w, p.style)
}

// retriesByClass prints the results of the retries of each class.
func (p *page) retriesByClass(list []words.ClassRetries) {
	if len(list) == 0 {
		return
	}
	t := table{columns: []column{
		{title: "  SUCCEED", right: true}, {title: ""}, {title: "RECOVERED", right: true}, {title: "EXHAUSTED", right: true},
		{title: "RETRIES", right: true}, {title: "MEAN COST", right: true}, {title: ""}, {title: "CLASS", loose: true},
	}}
	for i := range list {
		c := &list[i]
		t.add(c.Succeed.Text, c.Succeed.Verdict(), words.Number(c.Recovered), words.Number(c.Exhausted), words.Number(c.Retries),
			c.Cost.Text, c.Cost.Verdict(), c.Class)
	}
	fmt.Fprintln(p.w)
	t.print(p.w, p.style)
}

func (p *page) figures(list []words.Figure) {
	t := table{columns: []column{
		{title: "  VALUE", right: true}, {title: "TARGET"}, {title: ""}, {title: "FIGURE"}, {title: "FORMULA", loose: true}, {title: "OVER"},
	}}
	for i := range list {
		f := &list[i]
		t.add(f.Text, f.Target, f.Verdict(), f.Name, f.Formula, f.Window)
	}
	fmt.Fprintln(p.w)
	t.print(p.w, p.style)
}
