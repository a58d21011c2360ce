package redrive

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// decide turns the end of a run into its outcome: evidence from the error, a
// decision from the evidence, and the record of both. The engine adds the facts
// of the run.
func (c *Client) decide(claim *job.Claim, end *engine.End) job.Outcome {
	if end.How == "" {
		return job.Outcome{Cause: job.Succeeded, To: job.Completed}
	}
	e := evidenceOf(end)
	in := policy.Input{
		Kind:     claim.Kind,
		Evidence: &e,
		How:      policy.How(end.How),
		Stop:     stopOf(end.Stopped),
		Attempts: int(claim.Counters.Attempts),
		Age:      claim.ClaimedAt.Sub(claim.LifeAt) + end.Elapsed,
		Memo:     policy.ParseMemo(claim.Memo),
	}
	d := c.policy.Decide(&in)
	o := outcomeOf(&d)
	if o.Cause == job.Failed || d.Rule == policy.RuleCancel {
		o.Failure = failureOf(claim.Kind, &e, &d)
		if c.config.Development && end.Stack == "" {
			o.Failure.Stack = longForm(end.Err)
		}
	}
	return o
}

// compilePolicy makes the policy that the client decides by: the built-in one,
// under the schedules of the configuration.
func (c *Client) compilePolicy() (*policy.Policy, error) {
	limits := policy.Limits{MaxAttempts: c.config.AttemptsMax, MaxAge: cmp.Or(c.config.AgeMax, policy.AgeDefault)}
	limits.MaxWait = min(limits.MaxAge, backoff.Max)
	p, problems := policy.New(policy.Spec{Name: "default", Limits: limits})
	if len(problems) > 0 {
		return nil, fmt.Errorf("policy: %s", problems[0])
	}
	general := c.config.Retry
	if general == nil {
		general = &policy.Schedule{}
	}
	p, err := p.WithSchedule("", general)
	for _, kind := range slices.Sorted(maps.Keys(c.handlers)) {
		if err == nil {
			p, err = p.WithSchedule(kind, c.handlers[kind].options.Retry)
		}
	}
	return p, err
}

func evidenceOf(end *engine.End) failure.Evidence {
	e := failure.Of(end.Err)
	if e.Message == "" {
		e.Message = fmt.Sprintf("an error of type %T without a text", end.Err)
	}
	if e.Stderr == nil { // else the error tells of the one command that failed
		e.Stderr = end.Stderr
	}
	return e
}

func stopOf(cause error) policy.Stop {
	switch {
	case errors.Is(cause, engine.ErrTimeLimit):
		return policy.TimeLimit
	case errors.Is(cause, engine.ErrInterrupted):
		return policy.Shutdown
	case errors.Is(cause, engine.ErrCancelled):
		return policy.CancelAsked
	}
	return policy.NotStopped
}

func outcomeOf(d *policy.Decision) job.Outcome {
	switch d.Action {
	case policy.Complete:
		return job.Outcome{Cause: job.Succeeded, To: job.Completed}
	case policy.Retry:
		return job.Outcome{Cause: job.Failed, To: job.Retrying, Delay: d.Wait, Memo: d.Memo.Append(nil)}
	case policy.Snooze:
		return job.Outcome{Cause: job.Snoozed, To: job.Waiting, Delay: d.Wait}
	case policy.HandBack:
		return job.Outcome{Cause: job.Interrupted, To: job.Waiting}
	case policy.Cancel:
		return job.Outcome{Cause: job.Cancel, To: job.Cancelled}
	case policy.Die:
		return job.Outcome{Cause: job.Failed, To: job.Dead, Reason: job.Reason(d.Reason)}
	}
	panic(fmt.Sprintf("redrive: decision %d has no outcome", d.Action))
}

// failureOf is the record of a run that failed.
func failureOf(kind string, e *failure.Evidence, d *policy.Decision) *job.Failure {
	return &job.Failure{
		Class:       string(d.Class),
		Code:        e.Code,
		Permanent:   d.Verdict == policy.Permanent,
		Message:     e.Message,
		HTTPStatus:  e.HTTPStatus,
		Exit:        e.Exit,
		Signal:      e.Signal,
		Fingerprint: job.Fingerprint(kind, string(d.Class), e.Code),
		Details:     e.Details,
		Stderr:      e.Stderr,
		Decision:    d.Record(),
	}
}

// longForm returns what an error prints with %+v, which is where errors that
// have a stack show it; "" when that is no more than its text.
func longForm(err error) string {
	long := fmt.Sprintf("%+v", err)
	if long == fmt.Sprintf("%v", err) {
		return ""
	}
	return long[:min(len(long), job.EvidenceMax)]
}
