package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/cron"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type cronCmd struct{ jsonFlag }

// Help implements kong.HelpProvider.
func (*cronCmd) Help() string {
	return `The list has the schedules of the configuration. Each has its next slot, and the last slot that any worker has fired. The
list also has schedules that are only in the database, because they were in the configuration earlier.

    redrive cron
    redrive cron --json | jq -r '.entries[] | [.name, .next] | @tsv'`
}

func (c *cronCmd) Run(ctx context.Context, a *app) (err error) {
	s, err := a.settings()
	if err != nil {
		return err
	}
	fired, err := a.fired(ctx, &s)
	if err != nil {
		return err
	}
	views, err := viewCron(s.Config, fired, a.now())
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(wire.CronList{Entries: views})
	}
	c.print(a, views)
	return nil
}

// fired returns the last slot of each schedule that a worker fired. It returns none if
// there is no database yet.
func (a *app) fired(ctx context.Context, s *settings) (list []redrive.CronSlot, err error) {
	d, err := a.databaseOf(s.Config)
	if err != nil {
		return nil, err
	}
	if err := d.there(ctx); errors.Is(err, redrive.ErrNotFound) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	defer closing(db, &err)
	if list, err = client.CronSlots(ctx); err != nil {
		return nil, fmt.Errorf("read the slots that were fired last: %w", err)
	}
	return list, nil
}

// viewCron returns the entries of the configuration in their order, then the entries that
// are only in the database.
func viewCron(c *config.Config, fired []redrive.CronSlot, now time.Time) ([]wire.Cron, error) {
	views := []wire.Cron{}
	at := map[string]int{}
	for _, name := range c.CronNames {
		s := c.Cron[name]
		zone, err := cron.Zone(s.Timezone)
		if err != nil {
			return nil, fmt.Errorf("cron.%s: %w", name, err)
		}
		schedule, err := cron.Parse(s.Expression, zone)
		if err != nil {
			return nil, fmt.Errorf("cron.%s: %w", name, err)
		}
		at[name] = len(views)
		views = append(views, wire.Cron{
			Name: name, Configured: true, Kind: s.Kind, Queue: s.Queue, Expression: s.Expression, Words: words.Cron(s.Expression),
			Zone: s.Timezone, Next: job.At(schedule.Next(now)),
		})
	}
	for _, f := range fired {
		i, ok := at[f.Name]
		if !ok {
			i = len(views)
			views = append(views, wire.Cron{Name: f.Name})
		}
		views[i].LastSlot, views[i].FiredAt, views[i].LastJob = f.Slot, f.At, f.Job
	}
	return views, nil
}

func (c *cronCmd) print(a *app, views []wire.Cron) {
	out := a.styleOf(a.stdout)
	if len(views) == 0 {
		fmt.Fprintln(a.out, out.faint("no cron entries"))
		return
	}
	now := job.At(a.now())
	t := table{columns: []column{
		{title: "NAME"}, {title: "KIND"}, {title: "WHEN", loose: true}, {title: "ZONE"}, {title: "NEXT"}, {title: "LAST"},
		{title: "JOB", right: true},
	}}
	for i := range views {
		v := &views[i]
		next, last, id := "-", "never", "-"
		if v.Next > 0 {
			next = fmt.Sprintf("%s (%s)", words.Time(v.Next), words.Away(v.Next, now))
		}
		if v.LastSlot > 0 {
			last, id = fmt.Sprintf("%s (%s)", words.Time(v.LastSlot), words.Away(v.LastSlot, now)), v.LastJob.String()
		}
		when := v.Words
		if !v.Configured {
			when = "not in the configuration"
		}
		t.add(v.Name, v.Kind, when, v.Zone, next, last, id)
	}
	t.print(a.out, out)
}
