package redrive

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/redrive/redrive/internal/keeper"
	"github.com/redrive/redrive/store"
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
	if err != nil {
		return fmt.Errorf("alter job %d: %w", id, err)
	}
	return only(c.AlterAll(ctx, by, []JobID{id}, encoded))
}

// AlterAll changes up to job.IDsMax jobs; see Alter. The change may have a payload only if
// there is a single id. The first result has one error per id; it is nil for a job that now
// has the values of the change. The second result is not nil when the whole call failed.
func (c *Client) AlterAll(ctx context.Context, by By, ids []JobID, change EncodedChange) ([]error, error) {
	if err := c.checkPayload(ctx, ids, change.Payload); err != nil {
		return nil, fmt.Errorf("alter: %w", err)
	}
	return again(ctx, c, func() ([]error, error) { return c.store.Alter(ctx, by, ids, change) })
}

// PreviewLive counts the live jobs that ActLive would change, and changes nothing.
// LiveActed.Done is their number. LiveActed.Through and LiveActed.At describe this set of
// jobs: an ActLive with these values does not change jobs that are enqueued later.
func (c *Client) PreviewLive(ctx context.Context, a LiveAction) (LiveActed, error) {
	a.Limit = 0
	return c.liveSteps(ctx, a, func(a LiveAction) (LiveActed, error) { return c.store.PreviewLive(ctx, a) }, nil)
}

// ActLive changes all live jobs that a filter selects, in the name of a person, step by step.
// After each step, the given function is called with the number of jobs changed so far; the
// function may be nil. If LiveAction.Through is 0, the set of jobs is fixed at the start of
// ActLive. A second ActLive on the same set changes only the rest of the set.
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

// StartLive starts a bulk action on all live jobs that a filter selects now, in the name of a
// person. The store keeps it as a redrive with Live set: the running clients carry it out,
// and ControlRedrive pauses, resumes or cancels it. The rate is the highest number of jobs
// per second; 0 means no limit. When no client is running, AdvanceRedrive carries it out.
//
// The argument counted is the answer of PreviewLive, which fixes the set of jobs; if it is
// the zero value, StartLive calls PreviewLive. The error is ErrNotFound when the filter
// selects nothing.
func (c *Client) StartLive(ctx context.Context, by By, a LiveAction, counted LiveActed, rate int) (Redrive, error) {
	if counted.Through == 0 {
		var err error
		if counted, err = c.PreviewLive(ctx, a); err != nil {
			return Redrive{}, err
		}
	}
	if counted.Done == 0 {
		return Redrive{}, fmt.Errorf("%s: the filter selects no job that the action can change: %w", a.Do, ErrNotFound)
	}
	spec := RedriveSpec{Live: &store.LiveSpec{Do: a.Do, Filter: a.Filter, At: counted.At}, Through: int64(counted.Through),
		Total: counted.Done, Change: a.Change, Rate: rate, Key: rand.Text()}
	r, err := again(ctx, c, func() (Redrive, error) { return c.store.StartRedrive(ctx, by, spec) })
	if err == nil {
		c.nudge()
	}
	return r, err
}

// A step of AdvanceRedrive takes about advanceStep, so that other calls do not wait long. The
// pause after it is as long as the step.
const (
	advanceStep = 5 * time.Millisecond
	advanceMin  = 50 // the smallest number of jobs of a step
)

// AdvanceRedrive carries out the steps of the active redrives in this process until the redrive
// with this id has ended, is paused, or has retried all its jobs (RedriveSettling), and returns
// that redrive. It is for a program that starts a redrive while perhaps no client is running.
// After each step, the given function is called; it may be nil. A redrive with a canary waits
// for its jobs, which a running client must run.
func (c *Client) AdvanceRedrive(ctx context.Context, id int64, progress func(Redrive)) (Redrive, error) {
	limit := 4 * advanceMin
	for {
		began := c.config.now()
		step, err := again(ctx, c, func() (store.RedriveStep, error) { return c.store.StepRedrives(ctx, limit) })
		if err != nil {
			return Redrive{}, err
		}
		took := c.config.now().Sub(began)
		r, err := again(ctx, c, func() (Redrive, error) { return c.store.Redrive(ctx, id) })
		if err != nil {
			return r, err
		}
		if progress != nil {
			progress(r)
		}
		if !r.State.Active() || r.State == store.RedriveSettling {
			return r, nil
		}
		wait := max(took, step.Wait)
		if step.Released == 0 {
			wait = max(wait, advanceStep)
		}
		limit = keeper.NextLimit(limit, advanceMin, step, took, advanceStep)
		if err := c.sleep(ctx, min(wait, time.Second)); err != nil {
			return r, err
		}
	}
}
