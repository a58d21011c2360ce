// Package decide computes the outcome of a run, and for a failed run the complete record of
// the failure, from the policy, the claim and the way in which the run ended. It does no
// I/O and reads no clock. It is the only place where a failure becomes an outcome: the
// engine and every other loop that runs jobs call it.
package decide

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// Input holds all values that an outcome depends on.
type Input struct {
	Policy *policy.Policy
	Claim  *job.Claim
	Ending *job.Ending
	// Admission is what the rules of Policy decided about the job. It is nil when no rule
	// matches.
	Admission *policy.Admission
	Settings  Settings
}

// Settings say which parts of a failure are stored.
type Settings struct {
	// If KeepRaw is true, messages, details, stderr and stacks are stored unchanged, including
	// secrets.
	KeepRaw       bool
	HidePaths     bool // whether the paths of files are removed, in the same way as secrets
	HideAddresses bool // whether IP addresses are removed
	HideEmails    bool // whether e-mail addresses are removed
	Development   bool // whether the %+v form of an error is stored as its stack
}

// Outcome returns the complete outcome of a run. It does not validate the outcome. The error
// says which setting of the job could not be read and was ignored. The outcome is complete even
// if there is an error.
func Outcome(in *Input) (job.Outcome, error) {
	claim, ending := in.Claim, in.Ending
	switch {
	case ending.How == "":
		o := ending.Outcome(claim, job.Succeeded, job.Completed)
		Succeed(claim, &o)
		return o, nil
	// Another run of the job may have begun. The store then refuses this outcome.
	case ending.Stopped == job.StopLeaseLost:
		return ending.Outcome(claim, job.Interrupted, job.Waiting), nil
	}
	r := recorder{keep: []string{claim.ID.String()}, policy: in.Policy, settings: &in.Settings}
	evidence := evidenceOf(ending)
	if ending.NotStarted && !evidence.Permanent && !evidence.Cancel && evidence.Snooze == 0 {
		return r.notStarted(claim, ending, &evidence), nil
	}
	evidence.Code = cmp.Or(evidence.Code, in.Policy.Code(&policy.CodeInput{
		Kind: claim.Kind, Evidence: &evidence, How: ending.How, Stop: stopOf(ending.Stopped), Payload: claim.Payload,
	}))
	class := r.classify(&evidence, claim.Kind)
	own, err := policy.ParseOverride(claim.Override)
	if err != nil {
		err = fmt.Errorf("the settings of the job are ignored: %w", err)
	}
	age := claim.ClaimedAt.Sub(claim.LifeAt) + ending.Elapsed
	input := policy.Input{
		Kind:      claim.Kind,
		Evidence:  &evidence,
		Class:     class,
		How:       ending.How,
		Stop:      stopOf(ending.Stopped),
		Attempts:  int(claim.Counters.Attempts),
		Age:       age,
		Now:       claim.LifeAt.Time().Add(age),
		Memo:      policy.ParseMemo(claim.Memo),
		U:         draw(claim),
		Cost:      ending.Cost,
		Job:       own,
		Message:   own.Message(),
		Admission: in.Admission,
	}
	if claim.Deadline != 0 {
		input.Deadline = leftUntil(claim.Deadline, claim.LifeAt.Add(age))
	}
	d := in.Policy.Decide(&input)
	o := withCost(claim, ending, &d)
	if o.Cause == job.Failed || o.Cause == job.Succeeded {
		o.Retried = input.Memo.Retried()
	}
	if o.Cause == job.Failed || o.Cause == job.Deferred || d.Rule == policy.RuleCancel {
		o.Failure = r.failure(claim, ending, &evidence, &d)
	}
	if o.To == job.Dead {
		o.Notified = in.Policy.Info(d.Class).Notified
	}
	return o, err
}

// Succeed adds to the outcome of a run that succeeded what the memo of its job says: the classes of
// the failures after which the job was retried in its life, and the cost of earlier runs that no
// outcome has stored.
func Succeed(c *job.Claim, o *job.Outcome) {
	if len(c.Memo) == 0 {
		return
	}
	memo := policy.ParseMemo(c.Memo)
	o.Cost = addCost(o.Cost, memo.Unstored)
	if c.Counters.Attempts > 0 {
		o.Retried = memo.Retried()
	}
}

// withCost returns the outcome of a decision. Snoozes and hand-backs store no cost, so their memo keeps it
// for the next outcome.
func withCost(c *job.Claim, e *job.Ending, d *policy.Decision) job.Outcome {
	cost := addCost(e.Cost, d.Memo.Unstored)
	d.Memo.Unstored = 0
	if d.Action == policy.Snooze || d.Action == policy.HandBack {
		d.Memo.Unstored = cost
	}
	o := outcomeOf(c, e, d)
	o.Cost = cost
	return o
}

func addCost(a, b int64) int64 { return min(a+min(b, job.CostMax), job.CostMax) }

