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

// DeadLetters returns a page of dead letters, the newest death first.
func (c *Client) DeadLetters(ctx context.Context, f DeadFilter, p DeadPaging) (DeadPage, error) {
	return c.store.DeadLetters(ctx, f, p)
}

// DeadLetter returns the dead letter of a job; ErrNotFound when it has none.
func (c *Client) DeadLetter(ctx context.Context, id JobID) (job.DeadLetter, error) {
	return c.store.DeadLetter(ctx, id)
}

// Groups returns dead letters by their root cause.
func (c *Client) Groups(ctx context.Context, f GroupFilter) (GroupPage, error) {
	return c.store.Groups(ctx, f)
}

// DeadStats returns figures about the dead letters, and what became of jobs by the
// hour. Its cost does not grow with the entries.
func (c *Client) DeadStats(ctx context.Context) (DeadStats, error) {
	return c.store.DeadStats(ctx)
}

// Original returns what a job was before a retry changed it for the first time, and
// its payload if a retry has changed that; ErrNotFound when none has changed
// anything.
func (c *Client) Original(ctx context.Context, id JobID) (Original, error) {
	return c.store.Original(ctx, id)
}

// Change is what a retry changes of a job. Zero fields keep what it has.
type Change struct {
	// Payload is another payload, at most Config.PayloadMax bytes; nil keeps it.
	Payload  []byte
	Queue    string
	Priority int // job.PriorityMin (first) to job.PriorityMax
	// Policy is what the job says of its own retries from now on, in place of
	// Options.Retry; an empty one is nothing, nil keeps it.
	Policy *policy.Override
	Delay  time.Duration // due so long after the retry
}

// Encode returns the change as the store takes it: for an Action of ActRetry, or
// for a redrive.
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

// Retry opens the next life of a dead job in the name of a person; Act does it to
// many. It is Act with the reason of by as the note. A change that is not nil changes
// the job; Original returns what it was before its first change.
//
// The error is an ErrNotFound, an ErrConflict for a job that is not dead,
// or an ErrTooLarge or ErrInvalid for a change that no enqueue would take.
// The payload of a kind that this client handles with Handle has to be JSON.
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

// checkPayload refuses another payload that could not have been enqueued.
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
	if h != nil && h.args != nil { // its payloads are JSON
		return fmt.Errorf("the payload is not JSON, which kind %q takes: %w", j.Kind, ErrInvalid)
	}
	return nil
}

// Preview counts what Act would do, and changes nothing. Done of the answer is the
// whole number, and Through closes the set: Act with it acts on nothing that was
// not counted.
func (c *Client) Preview(ctx context.Context, a Action) (Acted, error) {
	a.Limit = 0 // store.PreviewMax, and what counters know is not searched for
	return c.steps(ctx, a, func(a Action) (Acted, error) { return c.store.Preview(ctx, a) }, nil)
}

// Act does something to dead letters in the name of a person: to those of
// Action.IDs in one transaction, with an error for each in the answer; or to all
// that Action.Filter selects, step by step. Progress, which may be nil, is called
// after each step with what is done so far.
//
// Action.Through from Preview is the frozen set; without it Act freezes what is
// there now. Acting again on the same set does what is left of it. A retry by
// filter gives the jobs store.RedrivePriority for this life, so that they do not
// hold up fresh work, unless Change says another one. What ignores a whole group for a while, or
// reopens one, changes how the group takes what dies in it, even when none of its
// dead letters is selected. A step whose answer is lost is done again:
// what it had changed is then not in Done.
//
// An error leaves the steps before it done; the answer says how many.
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
			a.Through = max(1, seen.Through) // where nothing has died yet, there is nothing up to the first death
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

// doneBefore clears the errors of jobs that are not dead any more because the try
// before has retried them, of which the answer was lost.
func (c *Client) doneBefore(ctx context.Context, by By, a *Action, did *Acted) {
	if a.Do != ActRetry {
		return // nothing else is refused the second time, but for what a purge has removed
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

// ofGroup reports whether an action changes the group itself, too: it ignores what
// dies in it from now on, or ends that. It does so when nothing is in the group.
func ofGroup(a *Action) bool {
	ignores := a.Do == ActIgnore && (a.Until != 0 || a.Count != 0)
	return a.Filter.WholeGroup() && (ignores || a.Do == ActReopen)
}

// steps takes an action to its end.
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
		runtime.Gosched() // others may write now
	}
}

// again makes a call of the store that may be made again, until it gets an answer:
// for about 15 s when the store does not answer.
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
