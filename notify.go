package redrive

import (
	"context"
	"fmt"
	"strings"

	"github.com/redrive/redrive/internal/own"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/store"
)

// NotifyRules are the rules of notifications that are in force.
type NotifyRules = store.NotifyRules

// PublishNotify puts rules of notifications in force, for all processes of the store; nil takes
// all rules back. From then on each transaction that writes a death or the end of a batch makes the notices that
// the rules want, as jobs; notify/deliver sends them. The rules in force are published again without
// effect. The error names all mistakes of the rules.
func (c *Client) PublishNotify(ctx context.Context, by By, rules *notify.Rules) (NotifyRules, error) {
	var body []byte
	if rules != nil {
		if err := rules.Validate(); err != nil {
			return NotifyRules{}, invalid(err)
		}
		body, _ = rules.Encode()
	}
	return c.store.PublishNotify(ctx, by, body)
}

// NotifyRules returns the rules of notifications that are in force. If rules were never published,
// the number is 0.
func (c *Client) NotifyRules(ctx context.Context) (NotifyRules, error) {
	return c.store.NotifyRules(ctx)
}

// foreignKind returns an error for a kind that programs cannot enqueue.
func foreignKind(ctx context.Context, kind string) error {
	if !strings.HasPrefix(kind, notify.Prefix) || own.Allowed(ctx) {
		return nil
	}
	return fmt.Errorf("kind %q: kinds that begin with %q are redrive's own; use another name: %w", kind, notify.Prefix, store.ErrInvalid)
}
