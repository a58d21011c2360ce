package redrive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// DeadLetters returns a page of dead letters, latest death first.
func (c *Client) DeadLetters(ctx context.Context, f DeadFilter, p DeadPaging) (DeadPage, error) {
	return c.store.DeadLetters(ctx, f, p)
}

// DeadLetter returns the dead letter of a job. The error is ErrNotFound when the job
// has none.
func (c *Client) DeadLetter(ctx context.Context, id JobID) (job.DeadLetter, error) {
	return c.store.DeadLetter(ctx, id)
}

// Groups returns the dead letters grouped by root cause.
func (c *Client) Groups(ctx context.Context, f GroupFilter) (GroupPage, error) {
	return c.store.Groups(ctx, f)
}

// DeadStats returns figures about the dead letters, and how many jobs ended in which
// state per hour. Its cost does not grow with the number of dead letters.
func (c *Client) DeadStats(ctx context.Context) (DeadStats, error) {
	return c.store.DeadStats(ctx)
}

// Original returns a job as it was before a retry first changed it, with its payload if
// a retry has changed that. The error is ErrNotFound when no retry has changed the job.
func (c *Client) Original(ctx context.Context, id JobID) (Original, error) {
	return c.store.Original(ctx, id)
}

// Change is what a retry changes in a job. Zero fields change nothing.
type Change struct {
	// Payload replaces the payload, at most Config.PayloadMax bytes; nil keeps it.
	Payload  []byte
	Queue    string
	Priority int // job.PriorityMin (first) to job.PriorityMax
	// Policy replaces the job's own settings for retries, Options.Override. An empty
	// value removes them, nil keeps them.
	Policy *policy.Override
	Delay  time.Duration // how long after the manual retry the job is due
}

// Encode returns the change in the form that the store takes, for an Action of ActRetry
// or for a redrive.
func (ch Change) Encode() (EncodedChange, error) {
	out := EncodedChange{Payload: ch.Payload, Queue: ch.Queue, Delay: ch.Delay}
	if ch.Priority < 0 || ch.Priority > job.PriorityMax {
		return out, fmt.Errorf("priority %d: must be %d to %d: %w", ch.Priority, job.PriorityMin, job.PriorityMax, ErrInvalid)
	}
	out.Priority = int8(ch.Priority)
	if ch.Policy != nil {
		if err := ch.Policy.Validate(); err != nil {
			return out, fmt.Errorf("%w: %w", err, ErrInvalid)
		}
		if out.Override = ch.Policy.Encode(); out.Override == nil {
			out.Override = []byte{}
		}
	}
	return out, nil
}

// Retry opens the next life of a dead job in the name of a person; Act does so for many
// jobs. The reason in by becomes the note of the dead letter. A change that is not nil
// changes the job; Original returns the job as it was before its first change.
//
// The error is ErrNotFound, ErrConflict for a job that is not dead, or ErrTooLarge or
// ErrInvalid for a change that an enqueue would refuse. The payload must be JSON if
// this client handles the kind with Handle.
func (c *Client) Retry(ctx context.Context, by By, id JobID, change *Change) error {
	a := Action{Do: ActRetry, IDs: []JobID{id}, Note: by.Reason}
	if change != nil {
		var err error
		if a.Change, err = change.Encode(); err == nil {
			err = c.checkPayload(ctx, id, change.Payload)
		}
		if err != nil {
			return fmt.Errorf("retry job %d: %w", id, err)
		}
	}
	acted, err := c.Act(ctx, by, a, nil)
	return only(acted.Errors, err)
}

// checkPayload refuses a new payload that an enqueue would have refused.
func (c *Client) checkPayload(ctx context.Context, id JobID, payload []byte) error {
	switch {
	case payload == nil:
		return nil
	case len(payload) > c.config.PayloadMax:
		return fmt.Errorf("payload of %d bytes: at most %d (Config.PayloadMax): %w", len(payload), c.config.PayloadMax, ErrTooLarge)
	case json.Valid(payload):
		return nil
	}
	j, err := c.store.Get(ctx, id)
	if err != nil {
		return err
	}
	c.mu.Lock()
	h := c.handlers[j.Kind]
	c.mu.Unlock()
	if h != nil && h.args != nil { // payloads of the kind are JSON
		return fmt.Errorf("the payload is not JSON, which kind %q takes: %w", j.Kind, ErrInvalid)
	}
	return nil
}

// Preview counts what Act would do, and changes nothing. Done in the answer is the
// number of dead letters. Through marks the last of them: an Act with that Through acts
// only on dead letters that were counted.
func (c *Client) Preview(ctx context.Context, a Action) (Acted, error) {
	a.Limit = 0 // so that counters answer where they can, and else at most store.PreviewMax are counted
	return c.steps(ctx, a, func(a Action) (Acted, error) { return c.store.Preview(ctx, a) }, nil)
}

