package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/event"
)

type eventsCmd struct {
	jsonFlag
	Follow bool   `short:"f" help:"Do not stop at the last event, wait for more."`
	After  string `placeholder:"CURSOR" help:"Only events after this one: the id of an event, such as 120.3."`
}

// Help implements kong.HelpProvider.
func (*eventsCmd) Help() string {
	return `One JSON object a line, in the order in which it happened, with and without --json. An id is the cursor for --after,
so a reader that keeps the last one misses nothing.

    redrive events
    redrive events --follow --after 120.3 | jq -c 'select(.type == "job.failed")'`
}

func (e *eventsCmd) Run(ctx context.Context, a *app) (err error) {
	after, err := event.ParseCursor(e.After)
	if err != nil {
		return usagef("--after: %w", err)
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	if e.Follow {
		var stop func()
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
	}
	for happened, err := range client.Events(ctx, after, &redrive.EventsOptions{StopAtEnd: !e.Follow}) {
		if err != nil {
			return err
		}
		if err := a.printJSONLine(&happened); err != nil {
			return err
		}
		if !e.Follow {
			continue
		}
		if err := a.out.Flush(); err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
	}
	return nil
}
