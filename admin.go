package redrive

import (
	"context"
	"errors"
	"fmt"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// Get returns a job as it stands; store.ErrNotFound when there is none.
func (c *Client) Get(ctx context.Context, id JobID) (job.Job, error) { return c.store.Get(ctx, id) }

// List returns a page of jobs without their payloads, newest first.
func (c *Client) List(ctx context.Context, f store.Filter) (store.Page, error) {
	return c.store.List(ctx, f)
}

// Failures returns the failure records of a job, oldest first.
func (c *Client) Failures(ctx context.Context, id JobID) ([]job.Failure, error) {
	return c.store.Failures(ctx, id)
}

// Cancel cancels a job in the name of a person: a waiting one at once, a running
// one by ending its handler's context. The error is a store.ErrNotFound, or a
// store.ErrConflict for a job that has ended; cancelling one again is none.
func (c *Client) Cancel(ctx context.Context, by By, id JobID) error {
	return only(c.store.Cancel(ctx, by, []JobID{id}))
}

// CancelAll is Cancel for up to job.IDsMax jobs. The first result has an error
// per id, nil for one that is cancelled; the second is of the call as a whole.
func (c *Client) CancelAll(ctx context.Context, by By, ids []JobID) ([]error, error) {
	if err := bounded(len(ids)); err != nil {
		return nil, err
	}
	return c.store.Cancel(ctx, by, ids)
}

// Retry opens the next life of a dead job in the name of a person. The error is
// a store.ErrNotFound, or a store.ErrConflict for a job that is not dead.
func (c *Client) Retry(ctx context.Context, by By, id JobID) error {
	return only(c.store.Retry(ctx, by, []JobID{id}))
}

// RetryAll is Retry for up to job.IDsMax jobs. The first result has an error per
// id, nil for one that is retried; the second is of the call as a whole.
func (c *Client) RetryAll(ctx context.Context, by By, ids []JobID) ([]error, error) {
	if err := bounded(len(ids)); err != nil {
		return nil, err
	}
	return c.store.Retry(ctx, by, ids)
}

// only returns the error of a call for one job.
func only(answers []error, err error) error {
	return errors.Join(append(answers, err)...)
}

func bounded(ids int) error {
	if ids > job.IDsMax {
		return fmt.Errorf("%d job ids: at most %d in a call: %w", ids, job.IDsMax, store.ErrTooLarge)
	}
	return nil
}

// StoredPolicy returns a policy as it is kept in the store, by the hash that
// decisions name; store.ErrNotFound when it is not there.
func (c *Client) StoredPolicy(ctx context.Context, hash string) (store.Policy, error) {
	return c.store.Policy(ctx, hash)
}
