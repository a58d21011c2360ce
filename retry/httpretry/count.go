package httpretry

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"

	"github.com/redrive/redrive/retry"
)

// Count returns a transport that retries nothing: it counts what base really sends,
// for the account of the call and of the job around it (retry.CountSend), and says by
// the header X-Retry-Attempt which attempt of the call it is. It goes below clients
// that retry by themselves, so that this is seen. A nil base is
// http.DefaultTransport. Below or above Transport it counts nothing twice.
func Count(base http.RoundTripper) http.RoundTripper { return &counting{orDefault(base)} }

type counting struct{ base http.RoundTripper }

// CloseIdleConnections does so in the base, for http.Client.
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

// Middleware is Count for clients that take functions: those of OpenAI and Anthropic
// do, as option.WithMiddleware.
func Middleware(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	return (&counting{roundTripper(next)}).RoundTrip(req)
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// tally counts the sends of one request. Of transports of ours that lie on each other
// the innermost one counts, into the account of its attempt.
type tally struct {
	mu      sync.Mutex
	last    context.Context //nolint:containedctx // of the attempt that began last
	pending bool            // it has not been counted
	over    bool            // it has returned
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

// began notes that an attempt begins, and returns what notes that it has returned:
// if nothing was written, because no connection came about, it counts as well.
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

// written notes that the headers of a request have gone out. More than once is a
// replay, which net/http makes when a connection that was idle turns out to be dead.
func (t *tally) written() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last != nil && !t.over {
		retry.CountSend(t.last)
		t.pending = false
	}
}
