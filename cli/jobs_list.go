package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

type jobsListCmd struct {
	jsonFlag
	State  []job.State `placeholder:"STATE,..." help:"waiting, retrying, running, completed, dead or cancelled."`
	Kind   string      `placeholder:"NAME" help:"Only of this kind."`
	Queue  string      `placeholder:"NAME" help:"Only of this queue."`
	Owner  string      `placeholder:"NAME" help:"Only of this owner."`
	Limit  int         `default:"50" help:"At most so many, up to ${pageMax}."`
	Before job.ID      `placeholder:"ID" help:"Only jobs older than this one: the next page."`
	IDs    bool        `name:"ids" help:"Print ids only."`
}

// Help implements kong.HelpProvider.
func (*jobsListCmd) Help() string {
	return `    redrive jobs list
    redrive jobs list --state retrying,dead --kind thumbnail
    redrive jobs list --json --limit 500 --before 12000`
}

// listPages bounds how many pages of the store are read for one list: a page
// looks at a bounded number of jobs, and a filter may fit none of them.
const listPages = 100

func (c *jobsListCmd) Run(ctx context.Context, a *app) (err error) {
	if c.Limit < 1 || c.Limit > job.PageMax {
		return usagef("--limit %d: must be 1 to %d", c.Limit, job.PageMax)
	}
	st, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	page, err := c.read(ctx, st)
	if err != nil {
		return err
	}
	switch {
	case c.IDs:
		for i := range page.Jobs {
			fmt.Fprintln(a.out, page.Jobs[i].ID)
		}
		return nil
	case c.JSON:
		return a.printJSON(listView{Jobs: page.Jobs, Next: page.Next})
	}
	return c.print(ctx, a, st, page)
}

type listView struct {
	Jobs []job.Job `json:"jobs"`
	Next job.ID    `json:"next,omitempty"` // for --before
}

func (c *jobsListCmd) read(ctx context.Context, st store.Reader) (store.Page, error) {
	f := store.Filter{States: c.State, Kind: c.Kind, Queue: c.Queue, Owner: c.Owner, Before: c.Before, Limit: c.Limit}
	page := store.Page{Jobs: []job.Job{}}
	for range listPages {
		next, err := st.List(ctx, f)
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

func (c *jobsListCmd) print(ctx context.Context, a *app, st store.Reader, page store.Page) error {
	known := a.known()
	now := job.At(a.now())
	t := table{columns: []column{
		{title: "ID", right: true}, {title: "KIND"}, {title: "QUEUE"}, {title: "STATE"}, {title: "ATTEMPTS", right: true},
		{title: "WHEN"}, {title: "LAST ERROR", loose: true},
	}}
	for i := range page.Jobs {
		j := &page.Jobs[i]
		last, err := lastFailure(ctx, st, j)
		if err != nil {
			return err
		}
		message := ""
		if last != nil {
			message = firstLine(last.Message)
		}
		t.add(j.ID.String(), j.Kind, j.Queue, j.State.String(), attempts(j, last, known), when(j, now), message)
	}
	out := a.styleOf(a.stdout)
	if len(page.Jobs) == 0 {
		fmt.Fprintln(a.out, out.faint("no jobs"))
	} else {
		t.print(a.out, out)
	}
	if page.Next > 0 && out.terminal {
		fmt.Fprintln(a.out, out.faint(fmt.Sprintf("older ones: --before %d", page.Next)))
	}
	return nil
}

// lastFailure returns the newest failure of a job that has not got over it.
func lastFailure(ctx context.Context, st store.Reader, j *job.Job) (*job.Failure, error) {
	if j.State != job.Retrying && j.State != job.Dead {
		return nil, nil
	}
	failures, err := st.Failures(ctx, j.ID)
	if err != nil {
		return nil, fmt.Errorf("failures of job %d: %w", j.ID, err)
	}
	if len(failures) == 0 {
		return nil, nil
	}
	return &failures[len(failures)-1], nil
}

// attempts writes how many attempts of the present life there were, and of how
// many, if that is known: from the last decision, else from the configuration.
func attempts(j *job.Job, last *job.Failure, c *config.Config) string {
	made := strconv.Itoa(int(j.Counters.Attempts))
	most := attemptsMax(j, last, c)
	if most == 0 {
		return made
	}
	return made + "/" + strconv.Itoa(most)
}

func attemptsMax(j *job.Job, last *job.Failure, c *config.Config) int {
	if last != nil && last.Life == j.Life && len(last.Decision) > 0 {
		if d, err := policy.ParseRecord(last.Decision); err == nil {
			return d.Of + 1
		}
	}
	if k, ok := c.Kinds[j.Kind]; ok {
		return k.Retry.MaxRetries + 1
	}
	return 0
}

// when tells the time that matters about a job: when it is due, since when it
// runs, or when it ended.
func when(j *job.Job, now job.Micros) string {
	switch {
	case j.State == job.Running:
		return "for " + span(max(0, now.Sub(j.ClaimedAt)))
	case j.State.Terminal():
		return away(j.FinishedAt, now)
	case j.RunAt > now:
		return away(j.RunAt, now)
	}
	return "due"
}
