package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
)

type dlqRedriveCmd struct {
	Start   redriveStartCmd   `cmd:"" default:"withargs" help:"Start a redrive; \"dlq redrive\" does the same."`
	List    redriveListCmd    `cmd:"" help:"List redrives, newest first."`
	Show    redriveShowCmd    `cmd:"" help:"Show a redrive, or watch it."`
	Pause   redrivePauseCmd   `cmd:"" help:"Pause a redrive: retry no more jobs until it is resumed."`
	Resume  redriveResumeCmd  `cmd:"" help:"Continue a redrive that is paused or has stopped by itself."`
	Proceed redriveProceedCmd `cmd:"" help:"Stop waiting for the canary, and retry more jobs now."`
	Cancel  redriveCancelCmd  `cmd:"" help:"Cancel a redrive: retry no more jobs."`
}

// Help implements kong.HelpProvider.
func (*dlqRedriveCmd) Help() string {
	return `Without a further command, "dlq redrive" starts a redrive; "redrive dlq redrive start --help" lists the flags.

    redrive dlq redrive --group 3fa9
    redrive dlq redrive --class NetworkTimeout --canary 20 --rate 50/s
    redrive dlq redrive list
    redrive dlq redrive pause 3`
}

type redriveStartCmd struct {
	jsonFlag
	deadFlags
	who
	changeFlags
	All    bool   `help:"Select all pending dead letters, instead of a filter."`
	Canary int    `default:"10" help:"Number of jobs that are retried first, spread over the set. The others wait for their results. 0 means no canary. Default 10."`
	Rate   string `placeholder:"N/s" help:"Largest number of retried jobs per second, such as 50 or 50/s. Default: no limit."`
	Patch  string `placeholder:"FILE" help:"File with a JSON Patch (RFC 6902) that changes the payload of each job; \"-\" reads standard input. Jobs to which it does not apply stay dead."`
	Stop   string `default:"20%" help:"Stop when more than this share of first attempts fails again by the same cause. 100% means never. Default 20%."`

	StopOther string `default:"50%" help:"Stop when more than this share of first attempts fails by another cause. 100% means never. Default 50%."`
	StopDead  string `default:"20%" help:"Stop when more than this share of the jobs that have ended is dead. 100% means never. Default 20%."`

	Watch  *bool `negatable:"" help:"Show the progress until the redrive ends. Default: only on a terminal."`
	DryRun bool  `help:"Count the dead letters, and start nothing."`
	Yes    bool  `short:"y" help:"Start without asking for confirmation."`
}

// Help implements kong.HelpProvider.
func (*redriveStartCmd) Help() string {
	return `A redrive retries the dead letters that match the filters now. Jobs that die later are not in the set. The redrive begins
with a canary: a few jobs, spread over the set. When all jobs of the canary have a result, it retries more and more jobs.
The number of retried jobs is at most twice the number of results plus 100. The redrive stops by itself when too large a
share of first attempts fails again by the same cause (--stop) or by another one (--stop-other), or when too large a
share of the jobs that have ended is dead (--stop-dead).

Its jobs have priority 4, so they run after new jobs; --priority changes that. Any running worker carries it out, and
another worker continues when that one ends. This command may end at any time.

    redrive dlq redrive --group 3fa9 --note "the upstream is back"
    redrive dlq redrive --class NetworkTimeout --canary 20 --rate 50/s
    redrive dlq redrive --group 3fa9 --patch bucket.json
    redrive dlq redrive --all --yes --no-watch --json`
}

