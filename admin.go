package redrive

import (
	"context"
	"errors"
	"fmt"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Get returns a job in its present state. The error is ErrNotFound when the job does
// not exist.
func (c *Client) Get(ctx context.Context, id JobID) (job.Job, error) { return c.store.Get(ctx, id) }

// List returns a page of jobs without their payloads, newest first.
func (c *Client) List(ctx context.Context, f JobFilter) (JobPage, error) {
	return c.store.List(ctx, f)
}

// Failures returns the failure records of a job, oldest first.
func (c *Client) Failures(ctx context.Context, id JobID) ([]job.Failure, error) {
	return c.store.Failures(ctx, id)
}

// Cancel cancels a job in the name of a person: a waiting job at once, a running job
// by ending its handler's context. The error is an ErrNotFound, or an
// ErrConflict for a job that has ended; cancelling a job twice is not an error.
func (c *Client) Cancel(ctx context.Context, by By, id JobID) error {
	return only(c.store.Cancel(ctx, by, []JobID{id}))
}

// CancelAll is Cancel for up to job.IDsMax jobs. The first result has one error per id,
// nil for each cancelled job. The second result is the error of the whole call.
func (c *Client) CancelAll(ctx context.Context, by By, ids []JobID) ([]error, error) {
	if len(ids) > job.IDsMax {
		return nil, fmt.Errorf("%d job ids: at most %d in a call: %w", len(ids), job.IDsMax, store.ErrTooLarge)
	}
	return c.store.Cancel(ctx, by, ids)
}

// only returns the error of a call that acted on one job.
func only(answers []error, err error) error {
	return errors.Join(append(answers, err)...)
}

// StoredPolicies returns the policies that are kept in the store without their bodies,
// newest first and at most store.PoliciesMax.
func (c *Client) StoredPolicies(ctx context.Context) ([]StoredPolicy, error) {
	return c.store.PolicyList(ctx)
}

// StoredPolicy returns a stored policy by its hash, which decisions name. The error is
// ErrNotFound when the store does not have it.
func (c *Client) StoredPolicy(ctx context.Context, hash string) (StoredPolicy, error) {
	return c.store.Policy(ctx, hash)
}
