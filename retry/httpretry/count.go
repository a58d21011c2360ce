package httpretry

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"

	"github.com/redrive/redrive/retry"
)

// Count returns a transport that does not retry: it counts what the base transport really
// sends, for the call and the job around it (retry.CountSend), and sets the header
// X-Retry-Attempt to the number of the attempt. Put it below clients that retry by
// themselves, so that their retries are counted. A nil base means http.DefaultTransport.
// Together with Transport, above or below it, nothing is counted twice.
func Count(base http.RoundTripper) http.RoundTripper { return &counting{orDefault(base)} }

type counting struct{ base http.RoundTripper }

// CloseIdleConnections closes the idle connections of the base, for http.Client.
func (c *counting) CloseIdleConnections() { closeIdle(c.base) }

// RoundTrip implements http.RoundTripper.
func (c *counting) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := tallied(req.Context())
	sent := req.WithContext(ctx)
	sent.Header = req.Header.Clone()
	if sent.Header == nil {
		sent.Header = http.Header{}
	}
	if sent.Header.Get(AttemptHeader) == "" {
		sent.Header.Set(AttemptHeader, strconv.Itoa(retry.From(ctx).Attempt))
	}
	defer began(ctx)()
	return c.base.RoundTrip(sent)
}

// Middleware does the same as Count, as a function for the option WithMiddleware of the
// clients of OpenAI and Anthropic.
func Middleware(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	return (&counting{roundTripper(next)}).RoundTrip(req)
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// tally counts the sends of one request. If transports of this package are stacked, only
// the innermost transport counts.
type tally struct {
	mu      sync.Mutex
	last    context.Context //nolint:containedctx // the context of the attempt that began last
	pending bool            // whether the send is not counted yet
	over    bool            // whether the attempt has returned
}

type tallyKey struct{}

// tallied returns a context in which sends are counted.
func tallied(ctx context.Context) context.Context {
	if _, ok := ctx.Value(tallyKey{}).(*tally); ok {
		return ctx
	}
	t := &tally{}
	ctx = context.WithValue(ctx, tallyKey{}, t)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: t.written})
}

// began starts an attempt and returns the function that ends it. An attempt that wrote
// nothing, because it got no connection, counts as one send.
func began(ctx context.Context) func() {
	t, ok := ctx.Value(tallyKey{}).(*tally)
	if !ok {
		return func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last, t.pending, t.over = ctx, true, false
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.pending {
			retry.CountSend(ctx)
		}
		t.pending, t.over = false, true
	}
}

// written records that the headers of a request were sent. A second call of written means
// that net/http has sent the request again, because an idle connection was closed.
func (t *tally) written() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last != nil && !t.over {
		retry.CountSend(t.last)
		t.pending = false
	}
}
