// Package decide makes the outcome of a run from the policy, the claim and how the run
// ended, with the complete record of a failure. It is pure, and the only place where a
// failure becomes an outcome: the engine and every other loop that runs jobs call it.
package decide

import (
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// Input is everything that an outcome depends on.
type Input struct {
	Policy    *policy.Policy
	Claim     *job.Claim
	Ending    *job.Ending
	Admission *policy.Admission // what the rules of Policy decided about the job; nil when no rule matches
	Settings  Settings
}

// Settings say which parts of a failure are stored.
type Settings struct {
	KeepRaw     bool // store messages, details, stderr and stacks unchanged, with the secrets in them
	HideEmails  bool // remove e-mail addresses like secrets
	Development bool // store the %+v form of an error as its stack
}

// Outcome returns the outcome of a run: complete, but not validated. It also does so
// together with an error, which says which setting of the job could not be read and was
// ignored.
func Outcome(in *Input) (job.Outcome, error) {
	claim, ending := in.Claim, in.Ending
	switch {
	case ending.How == "":
		return ending.Outcome(claim, job.Succeeded, job.Completed), nil
	case ending.Stopped == job.StopLeaseLost: // another run may have begun; the store refuses this outcome then
		return ending.Outcome(claim, job.Interrupted, job.Waiting), nil
	}
	r := recorder{id: claim.ID, policy: in.Policy, settings: &in.Settings}
	evidence := evidenceOf(ending)
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
		Admission: in.Admission,
	}
	if claim.Deadline != 0 {
		input.Deadline = leftUntil(claim.Deadline, claim.LifeAt.Add(age))
	}
	d := in.Policy.Decide(&input)
	o := outcomeOf(claim, ending, &d)
	if o.Cause == job.Failed || o.Cause == job.Deferred || d.Rule == policy.RuleCancel {
		o.Failure = r.failure(claim, ending, &evidence, &d)
	}
	return o, err
}

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

// waiting returns the outcome of a run that uses up no attempt.
func waiting(c *job.Claim, e *job.Ending, d *policy.Decision, cause job.Cause) job.Outcome {
	o := e.Outcome(c, cause, job.Waiting)
	o.Delay, o.Memo = d.Wait, d.Memo.Append(nil)
	return o
}

// Held returns the outcome of a run that the rules of a policy hold before it begins,
// and whether they hold it. The caller checks whether a person has released the job in
// an earlier life.
func Held(a *policy.Admission, c *job.Claim, holder string) (o job.Outcome, held bool) {
	if a == nil || a.Hold == nil {
		return o, false
	}
	message := fmt.Sprintf("held by rules %v of the policy before it ran: a person has to release or refuse it", a.Rules)
	return job.Hold(c, holder, message, a.Hold.Message), true
}

// evidenceOf returns what is known about the error of a run.
func evidenceOf(end *job.Ending) failure.Evidence {
	var e failure.Evidence
	if end.Evidence != nil {
		e = *end.Evidence
	} else {
		e = failure.Of(end.Err)
	}
	if e.Message == "" {
		e.Message = fmt.Sprintf("an error of type %T without a text", end.Err)
	}
	if e.Stderr == nil { // else the evidence has the output of the command that failed
		e.Stderr = end.Stderr
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

// leftUntil returns the time until a deadline. It never returns 0, because 0 means no
// deadline.
func leftUntil(deadline, now job.Micros) time.Duration {
	if left := deadline.Sub(now); left != 0 {
		return left
	}
	return -1
}

// draw returns the random number for the jitter of a failed run, in [0, 1). It depends
// on the run, so that a replay of the decision gets the same number, and on the
// creation time of the job, so that jobs of different stores do not wait for the same
// time.
func draw(claim *job.Claim) float64 {
	const golden = 0x9E3779B97F4A7C15 // the constant of SplitMix64: Steele, Lea, Flood, OOPSLA 2014
	z := uint64(claim.ID)*golden ^ uint64(claim.CreatedAt) + uint64(claim.Token)*golden
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	z ^= z >> 31
	return float64(z>>11) / (1 << 53)
}

// longForm returns the %+v form of an error, in which many error types show their
// stack. It returns "" when that form equals the error's text.
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

// validText returns the beginning of a text, at most that many bytes, as valid UTF-8.
func validText(s string, most int) string {
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}
