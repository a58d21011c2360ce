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
	State  []job.State `placeholder:"STATE" help:"List only jobs in these states: waiting, retrying, running, completed, dead or cancelled."`
	Kind   string      `placeholder:"NAME" help:"List only jobs of this kind."`
	Queue  string      `placeholder:"NAME" help:"List only jobs of this queue."`
	Owner  string      `placeholder:"NAME" help:"List only jobs of this owner."`
	Limit  int         `default:"50" help:"Largest number of jobs, 1 to ${pageMax}."`
	Before job.ID      `placeholder:"ID" help:"List only jobs with a smaller id than this one: the next page."`
	IDs    bool        `name:"ids" help:"Print only ids."`
}

// Help implements kong.HelpProvider.
func (*jobsListCmd) Help() string {
	return `A job is listed when it matches all filters.

    redrive jobs list
    redrive jobs list --state retrying,dead --kind thumbnail
    redrive jobs list --json --limit 500 --before 12000`
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
	page, err := c.read(ctx, client)
	if err != nil {
		return err
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
		return a.printJSON(wire.JobList{Jobs: rows, Next: page.Next})
	}
	c.print(a, rows, page.Next)
	return nil
}

func (c *jobsListCmd) read(ctx context.Context, client *redrive.Client) (redrive.JobPage, error) {
	f := redrive.JobFilter{States: c.State, Kind: c.Kind, Queue: c.Queue, Owner: c.Owner, Before: c.Before, Limit: c.Limit}
	page := redrive.JobPage{Jobs: []job.Job{}}
	for range listPages {
		next, err := client.List(ctx, f)
		if err != nil {
			return page, fmt.Errorf("list jobs: %w", err)
		}
		page.Jobs, page.Next = append(page.Jobs, next.Jobs...), next.Next
		f.Before, f.Limit = next.Next, c.Limit-len(page.Jobs)
		if next.Next == 0 || f.Limit == 0 {
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
		if mayHaveFailed(&jobs[i]) {
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

// mayHaveFailed reports whether the row of a job needs its failures.
func mayHaveFailed(j *job.Job) bool {
	switch j.State {
	case job.Retrying, job.Dead:
		return true
	case job.Completed:
		return j.Counters.Attempts > 1
	case job.None, job.Waiting, job.Running, job.Cancelled:
	}
	return j.Counters.Attempts > 0
}

func (c *jobsListCmd) print(a *app, rows []wire.JobRow, next job.ID) {
	now := job.At(a.now())
	t := table{columns: []column{
		{title: "ID", right: true}, {title: "KIND"}, {title: "QUEUE"}, {title: "STATE"}, {title: "ATTEMPTS", right: true},
		{title: "WHEN"}, {title: "CLASS"}, {title: "LAST ERROR", loose: true},
	}}
	for i := range rows {
		j := &rows[i].Job
		class, message := "", ""
		if f := rows[i].LastFailure; f != nil {
			class, message = f.Class, words.FirstLine(f.Message)
		}
		t.add(j.ID.String(), j.Kind, j.Queue, j.State.String(), words.Attempts(j, rows[i].MaxAttempts), words.When(j, now), class, message)
	}
	out := a.styleOf(a.stdout)
	if len(rows) == 0 {
		fmt.Fprintln(a.out, out.faint("no jobs"))
	} else {
		t.print(a.out, out)
	}
	if next > 0 && out.terminal {
		fmt.Fprintln(a.out, out.faint(fmt.Sprintf("older ones: --before %d", next)))
	}
}
