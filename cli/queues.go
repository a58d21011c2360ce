package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/store"
)

type queuesCmd struct {
	List   queuesListCmd   `cmd:"" help:"List queues with their settings and jobs."`
	Pause  queuesPauseCmd  `cmd:"" help:"Give out no jobs of a queue until it is resumed; take new ones."`
	Resume queuesResumeCmd `cmd:"" help:"Take a queue out of pause or drain."`
	Drain  queuesDrainCmd  `cmd:"" help:"Take no new jobs in; run those that are there."`
	Set    queuesSetCmd    `cmd:"" help:"Change how many jobs of a queue run, while they run."`
}

type queuesPauseCmd struct {
	by
	jsonFlag
	Name string `arg:"" help:"Queue."`
}

// Help implements kong.HelpProvider.
func (*queuesPauseCmd) Help() string {
	return `Workers notice at once. Jobs that are running go on.

    redrive queues pause mail --reason "the mail server moves"`
}

func (c *queuesPauseCmd) Run(ctx context.Context, a *app) error {
	return a.setMode(ctx, c.Name, store.Paused, c.by, c.JSON)
}

type queuesResumeCmd struct {
	by
	jsonFlag
	Name string `arg:"" help:"Queue."`
}

func (c *queuesResumeCmd) Run(ctx context.Context, a *app) error {
	return a.setMode(ctx, c.Name, store.Open, c.by, c.JSON)
}

type queuesDrainCmd struct {
	by
	jsonFlag
	Name string `arg:"" help:"Queue."`
}

// Help implements kong.HelpProvider.
func (*queuesDrainCmd) Help() string {
	return `Enqueuing into the queue is refused with exit code 5 until it is resumed.

    redrive queues drain mail --reason "moves to another machine"`
}

func (c *queuesDrainCmd) Run(ctx context.Context, a *app) error {
	return a.setMode(ctx, c.Name, store.Draining, c.by, c.JSON)
}

func (a *app) setMode(ctx context.Context, name string, mode store.Mode, who by, asJSON bool) error {
	return a.changeQueue(ctx, store.QueueChange{Name: name, Mode: &mode}, who, asJSON)
}

type queuesSetCmd struct {
	by
	jsonFlag
	Name    string  `arg:"" help:"Queue."`
	Workers *int    `placeholder:"N" help:"Jobs at a time in each process; 0 takes the setting back."`
	Limit   *int    `placeholder:"N" help:"Jobs at a time over all processes; 0 takes the setting back."`
	Rate    *string `placeholder:"N/s" help:"Starts per s, m or h over all processes, such as 10/s; 0 takes the setting back."`
}

// Help implements kong.HelpProvider.
func (*queuesSetCmd) Help() string {
	return `A setting made here wins over the configuration of every worker, at once, and stays until it is taken back.

    redrive queues set render --workers 2 --reason "leave room for the backup"
    redrive queues set mail --rate 10/s
    redrive queues set mail --rate 0`
}

func (c *queuesSetCmd) Run(ctx context.Context, a *app) error {
	change := store.QueueChange{Name: c.Name, Workers: c.Workers, Limit: c.Limit}
	if c.Rate != nil {
		rate, err := parseRate(*c.Rate)
		if err != nil {
			return err
		}
		change.Rate = &rate
	}
	if c.Workers == nil && c.Limit == nil && c.Rate == nil {
		return usagef("nothing to set: give --workers, --limit or --rate")
	}
	if err := change.Validate(); err != nil {
		return &usageError{err}
	}
	return a.changeQueue(ctx, change, c.by, c.JSON)
}

const rateMax = 1_000_000

// parseRate reads 10/s, 600/m or 1000/h; 0 is no limit.
func parseRate(s string) (store.Rate, error) {
	if s == "0" {
		return store.Rate{}, nil
	}
	digits, unit, _ := strings.Cut(s, "/")
	n, err := strconv.Atoi(digits)
	per := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[unit]
	if err != nil || n < 1 || n > rateMax || per == 0 {
		return store.Rate{}, usagef("--rate %q: must be 1 to %d per s, m or h, such as 10/s, or 0 for none", s, rateMax)
	}
	return store.Rate{N: n, Per: per}, nil
}

func rateText(r store.Rate) string {
	switch {
	case r.Unlimited():
		return ""
	case r.Per == time.Second:
		return fmt.Sprintf("%d/s", r.N)
	case r.Per == time.Minute:
		return fmt.Sprintf("%d/m", r.N)
	case r.Per == time.Hour:
		return fmt.Sprintf("%d/h", r.N)
	}
	return fmt.Sprintf("%d per %s", r.N, words.Span(r.Per))
}

// changeQueue changes a queue that is known: used before, or configured.
func (a *app) changeQueue(ctx context.Context, c store.QueueChange, who by, asJSON bool) (err error) {
	st, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	configured := a.known()
	q, err := st.SetQueue(ctx, who.actor(a), c)
	if _, ok := configured.Queues[c.Name]; ok && errors.Is(err, store.ErrNotFound) {
		if err := st.Declare(ctx, []string{c.Name}); err != nil {
			return fmt.Errorf("queue %q: %w", c.Name, err)
		}
		q, err = st.SetQueue(ctx, who.actor(a), c)
	}
	if errors.Is(err, store.ErrNotFound) {
		return a.unknownQueue(ctx, st, c.Name, configured.QueueNames)
	}
	if err != nil {
		return fmt.Errorf("queue %q: %w", c.Name, err)
	}
	if asJSON {
		return a.printJSON(queueView{Queue: q, RateText: rateText(q.Rate)})
	}
	_, err = fmt.Fprintf(a.out, "%s: %s\n", words.Clean(q.Name), describeQueue(q))
	return err
}

func (a *app) unknownQueue(ctx context.Context, st store.Reader, name string, known []string) error {
	queues, err := st.Queues(ctx)
	if err != nil {
		return fmt.Errorf("read queues: %w", err)
	}
	for _, q := range queues {
		known = append(known, q.Name)
	}
	return absentError(suggest.Unknown("queue", name, known))
}

// describeQueue tells the mode and the settings made by people.
func describeQueue(q store.Queue) string {
	parts := []string{q.Mode.String()}
	if q.Workers > 0 {
		parts = append(parts, words.Count(int64(q.Workers), "worker")+" in each process")
	}
	if q.Limit > 0 {
		parts = append(parts, fmt.Sprintf("at most %d running over all processes", q.Limit))
	}
	if !q.Rate.Unlimited() {
		parts = append(parts, "at most "+rateText(q.Rate)+" started")
	}
	return strings.Join(parts, ", ")
}
