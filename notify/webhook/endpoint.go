package webhook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Secret is the secret with which webhooks are signed. It prints as [secret] in every form.
type Secret []byte

const hiddenSecret = "[secret]"

// String implements fmt.Stringer.
func (Secret) String() string { return hiddenSecret }

// Format implements fmt.Formatter, so that no verb prints the bytes.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hiddenSecret)) }

// MarshalText implements encoding.TextMarshaler.
func (Secret) MarshalText() ([]byte, error) { return []byte(hiddenSecret), nil }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(hiddenSecret) }

// Limits of endpoints.
const (
	SecretMin    = 24 // minimum size of a secret, in bytes
	SecretMax    = 64 // maximum size of a secret, in bytes
	SecretSize   = 32 // recommended size of a new secret, in bytes
	SecretPrefix = "whsec_"
	URLMax       = 2048 // maximum length of a URL, in bytes
	ListMax      = 20   // maximum number of allowed networks, and of allowed ports
)

// Reveal returns the secret in the form in which the receiver needs it: SecretPrefix and base64.
// Show it once, when the secret is made.
func (s Secret) Reveal() string { return SecretPrefix + base64.StdEncoding.EncodeToString(s) }

// ParseSecret reads a secret in the form that Reveal returns. The error does not contain the text.
func ParseSecret(text string) (Secret, error) {
	encoded, ok := strings.CutPrefix(text, SecretPrefix)
	s, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil {
		return nil, fmt.Errorf("the secret of a webhook must be %q and the base64 form of %d to %d bytes", SecretPrefix, SecretMin, SecretMax)
	}
	return s, Secret(s).validate()
}

func (s Secret) validate() error {
	if len(s) < SecretMin || len(s) > SecretMax {
		return fmt.Errorf("the secret has %d bytes: a secret of a webhook must have %d to %d random bytes", len(s), SecretMin, SecretMax)
	}
	return nil
}

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

// Validate returns one error with all mistakes of the endpoint. It contains neither the URL, which
// may have a secret in its query, nor an address. A host that is a name is checked when it is
// dialled, because its addresses can change.
func (e *Endpoint) Validate() error {
	errs := []error{e.Secret.validate()}
	if len(e.OldSecret) > 0 {
		errs = append(errs, e.OldSecret.validate())
	}
	if len(e.Allow) > ListMax || len(e.Ports) > ListMax {
		errs = append(errs, fmt.Errorf("%d allowed networks and %d allowed ports: at most %d of each are possible", len(e.Allow), len(e.Ports), ListMax))
	}
	return errors.Join(append(errs, e.validURL())...)
}

func (e *Endpoint) validURL() error {
	u, err := url.Parse(e.URL)
	switch {
	case len(e.URL) > URLMax:
		return fmt.Errorf("the URL has %d bytes: at most %d are allowed", len(e.URL), URLMax)
	case err != nil || u.Hostname() == "" || strings.ContainsFunc(e.URL, func(c rune) bool { return c <= ' ' || c == 0x7f }):
		return errors.New("the URL is not complete: write one such as https://shop.example.com/hooks")
	case u.User != nil:
		return errors.New("the URL has a user or a password: remove it, because the signature proves the sender")
	case u.Fragment != "":
		return errors.New("the URL has a fragment: remove the # and what follows it")
	case u.Scheme == "http" && !e.AllowHTTP:
		return errors.New("the URL begins with http: use https, or set AllowHTTP in a test")
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("the scheme %.20q is not allowed: use https", u.Scheme)
	}
	if u.Port() != "" {
		p, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil || !e.allowsPort(uint16(p)) {
			return fmt.Errorf("the port %.10s is not allowed: use 443, or add it to Ports", u.Port())
		}
	}
	host := u.Hostname()
	if strings.ContainsRune(host, '%') {
		return errors.New("the address in the URL has a zone: remove the % and what follows it")
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return Allowed(a, e.Allow)
	}
	// Many programs read 127.1, 0x7f000001 and 017700000001 as addresses.
	if last := host[strings.LastIndexByte(host, '.')+1:]; last == "" || isNumber(last) {
		return errors.New("the host of the URL is neither a name nor an address in its usual form: write one such as shop.example.com")
	}
	return nil
}

func (e *Endpoint) allowsPort(p uint16) bool {
	return p == 443 || p == 80 && e.AllowHTTP || slices.Contains(e.Ports, p)
}

func isNumber(label string) bool {
	if rest, hex := strings.CutPrefix(strings.ToLower(label), "0x"); hex {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
