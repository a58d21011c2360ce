package cli

import (
	"context"
	"reflect"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/job"
)

type explainCmd struct {
	ID    job.ID    `arg:"" optional:"" help:"Id of the job."`
	Token job.Token `name:"run" placeholder:"N" help:"Explain only the run with this number."`
	explainFlags
}

// Help implements kong.HelpProvider.
func (*explainCmd) Help() string {
	return `With a job, the command shows how the job came into its state. For each failed run it shows the evidence, the class, the
other classes that matched, the wait with its formula, the counters and limits, and the policy that decided. All of this
is stored, so no worker has to run.

Without a job, the command shows what the policy of the configuration, or another policy, would decide about an error. It
needs no database and stores nothing. With --attempt N, it assumes that the earlier attempts failed in the same way.

    redrive explain 17
    redrive explain 17 --run 2 --json
    redrive explain --error "connection reset by peer" --kind thumbnail
    redrive explain --status 429 --attempt 3 --policy preset:default
    ./thumb <broken.png 2>&1 | redrive explain --error-file - --exit-code 65`
}

func (c *explainCmd) Run(ctx context.Context, a *app) error {
	asked := c.explainFlags
	asked.jsonFlag = jsonFlag{}
	if asked.Queue == redrive.DefaultQueue {
		asked.Queue = ""
	}
	if asked.Priority == job.PriorityDefault {
		asked.Priority = 0
	}
	switch errorAsked := !reflect.ValueOf(asked).IsZero(); {
	case c.ID != 0 && errorAsked:
		return usagef("either a job or an error: of a job everything is stored; see `redrive explain --help`")
	case c.ID == 0 && c.Token != 0:
		return usagef("--run needs a job: name the job")
	case c.ID == 0 && !errorAsked:
		return usagef("name a job, or an error with --error, --status or --exit-code; see `redrive explain --help`")
	case c.ID == 0:
		return c.explainError(a)
	}
	return a.explainJob(ctx, c.ID, c.Token, c.JSON)
}
