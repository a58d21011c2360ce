package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/cron"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type cronRunCmd struct {
	by
	jsonFlag
	Name string `arg:"" help:"Name of the schedule."`
	Key  string `placeholder:"KEY" help:"Idempotency key: within 24 hours, a second run with this key returns the first job."`
}

// Help implements kong.HelpProvider.
func (*cronRunCmd) Help() string {
	return `The job of the schedule is enqueued now, also while the schedule is paused. The slots of the schedule stay as they are.
The command prints the id of the job.

    redrive cron run nightly --reason "last night's report is missing"`
}

func (c *cronRunCmd) Run(ctx context.Context, a *app) (err error) {
	s, err := a.settings()
	if err != nil {
		return err
	}
	all, err := schedules(s.Config)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(e redrive.Cron) bool { return e.Name == c.Name })
	if i < 0 {
		return absentError(suggest.Unknown("schedule", c.Name, s.CronNames))
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	if err := client.SetCron(all[i]); err != nil {
		return err
	}
	receipt, err := client.RunCron(ctx, c.actor(a), c.Name, c.Key)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSONLine(wire.ReceiptOf(&receipt, 0))
	}
	if receipt.Existing {
		fmt.Fprintf(a.stderr, "redrive: the key already belongs to job %d (%s); no new job was created\n", receipt.ID, receipt.State)
	}
	_, err = fmt.Fprintln(a.out, receipt.ID)
	return err
}

type cronNextCmd struct {
	jsonFlag
	Name       string `arg:"" optional:"" help:"Name of a schedule of the configuration."`
	Expression string `placeholder:"TEXT" help:"A cron expression, in place of a schedule."`
	Timezone   string `placeholder:"NAME" help:"Time zone of --expression. Default: UTC."`
	N          int    `short:"n" default:"5" help:"Number of slots, 1 to 1000."`
	After      string `placeholder:"WHEN" help:"Show the slots after this time. Default: now."`
}

// Help implements kong.HelpProvider.
func (*cronNextCmd) Help() string {
	return `The slots are shown in the time zone of the schedule. A pause is not taken into account. The database is not read.

    redrive cron next nightly
    redrive cron next --expression '30 2 * * *' --timezone Europe/Berlin -n 10`
}

// Run implements the command.
func (c *cronNextCmd) Run(_ context.Context, a *app) error {
	expression, timezone := c.Expression, cmp.Or(c.Timezone, "UTC")
	switch {
	case (c.Name == "") == (c.Expression == ""):
		return usagef("give the name of a schedule or --expression")
	case c.Name != "" && c.Timezone != "":
		return usagef("--timezone belongs to --expression; a schedule has its own time zone")
	case c.Name != "":
		s, err := a.settings()
		if err != nil {
			return err
		}
		entry, ok := s.Cron[c.Name]
		if !ok {
			return absentError(suggest.Unknown("schedule", c.Name, s.CronNames))
		}
		expression, timezone = entry.Expression, entry.Timezone
	}
	zone, err := cron.Zone(timezone)
	if err != nil {
		return usagef("--timezone: %w", err)
	}
	after, err := future("--after", c.After, a.now())
	if err != nil {
		return err
	}
	if after == 0 {
		after = job.At(a.now())
	}
	list, err := redrive.NextSlots(expression, zone, after.Time(), c.N)
	if err != nil {
		return usagef("%w", err)
	}
	if c.JSON {
		slots := wire.CronSlots{Expression: expression, Words: words.Cron(expression), Zone: timezone, Slots: []job.Micros{}}
		for _, at := range list {
			slots.Slots = append(slots.Slots, job.At(at))
		}
		return a.printJSON(slots)
	}
	for _, at := range list {
		fmt.Fprintf(a.out, "%s  %s\n", at.Format("Mon 2006-01-02 15:04:05 -0700"), words.Away(job.At(at), job.At(a.now())))
	}
	return nil
}
