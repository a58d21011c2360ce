package cli

import (
	"context"
	"fmt"
	"slices"
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
	if c.IDs {
		for i := range page.Jobs {
			fmt.Fprintln(a.out, page.Jobs[i].ID)
		}
		return nil
	}
	rows, err := a.rows(ctx, st, page.Jobs)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(listView{Jobs: rows, Next: page.Next})
	}
	c.print(a, rows, page.Next)
	return nil
}

type listView struct {
	Jobs []listRow `json:"jobs"`
	Next job.ID    `json:"next,omitempty"` // for --before
}

// listRow is a job of a list: with the failure that it has not got over, and how
// many attempts its life may have.
type listRow struct {
	job.Job
	AttemptsMax int          `json:"attempts_max,omitempty"`
	LastFailure *job.Failure `json:"last_failure,omitempty"`
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

// rows adds to jobs what their failures tell.
func (a *app) rows(ctx context.Context, st store.Reader, jobs []job.Job) ([]listRow, error) {
	known := a.known()
	rows := make([]listRow, len(jobs))
	for i := range jobs {
		j := &jobs[i]
		rows[i].Job = *j
		var failures []job.Failure
		if mayHaveFailed(j) {
			var err error
			if failures, err = st.Failures(ctx, j.ID); err != nil {
				return nil, fmt.Errorf("failures of job %d: %w", j.ID, err)
			}
		}
		rows[i].AttemptsMax = attemptsMax(j, failures, known)
		if n := len(failures); n > 0 && (j.State == job.Retrying || j.State == job.Dead) {
			rows[i].LastFailure = &failures[n-1]
		}
	}
	return rows, nil
}

// mayHaveFailed reports whether a job can have failures that its row tells of.
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

func (c *jobsListCmd) print(a *app, rows []listRow, next job.ID) {
	now := job.At(a.now())
	t := table{columns: []column{
		{title: "ID", right: true}, {title: "KIND"}, {title: "QUEUE"}, {title: "STATE"}, {title: "ATTEMPTS", right: true},
		{title: "WHEN"}, {title: "CLASS"}, {title: "LAST ERROR", loose: true},
	}}
	for i := range rows {
		j := &rows[i].Job
		class, message := "", ""
		if f := rows[i].LastFailure; f != nil {
			class, message = f.Class, firstLine(f.Message)
		}
		t.add(j.ID.String(), j.Kind, j.Queue, j.State.String(), attempts(j, rows[i].AttemptsMax), when(j, now), class, message)
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

// attempts writes how many attempts of the present life there were, and of how
// many, if that is known.
func attempts(j *job.Job, most int) string {
	made := strconv.Itoa(int(j.Counters.Attempts))
	if most == 0 {
		return made
	}
	return made + "/" + strconv.Itoa(most)
}

// attemptsMax returns how many attempts the present life may have as things stand:
// by the last decision, else by the kind's own schedule; 0 is not known. Before the
// first failure, a policy with budgets for each class has no such number.
func attemptsMax(j *job.Job, failures []job.Failure, c *config.Config) int {
	made := int(j.Counters.Attempts)
	for _, f := range slices.Backward(failures) {
		if f.Life != j.Life {
			break
		}
		if d, err := policy.ParseRecord(f.Decision); err == nil && d.Action != "" {
			return max(made, attemptsOf(&d))
		}
	}
	if k, ok := c.Kinds[j.Kind]; ok && k.Retry != nil {
		return max(made, k.Retry.MaxRetries+1)
	}
	return 0
}

// attemptsOf returns how many attempts a life can have after a decision if every
// further one fails in the same way.
func attemptsOf(d *policy.Record) int {
	counted := d.ClassFailures
	if d.Count == "total" {
		counted = d.Failures
	}
	if counted == 0 { // of version 1
		return d.Of + 1
	}
	most := d.Failures + max(0, d.Of+1-counted)
	if d.TotalMax != nil {
		most = min(most, *d.TotalMax+1)
	}
	if d.AttemptsMax > 0 {
		most = min(most, d.AttemptsMax)
	}
	return most
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
