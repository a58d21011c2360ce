package redrive

import (
	"context"
	"fmt"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
)

// Receivers of webhooks.
type (
	// Endpoint is a receiver of webhooks.
	Endpoint = store.Endpoint
	// WebhookSecret is the secret with which the webhooks of an endpoint are signed.
	WebhookSecret = store.WebhookSecret
	// EndpointCount is the result of some attempts to send webhooks to an endpoint.
	EndpointCount = store.EndpointCount
)

const (
	// WebhookSecretSize is the recommended size of a new secret, in bytes.
	WebhookSecretSize = store.WebhookSecretSize
	// EndpointOffByPerson is the Off of an endpoint that a person has turned off.
	EndpointOffByPerson = store.OffByPerson
)

// ParseWebhookSecret reads a secret in the form of Standard Webhooks: "whsec_" and base64. The error
// names the form and the accepted sizes.
func ParseWebhookSecret(text string) (WebhookSecret, error) { return store.ParseWebhookSecret(text) }

// PutEndpoint adds a receiver of webhooks (Version 0), or replaces the stored one with the same Name
// and Version. Another Secret rotates it; Off turns the endpoint off or on. ErrConflict means that
// somebody else has changed the endpoint meanwhile, or that the name is taken; ErrNotFound that there
// is no such endpoint.
func (c *Client) PutEndpoint(ctx context.Context, by By, e Endpoint) (Endpoint, error) {
	return c.store.PutEndpoint(ctx, by, e)
}

// Endpoints returns all receivers of webhooks, with their secrets, sorted by name.
func (c *Client) Endpoints(ctx context.Context) ([]Endpoint, error) {
	return c.store.Endpoints(ctx)
}

// RemoveEndpoint removes a receiver of webhooks. What still waits to be sent to it dies.
func (c *Client) RemoveEndpoint(ctx context.Context, by By, name string) error {
	return c.store.RemoveEndpoint(ctx, by, name)
}

// CountEndpoint adds attempts to the counts of a receiver of webhooks, and turns it off if they say
// so. The handlers of package notify/notices call it.
func (c *Client) CountEndpoint(ctx context.Context, name string, n EndpointCount) (Endpoint, error) {
	return c.store.CountEndpoint(ctx, name, n)
}

// TestWebhook enqueues a notice that tries an endpoint, also one that is off, and returns its job. It
// is sent like any webhook, with the type "redrive.test". ErrNotFound means that there is no such
// endpoint.
func (c *Client) TestWebhook(ctx context.Context, name string) (JobID, error) {
	list, err := c.store.Endpoints(ctx)
	if err != nil {
		return 0, err
	}
	known := false
	for i := range list {
		known = known || list[i].Name == name
	}
	if !known {
		return 0, store.ErrNoEndpoint(name)
	}
	id, err := c.ids.take(ctx, 1)
	if err != nil {
		return 0, err
	}
	n := notify.NewTest("", notify.KindWebhook, name, job.At(c.config.now()), int64(id))
	test, err := n.New()
	if err != nil {
		return 0, fmt.Errorf("test the webhook %s: %w", name, err)
	}
	test.ID = id
	_, err = c.store.Enqueue(ctx, []job.New{test})
	return JobID(id), err
}
