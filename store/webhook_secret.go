package store

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
)

// WebhookSecret is the secret with which the webhooks of an endpoint are signed. It prints as
// [secret] in every form. The store has to keep it as it is, because each webhook is signed with it:
// who can read the database or a backup of it can read the secret.
type WebhookSecret []byte

const hiddenSecret = "[secret]"

// String implements fmt.Stringer.
func (WebhookSecret) String() string { return hiddenSecret }

// Format implements fmt.Formatter, so that no verb prints the bytes.
func (WebhookSecret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hiddenSecret)) }

// MarshalText implements encoding.TextMarshaler.
func (WebhookSecret) MarshalText() ([]byte, error) { return []byte(hiddenSecret), nil }

// LogValue implements slog.LogValuer.
func (WebhookSecret) LogValue() slog.Value { return slog.StringValue(hiddenSecret) }

// Limits of the secrets of webhooks.
const (
	WebhookSecretMin  = 24 // minimum size, in bytes
	WebhookSecretMax  = 64 // maximum size, in bytes
	WebhookSecretSize = 32 // recommended size of a new secret, in bytes
	webhookPrefix     = "whsec_"
)

// Reveal returns the secret in the form in which the receiver needs it: "whsec_" and base64. Show it
// once, when the secret is made.
func (s WebhookSecret) Reveal() string { return webhookPrefix + base64.StdEncoding.EncodeToString(s) }

// ParseWebhookSecret reads a secret in the form that Reveal returns. The error is an ErrInvalid and
// does not contain the text.
func ParseWebhookSecret(text string) (WebhookSecret, error) {
	encoded, ok := strings.CutPrefix(text, webhookPrefix)
	s, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil {
		return nil, fmt.Errorf("the secret of a webhook must be %q and the base64 form of %d to %d bytes: %w",
			webhookPrefix, WebhookSecretMin, WebhookSecretMax, ErrInvalid)
	}
	return s, WebhookSecret(s).Validate()
}

// Validate returns an ErrInvalid for a secret of a wrong size.
func (s WebhookSecret) Validate() error {
	if len(s) < WebhookSecretMin || len(s) > WebhookSecretMax {
		return fmt.Errorf("the secret has %d bytes: a secret of a webhook must have %d to %d random bytes: %w",
			len(s), WebhookSecretMin, WebhookSecretMax, ErrInvalid)
	}
	return nil
}
