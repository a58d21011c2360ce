package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

// liveFlags are the flags that select live jobs for an action: by ids or by a filter.
type liveFlags struct {
	IDs         []job.ID    `arg:"" optional:"" name:"id" help:"Ids of jobs."`
	State       []stateFlag `placeholder:"STATE,..." help:"waiting, retrying or running."`
	Kind        string      `placeholder:"NAME" help:"Only jobs of this kind."`
	Queue       string      `placeholder:"NAME" help:"Only jobs of this queue."`
	Owner       string      `placeholder:"NAME" help:"Only jobs of this owner."`
	Worker      string      `placeholder:"NAME" help:"Only jobs that this process runs or ran last."`
	Correlation string      `placeholder:"ID" help:"Only with this correlation id."`
	Attr        string      `placeholder:"NAME=VALUE" help:"Only with this attribute."`
	Batch       int64       `placeholder:"N" help:"Only jobs of this batch."`
	Class       string      `placeholder:"CLASS" help:"Only retrying jobs whose last failure has this class, such as NetworkTimeout."`
	Group       string      `placeholder:"GROUP" help:"Only retrying jobs of this root cause: the name of a group, or its beginning; see \"dlq groups\"."`
	Text        string      `placeholder:"TEXT" help:"Only retrying jobs with this text in the message; case does not matter."`
	Since       string      `placeholder:"WHEN" help:"Created at or after this time, such as 2026-01-31T18:00, or a duration ago, such as 2h or 3d."`
	Until       string      `placeholder:"WHEN" help:"Created before this time; see --since."`
	All         bool        `help:"Select all live jobs that the command can change, instead of a filter."`
	DryRun      bool        `help:"Count the jobs, and change nothing."`
	Yes         bool        `short:"y" help:"Act without asking for confirmation."`
	Rate        int         `placeholder:"N" help:"The highest number of jobs to change per second."`
}

// isFilter reports whether the flags select jobs by a filter.
func (f *liveFlags) isFilter() bool {
	return len(f.State) > 0 || f.Kind != "" || f.Queue != "" || f.Owner != "" || f.Worker != "" || f.Correlation != "" || f.Attr != "" ||
		f.Batch != 0 || f.Class != "" || f.Group != "" || f.Text != "" || f.Since != "" || f.Until != ""
}

// check returns an error if the selection is empty or has both ids and filters.
func (f *liveFlags) check() error {
	switch filtered := f.isFilter(); {
	case len(f.IDs) == 0 && !filtered && !f.All:
		return usagef("name jobs, a --kind or another filter; --all selects everything")
	case len(f.IDs) > 0 && (filtered || f.All || f.DryRun || f.Rate != 0):
		return usagef("name either jobs or a filter, not both; --all, --dry-run and --rate are for filters")
	case filtered && f.All:
		return usagef("use either --all or a filter, not both")
	case f.Rate < 0 || f.Rate > redrive.RedriveRateMax:
		return usagef("--rate %d: must be 1 to %d jobs per second", f.Rate, redrive.RedriveRateMax)
	}
	return nil
}

func (f *liveFlags) filter(ctx context.Context, a *app, client *redrive.Client) (redrive.JobFilter, error) {
	all := filterFlags{State: f.State, Since: f.Since, Until: f.Until, selectFlags: f.selected()}
	return all.filter(ctx, a, client)
}

// selected returns those of the flags that the commands which list jobs have, too.
func (f *liveFlags) selected() selectFlags {
	return selectFlags{
		Kind: f.Kind, Queue: f.Queue, Owner: f.Owner, Worker: f.Worker, Correlation: f.Correlation, Attr: f.Attr, Batch: f.Batch,
		Class: f.Class, Group: f.Group, Text: f.Text,
	}
}

// actOnLive cancels or changes live jobs: the jobs with the given ids, or all jobs that the filter
// selects. The given function makes the change; if it is nil, the jobs are cancelled.
func (a *app) actOnLive(ctx context.Context, f *liveFlags, by redrive.By, asJSON bool, change func(*redrive.Client) (redrive.EncodedChange, error)) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	if len(f.IDs) > 0 {
		return a.act(ctx, f.IDs, asJSON, func(client *redrive.Client) ([]error, error) {
			if change == nil {
				return client.CancelAll(ctx, by, f.IDs)
			}
			c, err := change(client)
			if err != nil {
				return nil, err
			}
			answers, err := client.AlterAll(ctx, by, f.IDs, c)
			return answers, invalidIsUsage(err)
		})
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	c := words.LiveCounted{LiveAction: redrive.LiveAction{Do: redrive.LiveCancel}}
	if c.Filter, err = f.filter(ctx, a, client); err != nil {
		return err
	}
	if change != nil {
		c.Do = redrive.LiveAlter
		if c.Change, err = change(client); err != nil {
			return err
		}
	}
	found, err := client.PreviewLive(ctx, c.LiveAction)
	if err != nil {
		return invalidIsUsage(err)
	}
	if found.Done == 0 {
		if err := a.explainNothing(ctx, client, new(f.selected())); err != nil {
			return err
		}
	}
	c.N, c.Through, c.At = found.Done, found.Through, found.At
	switch {
	case f.DryRun:
		return a.liveResult(&c, nil, c.Plan(), asJSON)
	case c.N == 0:
		return a.liveResult(&c, nil, c.Result(0), asJSON)
	}
	if err := a.confirm(c.Question(), f.Yes); err != nil {
		return err
	}
	r, err := client.StartLive(ctx, by, c.LiveAction, found, f.Rate)
	if err != nil {
		return invalidIsUsage(err)
	}
	return a.advanceLive(ctx, client, &c, by, r.ID, asJSON)
}

