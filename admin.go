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

// GetTx does the same as Get, but inside the caller's own transaction; see EnqueueTx. It
// also sees a job that the transaction has enqueued and not yet committed.
func (c *Client) GetTx(ctx context.Context, tx store.Tx, id JobID) (job.Job, error) {
	reader, err := c.txReader()
	if err != nil {
		return job.Job{}, err
	}
	return reader.GetTx(ctx, tx, id)
}

// ListTx does the same as List, but inside the caller's own transaction; see GetTx.
func (c *Client) ListTx(ctx context.Context, tx store.Tx, f JobFilter) (JobPage, error) {
	reader, err := c.txReader()
	if err != nil {
		return JobPage{}, err
	}
	return reader.ListTx(ctx, tx, f)
}

func (c *Client) txReader() (store.TxReader, error) {
	reader, ok := c.store.(store.TxReader)
	if !ok {
		return nil, fmt.Errorf("read jobs: a store of type %T cannot read in a caller's own transaction: "+
			"read after its commit: %w", c.store, store.ErrInvalid)
	}
	return reader, nil
}

// Failures returns the failure records of a job, oldest first.
func (c *Client) Failures(ctx context.Context, id JobID) ([]job.Failure, error) {
	return c.store.Failures(ctx, id)
}

// GetAll returns up to job.PageMax jobs in their present state, in the order of the ids and
// without their payloads, as List shows them. Jobs that do not exist are left out.
func (c *Client) GetAll(ctx context.Context, ids []JobID) ([]job.Job, error) {
	return c.store.GetAll(ctx, ids)
}

// Latest returns the last failure record of each of up to job.PageMax jobs, in the order of
// the ids. Jobs without a failure record are left out.
func (c *Client) Latest(ctx context.Context, ids []JobID) ([]job.Failure, error) {
	return c.store.Latest(ctx, ids)
}

// Lookup returns the id of the job that holds an idempotency key (Options.Key). The error is
// ErrNotFound when no job holds the key: the key was never used, or the store has forgotten it.
// The retention may remove the job earlier than the key; then Get does not find the job.
func (c *Client) Lookup(ctx context.Context, owner, kind, key string) (JobID, error) {
	return c.store.Lookup(ctx, owner, kind, key)
}

// Processed returns the completed job that holds an idempotency key (Options.Key), with a summary of its result: of up to
// job.SummaryMax bytes. The store keeps it until it forgets the key, also when the retention has removed the job: so a
// caller whose receipt is Skipped learns what came of the first job. The error is ErrNotFound when no job holds the key
// or its job has not completed.
func (c *Client) Processed(ctx context.Context, owner, kind, key string) (job.Processed, error) {
	return c.store.Processed(ctx, owner, kind, key)
}

// Cancel cancels a job in the name of a person: a waiting job is cancelled at once; for
// a running job, the context of the handler is ended. The error is ErrNotFound when the
// job does not exist, and ErrConflict when the job has ended. Cancelling a job twice is
// not an error.
func (c *Client) Cancel(ctx context.Context, by By, id JobID) error {
	return only(c.CancelAll(ctx, by, []JobID{id}))
}

// CancelAll cancels up to job.IDsMax jobs; see Cancel. The first result has one error
// per id, which is nil for a cancelled job. The second result is not nil when the whole
// call failed.
func (c *Client) CancelAll(ctx context.Context, by By, ids []JobID) ([]error, error) {
	if len(ids) > job.IDsMax {
		return nil, fmt.Errorf("%d job ids: a call takes at most %d: %w", len(ids), job.IDsMax, store.ErrTooLarge)
	}
	answers, err := c.store.Cancel(ctx, by, ids)
	if err == nil {
		c.logActed(ctx, "job cancelled, or asked to stop", by, ids, answers)
	}
	return answers, err
}

// only returns one error for a call that acts on a single job: it joins the error for that
// job and the error of the whole call.
func only(answers []error, err error) error {
	return errors.Join(append(answers, err)...)
}

// StoredPolicies returns the newest policies in the store, at most store.PoliciesMax of
// them. Their bodies are left out.
func (c *Client) StoredPolicies(ctx context.Context) ([]StoredPolicy, error) {
	return c.store.PolicyList(ctx)
}

// StoredPolicy returns a stored policy by its hash. The record of each decision names
// the hash of the policy that decided. The error is ErrNotFound when the store does not
// have it.
func (c *Client) StoredPolicy(ctx context.Context, hash string) (StoredPolicy, error) {
	return c.store.Policy(ctx, hash)
}
