package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

type queuesListCmd struct{ jsonFlag }

// Help implements kong.HelpProvider.
func (*queuesListCmd) Help() string {
	return `Settings with a star were made with "redrive queues set" and win over the configuration.

    redrive queues list
    redrive queues list --json`
}

// queueView is a queue with what it holds.
type queueView struct {
	store.Queue
	RateText string           `json:"rate,omitempty"`
	Jobs     map[string]int64 `json:"jobs,omitempty"` // by state

	configured config.Queue
	known      bool // in the configuration
}

func (c *queuesListCmd) Run(ctx context.Context, a *app) (err error) {
	st, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	queues, err := st.Queues(ctx)
	if err != nil {
		return fmt.Errorf("read queues: %w", err)
	}
	counts, err := st.Counts(ctx)
	if err != nil {
		return fmt.Errorf("count jobs: %w", err)
	}
	views := viewQueues(queues, counts, a.known())
	if c.JSON {
		return a.printJSON(map[string]any{"queues": views})
	}
	a.printQueues(views)
	return nil
}

// viewQueues joins what the store and the configuration know, by name.
func viewQueues(queues []store.Queue, counts []store.Count, c *config.Config) []*queueView {
	byName := make(map[string]*queueView)
	views := []*queueView{}
	get := func(name string) *queueView {
		v := byName[name]
		if v == nil {
			v = &queueView{Queue: store.Queue{Name: name}, Jobs: make(map[string]int64)}
			v.configured, v.known = c.Queues[name]
			byName[name] = v
			views = append(views, v)
		}
		return v
	}
	for _, q := range queues {
		v := get(q.Name)
		v.Queue, v.RateText = q, rateText(q.Rate)
	}
	for _, name := range c.QueueNames {
		get(name)
	}
	for _, n := range counts {
		if n.N != 0 {
			get(n.Queue).Jobs[n.State.String()] += n.N
		}
	}
	slices.SortFunc(views, func(a, b *queueView) int { return cmp.Compare(a.Name, b.Name) })
	return views
}

func (a *app) printQueues(views []*queueView) {
	t := table{columns: []column{
		{title: "QUEUE", loose: true}, {title: "MODE"}, {title: "WORKERS", right: true}, {title: "LIMIT", right: true},
		{title: "RATE", right: true},
	}}
	for _, s := range job.States {
		t.columns = append(t.columns, column{title: strings.ToUpper(s.String()), right: true})
	}
	for _, v := range views {
		row := []string{
			v.Name, v.Mode.String(), v.setting(v.Workers, v.configured.Workers), v.setting(v.Limit, v.configured.Limit),
			v.rate(),
		}
		for _, s := range job.States {
			row = append(row, words.Number(v.Jobs[s.String()]))
		}
		t.add(row...)
	}
	t.print(a.out, a.styleOf(a.stdout))
}

func (v *queueView) setting(made, configured int) string {
	switch {
	case made > 0:
		return strconv.Itoa(made) + "*"
	case v.known && configured > 0:
		return strconv.Itoa(configured)
	}
	return "-"
}

func (v *queueView) rate() string {
	if !v.Rate.Unlimited() {
		return rateText(v.Rate) + "*"
	}
	if text := rateText(store.Rate(v.configured.Rate)); text != "" {
		return text
	}
	return "-"
}
