package httpretry

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
)

// The headers that the transport sets.
const (
	AttemptHeader = "X-Retry-Attempt" // the number of the attempt, from 1; within an outer call, the larger of the two numbers of attempts
	KeyHeader     = "Idempotency-Key"
)

// Limits on reading the body of a response with a status of 400 and above: it is read
// before the decision, which depends on it, and before a retry, so that the connection
// can be used again. A longer or slower body is closed on a retry, and otherwise passed
// on to the caller.
const (
	DiscardMax  = 64 << 10 // the maximum number of bytes that are read
	DiscardTime = time.Second
)

// Transport returns a transport that sends through the base transport and retries by the
// strategy. A nil base means http.DefaultTransport. It is safe for concurrent use and never
// changes a request. The documentation of the package says more.
func Transport(p *retry.Strategy, base http.RoundTripper) http.RoundTripper {
	return newTransport(p, base)
}

func newTransport(p *retry.Strategy, base http.RoundTripper) *transport {
	o := p.Options()
	t := &transport{base: orDefault(base), limit: o.AttemptTimeout, keyed: o.Keyed, statuses: o.Statuses, drain: DiscardTime}
	for i := range t.strategies {
		for j := range t.strategies[i] {
			var err error
			if t.strategies[i][j], err = p.With(func(o *retry.Options) { t.change(o, i == 1, j == 1) }); err != nil {
				t.mistake = fmt.Errorf("transport: %w", err)
			}
		}
	}
	return t
}

type transport struct {
	base       http.RoundTripper
	strategies [2][2]*retry.Strategy // the strategies, indexed by [not idempotent][body cannot be rewound]
	limit      time.Duration         // time limit of an attempt until its headers; 0 means none
	keyed      bool
	statuses   map[int]failure.Verdict
	drain      time.Duration
	mistake    error
}

// change sets the options for one kind of request. It takes the time limit of an attempt away
// from Do, and the transport applies the limit itself: Do would cancel the context when the
// attempt returns, and the caller could then not read the body of the response.
func (t *transport) change(o *retry.Options, once, fixed bool) {
	o.AttemptTimeout, o.Lease = 0, 0
	o.NotIdempotent = o.NotIdempotent || once
	if fixed {
		o.Retries = retry.None
	}
	if o.Hooks.Send == nil { // because of this hook, the first attempt gets a frame, as later attempts do
		o.Hooks.Send = func(context.Context, retry.Call) {}
	}
	own := o.Hooks.Retry
	o.Hooks.Retry = func(ctx context.Context, e *retry.Event) {
		if c, ok := ctx.Value(callKey{}).(*call); ok {
			c.release() // the hook closes the response, so that no connection stays open during the wait
		}
		if own != nil {
			own(ctx, e)
		}
	}
	end := o.Hooks.End
	o.Hooks.End = func(ctx context.Context, e *retry.Event) {
		if c, ok := ctx.Value(callKey{}).(*call); ok {
			c.retriable = e.Retriable
		}
		if end != nil {
			end(ctx, e)
		}
	}
}

// CloseIdleConnections closes the idle connections of the base, for http.Client.
func (t *transport) CloseIdleConnections() { closeIdle(t.base) }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c := &call{t: t, req: req, key: keyOf(req), outer: retry.From(req.Context()).Attempt}
	if around, ok := req.Context().Value(callKey{}).(*call); ok { // this transport runs inside another transport of this package
		c.outer = max(c.outer, around.outer)
	}
	hasBody := req.Body != nil && req.Body != http.NoBody
	c.fixed = hasBody && req.GetBody == nil
	if t.mistake != nil {
		c.unsent()
		return nil, t.mistake
	}
	c.safe = idempotent(req.Method) || c.key != "" || t.keyed
	if t.keyed && !idempotent(req.Method) && c.key == "" {
		if key, within := t.strategies[0][0].Within(req.Context()); within {
			c.inherited, c.safe = key, key != "" // a key that is made here would differ in the next attempt
		}
	}
	ctx := context.WithValue(tallied(req.Context()), callKey{}, c)
	resp, err := retry.Do(ctx, t.strategies[index(!c.safe)][index(c.fixed)], c.send)
	if c.n == 0 {
		c.unsent()
	}
	if err == nil {
		return resp, nil
	}
	return c.end(err)
}

