package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type queuesListCmd struct{ jsonFlag }

// Help implements kong.HelpProvider.
func (*queuesListCmd) Help() string {
	return `A star marks a setting of "redrive queues set". It overrides the configuration. With --json, "set" lists these settings.

    redrive queues list
    redrive queues list --json`
}

func (c *queuesListCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	queues, err := client.Queues(ctx)
	if err != nil {
		return fmt.Errorf("read queues: %w", err)
	}
	counts, err := client.Counts(ctx)
	if err != nil {
		return fmt.Errorf("count jobs: %w", err)
	}
	views := viewQueues(queues, counts, a.known())
	if c.JSON {
		return a.printJSON(wire.QueueList{Queues: views})
	}
	a.printQueues(views)
	return nil
}

// viewQueues returns all queues of the store and of the configuration, sorted by name.
func viewQueues(queues []redrive.QueueSettings, counts []redrive.JobCount, c *config.Config) []wire.Queue {
	stored := map[string]redrive.QueueSettings{}
	for _, name := range c.QueueNames {
		stored[name] = redrive.QueueSettings{Name: name}
	}
	for _, n := range counts {
		stored[n.Queue] = redrive.QueueSettings{Name: n.Queue}
	}
	for _, q := range queues {
		stored[q.Name] = q
	}
	views := []wire.Queue{}
	for name, q := range stored {
		v := viewQueue(q, c.Queues[name])
		v.Jobs = map[string]int64{}
		for _, state := range job.States {
			v.Jobs[state.String()] = 0
		}
		for _, n := range counts {
			if n.Queue == name {
				v.Jobs[n.State.String()] += n.N
			}
		}
		views = append(views, v)
	}
	slices.SortFunc(views, func(a, b wire.Queue) int { return cmp.Compare(a.Name, b.Name) })
	return views
}

// viewQueue returns a queue with its settings from the store and from the configuration.
func viewQueue(q redrive.QueueSettings, configured config.Queue) wire.Queue {
	v := wire.Queue{
		Name: q.Name, Mode: q.Mode.String(), Workers: cmp.Or(q.Workers, configured.Workers), Limit: cmp.Or(q.Limit, configured.Limit),
		Rate: cmp.Or(words.Rate(q.Rate), words.Rate(redrive.Rate(configured.Rate))),
	}
	for name, set := range map[string]bool{"workers": q.Workers > 0, "limit": q.Limit > 0, "rate": !q.Rate.Unlimited()} {
		if set {
			v.Set = append(v.Set, name)
		}
	}
	slices.Sort(v.Set)
	return v
}

func (a *app) printQueues(views []wire.Queue) {
	t := table{columns: []column{
		{title: "QUEUE", loose: true}, {title: "MODE"}, {title: "WORKERS", right: true, spare: 4}, {title: "LIMIT", right: true, spare: 3},
		{title: "RATE", right: true, spare: 2},
	}}
	for _, s := range job.States {
		t.columns = append(t.columns, column{title: strings.ToUpper(s.String()), right: true, spare: map[job.State]int{job.Cancelled: 1, job.Completed: 5}[s]})
	}
	for i := range views {
		v := &views[i]
		setting := func(name, value string) string {
			switch {
			case value == "" || value == "0":
				return "-"
			case slices.Contains(v.Set, name):
				return value + "*"
			}
			return value
		}
		row := []string{
			v.Name, v.Mode, setting("workers", strconv.Itoa(v.Workers)), setting("limit", strconv.Itoa(v.Limit)), setting("rate", v.Rate),
		}
		for _, s := range job.States {
			row = append(row, words.Number(v.Jobs[s.String()]))
		}
		t.add(row...)
	}
	t.print(a.out, a.styleOf(a.stdout))
}
