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
	Retry                  // run again after Wait; the run burned an attempt
	Die                    // failed for good, for Reason
	Snooze                 // run again after Wait; the handler asked for it
	HandBack               // run again at once; the worker stopped
	Cancel                 // neither done nor failed, and over
	Defer                  // run again after Wait; a call handed the job over
)

var actionNames = [...]string{"complete", "retry", "dead", "snooze", "hand_back", "cancel", "defer"}

// String returns the action's word.
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return fmt.Sprintf("action(%d)", uint8(a))
}

// The rules that can have the last word. The words are stored and append-only.
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
	RuleExhausted      = "schedule.exhausted" // max_retries
	RuleEnded          = "schedule.ended"     // the list of waits is at its end
	RuleNoRetry        = "policy.no_retry"    // retry: false
	RuleVerdict        = "policy.verdict"     // of the class
	RuleTotal          = "policy.max_total_retries"
	RuleCost           = "policy.max_cost"
	RuleHint           = "policy.hint_max"
	RuleDeadline       = "job.deadline"
	RuleCeilingReached = "ceiling.attempts"
	RuleTooOld         = "ceiling.age"
)

// The rules of a classification that the end of the run decides by itself. The
// words are stored and append-only.
const (
	ClassByMark      = "mark.class"      // the handler named the class, and no matcher found one
	ClassByPanic     = "run.panic"       // Input.How is job.ByPanic
	ClassByTimeLimit = "stopped.timeout" // the time limit of the kind
	ClassByPerson    = "stopped.cancel"  // a person cancelled the job
	ClassByHandler   = "mark.cancel"     // the handler cancelled it
	ClassByNothing   = "unknown"         // neither a mark nor a matcher names a class
)

// Decision is what to do and what led to it, as plain values: it is made without
// allocation on the common path. Append writes it as it is stored; Record reads
// that and renders it in words.
type Decision struct {
	Action   Action
	Rule     string // which had the last word
	Class    failure.Class
	Verdict  failure.Verdict
	Reason   job.Reason    // of Die
	N        int           // of Retry: the number of the coming retry, from 1, as Count counts
	Of       int           // how many retries there are
	Wait     time.Duration // of Retry, Snooze and Defer
	Queue    string        // of Retry: the next attempt runs there; "" keeps
	Priority int           // likewise; 0 keeps

	// Memo is what the next decision of this life needs.
	Memo Memo

	// By is how the class was found.
	By failure.Classification

	// Drawn is what the back-off gave; Wait is longer when a hint is. The draw was
	// U, of an interval that ends at Ceiling.
	Drawn, Nominal, Ceiling time.Duration
	U                       float64
	RetriesFrom             Level
	BackoffFrom             Level
	Count                   Count
	curve                   *curve

	Hint     time.Duration // the shortest wait that the other side asked for
	HintMode HintMode

	ClassFailures int           // of the class in this life, this one included
	Failures      int           // of all classes: the attempts of this life, this one included
	HandOvers     int           // of this life, one of Defer included
	HandOversMax  int           // how many there may be
	TotalMax      int           // retries over all classes; 0 with no TotalBound
	TotalBound    bool          // there is such a bound
	MaxAttempts   int           // ceiling
	Age, MaxAge   time.Duration // of this life; ceiling
	Deadline      time.Duration // what the job had left; 0 is none
	Cost          int64         // of this life, in millionths of a US dollar
	CostMax       int64         // 0 with no CostBound
	CostBound     bool

	Policy, Hash string   // what decided
	Rules        []string // that match the job's attributes; must not be changed

	// Observed says that the policy only observes failures of this class: what
	// acts is its baseline, and Would is what the policy would have done.
	Observed bool
	Would    Would
}

// Would is what a policy that only observes would have done.
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
