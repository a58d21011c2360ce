package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/words"
	"github.com/redrive/redrive/job"
)

type webhooksTestCmd struct {
	webhookArg
	Wait span `default:"30s" placeholder:"TIME" help:"Longest time to wait for the answer; 0s does not wait. Default: 30s."`
}

// Help implements kong.HelpProvider.
func (*webhooksTestCmd) Help() string {
	return `A job sends a webhook of the type redrive.test, as any other webhook is sent, also to a receiver that is off. So a process
that sends notices must run: redrive work, or a program that calls deliver.Install.`
}

func (c *webhooksTestCmd) Run(ctx context.Context, a *app) (err error) {
	client, db, e, err := c.find(ctx, a)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	id, err := client.TestWebhook(ctx, e.Name)
	if err != nil {
		return fmt.Errorf("test the webhook: %w", err)
	}
	if c.Wait == 0 {
		fmt.Fprintf(a.out, "job %d sends the test\n", id)
		return nil
	}
	j, err := c.wait(ctx, client, id)
	if err != nil {
		return err
	}
	if j.State == job.Completed {
		fmt.Fprintf(a.out, "webhook %s has taken the test (job %d)\n", e.Name, id)
		return nil
	}
	failures, err := client.Failures(ctx, id)
	if err != nil {
		return fmt.Errorf("read the failure of the test: %w", err)
	}
	if len(failures) == 0 {
		return fmt.Errorf("no process has sent the test within %s: start one that sends notices, such as redrive work (job %d)", time.Duration(c.Wait), id)
	}
	return fmt.Errorf("webhook %s has not taken the test (job %d): %s", e.Name, id, words.Clean(failures[len(failures)-1].Message))
}

// wait waits until the job has ended or has failed once.
func (c *webhooksTestCmd) wait(ctx context.Context, client *redrive.Client, id redrive.JobID) (*job.Job, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.Wait))
	defer cancel()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		j, err := client.Get(context.WithoutCancel(ctx), id)
		if err != nil {
			return nil, fmt.Errorf("read the job of the test: %w", err)
		}
		if j.State != job.Waiting && j.State != job.Running || ctx.Err() != nil {
			return &j, nil
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}
