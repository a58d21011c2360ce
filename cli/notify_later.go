package cli

import (
	"context"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/notify/deliver"
)

// sendsEvery is the time between two looks whether there are webhooks to send.
const sendsEvery = 10 * time.Second

// sends reports whether a database has rules of notifications or receivers of webhooks.
func sends(ctx context.Context, client *redrive.Client) (bool, error) {
	in, err := client.NotifyRules(ctx)
	if err != nil || in.Hash != "" {
		return err == nil, err
	}
	endpoints, err := client.Endpoints(ctx)
	return len(endpoints) > 0, err
}

// laterSender returns a client that does nothing but send webhooks. sendLater runs it.
func (w *worker) laterSender(db *opened) (*redrive.Client, error) {
	c, err := w.clientConfig()
	if err != nil {
		return nil, err
	}
	c.Queues, c.Cron, c.Separate = map[string]redrive.Queue{}, nil, nil
	client, err := db.client(c)
	if err != nil {
		return nil, err
	}
	return client, deliver.Install(client, deliver.Options{})
}

// sendLater makes a worker send webhooks that had nothing to send when it started: since somebody publishes rules or
// adds a receiver. So a worker in a database without notifications has no queue for them, and needs no restart. The
// returned function waits until this has stopped.
func (w *worker) sendLater(ctx context.Context, client *redrive.Client) (wait func()) {
	if w.sends {
		return func() {}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(sendsEvery)
		defer ticker.Stop()
		w.sendSince(ctx, ticker.C, func() (bool, error) { return sends(ctx, client) }, client.Run)
	}()
	return func() { <-ended }
}

// sendSince looks at each tick whether there is something to send. Then it runs the sender until the context ends.
func (w *worker) sendSince(ctx context.Context, tick <-chan time.Time, needed func() (bool, error), run func(context.Context) error) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		is, err := needed()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			w.log.WarnContext(ctx, "the rules of notifications and the receivers of webhooks could not be read", "error", err)
		case is:
			w.log.InfoContext(ctx, "sending webhooks: somebody has published rules of notifications, or added a receiver")
			if err := run(ctx); err != nil {
				w.log.WarnContext(ctx, "the sender of webhooks has stopped", "error", err)
			}
			return
		}
	}
}
