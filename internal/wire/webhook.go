package wire

import (
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Webhook is the JSON shape of a receiver of webhooks. It never has its secret, and its URL is without
// what may be one.
type Webhook struct {
	State string `json:"state"` // on or off
	store.Endpoint
}

// WebhookOf returns the JSON shape of a receiver of webhooks at a time.
func WebhookOf(e *store.Endpoint, now job.Micros) Webhook {
	w := Webhook{State: "on", Endpoint: *e}
	w.Secret, w.OldSecret, w.URL = nil, nil, e.ShownURL()
	if e.Off != "" {
		w.State = "off"
	}
	if e.OldUntil <= now {
		w.OldUntil = 0
	}
	return w
}

// WebhooksOf returns the JSON shapes of receivers of webhooks at a time.
func WebhooksOf(list []store.Endpoint, now job.Micros) []Webhook {
	out := make([]Webhook, len(list))
	for i := range list {
		out[i] = WebhookOf(&list[i], now)
	}
	return out
}

// NewWebhook is the JSON shape of a receiver of webhooks whose secret was just made. The secret is
// shown once.
type NewWebhook struct {
	Webhook Webhook `json:"webhook"`
	Secret  string  `json:"secret"` // whsec_ and base64, as the libraries of Standard Webhooks take it
	Note    string  `json:"note"`   // who else can read the secret
}

// SecretNote says who else can read the secret of a webhook.
const SecretNote = "who can read the database or a backup of it can read the secret: each webhook is signed with it"
