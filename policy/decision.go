package policy

import (
	"fmt"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
)

// Action is what follows from the end of a run.
type Action uint8

// The actions.
const (
	Complete Action = iota // the job is done
	Retry                  // run again after Wait; the run used up an attempt
	Die                    // failed for good; Reason says why
	Snooze                 // run again after Wait, as the handler asked
	HandBack               // run again at once, because the worker stopped
	Cancel                 // ended without success or failure
	Defer                  // run again after Wait, because a call handed the job over
)

var actionNames = [...]string{"complete", "retry", "dead", "snooze", "hand_back", "cancel", "defer"}

// String returns the action's word.
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return fmt.Sprintf("action(%d)", uint8(a))
}

// The rules that can decide. The words are stored and append-only.
const (
	RuleSuccess        = "success"
	RuleSnooze         = "mark.snooze"
	RuleCancel         = "mark.cancel"
	RulePermanent      = "mark.permanent"
	RuleCancelAsked    = "stopped.cancel"
	RuleShutdown       = "stopped.shutdown"
	RuleExitCode       = "schedule.permanent_exit_codes"
	RuleHandOver       = "mark.hand_over"
	RuleSchedule       = "schedule"           // a retry is left
	RuleExhausted      = "schedule.exhausted" // max_retries is reached
	RuleEnded          = "schedule.ended"     // the list of waits has ended
	RuleNoRetry        = "policy.no_retry"    // retry: false is set
	RuleVerdict        = "policy.verdict"     // the verdict of the class is permanent
	RuleTotal          = "policy.max_total_retries"
	RuleCost           = "policy.max_cost"
	RuleHint           = "policy.hint_max"
	RuleDeadline       = "job.deadline"
	RuleCeilingReached = "ceiling.attempts"
	RuleTooOld         = "ceiling.age"
)

// The rules that find a class from the end of the run. The words are stored and
// append-only.
const (
	ClassByMark      = "mark.class"      // the handler named the class, and no matcher found one
	ClassByPanic     = "run.panic"       // Input.How is job.ByPanic
	ClassByTimeLimit = "stopped.timeout" // the time limit of the kind was reached
	ClassByPerson    = "stopped.cancel"  // a person cancelled the job
	ClassByHandler   = "mark.cancel"     // the handler cancelled the job
	ClassByNothing   = "unknown"         // neither a mark nor a matcher names a class
)

// Decision is what to do and how that was decided, as plain values. It is made without
// allocation on the common path. Append writes its stored form, which Record reads and
// renders as text.
type Decision struct {
	Action   Action
	Rule     string // the rule that decided
	Class    failure.Class
	Verdict  failure.Verdict
	Reason   job.Reason    // set when Action is Die
	N        int           // for Retry: number of the next retry, from 1, counted as Count says
	Of       int           // number of retries allowed
	Wait     time.Duration // for Retry, Snooze and Defer
	Queue    string        // for Retry: queue of the next attempt; "" keeps the queue
	Priority int           // for Retry: priority of the next attempt; 0 keeps it

	// Memo is the input of the next decision of this life.
	Memo Memo

	// By is how the class was found.
	By failure.Classification

	// Drawn is the wait that the back-off gave; Wait is longer when a hint is longer. U
	// is the random number, and Ceiling is the end of the interval that it was drawn
	// from.
	Drawn, Nominal, Ceiling time.Duration
	U                       float64
	RetriesFrom             Level
	BackoffFrom             Level
	Count                   Count
	curve                   *curve

	Hint     time.Duration // the longest wait that the other side asked for
	HintMode HintMode

	ClassFailures int           // failures of the class in this life, including this one
	Failures      int           // failures of all classes: the attempts of this life, including this one
	HandOvers     int           // hand-overs of this life, including this one
	HandOversMax  int           // the most hand-overs allowed
	TotalMax      int           // the most retries over all classes; 0 unless TotalBound
	TotalBound    bool          // whether TotalMax applies
	MaxAttempts   int           // the limit on attempts of one life
	Age, MaxAge   time.Duration // age of this life and its limit
	Deadline      time.Duration // time that was left until the deadline; 0 means no deadline
	Cost          int64         // cost of this life in millionths of a US dollar
	CostMax       int64         // the highest cost allowed; 0 unless CostBound
	CostBound     bool

	Policy, Hash string   // name and hash of the policy
	Rules        []string // names of the rules that match; must not be changed

	// Observed says that the policy only observes failures of this class: the baseline
	// decided, and Would is what the policy would have done.
	Observed bool
	Would    Would
}

// Would is what a policy in observe mode would have done.
type Would struct {
	Action   Action
	Rule     string
	Reason   job.Reason
	N, Of    int
	Wait     time.Duration
	Queue    string
	Priority int
}

func (d *Decision) end(a Action, rule string) { d.Action, d.Rule = a, rule }

func (d *Decision) die(rule string, reason job.Reason) {
	d.N, d.Wait, d.Reason = 0, 0, reason
	d.end(Die, rule)
}
