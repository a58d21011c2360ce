package httpretry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"

	"github.com/redrive/redrive/retry"
)

// ReadAll sends a request and reads the whole body of its response, and retries both: a body
// that breaks off is read again from its beginning. Requests that may not be sent twice are
// sent as with NotIdempotent. A status of 400 and above is a *StatusError. A body of more
// than limit bytes is an error without a retry; a negative limit is an error before anything
// is sent. The body of the returned response is already read. The body of the request is
// always closed; the bodies that are sent come from Request.GetBody.
//
// If the client has a Transport with the same dependency, the strategy of ReadAll retries,
// and the Transport sends each request once. Options.AttemptTimeout limits each attempt
// including its body.
func ReadAll(p *retry.Strategy, client *http.Client, req *http.Request, limit int64) ([]byte, *http.Response, error) {
	if client == nil {
		client = http.DefaultClient
	}
	if req.Body != nil {
		defer req.Body.Close()
	}
	if limit < 0 {
		return nil, nil, negative(limit)
	}
	if req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
		return nil, nil, &BodyError{Method: method(req), URL: redactURL(req.URL), Err: errors.New("the request was not sent")}
	}
	keyed := p.Options().Keyed
	if !idempotent(req.Method) && keyOf(req) == "" && !keyed {
		once, err := p.With(func(o *retry.Options) { o.NotIdempotent = true })
		if err != nil {
			return nil, nil, err
		}
		p = once
	}
	r := reader{client: client, req: req, limit: limit, keyed: keyed}
	body, err := retry.Do(req.Context(), p, r.read)
	return body, r.resp, err
}

type reader struct {
	client *http.Client
	req    *http.Request
	limit  int64
	keyed  bool
	resp   *http.Response
}

func (r *reader) read(ctx context.Context) ([]byte, error) {
	r.resp = nil
	a := begin(ctx, 0)
	defer a.end(nil)
	req := r.req.Clone(a.ctx)
	if r.req.GetBody != nil {
		body, err := r.req.GetBody()
		if err != nil {
			return nil, retry.Stop(fmt.Errorf("rewind the body of the request: %w", err))
		}
		req.Body = body
	}
	if r.keyed && keyOf(req) == "" && !idempotent(req.Method) {
		req.Header.Set(KeyHeader, retry.From(ctx).Key)
	}
	resp, err := (&http.Client{
		Transport: Count(r.client.Transport), CheckRedirect: r.client.CheckRedirect, Jar: r.client.Jar, Timeout: r.client.Timeout,
	}).Do(req)
	if err != nil {
		return nil, redact(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		e := newStatusError(req, resp)
		a.limit(DiscardTime)
		head, _ := io.ReadAll(io.LimitReader(resp.Body, DiscardMax)) // the part of the body that can be read
		a.stop()
		e.Body = string(head)
		return nil, e.marked()
	}
	body, err := readUpTo(resp.Body, r.limit)
	if err != nil {
		return nil, fmt.Errorf("%s %s: read the body after %d bytes: %w", method(req), redactURL(req.URL), len(body), err)
	}
	if int64(len(body)) > r.limit {
		return nil, retry.Stop(fmt.Errorf("%s %s: the body is longer than %d bytes: raise the limit", method(req), redactURL(req.URL), r.limit))
	}
	r.resp = resp
	resp.Body = http.NoBody
	return body, nil
}

// Rewindable reads the body of a request into memory, so that it can be sent again. A
// body of more than limit bytes is an error, after which the request cannot be sent.
// Requests without a body or with GetBody are not changed. A negative limit is an error
// and changes nothing.
func Rewindable(req *http.Request, limit int64) error {
	if limit < 0 {
		return negative(limit)
	}
	if req.Body == nil || req.Body == http.NoBody || req.GetBody != nil {
		return nil
	}
	body, err := readUpTo(req.Body, limit)
	req.Body.Close()
	if err != nil {
		return fmt.Errorf("read the body of the request: %w", err)
	}
	if int64(len(body)) > limit {
		return fmt.Errorf("the body of the request is longer than %d bytes: raise the limit, or set Request.GetBody", limit)
	}
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, _ = req.GetBody()
	req.ContentLength = int64(len(body))
	return nil
}

// readUpTo reads r up to its end, but at most limit+1 bytes. If it returns limit+1 bytes, r
// is longer than limit.
func readUpTo(r io.Reader, limit int64) ([]byte, error) {
	if limit < math.MaxInt64 { // this prevents an overflow of limit + 1
		r = io.LimitReader(r, limit+1)
	}
	return io.ReadAll(r)
}

func negative(limit int64) error {
	return fmt.Errorf("the limit for a body is %d bytes: it must be at least 0", limit)
}
