package redrive

import (
	"context"
	"fmt"
)

// Alter changes a waiting or retrying job in the name of a person: when it is due, its
// queue, priority and own retry settings, or its payload. A Delay of 0 makes the job due
// now. The job keeps its state and its attempts. Original returns the job as it was before
// its first change.
//
// The error is ErrNotFound when the job does not exist, ErrConflict when it is not waiting
// or retrying, or when another living job has the same unique arguments (see Unique), and
// ErrTooLarge or ErrInvalid when an enqueue would refuse the changed job.
func (c *Client) Alter(ctx context.Context, by By, id JobID, change Change) error {
	encoded, err := change.Encode()
	if err == nil {
		err = c.checkPayload(ctx, id, change.Payload)
	}
	if err != nil {
		return fmt.Errorf("alter job %d: %w", id, err)
	}
	return only(c.AlterAll(ctx, by, []JobID{id}, encoded))
}

// AlterAll changes up to job.IDsMax jobs; see Alter. Only for a single job the change may
// have a payload. The first result has one error per id, which is nil for a job that is now
// as the change says. The second result is not nil when the whole call failed.
func (c *Client) AlterAll(ctx context.Context, by By, ids []JobID, change EncodedChange) ([]error, error) {
	if len(change.Payload) > c.config.PayloadMax {
		return nil, fmt.Errorf("alter: payload of %d bytes: the limit is %d bytes (Config.PayloadMax): %w",
			len(change.Payload), c.config.PayloadMax, ErrTooLarge)
	}
	return again(ctx, c, func() ([]error, error) { return c.store.Alter(ctx, by, ids, change) })
}

// PreviewLive counts the live jobs that ActLive would change, and changes nothing.
// LiveActed.Done is their number. Its Through and At fix the set: passed to ActLive, they
// exclude jobs that are enqueued later.
func (c *Client) PreviewLive(ctx context.Context, a LiveAction) (LiveActed, error) {
	a.Limit = 0
	return c.liveSteps(ctx, a, func(a LiveAction) (LiveActed, error) { return c.store.PreviewLive(ctx, a) }, nil)
}

// ActLive changes all live jobs that a filter selects, in the name of a person, step by
// step. After each step, progress is called with the number of jobs changed so far;
// progress may be nil. Without LiveAction.Through it fixes the set at its start. A second
// ActLive on the same set changes only the rest of the set.
//
// After an error, the steps before it stay done; the answer says how many jobs they
// changed. To change very many jobs, StartLive is safer: it goes on when this process ends,
// and a person can stop it.
func (c *Client) ActLive(ctx context.Context, by By, a LiveAction, progress func(done int64)) (LiveActed, error) {
	if a.Through == 0 {
		seen, err := c.PreviewLive(ctx, a)
		if err != nil || seen.Done == 0 {
			return LiveActed{Through: seen.Through, At: seen.At}, err
		}
		a.Through, a.At = seen.Through, seen.At
	}
	return c.liveSteps(ctx, a, func(a LiveAction) (LiveActed, error) { return c.store.ActLive(ctx, by, a) }, progress)
}

// liveSteps repeats a step until nothing is left.
func (c *Client) liveSteps(ctx context.Context, a LiveAction, step func(LiveAction) (LiveActed, error), progress func(int64)) (sum LiveActed, err error) {
	sum.Through, sum.At = a.Through, a.At
	for {
		did, err := again(ctx, c, func() (LiveActed, error) { return step(a) })
		if err != nil {
			return sum, err
		}
		sum.Done += did.Done
		sum.Through, sum.At = did.Through, did.At
		if progress != nil {
			progress(sum.Done)
		}
		if did.Next == 0 {
			return sum, nil
		}
		a.Through, a.At, a.After = did.Through, did.At, did.Next
	}
}
