package redrive

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// DeadLetters returns a page of dead letters. The jobs that died last come first.
func (c *Client) DeadLetters(ctx context.Context, f DeadFilter, p DeadPaging) (DeadPage, error) {
	return c.store.DeadLetters(ctx, f, p)
}

// DeadLetter returns the dead letter of a job. The error is ErrNotFound when the job has no
// dead letter.
func (c *Client) DeadLetter(ctx context.Context, id JobID) (job.DeadLetter, error) {
	return c.store.DeadLetter(ctx, id)
}

// Groups returns a page of groups. A group holds the dead letters with the same root
// cause.
func (c *Client) Groups(ctx context.Context, f GroupFilter) (GroupPage, error) {
	return c.store.Groups(ctx, f)
}

// DeadStats returns the numbers of dead letters and, for each hour, the numbers of jobs that
// ended, by state. Its cost does not grow with the number of dead letters.
func (c *Client) DeadStats(ctx context.Context) (DeadStats, error) {
	return c.store.DeadStats(ctx)
}

// Original returns a job as it was before a manual retry or Alter first changed it. The
// payload is included only if it was changed. The error is ErrNotFound when nothing was
// changed.
func (c *Client) Original(ctx context.Context, id JobID) (Original, error) {
	return c.store.Original(ctx, id)
}

// Change lists what a manual retry or Alter changes in a job. A zero field changes
// nothing.
type Change struct {
	// Payload replaces the payload, at most Config.PayloadMax bytes; nil keeps it.
	Payload  []byte
	Queue    string
	Priority int // the new priority, from job.PriorityMin (runs first) to job.PriorityMax
	// Policy replaces the job's own retry settings, Options.Override. An empty value
	// removes these settings; nil keeps them.
	Policy *policy.Override
	// Delay is the time from now until the job is due; 0 makes it due now. If Delay is nil,
	// Alter keeps the due time, and a retried job is due now.
	Delay *time.Duration
}

// Encode returns the change as an EncodedChange, which Action (with ActRetry), LiveAction
// and RedriveSpec contain. The error is ErrInvalid if the priority or the policy is out of
// its bounds.
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

// Retry retries a dead job in the name of a person: the job waits again and begins a
// new life. To retry many jobs, use Act. By.Reason is stored as the note of the dead
// letter. If change is not nil, it is applied to the job; Original returns the job as
// it was before its first change.
//
// The error is ErrNotFound when the job does not exist, ErrConflict when it is not dead or
// when another living job has the same unique arguments (see Unique), and ErrTooLarge or
// ErrInvalid when an enqueue would refuse the changed job. The payload must be JSON if this
// client handles the kind with Handle.
func (c *Client) Retry(ctx context.Context, by By, id JobID, change *Change) error {
	a := Action{Do: ActRetry, IDs: []JobID{id}, Note: by.Reason}
	if change != nil {
		var err error
		if a.Change, err = change.Encode(); err != nil {
			return fmt.Errorf("retry job %d: %w", id, err)
		}
	}
	acted, err := c.Act(ctx, by, a, nil)
	return only(acted.Errors, err)
}

// Preview counts the dead letters that Act would change, and changes nothing.
// Acted.Done is their number. Acted.Through is the newest of them: if it is passed to
// Act as Action.Through, Act changes only dead letters that were counted.
func (c *Client) Preview(ctx context.Context, a Action) (Acted, error) {
	a.Limit = 0 // without a limit the store can use its counters; without counters it counts at most store.PreviewMax dead letters
	return c.steps(ctx, a, func(a Action) (Acted, error) { return c.store.Preview(ctx, a) }, nil)
}

// Act changes dead letters in the name of a person. With Action.IDs, all changes are made in
// one transaction, and the answer has one error for each id. With Action.Filter, all
// selected dead letters are changed step by step. After each step, the given function is
// called with the number of dead letters changed so far; the function may be nil.
//
// Action.Through from Preview fixes the set of dead letters; if it is 0, Act fixes the
// set at its start. A second Act on the same set changes only the rest of the set. A
// retry by filter gives the jobs store.RedrivePriority for this life, so that they do
// not delay fresh work, unless Change sets a priority. Ignoring a whole group for a
// while, or reopening it, also changes how the group treats later deaths, even when
// none of its dead letters is selected. If the answer of a step is lost, the step is
// repeated. Dead letters that the first try has changed are then not counted in Done.
//
// After an error, the steps before it stay done; the answer says how many dead letters
// they changed.
func (c *Client) Act(ctx context.Context, by By, a Action, progress func(done int64)) (Acted, error) {
	if err := c.checkPayload(ctx, a.IDs, a.Change.Payload); err != nil {
		return Acted{}, fmt.Errorf("%s: %w", a.Do, err)
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
			a.Through = max(1, seen.Through) // if the store has no dead letters, the set ends before the first death, so it is empty
		}
	}
	pace, unknown := actPace{most: a.Limit}, false
	return c.steps(ctx, a, func(a Action) (Acted, error) {
		if a.Filter == nil {
			did, err := c.store.Act(ctx, by, a)
			if err == nil && unknown {
				c.doneBefore(ctx, by, &a, &did)
			}
			if err == nil && a.Do == ActRetry {
				c.logActed(ctx, "job retried", by, a.IDs, did.Errors)
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

// doneBefore removes the error of each job that an earlier try of the same call has
// retried. The answer of that try was lost.
func (c *Client) doneBefore(ctx context.Context, by By, a *Action, did *Acted) {
	if a.Do != ActRetry {
		return // the other operations can be repeated without an error, except on dead letters that a purge has removed
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

// ofGroup reports whether an action also changes the group itself: the group then
// ignores later deaths, or stops ignoring them. Such an action also works on an empty
// group.
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
			return sum, fmt.Errorf("%s: the store reported death %d as already handled and now goes back to death %d", a.Do, a.After, did.Next)
		}
		a.After, a.Through = did.Next, did.Through
		runtime.Gosched() // let other writers use the store
	}
}

// again repeats a store call until the store answers, for at most about 15 s. The call
// must be safe to repeat.
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
