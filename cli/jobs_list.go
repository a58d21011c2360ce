package cli

import (
	"context"
	"fmt"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type jobsListCmd struct {
	jsonFlag
	filterFlags
	Limit    int               `default:"50" help:"At most so many, up to ${pageMax}."`
	From     redrive.JobCursor `placeholder:"CURSOR" help:"The next page: the cursor that the page before ends with."`
	UserText bool              `help:"Add a column with the text for users. Default: only with --owner."`
	IDs      bool              `name:"ids" help:"Print ids only."`
}

// Help implements kong.HelpProvider.
func (*jobsListCmd) Help() string {
	return `A job is listed when it matches all filters.

    redrive jobs list
    redrive jobs list --state retrying,dead --kind thumbnail
    redrive jobs list --correlation req-7
    redrive jobs list --state completed --order ended --since 2h
    redrive jobs list --json --limit 500 --from 12000`
}

// listPages is the largest number of pages that are read for one list. For each page the
// store looks at a limited number of jobs, and possibly none of them matches the filter.
const listPages = 100

func (c *jobsListCmd) Run(ctx context.Context, a *app) (err error) {
	if c.Limit < 1 || c.Limit > job.PageMax {
		return usagef("--limit %d: must be 1 to %d", c.Limit, job.PageMax)
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	f, err := c.filter(ctx, a, client)
	if err != nil {
		return err
	}
	page, err := c.read(ctx, client, f)
	if err != nil {
		return err
	}
	if len(page.Jobs) == 0 && page.Next.IsZero() && c.From.IsZero() {
		if err := a.explainNothing(ctx, client, &c.selectFlags); err != nil {
			return err
		}
	}
	if c.IDs {
		for i := range page.Jobs {
			fmt.Fprintln(a.out, page.Jobs[i].ID)
		}
		return nil
	}
	rows, err := a.rows(ctx, client, page.Jobs)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(wire.JobList{Jobs: rows, Next: page.Next, Searched: page.Searched})
	}
	c.print(a, rows, &page)
	return nil
}

func (c *jobsListCmd) read(ctx context.Context, client *redrive.Client, f redrive.JobFilter) (redrive.JobPage, error) {
	f.From, f.Limit = c.From, c.Limit
	page := redrive.JobPage{Jobs: []job.Job{}}
	for range listPages {
		next, err := client.List(ctx, f)
		if err != nil {
			return page, invalidIsUsage(fmt.Errorf("list jobs: %w", err))
		}
		page.Jobs, page.Next, page.Searched = append(page.Jobs, next.Jobs...), next.Next, next.Searched
		f.From, f.Limit = next.Next, c.Limit-len(page.Jobs)
		if next.Next.IsZero() || f.Limit == 0 {
			break
		}
	}
	return page, nil
}

// rows returns the rows of a list: each job with its last failure and its number of
// attempts.
func (a *app) rows(ctx context.Context, client *redrive.Client, jobs []job.Job) ([]wire.JobRow, error) {
	known := a.known()
	var failed []job.ID
	for i := range jobs {
		if words.MayHaveFailed(&jobs[i]) {
			failed = append(failed, jobs[i].ID)
		}
	}
	latest, err := client.Latest(ctx, failed)
	if err != nil {
		return nil, fmt.Errorf("read the last failures of the jobs: %w", err)
	}
	rows := make([]wire.JobRow, len(jobs))
	for i := range jobs {
		j := &jobs[i]
		rows[i].Job = *j
		var failures []job.Failure
		if len(latest) > 0 && latest[0].Job == j.ID {
			if j.State == job.Retrying || j.State == job.Dead {
				rows[i].LastFailure = &latest[0]
			}
			failures, latest = latest[:1], latest[1:]
		}
		if len(failures) > 0 && !words.LimitsAttempts(&failures[0]) {
			if failures, err = client.Failures(ctx, j.ID); err != nil {
				return nil, fmt.Errorf("read the failures of job %d: %w", j.ID, err)
			}
		}
		rows[i].MaxAttempts = words.MaxAttempts(j, failures, scheduledAttempts(known, j.Kind))
	}
	return rows, nil
}

func (c *jobsListCmd) print(a *app, rows []wire.JobRow, page *redrive.JobPage) {
	now := job.At(a.now())
	owned, correlated := false, false // whether a job in the list has a value for these optional columns
	for i := range rows {
		owned, correlated = owned || rows[i].Owner != "", correlated || rows[i].Correlation != ""
	}
	t := table{columns: []column{
		{title: "ID", right: true}, {title: "KIND"}, {title: "QUEUE", spare: 1}, {title: "STATE"}, {title: "ATTEMPTS", right: true},
		{title: "WHEN"}, {title: "CLASS", spare: 2},
	}}
	if owned {
		t.columns = append(t.columns, column{title: "OWNER"})
	}
	if correlated {
		t.columns = append(t.columns, column{title: "CORRELATION"})
	}
	users := c.UserText || c.Owner != ""
	if users {
		t.columns = append(t.columns, usersRead)
	}
	t.columns = append(t.columns, column{title: "LAST ERROR", loose: true, own: true})
	for i := range rows {
		j := &rows[i].Job
		class, message, user := "", "", ""
		if f := rows[i].LastFailure; f != nil {
			class, message, user = f.Class, words.FirstLine(f.Message), words.FirstLine(f.UserMessage)
		}
		cells := []string{j.ID.String(), j.Kind, j.Queue, j.State.String(), words.Attempts(j, rows[i].MaxAttempts), words.When(j, now), class}
		if owned {
			cells = append(cells, j.Owner)
		}
		if correlated {
			cells = append(cells, j.Correlation)
		}
		if users {
			cells = append(cells, user)
		}
		t.add(append(cells, message)...)
	}
	out := a.styleOf(a.stdout)
	if len(rows) == 0 {
		fmt.Fprintln(a.out, out.faint("no jobs"))
	} else {
		t.print(a.out, out)
	}
	switch {
	case page.Next.IsZero():
	case page.Searched != 0:
		fmt.Fprintf(a.stderr, "redrive: the search ended at %s (%s); --from %s continues it\n",
			words.Time(page.Searched), words.Away(page.Searched, now), page.Next)
	case out.terminal:
		fmt.Fprintln(a.out, out.faint(fmt.Sprintf("next page: --from %s", page.Next)))
	}
}
