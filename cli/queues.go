package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/words"
)

type queuesCmd struct {
	List   queuesListCmd   `cmd:"" help:"List queues with their settings and jobs."`
	Pause  queuesPauseCmd  `cmd:"" help:"Start no jobs of a queue until it is resumed. New jobs are accepted."`
	Resume queuesResumeCmd `cmd:"" help:"End the pause or the drain of a queue."`
	Drain  queuesDrainCmd  `cmd:"" help:"Accept no new jobs in a queue. Its existing jobs run."`
	Set    queuesSetCmd    `cmd:"" help:"Change the workers, the limit and the rate of a queue."`
}

type queuesPauseCmd struct {
	by
	jsonFlag
	Name string `arg:"" help:"Name of the queue."`
}

// Help implements kong.HelpProvider.
func (*queuesPauseCmd) Help() string {
	return `The pause takes effect at once. Running jobs continue.

    redrive queues pause mail --reason "the mail server moves"`
}

func (c *queuesPauseCmd) Run(ctx context.Context, a *app) error {
	return a.setMode(ctx, c.Name, redrive.QueuePaused, c.by, c.JSON)
}

type queuesResumeCmd struct {
	by
	jsonFlag
	Name string `arg:"" help:"Name of the queue."`
}

func (c *queuesResumeCmd) Run(ctx context.Context, a *app) error {
	return a.setMode(ctx, c.Name, redrive.QueueOpen, c.by, c.JSON)
}

type queuesDrainCmd struct {
	by
	jsonFlag
	Name string `arg:"" help:"Name of the queue."`
}

// Help implements kong.HelpProvider.
func (*queuesDrainCmd) Help() string {
	return `Until the queue is resumed, an enqueue into it is refused with exit code 5.

    redrive queues drain mail --reason "moves to another machine"`
}

func (c *queuesDrainCmd) Run(ctx context.Context, a *app) error {
	return a.setMode(ctx, c.Name, redrive.QueueDraining, c.by, c.JSON)
}

func (a *app) setMode(ctx context.Context, name string, mode redrive.QueueMode, who by, asJSON bool) error {
	return a.changeQueue(ctx, redrive.QueueChange{Name: name, Mode: &mode}, who, asJSON)
}

type queuesSetCmd struct {
	by
	jsonFlag
	Name    string  `arg:"" help:"Name of the queue."`
	Workers *string `placeholder:"N|default" help:"Number of jobs that run at the same time in each process; \"default\" removes the setting."`
	Limit   *string `placeholder:"N|default" help:"Number of jobs that run at the same time in all processes together; \"default\" removes the setting."`
	Rate    *string `placeholder:"N/s|default" help:"Starts per s, m or h in all processes together, such as 10/s; \"default\" removes the setting."`
}

// Help implements kong.HelpProvider.
func (*queuesSetCmd) Help() string {
	return `The setting overrides the configuration of all workers, at once, until it is removed. To start no job of a queue, use
"redrive queues pause".

    redrive queues set render --workers 2 --reason "leave room for the backup"
    redrive queues set mail --rate 10/s
    redrive queues set mail --rate default`
}

func (c *queuesSetCmd) Run(ctx context.Context, a *app) error {
	workers, werr := parseSetting("--workers", c.Workers)
	limit, lerr := parseSetting("--limit", c.Limit)
	if err := cmp.Or(werr, lerr); err != nil {
		return err
	}
	change := redrive.QueueChange{Name: c.Name, Workers: workers, Limit: limit}
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

// unset is the value that removes a setting of a queue, so that the configuration applies again.
const unset = "default"

// parseSetting reads a number above zero, or 0 from the word that removes the setting.
func parseSetting(flag string, text *string) (*int, error) {
	if text == nil {
		return nil, nil
	}
	n := 0
	if *text != unset {
		var err error
		if n, err = strconv.Atoi(*text); err != nil || n < 1 {
			return nil, usagef("%s %q: must be a number from 1, or %q to remove the setting; `redrive queues pause` stops a queue", flag, *text, unset)
		}
	}
	return &n, nil
}

const rateMax = 1_000_000

// parseRate returns the rate that a text such as 10/s, 600/m or 1000/h means; "default" removes the
// setting.
func parseRate(s string) (redrive.Rate, error) {
	if s == unset {
		return redrive.Rate{}, nil
	}
	digits, unit, _ := strings.Cut(s, "/")
	n, err := strconv.Atoi(digits)
	per := map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[unit]
	if err != nil || n < 1 || n > rateMax || per == 0 {
		return redrive.Rate{}, usagef("--rate %q: must be 1 to %d per s, m or h, such as 10/s, or %q to remove the setting", s, rateMax, unset)
	}
	return redrive.Rate{N: n, Per: per}, nil
}

// changeQueue changes the settings of a queue that is in the database or in the
// configuration.
func (a *app) changeQueue(ctx context.Context, c redrive.QueueChange, who by, asJSON bool) (err error) {
	configured := a.known().QueueNames
	client, db, err := a.openWith(ctx, configured)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	q, err := client.SetQueue(ctx, who.actor(a), c)
	if errors.Is(err, redrive.ErrNotFound) {
		return a.unknownQueue(ctx, client, c.Name)
	}
	if err != nil {
		return fmt.Errorf("queue %q: %w", c.Name, err)
	}
	if asJSON {
		return a.printJSON(viewQueue(q, config.Queue{}))
	}
	_, err = fmt.Fprintf(a.out, "%s: %s\n", words.Clean(q.Name), words.QueueSettings(q))
	return err
}

func (a *app) unknownQueue(ctx context.Context, client *redrive.Client, name string) error {
	known, err := a.knownNames(ctx, client, "queue")
	if err != nil {
		return err
	}
	return absentError(suggest.Unknown("queue", name, known))
}
