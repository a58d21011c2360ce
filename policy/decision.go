package policy

import (
	"fmt"
	"time"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
)

// Action says what happens to the job after the end of a run.
type Action uint8

// The actions.
const (
	Complete Action = iota // the job has succeeded
	Retry                  // the job runs again after Wait; the run used up an attempt
	Die                    // the job has failed and is not retried; Reason says why
	Snooze                 // the job runs again after Wait, as the handler asked
	HandBack               // the job runs again at once, because the worker is shutting down
	Cancel                 // the job ends without success or failure
	Defer                  // the job runs again after Wait, because a call handed the job over to the queue, or because the worker could not start its program
)

var actionNames = [...]string{"complete", "retry", "dead", "snooze", "hand_back", "cancel", "defer"}

// String returns the word for the action.
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return fmt.Sprintf("action(%d)", uint8(a))
}

// The names of the rules of Decide. The words are stored, so existing words must not change.
const (
	RuleSuccess        = "success"
	RuleSnooze         = "mark.snooze"
	RuleCancel         = "mark.cancel"
	RulePermanent      = "mark.permanent"
	RuleCancelAsked    = "stopped.cancel"
	RuleShutdown       = "stopped.shutdown"
	RuleExitCode       = "schedule.permanent_exit_codes"
	RuleHandOver       = "mark.hand_over"
	RuleSchedule       = "schedule"           // the job has retries left, so it is retried
	RuleExhausted      = "schedule.exhausted" // the number of retries has reached the setting max_retries
	RuleEnded          = "schedule.ended"     // the list of waits has ended
	RuleNoRetry        = "policy.no_retry"    // the setting "retry: false" applies
	RuleVerdict        = "policy.verdict"     // the verdict of the class is permanent
	RuleTotal          = "policy.max_total_retries"
	RuleCost           = "policy.max_cost"
	RuleHint           = "policy.hint_max"
	RuleDeadline       = "job.deadline"
	RuleCeilingReached = "ceiling.attempts"
	RuleTooOld         = "ceiling.age"
	// RuleWorker defers a job whose program the worker could not start. It is the only rule
	// that Decide does not use: package decide applies it before the policy.
	RuleWorker = "worker"
)

// The rules that find a class from how the run ended. The words are stored, so existing
// words must not change.
const (
	ClassByMark      = "mark.class"      // the handler named the class, and no matcher found another class
	ClassByPanic     = "run.panic"       // the handler panicked
	ClassByTimeLimit = "stopped.timeout" // the time limit of the kind was reached
	ClassByPerson    = "stopped.cancel"  // a person cancelled the job
	ClassByHandler   = "mark.cancel"     // the handler cancelled the job
	ClassByNothing   = "unknown"         // neither a mark of the handler nor a matcher gives a class
)

// Decision says what happens to a job and how this was decided. It contains plain values,
// so that common decisions need no allocation. Append writes its stored form; Record reads
// the stored form and formats it as text.
type Decision struct {
	Action   Action
	Rule     string // the rule that has decided
	Class    failure.Class
	Verdict  failure.Verdict
	Reason   job.Reason    // the reason of death; set if Action is Die
	N        int           // for Retry: number of the next retry, starting at 1; the setting Count says what is counted
	Of       int           // number of retries that are allowed
	Wait     time.Duration // the wait before the next run, for Retry, Snooze and Defer
	Queue    string        // for Retry: queue of the next attempt; "" means that the queue does not change
	Priority int           // for Retry: priority of the next attempt; 0 means that the priority does not change

	// Memo is part of the input of the next decision in this life of the job.
	Memo Memo

	// By says how the class was found.
	By classify.Classification

	// Drawn is the wait that the back-off gave. Wait is longer if a hint is longer. U is
	// the random number that was used, and Ceiling is the longest wait that a random number
	// could have given.
	Drawn, Nominal, Ceiling time.Duration
	U                       float64
	RetriesFrom             Level
	BackoffFrom             Level
	Count                   Count
	curve                   *curve

	Hint     time.Duration // the longest of the waits that the other side asked for
	HintMode HintMode

	ClassFailures int           // number of failures of the class in this life, including this one
	Failures      int           // number of failures of all classes: the attempts of this life, including this one
	HandOvers     int           // number of hand-overs in this life, including this one
	HandOversMax  int           // largest number of hand-overs
	TotalMax      int           // largest number of retries over all classes; 0 unless TotalBound is true
	TotalBound    bool          // whether TotalMax applies
	MaxAttempts   int           // largest number of attempts in one life
	Age, MaxAge   time.Duration // age of this life, and the limit on the age
	Deadline      time.Duration // time until the deadline; 0 means no deadline
	Cost          int64         // cost of this life in millionths of a US dollar
	CostMax       int64         // largest cost; 0 unless CostBound is true
	CostBound     bool

	Policy, Hash string   // name and hash of the policy
	Rules        []string // names of the matching rules; must not be changed

	// Observed is true if the policy only observes failures of this class. Then the
	// baseline has decided, and Would contains what the policy would have done.
	Observed bool
	Would    Would
}

// Would contains what a policy in observe mode would have done.
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