// Act changes dead letters in the name of a person. For Action.IDs it does so in one
// transaction, and the answer has an error for each id. For Action.Filter it works step
// by step through all that are selected; progress, which may be nil, is called after
// each step with the number done so far.
//
// Action.Through from Preview freezes the set; without it Act freezes the set at its
// start. Acting again on the same set does what is left of it. A retry by filter gives
// the jobs store.RedrivePriority for this life, so that they do not delay fresh work,
// unless Change sets a priority. Ignoring a whole group for a while, or reopening it,
// also changes how the group treats later deaths, even when none of its dead letters is
// selected. A step whose answer is lost is repeated; what its first try changed is then
// not counted in Done.
//
// After an error, the steps before it stay done; the answer says how many dead letters
// they changed.
func (c *Client) Act(ctx context.Context, by By, a Action, progress func(done int64)) (Acted, error) {
	if len(a.Change.Payload) > c.config.PayloadMax {
		return Acted{}, fmt.Errorf("%s: payload of %d bytes: at most %d (Config.PayloadMax): %w",
			a.Do, len(a.Change.Payload), c.config.PayloadMax, ErrTooLarge)
	}
	if a.Filter != nil {
		if a.Limit == 0 {
			a.Limit = actStep
		}
		if a.Do == ActRetry && a.Change.Priority == 0 {
			a.Change.Priority, a.Change.Once = store.RedrivePriority, true
		}
		if a.Through == 0 {
			seen, err := c.Preview(ctx, a)
			if err != nil || seen.Done == 0 && !ofGroup(&a) {
				return Acted{Through: seen.Through}, err
			}
			a.Through = max(1, seen.Through) // in a store without deaths the set is empty: it ends before the first death
		}
	}
	pace, unknown := actPace{most: a.Limit}, false
	return c.steps(ctx, a, func(a Action) (Acted, error) {
		if a.Filter == nil {
			did, err := c.store.Act(ctx, by, a)
			if err == nil && unknown {
				c.doneBefore(ctx, by, &a, &did)
			}
			unknown = unknown || errors.Is(err, ErrUnknown)
			return did, err
		}
		var err error
		if a.Limit, err = pace.next(ctx, c); err != nil {
			return Acted{}, err
		}
		begin := c.config.now()
		defer func() { pace.took = c.config.now().Sub(begin) }()
		return c.store.Act(ctx, by, a)
	}, progress)
}

// doneBefore clears the errors of jobs that are not dead any more because an earlier
// try of the same call, whose answer was lost, has retried them.
func (c *Client) doneBefore(ctx context.Context, by By, a *Action, did *Acted) {
	if a.Do != ActRetry {
		return // the other acts refuse nothing the second time, except what a purge has removed
	}
	for i, err := range did.Errors {
		if !errors.Is(err, ErrConflict) {
			continue
		}
		d, err := c.store.DeadLetter(ctx, a.IDs[i])
		if err == nil && d.Status == job.Redriven && d.ActedBy == by.Actor && d.Note == a.Note {
			did.Errors[i] = nil
			did.Done++
		}
	}
}

// ofGroup reports whether an action also changes the group itself: it makes the group
// ignore later deaths, or ends that. Such an action works on an empty group, too.
func ofGroup(a *Action) bool {
	ignores := a.Do == ActIgnore && (a.Until != 0 || a.Count != 0)
	return a.Filter.WholeGroup() && (ignores || a.Do == ActReopen)
}

// steps carries out an action step by step until its end.
func (c *Client) steps(ctx context.Context, a Action, step func(Action) (Acted, error), progress func(int64)) (Acted, error) {
	sum := Acted{Through: a.Through}
	for {
		did, err := again(ctx, c, func() (Acted, error) { return step(a) })
		if err != nil {
			return sum, err
		}
		sum.Errors, sum.Done, sum.Through = did.Errors, sum.Done+did.Done, did.Through
		if progress != nil {
			progress(sum.Done)
		}
		if a.Filter == nil || did.Next == 0 {
			return sum, nil
		}
		if did.Next <= a.After {
			return sum, fmt.Errorf("%s: the store goes back from death %d to %d", a.Do, a.After, did.Next)
		}
		a.After, a.Through = did.Next, did.Through
		runtime.Gosched() // lets other writers go first
	}
}

// again repeats a store call that is safe to repeat, until the store answers, for at
// most about 15 s.
func again[T any](ctx context.Context, c *Client, call func() (T, error)) (T, error) {
	wait := askAgainWait
	for try := 0; ; try++ {
		answer, err := call()
		if err == nil || try == askAgainTries || !errors.Is(err, ErrUnknown) && !errors.Is(err, ErrUnavailable) {
			return answer, err
		}
		if ended := c.sleep(ctx, wait); ended != nil {
			return answer, errors.Join(err, ended)
		}
		wait = min(2*wait, askAgainWaitMax)
	}
}
