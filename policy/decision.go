package policy

import (
	"fmt"
	"time"

	"github.com/redrive/redrive/failure"
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
)

var actionNames = [...]string{"complete", "retry", "dead", "snooze", "hand_back", "cancel"}

// String returns the action's word.
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return fmt.Sprintf("action(%d)", uint8(a))
}

// Verdict is what the evidence says.
type Verdict = failure.Verdict

// The verdicts.
const (
	Retriable      = failure.VerdictRetry
	Throttled      = failure.VerdictThrottle
	Quota          = failure.VerdictQuota
	DependencyDown = failure.VerdictDependencyDown
	Permanent      = failure.VerdictPermanent
	Cancelled      = failure.VerdictCancelled
	Crashed        = failure.VerdictCrash
	Unknown        = failure.VerdictUnknown
)

// The rules that can have the last word. The words are stored and append-only.
const (
	RuleSuccess        = "success"
	RuleSnooze         = "mark.snooze"
	RuleCancel         = "mark.cancel"
	RulePermanent      = "mark.permanent"
	RuleCancelAsked    = "stopped.cancel"
	RuleShutdown       = "stopped.shutdown"
	RuleExitCode       = "schedule.permanent_exit_codes"
	RuleSchedule       = "schedule"
	RuleExhausted      = "schedule.exhausted"
	RuleCeilingReached = "ceiling.attempts"
	RuleTooOld         = "ceiling.age"
)

// The reasons for which a job dies here. The words are those of dead letters.
const (
	ReasonPermanent = "non_retriable_error"
	ReasonExhausted = "max_retries_exceeded"
)

// Decision is what to do and what led to it, as plain values: it is made
// without allocation on the common path, and Explain renders it when asked.
type Decision struct {
	Action  Action
	Rule    string // which had the last word
	Class   failure.Class
	Verdict Verdict
	Reason  string        // of Die
	N       int           // of Retry: the number of the coming retry, from 1
	Of      int           // how many retries the schedule has
	Wait    time.Duration // of Retry and Snooze
	Hint    time.Duration // the shortest wait that the other side asked for
	Memo    []byte        // what the next decision needs; nil keeps the present one
}
