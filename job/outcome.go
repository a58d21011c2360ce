package job

import (
	"fmt"
	"time"
)

// Outcome is how one run of a job ended. It is complete: result or failure, next state,
// dead letter and events follow from it in one transaction, so that no part of it can
// be missing. The token guards it: the outcome of a run that lost its lease changes
// nothing. Writing the same outcome again changes nothing either.
type Outcome struct {
	ID    ID
	Token Token
	Cause Cause // Succeeded, Failed, Snoozed, Deferred, Interrupted, Cancel or Held
	To    State // the next state; the transition from Running must be legal

	// Delay and NotBefore apply to outcomes with To Waiting or Retrying: the job is due
	// at the store's time + Delay, but not before NotBefore. Delay is a duration
	// because clocks differ.
	Delay     time.Duration
	NotBefore Micros
	Queue     string // moves the job to another queue; "" keeps the queue
	Priority  int8   // the new priority; 0 keeps the present one
	Memo      []byte // notes for the next decision; nil keeps the present ones

	Result  []byte   // of a completed job; at most ResultMax bytes
	Cost    int64    // the cost of this run in millionths of a US dollar
	Sends   int32    // how many requests this run sent, as far as package retry has counted them
	Failure *Failure // required when Cause is Failed or Held, else optional
	Reason  Reason   // why the job is dead; only when To is Dead
	// Progressed says that the run reported progress. The progress is removed with the
	// end of the run.
	Progressed bool
}

// Validate returns an error when the outcome cannot be written: an illegal transition,
// a missing failure or reason, or a value above its limit.
func (o *Outcome) Validate() error {
	switch {
	case !Legal(Running, o.To, o.Cause) || o.Cause == Crashed:
		return fmt.Errorf("job %d: a run cannot end as %s by %s", o.ID, o.To, o.Cause)
	case o.Token < 1:
		return fmt.Errorf("job %d: run %d: runs are numbered from 1", o.ID, o.Token)
	case (o.Cause == Failed || o.Cause == Held) && o.Failure == nil:
		return fmt.Errorf("job %d: a %s run needs its failure record", o.ID, o.Cause)
	case (o.To == Dead) != (o.Reason != ""):
		return fmt.Errorf("job %d: only a dead job has a reason, got reason %q with state %s", o.ID, o.Reason, o.To)
	case o.Delay < 0:
		return fmt.Errorf("job %d: delay %s: must not be negative", o.ID, o.Delay)
	case o.Priority < 0 || o.Priority > PriorityMax:
		return fmt.Errorf("job %d: priority %d: must be %d to %d", o.ID, o.Priority, PriorityMin, PriorityMax)
	case len(o.Queue) > NameMax:
		return fmt.Errorf("job %d: queue of %d bytes: at most %d", o.ID, len(o.Queue), NameMax)
	case len(o.Result) > ResultMax:
		return fmt.Errorf("job %d: result of %d bytes: at most %d", o.ID, len(o.Result), ResultMax)
	case o.Cost < 0 || o.Cost > CostMax:
		return fmt.Errorf("job %d: cost of %d millionths of a dollar: must be 0 to %d", o.ID, o.Cost, int64(CostMax))
	case o.Sends < 0:
		return fmt.Errorf("job %d: %d sends: must not be negative", o.ID, o.Sends)
	case o.Failure != nil:
		return o.Failure.validate(o.ID)
	}
	return nil
}

// Reason says why a job is dead. The words are stored and append-only.
type Reason string

// The reasons.
const (
	NonRetriable Reason = "non_retriable_error"
	MaxRetries   Reason = "max_retries_exceeded"
	Stalled      Reason = "stalled" // too many lost leases in one life
	DeadlineOver Reason = "expired"
	MaxCost      Reason = "max_cost_exceeded"
	HintTooLong  Reason = "hint_too_long" // the other side asked for a longer wait than the policy allows
	ManualReview Reason = "manual_review" // a rule held the job before it ran; a retry releases it
)
