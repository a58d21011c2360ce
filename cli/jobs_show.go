package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/config"
	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type jobsShowCmd struct {
	jsonFlag
	Raw   bool   `help:"Print only the payload, byte for byte. With --json: print everything as it is stored, with the secrets."`
	ID    job.ID `arg:"" optional:"" help:"Id of the job."`
	Key   string `placeholder:"KEY" help:"Idempotency key of the job, instead of its id. It needs --kind."`
	Kind  string `placeholder:"NAME" help:"Kind of the job with --key."`
	Owner string `placeholder:"NAME" help:"Owner of the job with --key, if it has one."`
}

// Help implements kong.HelpProvider.
func (*jobsShowCmd) Help() string {
	return `The page shows the state, the attempts, each failure with its decision, the payload and the result. Secrets in the
payload, the attributes and the result are replaced by [REDACTED]; the store has them as they were given.

    redrive jobs show 17
    redrive jobs show 17 --json | jq '.failures[-1].message'
    redrive jobs show 17 --raw > payload
    redrive jobs show --key monthly-2026-01 --kind report`
}

// find returns the id of the job that the arguments of the command name.
func (c *jobsShowCmd) find(ctx context.Context, client *redrive.Client) (job.ID, error) {
	if c.Key == "" {
		return c.ID, nil
	}
	return client.Lookup(ctx, c.Owner, c.Kind, c.Key)
}

// checkUse returns an error unless the arguments name a job in exactly one way.
func (c *jobsShowCmd) checkUse() error {
	switch {
	case c.ID == 0 && c.Key == "":
		return usagef("name the job: by its id, or with --key and --kind")
	case c.ID != 0 && (c.Key != "" || c.Kind != "" || c.Owner != ""):
		return usagef("job %d is named by its id, so --key, --kind and --owner are not allowed", c.ID)
	case c.Key != "" && c.Kind == "":
		return usagef("--key %s needs --kind: two kinds may use the same key", c.Key)
	}
	return nil
}

func (c *jobsShowCmd) Run(ctx context.Context, a *app) (err error) {
	if err := c.checkUse(); err != nil {
		return err
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	id, err := c.find(ctx, client)
	if err != nil {
		return err
	}
	d, err := readDetails(ctx, client, id, a.known())
	if err != nil {
		return err
	}
	switch {
	case c.Raw && c.JSON:
		return a.printJSON(wire.DetailsOf(d))
	case c.Raw:
		return a.printRaw(d.Job.Payload)
	}
	size := len(d.Job.Payload)
	if d = wire.Cleaned(d, a.cleaning()); c.JSON {
		return a.printJSON(wire.DetailsOf(d))
	}
	a.page().job(d, size)
	return nil
}

// cleaning returns the options for removing secrets from payloads, attributes and results that
// operators see.
func (a *app) cleaning() *failure.SanitizeOptions {
	known := a.known()
	return &failure.SanitizeOptions{Emails: known.HideEmails, KeepPaths: known.KeepPaths, KeepAddresses: known.KeepAddresses}
}

// readDetails reads everything that is stored about a job. The configuration gives the
// number of attempts of its kind.
func readDetails(ctx context.Context, client *redrive.Client, id job.ID, known *config.Config) (*words.Details, error) {
	j, err := client.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	d := &words.Details{Job: j, Scheduled: scheduledAttempts(known, j.Kind)}
	if d.Failures, err = client.Failures(ctx, id); err != nil {
		return nil, fmt.Errorf("read the failures of job %d: %w", id, err)
	}
	letter, err := client.DeadLetter(ctx, id)
	switch {
	case err == nil:
		d.Letter = &letter
	case !errors.Is(err, redrive.ErrNotFound):
		return nil, fmt.Errorf("read the dead letter of job %d: %w", id, err)
	}
	if d.Notes, err = client.Notes(ctx, redrive.NoteFilter{Job: id, Limit: job.PageMax}); err != nil {
		return nil, fmt.Errorf("read the notes of job %d: %w", id, err)
	}
	slices.Reverse(d.Notes)
	queues, err := client.Queues(ctx)
	if err != nil {
		return nil, fmt.Errorf("read queues: %w", err)
	}
	for _, q := range queues {
		if q.Name == j.Queue {
			d.Queue = q
		}
	}
	return d, nil
}

// scheduledAttempts returns the largest number of attempts of a job by the schedule of its
// kind, or 0 if the kind has no schedule.
func scheduledAttempts(c *config.Config, kind string) int {
	if k, ok := c.Kinds[kind]; ok && k.Retry != nil {
		return k.Retry.MaxRetries + 1
	}
	return 0
}

// printRaw prints the bytes unchanged. If the output is a terminal and the bytes contain
// control characters, it returns an error.
func (a *app) printRaw(payload []byte) error {
	if a.styleOf(a.stdout).terminal && words.CleanBlock(string(payload)) != string(payload) {
		return errors.New("the payload contains control characters, which a terminal would obey; write it to a file or send it to a program")
	}
	_, err := a.out.Write(payload)
	return err
}
