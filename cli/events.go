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
	Follow bool   `short:"f" help:"Wait for new events and print them, until an interrupt."`
	After  string `placeholder:"CURSOR" help:"Print only events after this one: the id of an event, such as 120.3, or \"newest\" for events from now on."`
}

// Help implements kong.HelpProvider.
func (*eventsCmd) Help() string {
	return `Each line is one JSON object, with and without --json. Events are in the order of their commits. The id of an event is the
cursor for --after. A reader that keeps the last id misses no event. If events after that id were removed meanwhile, the
command ends with exit code 5 and says where the kept events begin.

    redrive events
    redrive events -f --after 120.3 | jq -c 'select(.type == "job.failed")'`
}

func (e *eventsCmd) Run(ctx context.Context, a *app) (err error) {
	const newest = "newest"
	var after event.Cursor
	if e.After != newest {
		if after, err = event.ParseCursor(e.After); err != nil {
			return usagef("--after: %w", err)
		}
	}
	client, db, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	if e.After == newest {
		if _, after, err = client.EventSpan(ctx); err != nil {
			return err
		}
	}
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
