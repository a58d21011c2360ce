package redrive

import (
	"context"
	"errors"
	"fmt"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// BeginRequest stores a request with an idempotency key before the program carries it out.
// It is for programs that serve requests which may be sent again. If the scope already has a
// request with this key, BeginRequest stores nothing, returns the stored request and true.
// The error is ErrConflict when the stored request has another digest. A request is
// forgotten after store.RequestsKept. A single job needs no request: Options.Key does the
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

// ReserveIDs reserves n ids of jobs, at most job.EnqueueMax, for EnqueueAs, and returns the first of
// them. Ids that are not used stay unused.
func (c *Client) ReserveIDs(ctx context.Context, n int) (JobID, error) {
	if n < 1 || n > job.EnqueueMax {
		return 0, fmt.Errorf("reserve %d job ids: must be 1 to %d: %w", n, job.EnqueueMax, ErrInvalid)
	}
	return c.ids.take(ctx, n)
}

// EnqueueAs does the same as EnqueueMany with ids that ReserveIDs has reserved: the jobs get the
// ids from first on. It can be called again, also in another process and after a crash, with the
// same jobs and ids: a job that exists is not added again, and its receipt has its present state.
// This does not hold for a job that retention has removed. The error is ErrConflict when another
// job has one of the ids.
func (c *Client) EnqueueAs(ctx context.Context, first JobID, specs []Spec) ([]Receipt, error) {
	if store.InTx(ctx, c.store) {
		return nil, errInTx
	}
	next, end := first, first+JobID(len(specs))
	return c.through(ctx, specs, func(ctx context.Context, specs []Spec) ([]Receipt, error) {
		jobs, err := c.check(ctx, specs)
		if err != nil || len(jobs) == 0 {
			return nil, err
		}
		if next+JobID(len(jobs)) > end {
			return nil, fmt.Errorf("enqueue of jobs %d to %d: a middleware has added jobs, and no ids are reserved for them: %w", first, end-1, ErrInvalid)
		}
		number(jobs, next)
		next += JobID(len(jobs))
		for i := range jobs {
			jobs[i].Repeat = true
		}
		receipts, err := c.store.Enqueue(ctx, jobs)
		if errors.Is(err, store.ErrUnknown) {
			receipts, err = c.askAgain(ctx, jobs, err)
		}
		return receipts, err
	})
}