func (c *redriveStartCmd) Run(ctx context.Context, a *app) (err error) {
	spec, err := c.spec()
	if err != nil {
		return err
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	if spec.Filter, err = c.filter(ctx, a, client); err != nil {
		return err
	}
	if spec.Change, err = c.change(ctx, a, client); err != nil {
		return err
	}
	if c.Patch != "" {
		if spec.Patch, err = a.readPatch(c.Patch); err != nil {
			return err
		}
	}
	found, err := preview(ctx, client, redrive.Action{Do: redrive.ActRetry, Filter: &spec.Filter, Change: spec.Change})
	if err == nil && found.N == 0 {
		err = c.explainNothing(ctx, a, client)
	}
	switch {
	case err != nil:
		return err
	case c.DryRun:
		return a.dryRun(&found, c.JSON)
	case found.N == 0:
		return a.acted(&found, 0, c.JSON)
	}
	if err := a.confirm("redrive"+strings.TrimPrefix(found.Question(), "retry"), c.Yes); err != nil {
		return err
	}
	spec.Through, spec.Total = found.Through, found.N
	r, err := client.Redrive(ctx, c.actor(a), spec)
	if err != nil {
		return invalidIsUsage(fmt.Errorf("start the redrive: %w", err))
	}
	return c.started(ctx, a, client, &r)
}

// started prints that the redrive was started. With --watch, it then shows the progress of the
// redrive until the redrive ends.
func (c *redriveStartCmd) started(ctx context.Context, a *app, client *redrive.Client, r *redrive.Redrive) error {
	watch := a.styleOf(a.stdout).terminal && !c.JSON
	if c.Watch != nil {
		watch = *c.Watch
	}
	if !c.JSON {
		fmt.Fprintf(a.out, "redrive %d started: %s\n", r.ID, words.RedrivePlan(r))
		if err := a.out.Flush(); err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
	}
	if watch {
		return a.watchRedrive(ctx, client, r.ID, c.JSON)
	}
	if err := a.warnIdle(ctx, client); err != nil || !c.JSON {
		return err
	}
	return a.printJSON(wire.RedriveOf(r))
}

// spec makes the spec of a redrive from those flags that do not need a database.
func (c *redriveStartCmd) spec() (redrive.RedriveSpec, error) {
	spec := redrive.RedriveSpec{Canary: c.Canary}
	switch filtered := !c.isZero(); {
	case !filtered && !c.All:
		return spec, usagef("name a --group or another filter; --all selects everything that is pending")
	case filtered && c.All:
		return spec, usagef("use either --all or a filter, not both")
	case c.Canary < 0 || c.Canary > redrive.RedriveCanaryMax:
		return spec, usagef("--canary %d: must be 0 to %d", c.Canary, redrive.RedriveCanaryMax)
	case c.Canary == 0:
		spec.Canary = -1
	}
	if c.Rate != "" {
		n, err := strconv.Atoi(strings.TrimSuffix(c.Rate, "/s"))
		if err != nil || n < 1 || n > redrive.RedriveRateMax {
			return spec, usagef("--rate %q: must be 1 to %d per second, such as 50 or 50/s", c.Rate, redrive.RedriveRateMax)
		}
		spec.Rate = n
	}
	var err1, err2, err3 error
	spec.StopShare, err1 = parseShare("--stop", c.Stop)
	spec.StopOther, err2 = parseShare("--stop-other", c.StopOther)
	spec.StopDead, err3 = parseShare("--stop-dead", c.StopDead)
	return spec, cmp.Or(err1, err2, err3)
}

// parseShare returns the number from 0 to 1 that a text such as "20%" or "0.2" means.
func parseShare(flag, text string) (float64, error) {
	digits, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(digits, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share > 0 && share <= 1) { // the comparisons are false for NaN, so NaN is refused, too
		return 0, usagef("%s %q: must be a share above 0%%, at most 100%%, such as 20%% or 0.2", flag, text)
	}
	return share, nil
}

// warnIdle prints a warning if no worker can run the jobs of a redrive now.
func (a *app) warnIdle(ctx context.Context, client *redrive.Client) error {
	list, err := processes(ctx, client)
	if warning := idleWarning(list, a.now()); err == nil && warning != "" {
		fmt.Fprintln(a.stderr, "redrive: "+warning)
	}
	return err
}

type redrivePauseCmd struct{ redriveControl }

func (c *redrivePauseCmd) Run(ctx context.Context, a *app) error {
	return c.control(ctx, a, redrive.RedrivePause)
}

type redriveResumeCmd struct{ redriveControl }

// Help implements kong.HelpProvider.
func (*redriveResumeCmd) Help() string {
	return `A redrive that has stopped by itself sends a canary again, if it had one. Its failures so far do not count any more:
it stops again only for new failures.

    redrive dlq redrive resume 3 --note "the other failures have another cause"`
}

func (c *redriveResumeCmd) Run(ctx context.Context, a *app) error {
	return c.control(ctx, a, redrive.RedriveResume)
}

type redriveProceedCmd struct{ redriveControl }

func (c *redriveProceedCmd) Run(ctx context.Context, a *app) error {
	return c.control(ctx, a, redrive.RedriveProceed)
}

type redriveCancelCmd struct{ redriveControl }

// Help implements kong.HelpProvider.
func (*redriveCancelCmd) Help() string {
	return `Jobs that are already retried continue. The other dead letters stay pending.

    redrive dlq redrive cancel 3`
}

func (c *redriveCancelCmd) Run(ctx context.Context, a *app) error {
	return c.control(ctx, a, redrive.RedriveCancel)
}

// redriveControl has the flags of the commands that pause, resume or cancel a redrive.
type redriveControl struct {
	who
	jsonFlag
	ID int64 `arg:"" help:"Number of the redrive."`
}

func (c *redriveControl) control(ctx context.Context, a *app, do redrive.RedriveOp) (err error) {
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	r, err := client.ControlRedrive(ctx, c.actor(a), c.ID, do)
	if err != nil {
		return absentRedrive(err, c.ID)
	}
	if c.JSON {
		return a.printJSON(wire.RedriveOf(&r))
	}
	switch { // perhaps no worker is running that continues the redrive
	case do == redrive.RedriveResume && r.Live != nil:
		counted := words.LiveCounted{LiveAction: r.LiveAction(0), N: r.Total}
		return a.advanceLive(ctx, client, &counted, c.actor(a), r.ID, c.JSON)
	case do == redrive.RedriveResume && r.Canary == 0 && r.NeverStops():
		counted := words.Counted{Action: redrive.Action{Do: redrive.ActRetry, Filter: &r.Filter, Through: r.Through}, N: r.Total}
		return a.advance(ctx, client, c.actor(a), r.ID, retriedOf(a, &counted, c.JSON))
	}
	_, err = fmt.Fprintf(a.out, "redrive %d is %s\n", r.ID, r.State)
	return err
}
