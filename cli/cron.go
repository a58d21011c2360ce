package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/cron"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type cronCmd struct {
	List   cronListCmd   `cmd:"" default:"withargs" help:"List schedules; \"cron\" does the same."`
	Pause  cronPauseCmd  `cmd:"" help:"Fire no slots of a schedule until it is resumed."`
	Resume cronResumeCmd `cmd:"" help:"End the pause of a schedule."`
	Run    cronRunCmd    `cmd:"" help:"Enqueue the job of a schedule now."`
	Next   cronNextCmd   `cmd:"" help:"List the next slots of a schedule or of an expression."`
}

type cronListCmd struct{ jsonFlag }

// Help implements kong.HelpProvider.
func (*cronListCmd) Help() string {
	return `The list has the schedules of the configuration. Each has its next slot, and the last slot that any worker has fired. The
list also has schedules that are only in the database, because they were in the configuration earlier.

    redrive cron
    redrive cron --json | jq -r '.entries[] | [.name, .next] | @tsv'`
}

func (c *cronListCmd) Run(ctx context.Context, a *app) (err error) {
	s, err := a.settings()
	if err != nil {
		return err
	}
	fired, err := a.fired(ctx)
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
func (a *app) fired(ctx context.Context) (list []redrive.CronSlot, err error) {
	client, db, err := a.open(ctx)
	if _, foreign := errors.AsType[foreignError](err); errors.Is(err, redrive.ErrNotFound) && !foreign {
		return nil, nil
	}
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
		if views[i].Paused = f.Paused; f.Paused {
			views[i].PausedAt, views[i].Next = f.SetAt, 0
		}
	}
	return views, nil
}

func (c *cronListCmd) print(a *app, views []wire.Cron) {
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
		if v.Paused {
			next = fmt.Sprintf("paused since %s (%s)", words.Time(v.PausedAt), words.Away(v.PausedAt, now))
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

type cronPauseCmd struct {
	by
	jsonFlag
	Name string `arg:"" help:"Name of the schedule."`
}

// Help implements kong.HelpProvider.
func (*cronPauseCmd) Help() string {
	return `The pause takes effect at once and for all workers. Jobs that are enqueued already run. Slots that pass during the pause
are not fired later: the schedule continues with the first slot after "cron resume".

    redrive cron pause nightly --reason "the archive moves"`
}

func (c *cronPauseCmd) Run(ctx context.Context, a *app) error {
	return a.setCron(ctx, c.Name, true, c.by, c.JSON)
}

type cronResumeCmd struct {
	by
	jsonFlag
	Name string `arg:"" help:"Name of the schedule."`
}

// Help implements kong.HelpProvider.
func (*cronResumeCmd) Help() string {
	return `The schedule continues with its first slot after this command. Slots that passed during the pause are not fired.

    redrive cron resume nightly --reason "the archive has moved"`
}

func (c *cronResumeCmd) Run(ctx context.Context, a *app) error {
	return a.setCron(ctx, c.Name, false, c.by, c.JSON)
}

// setCron pauses or resumes a schedule that is in the database or in the configuration.
func (a *app) setCron(ctx context.Context, name string, paused bool, who by, asJSON bool) (err error) {
	s, err := a.settings()
	if err != nil {
		return err
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	stored, err := client.CronSlots(ctx)
	if err != nil {
		return fmt.Errorf("read the schedules: %w", err)
	}
	known := slices.Clone(s.CronNames)
	isStored := false
	for _, c := range stored {
		isStored = isStored || c.Name == name
		known = append(known, c.Name)
	}
	set := redrive.CronSlot{Name: name}
	switch {
	case !slices.Contains(known, name):
		return absentError(suggest.Unknown("schedule", name, known))
	case paused:
		set, err = client.PauseCron(ctx, who.actor(a), name)
	case isStored: // not an error: a schedule that is not in the database was never paused
		set, err = client.ResumeCron(ctx, who.actor(a), name)
	}
	if err != nil {
		return err
	}
	views, err := viewCron(s.Config, []redrive.CronSlot{set}, a.now())
	if err != nil {
		return err
	}
	view := &views[slices.IndexFunc(views, func(v wire.Cron) bool { return v.Name == name })]
	switch {
	case asJSON:
		return a.printJSON(view)
	case paused:
		_, err = fmt.Fprintf(a.out, "%s is paused\n", name)
	case view.Next > 0:
		_, err = fmt.Fprintf(a.out, "%s is active; its next slot is %s\n", name, words.Time(view.Next))
	default:
		_, err = fmt.Fprintf(a.out, "%s is active\n", name)
	}
	return err
}
