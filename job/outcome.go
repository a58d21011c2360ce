package job

import (
	"fmt"
	"slices"
	"time"
)

// Outcome describes how one run of a job ended. The store writes it in one transaction:
// the result or the failure, the next state, the dead letter and the events. So no part
// of it can be missing. The token protects this write: the outcome of a run that has
// lost its lease changes nothing. Writing the same outcome again also changes nothing.
type Outcome struct {
	ID    ID
	Token Token
	Cause Cause // how the run ended: Succeeded, Failed, Snoozed, Deferred, Interrupted, Cancel or Held
	To    State // the next state; the transition from Running must be legal

	// Delay and NotBefore are used if To is Waiting or Retrying. The job is then due at
	// the store's time plus Delay, but not before NotBefore. Delay is a duration,
	// because the clocks of worker and store differ.
	Delay     time.Duration
	NotBefore Micros
	Queue     string // the queue that the job is moved to; "" keeps the queue
	Priority  int8   // the new priority; 0 keeps the present one
	Memo      []byte // notes for the next decision; nil keeps the present notes

	Result  []byte   // the result of a completed job, at most ResultMax bytes
	Cost    int64    // the cost of this run, and of earlier runs whose cost is not stored, in millionths of a US dollar; see StoresCost
	Sends   int32    // how many requests this run sent, as counted by package retry
	Failure *Failure // the failure record; required when Cause is Failed or Held, otherwise optional
	Reason  Reason   // why the job is dead; set only when To is Dead
	// Notified is a text for the user of a dead job. The store adds it to Failure.UserMessage if and only
	// if the rules of notifications let people who operate the system hear of the death.
	Notified string
	// Retried has the classes of the failures after which the job was retried in this life, the
	// class of the last one first, each class once, at most RetriedMax. The store uses it to count
	// the results of retries by class. It is nil for the first attempt of a life.
	Retried []string
	// If Keep is true, the store keeps the payload and the attributes of the job when the
	// job is completed. Otherwise the store removes them then. Keep has no effect for other
	// states.
	Keep bool
	// Progressed is true when the run reported progress. The store then removes this
	// progress, because the run has ended.
	Progressed bool
}

// StoresCost reports whether the store keeps the cost of the outcome: with the failure record, or with
// the ended job. Other outcomes only put the job back; the memo keeps their cost.
func (o *Outcome) StoresCost() bool { return o.Failure != nil || o.To != Waiting }

// RetriedMax is the maximum number of classes in Outcome.Retried.
const RetriedMax = 16

// Validate returns an error when the outcome cannot be written: an illegal transition,
// a missing failure or reason, or a value above its limit.
func (o *Outcome) Validate() error {
	switch {
	case !Legal(Running, o.To, o.Cause) || o.Cause == Crashed:
		return fmt.Errorf("job %d: a run cannot end in state %s with cause %s", o.ID, o.To, o.Cause)
	case o.Token < 1:
		return fmt.Errorf("job %d: run number %d: the first run has number 1", o.ID, o.Token)
	case (o.Cause == Failed || o.Cause == Held) && o.Failure == nil:
		return fmt.Errorf("job %d: the outcome of a %s run has no failure record", o.ID, o.Cause)
	case (o.To == Dead) != (o.Reason != ""):
		return fmt.Errorf("job %d: a dead job must have a reason, and no other job may have one; got reason %q with state %s", o.ID, o.Reason, o.To)
	case o.Delay < 0:
		return fmt.Errorf("job %d: delay %s: must not be negative", o.ID, o.Delay)
	case o.Priority < 0 || o.Priority > PriorityMax:
		return fmt.Errorf("job %d: priority %d: must be %d to %d", o.ID, o.Priority, PriorityMin, PriorityMax)
	case len(o.Queue) > NameMax:
		return fmt.Errorf("job %d: queue of %d bytes: at most %d bytes", o.ID, len(o.Queue), NameMax)
	case len(o.Result) > ResultMax:
		return fmt.Errorf("job %d: result of %d bytes: at most %d bytes", o.ID, len(o.Result), ResultMax)
	case o.Cost < 0 || o.Cost > CostMax:
		return fmt.Errorf("job %d: cost of %d millionths of a dollar: must be 0 to %d", o.ID, o.Cost, int64(CostMax))
	case len(o.Retried) > RetriedMax || slices.ContainsFunc(o.Retried, func(class string) bool { return class == "" || len(class) > TextMax }):
		return fmt.Errorf("job %d: %d classes of retried failures: at most %d of 1 to %d bytes are allowed", o.ID, len(o.Retried), RetriedMax, TextMax)
	case o.Notified != "" && (o.To != Dead || o.Failure == nil || len(o.Failure.UserMessage)+1+len(o.Notified) > MessageMax):
		return fmt.Errorf("job %d: the text about notified people has %d bytes: only a dead job with a failure record may have one, and "+
			"together with the text for the user it may have at most %d bytes", o.ID, len(o.Notified), MessageMax)
	case o.Sends < 0:
		return fmt.Errorf("job %d: %d requests sent: must not be negative", o.ID, o.Sends)
	case o.Failure != nil:
		return o.Failure.validate(o.ID)
	}
	return nil
}

// WithNotified returns the text for the user of a dead job with the text that people who operate the
// system were notified. Both can be empty.
func WithNotified(userMessage, notified string) string {
	if userMessage == "" || notified == "" {
		return userMessage + notified
	}
	return userMessage + " " + notified
}

// Reason says why a job is dead. The words are stored, so they never change; new words can
// be added.
type Reason string

// The reasons why a job is dead.
const (
	NonRetriable Reason = "non_retriable_error"
	MaxRetries   Reason = "max_retries_exceeded"
	Stalled      Reason = "stalled" // too many crashes (expired leases) in one life
	DeadlineOver Reason = "expired"
	MaxCost      Reason = "max_cost_exceeded"
	HintTooLong  Reason = "hint_too_long" // the dependency asked for a longer wait than the policy allows
	ManualReview Reason = "manual_review" // a rule held the job before it ran; a manual retry releases the job

	// The reasons of jobs that stand for records of a stream which cannot be tasks.
	Malformed   Reason = "malformed"    // the record cannot be read
	UnknownType Reason = "unknown_type" // the stream does not know the record's task type
	KeyConflict Reason = "key_conflict" // a job with another payload has the record's key
)
