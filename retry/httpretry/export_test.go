package httpretry

import (
	"net/http"
	"net/url"
	"time"

	"github.com/redrive/redrive/retry"
)

// Hasty is Transport with a different DiscardTime.
func Hasty(p *retry.Strategy, base http.RoundTripper, drain time.Duration) http.RoundTripper {
	t := newTransport(p, base)
	t.drain = drain
	return t
}

// RedactURL exports redactURL for a fuzz test.
func RedactURL(u *url.URL) string { return redactURL(u) }
