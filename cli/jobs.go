package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/job"
)

type jobsCmd struct {
	List   jobsListCmd   `cmd:"" help:"List jobs, newest first."`
	Show   jobsShowCmd   `cmd:"" help:"Show a job: its state, its failures and their decisions."`
	Cancel jobsCancelCmd `cmd:"" help:"Cancel jobs. Running jobs are asked to stop."`
	Move   jobsMoveCmd   `cmd:"" help:"Move waiting and retrying jobs to another queue."`
	RunNow jobsRunNowCmd `cmd:"" help:"Make waiting and retrying jobs due now."`
	Set    jobsSetCmd    `cmd:"" help:"Change waiting and retrying jobs: due time, queue, priority, retry settings, payload."`
	Retry  jobsRetryCmd  `cmd:"" help:"Retry dead jobs, in a new life."`

	Note     jobsNoteCmd     `cmd:"" help:"Add a note to a job."`
	Feedback jobsFeedbackCmd `cmd:"" help:"Add feedback of a job's user."`
}

type jobsCancelCmd struct {
	by
	jsonFlag
	liveFlags
}

// Help implements kong.HelpProvider.
func (*jobsCancelCmd) Help() string {
	return `A waiting job is cancelled at once. The command of a running job gets SIGTERM, and SIGKILL after kill_grace.

    redrive jobs cancel 17
    redrive jobs cancel 17 18 --reason "wrong customer"
    redrive jobs cancel --kind report --owner acme --dry-run
    redrive jobs cancel --correlation req-7 --yes

Jobs that a filter selects are counted first, and jobs that are enqueued later are not included. The store keeps the action
as a redrive: "redrive dlq redrive list" shows it, an interrupt pauses it, and "redrive dlq redrive resume" continues it.`
}

func (c *jobsCancelCmd) Run(ctx context.Context, a *app) error {
	return a.actOnLive(ctx, &c.liveFlags, c.actor(a), c.JSON, nil)
}

// act calls the given function with a client, and prints the result for each
// job.
func (a *app) act(ctx context.Context, ids []job.ID, asJSON bool, do func(*redrive.Client) ([]error, error)) (err error) {
	if len(ids) > job.IDsMax {
		return usagef("%d jobs: at most %d in one call", len(ids), job.IDsMax)
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	errs, err := do(client)
	if err != nil {
		return err
	}
	var done []job.ID
	for i, id := range ids {
		if errs[i] == nil {
			done = append(done, id)
		}
	}
	jobs := make(map[job.ID]*job.Job, len(done))
	for some := range slices.Chunk(done, job.PageMax) {
		list, err := client.GetAll(ctx, some)
		if err != nil {
			return fmt.Errorf("read the jobs after the change: %w", err)
		}
		for i := range list {
			jobs[list[i].ID] = &list[i]
		}
	}
	answers := make([]wire.JobAnswer, len(ids))
	var wrong several
	for i, id := range ids {
		answers[i] = wire.JobAnswer{ID: id}
		if errs[i] != nil {
			answers[i].Code, answers[i].Error = wire.KindOf(errs[i]).String(), errs[i].Error()
			wrong = append(wrong, errs[i])
			continue
		}
		j := jobs[id]
		if j == nil {
			return fmt.Errorf("job %d was changed, but has been removed since: %w", id, redrive.ErrNotFound)
		}
		answers[i].State, answers[i].Asked = j.State, j.CancelAt > 0
	}
	if asJSON {
		return a.answersJSON(answers, wrong)
	}
	for _, one := range answers {
		switch {
		case one.Error != "":
		case one.Asked:
			fmt.Fprintf(a.out, "%d is running and was asked to stop\n", one.ID)
		default:
			fmt.Fprintf(a.out, "%d is %s\n", one.ID, one.State)
		}
	}
	return wrong.asError()
}

func (a *app) answersJSON(answers []wire.JobAnswer, wrong several) error {
	if err := a.printJSON(map[string]any{"jobs": answers}); err != nil {
		return err
	}
	return wrong.asError()
}
