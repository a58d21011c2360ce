package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type statsCmd struct {
	jsonFlag
	Since string `default:"24h" placeholder:"WHEN" help:"Begin at this time, or this duration ago. Default 24h."`
	Until string `placeholder:"WHEN" help:"End at this time, or this duration ago. Default now."`
	Step  string `placeholder:"DURATION" help:"Length of a step, in whole minutes. Default: a step that fits the width of the terminal."`
	Queue string `placeholder:"NAME" help:"Only this queue."`
	Kind  string `placeholder:"NAME" help:"Only this kind."`
	By    string `placeholder:"queue|kind|class" help:"Divide the figures by queue, kind, or class of the failure."`
}

// Help implements kong.HelpProvider.
func (*statsCmd) Help() string {
	return `Shows how many jobs were enqueued, completed, failed, died, crashed and were cancelled over time, with the mean time of an
attempt and the mean wait of a due job. Below are the retries that fall due within 2 hours, and the oldest due job of each queue
and kind. "failed" counts attempts, the others count jobs, and "crashed" counts runs.

Figures are kept by minute for 30 days and by hour for a year. A terminal gets a line for each figure, other outputs get a row
for each step.

    redrive stats
    redrive stats --since 2h --step 1m --queue mail
    redrive stats --since 7d --by class
    redrive stats --since 30d --step 1d --json | jq '.points[] | {at, dead}'`
}

// The numbers of columns of a chart's lines: first if the width of the output is not known, then
// the smallest number for which other columns are shown beside the line.
const (
	chartColumns = 50
	chartBeside  = 30
)

func (c *statsCmd) Run(ctx context.Context, a *app) (err error) {
	out := a.styleOf(a.stdout)
	q, err := c.query(a, out)
	if err != nil {
		return err
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	s := stats{q: q}
	if s.points, err = client.Series(ctx, q); err != nil {
		return fmt.Errorf("read figures: %w", err)
	}
	if q.Queue == "" && q.Kind == "" {
		due, err := client.Due(ctx, redrive.DueMinutesMax)
		if err != nil {
			return fmt.Errorf("count the retries that fall due: %w", err)
		}
		s.retries = &due
	}
	heads, err := client.Heads(ctx)
	if err != nil {
		return fmt.Errorf("find the oldest due jobs: %w", err)
	}
	for _, h := range heads {
		if (q.Queue == "" || h.Queue == q.Queue) && (q.Kind == "" || h.Kind == q.Kind) {
			s.heads = append(s.heads, h)
		}
	}
	if len(s.points)+len(s.heads) == 0 {
		if err := a.explainNothing(ctx, client, &selectFlags{Kind: q.Kind, Queue: q.Queue}); err != nil {
			return err
		}
	}
	if c.JSON {
		return a.printJSON(wire.SeriesOf(&q, s.points, s.retries, s.heads))
	}
	a.page().series(&s)
	return nil
}

// query returns the query of the flags. Its times are rounded to whole steps of the series.
func (c *statsCmd) query(a *app, out style) (q redrive.SeriesQuery, err error) {
	q = redrive.SeriesQuery{Queue: c.Queue, Kind: c.Kind, By: redrive.SeriesBy(c.By)}
	var wrong several
	if q.Since, err = past("--since", c.Since, a.now()); err != nil {
		wrong = append(wrong, err)
	}
	if q.Until, err = past("--until", c.Until, a.now()); err != nil {
		wrong = append(wrong, err)
	}
	if q.Until == 0 {
		q.Until = job.At(a.now())
	}
	if names := []string{"queue", "kind", "class"}; c.By != "" && !slices.Contains(names, c.By) {
		wrong = append(wrong, usagef("--by: %s", suggest.Unknown("name", c.By, names)))
	}
	if err := wrong.asError(); err != nil {
		return q, err
	}
	if q.Since >= q.Until {
		return q, usagef("--since must be before --until")
	}
	columns := chartColumns
	if out.columns > 0 {
		columns = max(out.columns-chartBeside, 1)
	}
	q.Step = words.NiceStep(q.Until.Sub(q.Since), columns)
	if c.Step != "" {
		if q.Step, err = human.ParseDuration(c.Step); err != nil || q.Step < time.Minute || q.Step%time.Minute != 0 {
			return q, usagef("--step %.40q: must be a whole number of minutes such as 5m, 1h or 1d", c.Step)
		}
	}
	return q, nil
}

// stats holds everything that the command "redrive stats" shows.
type stats struct {
	q       redrive.SeriesQuery
	points  []redrive.Point
	retries *redrive.DueRetries
	heads   []redrive.Head
}
