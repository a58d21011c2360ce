package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type jobsRetryCmd struct {
	by
	jsonFlag
	IDs         []job.ID   `arg:"" optional:"" name:"id" help:"Ids of dead jobs."`
	Kind        string     `placeholder:"NAME" help:"Only jobs of this kind."`
	Queue       string     `placeholder:"NAME" help:"Only jobs of this queue."`
	Owner       string     `placeholder:"NAME" help:"Only jobs of this owner."`
	Worker      string     `placeholder:"NAME" help:"Only jobs that this process ran last."`
	Correlation string     `placeholder:"ID" help:"Only with this correlation id."`
	Attr        string     `placeholder:"NAME=VALUE" help:"Only with this attribute."`
	Batch       int64      `placeholder:"N" help:"Only jobs of this batch."`
	Class       string     `placeholder:"CLASS" help:"Only jobs whose last failure has this class, such as NetworkTimeout."`
	Group       string     `placeholder:"GROUP" help:"Only jobs of this root cause: the name of a group or of a set, or its beginning; see \"dlq groups\"."`
	Text        string     `placeholder:"TEXT" help:"Only jobs with this text in the message; case does not matter."`
	DeadReason  deadReason `placeholder:"REASON" help:"Only jobs that are dead for this reason, such as max_retries_exceeded."`
	Since       string     `placeholder:"WHEN" help:"Dead since this time, such as 2026-01-31T18:00, or a duration ago, such as 2h or 3d."`
	Until       string     `placeholder:"WHEN" help:"Dead before this time; see --since."`
	All         bool       `help:"Select all jobs whose dead letters are pending, instead of a filter."`
	DryRun      bool       `help:"Count the jobs, and change nothing."`
	Yes         bool       `short:"y" help:"Act without asking for confirmation."`
	Rate        int        `placeholder:"N" help:"The highest number of jobs to retry per second."`
}

// deadReason is the value of a flag: the reason why a job is dead.
type deadReason job.Reason

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *deadReason) UnmarshalText(text []byte) error {
	if !slices.Contains(reasons[:], job.Reason(text)) {
		return errors.New(suggest.Unknown("reason", string(text), texts(reasons[:])))
	}
	*d = deadReason(text)
	return nil
}

// Help implements kong.HelpProvider.
func (*jobsRetryCmd) Help() string {
	return `The job is due at once and has all its attempts again. A deadline that has passed is removed. Its failures are kept.

    redrive jobs retry 17 --reason "the disk is repaired"
    redrive jobs retry $(redrive jobs list --state dead --ids)
    redrive jobs retry --kind report --owner acme --dry-run
    redrive jobs retry --class NetworkTimeout --rate 50 --yes

A filter selects jobs whose dead letters are pending. They are counted first, and jobs that die later are not included. They
run after new jobs (priority 4). The store keeps the action as a redrive: "redrive dlq redrive list" shows it, an interrupt
pauses it, and "redrive dlq redrive resume" continues it. "redrive dlq retry" can change the jobs, and "redrive dlq
redrive" retries a few jobs first.`
}

// deadFlags returns the flags of the filter.
func (c *jobsRetryCmd) deadFlags() deadFlags {
	return deadFlags{Since: c.Since, Until: c.Until, selectFlags: selectFlags{
		Kind: c.Kind, Queue: c.Queue, Owner: c.Owner, Worker: c.Worker, Correlation: c.Correlation, Attr: c.Attr, Batch: c.Batch,
		Class: c.Class, Group: c.Group, Text: c.Text, Reason: string(c.DeadReason),
	}}
}

// check returns an error if the selection is empty, or has both ids and filters.
func (c *jobsRetryCmd) check() error {
	f := c.deadFlags()
	switch filtered := !f.isZero(); {
	case len(c.IDs) == 0 && !filtered && !c.All:
		return usagef("name jobs, a --kind or another filter; --all selects everything")
	case len(c.IDs) > 0 && (filtered || c.All || c.DryRun || c.Rate != 0):
		return usagef("name either jobs or a filter, not both; --all, --dry-run and --rate are for filters")
	case filtered && c.All:
		return usagef("use either --all or a filter, not both")
	case c.Rate < 0 || c.Rate > redrive.RedriveRateMax:
		return usagef("--rate %d: must be 1 to %d jobs per second", c.Rate, redrive.RedriveRateMax)
	}
	return nil
}

func (c *jobsRetryCmd) Run(ctx context.Context, a *app) (err error) {
	if err := c.check(); err != nil {
		return err
	}
	actor := c.actor(a)
	if len(c.IDs) > 0 {
		return a.act(ctx, c.IDs, c.JSON, func(client *redrive.Client) ([]error, error) {
			notes, err := a.retryNotes(ctx, client, c.IDs)
			if err != nil {
				return nil, err
			}
			acted, err := client.Act(ctx, actor, redrive.Action{Do: redrive.ActRetry, IDs: c.IDs, Note: actor.Reason}, nil)
			for i := range acted.Errors {
				if acted.Errors[i] == nil {
					a.printNotes(notes, c.IDs[i])
				}
			}
			return acted.Errors, err
		})
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	f := c.deadFlags()
	filter, err := f.filter(ctx, a, client)
	if err != nil {
		return err
	}
	found, err := preview(ctx, client, redrive.Action{Do: redrive.ActRetry, Filter: &filter})
	if err == nil && found.N == 0 {
		err = f.explainNothing(ctx, a, client)
	}
	switch {
	case err != nil:
		return err
	case c.DryRun:
		return a.retried(&found, nil, found.Plan(), c.JSON)
	case found.N == 0:
		return a.retried(&found, nil, found.Result(0), c.JSON)
	}
	if err := a.confirm(found.Question(), c.Yes); err != nil {
		return err
	}
	r, err := client.Redrive(ctx, actor, retrySpec(&found, c.Rate))
	if err != nil {
		return invalidIsUsage(err)
	}
	return a.advance(ctx, client, actor, r.ID, retriedOf(a, &found, c.JSON))
}

// retrySpec returns the spec of a redrive that retries the counted dead letters without a canary
// and never stops by itself.
func retrySpec(c *words.Counted, rate int) redrive.RedriveSpec {
	return redrive.RedriveSpec{Filter: *c.Filter, Through: c.Through, Total: c.N, Change: c.Change, Rate: rate, Canary: -1}.WithoutStop()
}

// retriedOf returns the bulk action that retries the counted dead letters.
func retriedOf(a *app, c *words.Counted, asJSON bool) bulk {
	return bulk{n: c.N, what: "dead letter", done: words.Done(redrive.ActRetry), print: func(r *redrive.Redrive) error {
		return a.retried(c, r, c.Result(r.Released), asJSON)
	}}
}

// retried prints a sentence or, as JSON, the numbers of a retry. r is nil if nothing was changed.
func (a *app) retried(c *words.Counted, r *redrive.Redrive, text string, asJSON bool) error {
	if asJSON {
		out := wire.Counted{Do: redrive.ActRetry.String(), N: c.N, Through: c.Through}
		if r != nil {
			out.Done, out.Redrive = &r.Released, r.ID
		}
		return a.printJSON(out)
	}
	_, err := fmt.Fprintln(a.out, text)
	return err
}
