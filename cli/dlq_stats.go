package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type dlqStatsCmd struct {
	jsonFlag
	Window string `default:"24h" placeholder:"DURATION" help:"Time that the figures about retries cover, up to 30d, in whole hours. Default 24h."`
}

// Help implements kong.HelpProvider.
func (*dlqStatsCmd) Help() string {
	return `The command counts dead letters. It also shows how many retries succeeded in the window, with formulas and targets. A
retried job is one that had more than one attempt, or that was retried by hand.

    redrive dlq stats
    redrive dlq stats --window 7d --json | jq '.success[] | select(.met | not)'`
}

func (c *dlqStatsCmd) Run(ctx context.Context, a *app) (err error) {
	window, err := human.ParseDuration(c.Window)
	if err != nil || window < time.Hour || window > redrive.HoursKept {
		return usagef("--window %q: must be 1h to 30d", c.Window)
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	stats, err := client.DeadStats(ctx)
	if err != nil {
		return fmt.Errorf("count dead letters: %w", err)
	}
	v := wire.StatsOf(&stats, window)
	if c.JSON {
		return a.printJSON(v)
	}
	a.page().stats(v, words.Figures(&stats, window))
	return nil
}

// entryOf returns a dead letter with the status, reason, class, kind and queue of a count. The
// filter is tested on it.
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
	p.figures(figures)
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