func outcomeOf(c *job.Claim, e *job.Ending, d *policy.Decision) job.Outcome {
	switch d.Action {
	case policy.Complete:
		return e.Outcome(c, job.Succeeded, job.Completed)
	case policy.Retry:
		o := e.Outcome(c, job.Failed, job.Retrying)
		o.Delay, o.Memo, o.Queue, o.Priority = d.Wait, d.Memo.Append(nil), d.Queue, int8(d.Priority)
		return o
	case policy.Snooze:
		return waiting(c, e, d, job.Snoozed)
	case policy.Defer:
		return waiting(c, e, d, job.Deferred)
	case policy.HandBack:
		return waiting(c, e, d, job.Interrupted)
	case policy.Cancel:
		return e.Outcome(c, job.Cancel, job.Cancelled)
	case policy.Die:
		o := e.Outcome(c, job.Failed, job.Dead)
		o.Reason = d.Reason
		return o
	}
	panic(fmt.Sprintf("decide: action %d has no outcome", d.Action))
}

// waiting returns the outcome of a run that used up no attempt.
func waiting(c *job.Claim, e *job.Ending, d *policy.Decision, cause job.Cause) job.Outcome {
	o := e.Outcome(c, cause, job.Waiting)
	o.Delay, o.Memo = d.Wait, d.Memo.Append(nil)
	return o
}

// After a worker could not start the program of a job, the job waits. The first wait is 0, so
// that another worker takes the job at once. Each further wait is twice as long, up to
// notStartedMax.
const (
	notStartedMin = 100 * time.Millisecond
	notStartedMax = 30 * time.Second
)

// notStarted returns the outcome of a run whose program the worker could not start.
func (r *recorder) notStarted(c *job.Claim, e *job.Ending, evidence *failure.Evidence) job.Outcome {
	d := policy.Decision{
		Action: policy.Defer, Rule: policy.RuleWorker, Class: job.ClassWorker, Verdict: failure.VerdictUnknown,
		By: classify.Classification{Class: job.ClassWorker, Rule: policy.RuleWorker, Code: evidence.Code},
	}
	if n := c.Counters.Deferrals; n > 0 {
		d.Wait = min(notStartedMin<<min(n-1, 16), notStartedMax)
	}
	o := e.Outcome(c, job.Deferred, job.Waiting)
	o.Delay = d.Wait
	o.Failure = r.failure(c, e, evidence, &d)
	return o
}

// Held returns the outcome of a run that a rule of the policy holds before the run begins. The
// second result is false if no rule holds the run. The caller checks whether a person has
// already released the job in an earlier life.
func Held(a *policy.Admission, c *job.Claim, holder string) (o job.Outcome, held bool) {
	if a == nil || a.Hold == nil {
		return o, false
	}
	message := fmt.Sprintf("held by rules %v of the policy before it ran: %s has to release or refuse it", a.Rules, cmp.Or(a.Hold.Notify, "a person"))
	return job.Hold(c, holder, message, a.Hold.Message, a.Hold.Notify), true
}

// evidenceOf returns the evidence about the error of a run.
func evidenceOf(end *job.Ending) failure.Evidence {
	var e failure.Evidence
	if end.Evidence != nil {
		e = *end.Evidence
	} else {
		e = failure.Of(end.Err)
	}
	// If the evidence already contains a stderr, it is the stderr of the command that failed.
	// So it stays.
	if e.Stderr == nil {
		e.Stderr = failure.Output(end.Stderr)
	}
	return e
}

func stopOf(s job.Stop) policy.Stop {
	switch s {
	case job.StopTimeLimit:
		return policy.TimeLimit
	case job.StopShutdown:
		return policy.Shutdown
	case job.StopCancel:
		return policy.CancelAsked
	case job.StopNone, job.StopLeaseLost:
	}
	return policy.NotStopped
}

// leftUntil returns the time that is left until a deadline. It never returns 0, because 0
// means that there is no deadline.
func leftUntil(deadline, now job.Micros) time.Duration {
	if left := deadline.Sub(now); left != 0 {
		return left
	}
	return -1
}

// draw returns a number in [0, 1) for the jitter of a failed run. The number depends on the
// run, so that a replay of the decision uses the same number. It also depends on the creation
// time of the job, so that jobs with equal ids in different stores get different waits.
func draw(claim *job.Claim) float64 {
	const golden = 0x9E3779B97F4A7C15 // the constant of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)
	z := uint64(claim.ID)*golden ^ uint64(claim.CreatedAt) + uint64(claim.Token)*golden
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	z ^= z >> 31
	return float64(z>>11) / (1 << 53)
}

// longForm returns the %+v form of an error, which shows the stack for many types of errors. It
// returns "" if this form equals the text of the error.
func longForm(err error) string {
	if err == nil {
		return ""
	}
	long := fmt.Sprintf("%+v", err)
	if long == fmt.Sprintf("%v", err) {
		return ""
	}
	return long
}

// validText returns at most the given number of bytes of a text, as valid UTF-8.
func validText(s string, most int) string {
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}