// call is one request and its attempts.
type call struct {
	t     *transport
	req   *http.Request
	key   string // the key that the caller set
	outer int    // number of the outer call's current attempt
	fixed bool   // whether the body cannot be rewound
	safe  bool   // whether the request may be sent twice
	n     int    // number of attempts begun

	inherited string // key of the outer call, if the outer call does the retrying
	retriable bool   // whether the strategy retries the last failure

	resp *http.Response // response of the last attempt, if its status may be an error
}

type callKey struct{}

// unsent closes the body of a request that was not passed to the base transport.
func (c *call) unsent() {
	if c.req.Body != nil {
		c.req.Body.Close()
	}
}

// send makes one attempt.
func (c *call) send(ctx context.Context) (*http.Response, error) {
	c.release()
	req, err := c.next(ctx)
	if err != nil {
		return nil, err
	}
	a := begin(ctx, c.t.limit)
	req = req.WithContext(a.ctx)
	done := began(a.ctx)
	resp, err := c.t.base.RoundTrip(req)
	done()
	if a.stop() {
		err = &limitError{method(req), redactURL(req.URL), c.t.limit}
	}
	if err != nil {
		if resp != nil && resp.Body != nil {
			resp.Body.Close()
		}
		a.end(nil)
		return nil, redact(err)
	}
	if resp.StatusCode < http.StatusBadRequest {
		resp.Body = a.own(resp.Body)
		return resp, nil
	}
	c.resp = resp
	return nil, c.status(a)
}

// next returns the request of the next attempt, without its context.
func (c *call) next(ctx context.Context) (*http.Request, error) {
	req := new(http.Request)
	*req = *c.req
	req.Header = c.req.Header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	now := retry.From(ctx)
	req.Header.Set(AttemptHeader, strconv.Itoa(max(now.Attempt, c.outer)))
	if c.key == "" && c.t.keyed && !idempotent(req.Method) {
		if key := cmp.Or(c.inherited, now.Key); key != "" {
			req.Header.Set(KeyHeader, key)
		}
	}
	if c.n++; c.n > 1 && req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, retry.Stop(fmt.Errorf("rewind the body of the request: %w", err))
		}
		req.Body = body
	}
	return req, nil
}

// status returns the error of a response, or nil. It reads the part of the body that
// arrives in time; if the response is returned in the end, the caller still gets the
// complete body.
func (c *call) status(a *attempt) error {
	resp := c.resp
	e := newStatusError(c.req, resp)
	resp.Body = a.own(resp.Body)
	if !c.telling(resp.StatusCode) {
		return e
	}
	resp.Body, e.Body = peek(c.req.Context(), resp.Body, DiscardMax, c.t.drain)
	return e.marked()
}

// telling reports whether the decision about a retry may depend on the body of a response
// with this status.
func (c *call) telling(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusRequestTimeout, http.StatusConflict, http.StatusLocked,
		http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	_, named := c.t.statuses[status]
	return named || status >= http.StatusInternalServerError
}

// release closes the response of the last attempt.
func (c *call) release() {
	if c.resp != nil {
		c.resp.Body.Close()
		c.resp = nil
	}
}

// end returns the result of a call that ended without success.
func (c *call) end(err error) (*http.Response, error) {
	e, own := err.(*retry.Error) //nolint:errorlint // an error that is wrapped deeper belongs to another call
	if c.resp != nil && (own && e.Reason == retry.Permanent || !own && !c.retriable) {
		return c.resp, nil
	}
	c.release()
	if !own { // the error is not of this call, because an outer call retries
		if !c.safe && !c.retriable {
			err = retry.Stop(err) // the outer call does not know the method, so it must not retry
		}
		return nil, err
	}
	if c.fixed && (e.Reason == retry.Exhausted || e.Reason == retry.LongHint || e.Reason == retry.OutOfTime) && e.Last != nil && c.n > 0 {
		return nil, &BodyError{Method: c.req.Method, URL: redactURL(c.req.URL), Err: err}
	}
	return nil, err
}

func orDefault(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		return http.DefaultTransport
	}
	return base
}

func closeIdle(base http.RoundTripper) {
	if base, ok := base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// idempotent reports whether a method may be sent twice (RFC 9110, section 9.2.2).
func idempotent(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return false
}

// keyOf returns the idempotency key that the caller has set in a request.
func keyOf(req *http.Request) string {
	if key := req.Header.Get(KeyHeader); key != "" {
		return key
	}
	return req.Header.Get("X-Idempotency-Key")
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}
