package webhook

import (
	"errors"
	"net/netip"
	"time"

	"github.com/redrive/redrive/internal/guard"
	"github.com/redrive/redrive/store"
)

// Secret is the secret with which webhooks are signed. It prints as [secret] in every form.
type Secret = store.WebhookSecret

// Limits of endpoints.
const (
	SecretMin  = store.WebhookSecretMin  // minimum size of a secret, in bytes
	SecretMax  = store.WebhookSecretMax  // maximum size of a secret, in bytes
	SecretSize = store.WebhookSecretSize // recommended size of a new secret, in bytes
	URLMax     = guard.URLMax            // maximum length of a URL, in bytes
	ListMax    = guard.ListMax           // maximum number of allowed networks, and of allowed ports
)

// ErrPrivate says that an address is in a network that webhooks must not reach. The error names no
// address, because the answer to a name may be a secret of the network.
var ErrPrivate = guard.ErrPrivate

// Allowed returns ErrPrivate for an address that webhooks must not reach. Networks in allow
// are allowed even if they are private or reserved. IPv4 addresses in the form of IPv6 count as IPv4.
func Allowed(a netip.Addr, allow []netip.Prefix) error { return guard.Allowed(a, allow) }

// ParseSecret reads a secret in the form that Secret.Reveal returns: "whsec_" and base64. The error
// does not contain the text.
func ParseSecret(text string) (Secret, error) { return store.ParseWebhookSecret(text) }

// Endpoint is a receiver of webhooks.
type Endpoint struct {
	URL    string // required; begins with https
	Secret Secret // required; SecretMin to SecretMax bytes
	// OldSecret signs as well before OldUntil, so that a receiver can change the secret without
	// refusing a webhook. The zero values mean that there is no old secret.
	OldSecret Secret
	OldUntil  time.Time
	AllowHTTP bool           // allows URLs that begin with http, without TLS; for tests
	Allow     []netip.Prefix // networks that are allowed although they are private or special; at most ListMax
	Ports     []uint16       // further ports that are allowed; at most ListMax. By default only 443, and 80 for http
}

// EndpointOf returns an endpoint as the store keeps it, for a Sender.
func EndpointOf(e *store.Endpoint) (*Endpoint, error) {
	allow, err := e.Networks()
	return &Endpoint{URL: e.URL, Secret: e.Secret, OldSecret: e.OldSecret, OldUntil: e.OldUntil.Time(), AllowHTTP: e.AllowHTTP, Allow: allow, Ports: e.Ports}, err
}

// Validate returns one error with all mistakes of the endpoint. It contains neither the URL, which
// may have a secret in its query, nor an address. A host that is a name is checked when it is
// dialled, because its addresses can change.
func (e *Endpoint) Validate() error {
	errs := []error{e.Secret.Validate()}
	if len(e.OldSecret) > 0 {
		errs = append(errs, e.OldSecret.Validate())
	}
	return errors.Join(append(errs, e.target().Validate())...)
}

func (e *Endpoint) target() *guard.Target {
	return &guard.Target{URL: e.URL, AllowHTTP: e.AllowHTTP, Allow: e.Allow, Ports: e.Ports}
}
