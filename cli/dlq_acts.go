package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/job"
)

type dlqRetryCmd struct {
	jsonFlag
	selection
	who
	changeFlags
	Payload string `placeholder:"FILE" help:"File with a new payload, for one job only; \"-\" reads standard input."`
	Patch   string `placeholder:"FILE" help:"File with a JSON Patch (RFC 6902) that changes the payload of each job; \"-\" reads standard input."`
	Delay   span   `placeholder:"DURATION" help:"Time until the jobs are due, such as 10m or 2d. Default: they are due at once."`
	Rate    int    `placeholder:"N" help:"With --patch and a filter: the highest number of jobs to retry per second."`
}

// changeFlags are the flags for what a retry changes in jobs, except the payload.
type changeFlags struct {
	ToQueue  string `placeholder:"NAME" help:"Move the jobs to this queue."`
	Priority int8   `placeholder:"N" help:"Priority of the jobs: 1 runs first, 4 last."`
	overrideFlags
	PolicyAlone bool `help:"Remove the retry settings of the jobs, so that only the policy decides."`
}

// Help implements kong.HelpProvider.
func (*dlqRetryCmd) Help() string {
	return `The jobs are due at once and have all their attempts again. A deadline that has passed is removed. Their failures and
dead letters are kept. A dead letter is "retried" until the new life ends. Then it is "resolved", or "pending" if the job
dies again.

    redrive dlq retry 17 --note "the disk is repaired"
    redrive dlq retry 17 --payload fixed.json --to-queue slow
    redrive dlq retry --group 3fa9 --dry-run
    redrive dlq retry --class NetworkTimeout --since 2h --priority 4 --yes
    redrive dlq retry --group 3fa9 --patch bucket.json --dry-run

A filter selects pending dead letters, unless --status is given. They are counted first, and jobs that die later are not
included. They run after new jobs (priority 4), unless --priority is given. All of them are retried as fast as workers
run them; "redrive dlq redrive" retries a few jobs first and stops by itself when they fail again.

--max-retries, --max-total-retries, --max-cost and --waits together replace the jobs' own retry settings.

A patch such as [{"op":"replace","path":"/bucket","value":"right"}] changes only the bytes of what it names. A job to which
it does not apply stays dead, and the command says why. --dry-run shows one payload before and after the patch. With a
filter, the store keeps the action with its patch as a redrive: an interrupt pauses it, "redrive dlq redrive resume"
continues it, and so does any running worker. "redrive dlq redrive --patch" retries a few jobs first.`
}

func (c *dlqRetryCmd) Run(ctx context.Context, a *app) error {
	if c.Patch != "" {
		return c.retryPatched(ctx, a)
	}
	if c.Rate != 0 {
		return usagef("--rate is allowed only with --patch; `redrive jobs retry` and `redrive dlq redrive` also have --rate")
	}
	if c.Payload != "" && len(c.IDs) != 1 {
		return usagef("--payload is of one job; name just one")
	}
	return a.actOnDead(ctx, &c.selection, redrive.ActRetry, c.who, c.JSON, func(ctx context.Context, client *redrive.Client, act *redrive.Action) error {
		change, err := c.changes(ctx, a, client)
		if err != nil {
			return err
		}
		if c.Payload != "" {
			if change.Payload, err = a.newPayload(ctx, client, c.Payload, c.IDs[0]); err != nil {
				return err
			}
		}
		act.Change = change
		return nil
	})
}

// changes returns the change that the retry makes to jobs, without the payload.
func (c *dlqRetryCmd) changes(ctx context.Context, a *app, client *redrive.Client) (redrive.EncodedChange, error) {
	change, err := c.change(ctx, a, client)
	if err == nil && c.Delay != 0 {
		change.Delay = new(time.Duration(c.Delay))
	}
	return change, err
}

// change returns the change that a retry makes to jobs, as the flags describe it. Payload and
// delay are not set.
func (c *changeFlags) change(ctx context.Context, a *app, client *redrive.Client) (redrive.EncodedChange, error) {
	change := redrive.EncodedChange{Queue: c.ToQueue, Priority: c.Priority}
	if c.Priority < 0 || c.Priority > job.PriorityMax {
		return change, usagef("--priority %d: must be %d to %d", c.Priority, job.PriorityMin, job.PriorityMax)
	}
	if c.ToQueue != "" {
		if err := a.knownQueue(ctx, client, c.ToQueue); err != nil {
			return change, err
		}
	}
	o, err := c.override()
	if err != nil {
		return change, err
	}
	change.Override = o.Encode()
	if c.PolicyAlone {
		if change.Override != nil {
			return change, usagef("--policy-alone removes the jobs' own settings; leave out the flags that set them")
		}
		change.Override = []byte{}
	}
	return change, nil
}

// knownQueue returns an error if neither the configuration nor the database has the queue.
func (a *app) knownQueue(ctx context.Context, client *redrive.Client, name string) error {
	known, err := a.knownNames(ctx, client, "queue")
	if err != nil || slices.Contains(known, name) {
		return err
	}
	return absentf("--to-queue: %s", suggest.Unknown("queue", name, known))
}

