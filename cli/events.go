package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redrive/redrive/event"
	"github.com/redrive/redrive/store"
)

const (
	eventsPage = 500
	// eventsPoll is how long a lost notification can hold up --follow.
	eventsPoll = time.Second
)

type eventsCmd struct {
	Follow bool   `short:"f" help:"Do not stop at the last event, wait for more."`
	After  string `placeholder:"CURSOR" help:"Only events after this one: the id of an event, such as 120.3."`
}

// Help implements kong.HelpProvider.
func (*eventsCmd) Help() string {
	return `One JSON object a line, in the order in which it happened. An id is the cursor for --after, so a reader
that keeps the last one misses nothing.

    redrive events
    redrive events --follow --after 120.3 | jq -c 'select(.type == "job.failed")'`
}

func (e *eventsCmd) Run(ctx context.Context, a *app) (err error) {
	after, err := event.ParseCursor(e.After)
	if err != nil {
		return usagef("--after: %w", err)
	}
	st, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer closing(st, &err)
	if !e.Follow {
		_, err = a.printEvents(ctx, st, after)
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return a.follow(ctx, st, after)
}

// follow prints events until the context ends.
func (a *app) follow(ctx context.Context, st store.Store, after event.Cursor) error {
	changed := make(chan struct{}, 1)
	defer st.Notify(changed)()
	poll := time.NewTicker(eventsPoll)
	defer poll.Stop()
	for {
		last, err := a.printEvents(ctx, st, after)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		after = last
		select {
		case <-changed:
		case <-poll.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// printEvents prints what there is after a cursor and returns the last one.
func (a *app) printEvents(ctx context.Context, st store.Reader, after event.Cursor) (event.Cursor, error) {
	for {
		events, err := st.Events(ctx, after, eventsPage)
		if err != nil {
			return after, fmt.Errorf("read events: %w", err)
		}
		for i := range events {
			if err := a.printJSONLine(&events[i]); err != nil {
				return after, err
			}
			after = events[i].Cursor
		}
		if err := a.out.Flush(); err != nil {
			return after, fmt.Errorf("write the output: %w", err)
		}
		if len(events) == 0 {
			return after, nil
		}
	}
}
