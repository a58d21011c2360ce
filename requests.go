package redrive

import "context"

// BeginRequest stores a request with an idempotency key before the program carries it out.
// It is for programs that serve requests which may be sent again. If the scope already has a
// request with this key, BeginRequest stores nothing, returns the stored request and sets
// existing. The error is ErrConflict when the stored request has another digest. A request
// is forgotten after store.RequestsKept. A single job needs no request: Options.Key does the
// same.
func (c *Client) BeginRequest(ctx context.Context, r Request) (stored Request, existing bool, err error) {
	return c.store.BeginRequest(ctx, r)
}

// EndRequest stores the answer to a request, so that BeginRequest returns it. If EndRequest
// is called twice, the first answer stays. The error is ErrNotFound when the request was
// never begun or is forgotten.
func (c *Client) EndRequest(ctx context.Context, scope, key string, status int, body []byte) error {
	return c.store.EndRequest(ctx, scope, key, status, body)
}