// newPayload reads the new payload of a job from a file; "-" is standard input. The size limit
// and the rules for new jobs apply to it.
func (a *app) newPayload(ctx context.Context, client *redrive.Client, path string, id job.ID) ([]byte, error) {
	s, err := a.settings()
	if err != nil {
		return nil, err
	}
	in, err := a.input(path)
	if err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	defer in.Close()
	payload, err := io.ReadAll(io.LimitReader(in, int64(s.Limits.PayloadBytes)+1))
	if err != nil {
		return nil, fmt.Errorf("read the payload: %w", err)
	}
	j, err := client.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	k := s.Kinds[j.Kind]
	if err := (&rules{settings: s}).checkPayload(&wire.Request{Kind: j.Kind, Payload: payload}, &k); err != nil {
		return nil, &usageError{err}
	}
	return append([]byte{}, payload...), nil
}

type dlqResolveCmd struct {
	jsonFlag
	selection
	who
}

// Help implements kong.HelpProvider.
func (*dlqResolveCmd) Help() string {
	return `A resolved dead letter is kept until its retention is over. The dead letter of a job that was retried and completes is
resolved automatically.

    redrive dlq resolve 17 --note "sent by hand"
    redrive dlq resolve --kind thumbnail --until 7d --yes`
}

func (c *dlqResolveCmd) Run(ctx context.Context, a *app) error {
	return a.actOnDead(ctx, &c.selection, redrive.ActResolve, c.who, c.JSON, nil)
}

type dlqIgnoreCmd struct {
	jsonFlag
	selection
	who
	Reopen string `placeholder:"WHEN" help:"Make them pending again at this time, such as 2026-01-31T18:00, or after this duration, such as 2d. Default: never."`
	Count  int64  `placeholder:"N" help:"For a whole group: make them pending again after this number of further deaths."`
}

// Help implements kong.HelpProvider.
func (*dlqIgnoreCmd) Help() string {
	return `With --reopen or --count and a group, new dead letters of the group are ignored too. With both flags, the condition that
is met first makes them pending again.

    redrive dlq ignore 17 --note "a test"
    redrive dlq ignore --group 3fa9 --reopen 2d --note "the vendor fixes it"
    redrive dlq ignore --group 3fa9 --count 100 --note "known" --yes`
}

func (c *dlqIgnoreCmd) Run(ctx context.Context, a *app) error {
	if strings.TrimSpace(c.Note) == "" && !c.DryRun {
		return usagef("--note is required: say why they are ignored")
	}
	now := a.now()
	until, err := future("--reopen", c.Reopen, now)
	switch {
	case err != nil:
		return err
	case until != 0 && until <= job.At(now):
		return usagef("--reopen %q: must be in the future", c.Reopen)
	case c.Count < 0:
		return usagef("--count %d: must not be negative", c.Count)
	}
	return a.actOnDead(ctx, &c.selection, redrive.ActIgnore, c.who, c.JSON, func(_ context.Context, _ *redrive.Client, act *redrive.Action) error {
		act.Until, act.Count = until, c.Count
		if c.Count > 0 && (act.Filter == nil || !act.Filter.WholeGroup()) {
			return usagef("--count needs --group and no other filter, because it counts the deaths of a group")
		}
		return nil
	})
}

type dlqReopenCmd struct {
	jsonFlag
	selection
	who
}

// Help implements kong.HelpProvider.
func (*dlqReopenCmd) Help() string {
	return `Only dead letters of dead jobs can become pending. Others are refused.

    redrive dlq reopen 17
    redrive dlq reopen --group 3fa9 --status ignored --yes`
}

func (c *dlqReopenCmd) Run(ctx context.Context, a *app) error {
	return a.actOnDead(ctx, &c.selection, redrive.ActReopen, c.who, c.JSON, nil)
}

type dlqPurgeCmd struct {
	jsonFlag
	selection
	who
}

// Help implements kong.HelpProvider.
func (*dlqPurgeCmd) Help() string {
	return `Dead letters are removed permanently, with their jobs, payloads and failure records. Only resolved and ignored dead letters
are removed, whatever the filter selects; pending ones and those of live jobs are kept. --note is required. The
idempotency keys of the removed jobs stay reserved until they expire.

    redrive dlq purge --until 30d --dry-run
    redrive dlq purge --until 30d --note "quarterly clean-up" --yes`
}

func (c *dlqPurgeCmd) Run(ctx context.Context, a *app) error {
	if strings.TrimSpace(c.Note) == "" && !c.DryRun {
		return usagef("--note is required: say why they are removed")
	}
	for _, s := range c.Status {
		if status := job.Status(s); status == job.Pending || status == job.Redriven {
			return usagef("--status %s: only resolved and ignored ones can be removed", status)
		}
	}
	if len(c.IDs) == 1 && !c.Yes && !c.DryRun {
		question := fmt.Sprintf("purge the dead letter of job %d, with all that is known of the job", cmp.Or(c.IDs...))
		if err := a.confirm(question, false); err != nil {
			return err
		}
	}
	return a.actOnDead(ctx, &c.selection, redrive.ActPurge, c.who, c.JSON, nil)
}