// advanceLive carries out a bulk action on live jobs to its end. An interrupt pauses it.
func (a *app) advanceLive(ctx context.Context, client *redrive.Client, c *words.LiveCounted, by redrive.By, id int64, asJSON bool) error {
	return a.advance(ctx, client, by, id, bulk{n: c.N, what: "job", done: words.LiveDone(c.Do), print: func(r *redrive.Redrive) error {
		return a.liveResult(c, r, c.Result(r.Released), asJSON)
	}})
}

// liveResult prints a sentence or, as JSON, the numbers of an action. r is nil if nothing was
// changed.
func (a *app) liveResult(c *words.LiveCounted, r *redrive.Redrive, text string, asJSON bool) error {
	if asJSON {
		out := wire.LiveCounted{Do: c.Do.String(), N: c.N, Through: c.Through}
		if r != nil {
			out.Done, out.Redrive = &r.Released, r.ID
		}
		return a.printJSON(out)
	}
	_, err := fmt.Fprintln(a.out, text)
	return err
}

type jobsMoveCmd struct {
	by
	jsonFlag
	liveFlags
	ToQueue string `required:"" placeholder:"NAME" help:"Move the jobs to this queue."`
}

// Help implements kong.HelpProvider.
func (*jobsMoveCmd) Help() string {
	return `Waiting and retrying jobs are moved. Running jobs stay where they are.

    redrive jobs move 17 18 --to-queue night
    redrive jobs move --kind report --queue main --to-queue night --dry-run`
}

func (c *jobsMoveCmd) Run(ctx context.Context, a *app) error {
	return a.actOnLive(ctx, &c.liveFlags, c.actor(a), c.JSON, func(client *redrive.Client) (redrive.EncodedChange, error) {
		return redrive.EncodedChange{Queue: c.ToQueue}, a.knownQueue(ctx, client, c.ToQueue)
	})
}

type jobsRunNowCmd struct {
	by
	jsonFlag
	liveFlags
}

// Help implements kong.HelpProvider.
func (*jobsRunNowCmd) Help() string {
	return `Waiting and retrying jobs that are due later become due now. Jobs that are due already keep their place.

    redrive jobs run-now 17
    redrive jobs run-now --class NetworkTimeout --reason "network is back"`
}

func (c *jobsRunNowCmd) Run(ctx context.Context, a *app) error {
	return a.actOnLive(ctx, &c.liveFlags, c.actor(a), c.JSON, func(*redrive.Client) (redrive.EncodedChange, error) {
		return redrive.EncodedChange{Delay: new(time.Duration(0))}, nil
	})
}

type jobsSetCmd struct {
	by
	jsonFlag
	liveFlags
	changeFlags
	Delay   *span  `placeholder:"DURATION" help:"Time until the jobs are due, such as 10m or 2d; 0s makes them due now."`
	Payload string `placeholder:"FILE" help:"File with a new payload, for one job only; \"-\" reads standard input."`
}

// Help implements kong.HelpProvider.
func (*jobsSetCmd) Help() string {
	return `Waiting and retrying jobs are changed. A job keeps its state, its attempts and its failures. "redrive jobs show" shows
what it was before the first change.

    redrive jobs set 17 --payload fixed.json --priority 1
    redrive jobs set --kind report --max-retries 2 --dry-run
    redrive jobs set --queue main --owner acme --delay 2h --yes

--max-retries, --max-total-retries, --max-cost and --waits together replace the jobs' own retry settings.`
}

func (c *jobsSetCmd) Run(ctx context.Context, a *app) error {
	if c.Payload != "" && len(c.IDs) != 1 {
		return usagef("--payload is of one job; name just one")
	}
	return a.actOnLive(ctx, &c.liveFlags, c.actor(a), c.JSON, func(client *redrive.Client) (redrive.EncodedChange, error) {
		change, err := c.change(ctx, a, client)
		if err != nil {
			return change, err
		}
		if c.Delay != nil {
			change.Delay = new(time.Duration(*c.Delay))
		}
		if c.Payload != "" {
			change.Payload, err = a.newPayload(ctx, client, c.Payload, c.IDs[0])
		}
		if err == nil && change.IsZero() {
			return change, usagef("say what to change, such as --priority 1; see `redrive jobs set --help`")
		}
		return change, err
	})
}
