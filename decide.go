package redrive

import (
	"errors"
	"fmt"

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
	in := policy.Input{
		Evidence: evidenceOf(end),
		How:      policy.How(end.How),
		Stop:     stopOf(end.Stopped),
		Attempts: int(claim.Counters.Attempts),
		Age:      claim.ClaimedAt.Sub(claim.LifeAt) + end.Elapsed,
		Ceiling:  c.config.AttemptsMax,
		AgeMax:   c.config.AgeMax,
		Memo:     claim.Memo,
	}
	d := c.schedule(claim.Kind).Decide(&in)
	o := outcomeOf(&d)
	if o.Cause == job.Failed || d.Rule == policy.RuleCancel {
		o.Failure = failureOf(claim.Kind, &in.Evidence, &d)
		if c.config.Development && end.Stack == "" {
			o.Failure.Stack = longForm(end.Err)
		}
	}
	return o
}

// schedule returns the schedule of a kind; nil is the default one.
func (c *Client) schedule(kind string) *policy.Schedule {
	if h := c.handlers[kind]; h != nil && h.options.Retry != nil {
		return h.options.Retry
	}
	return c.config.Retry
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
		return job.Outcome{Cause: job.Failed, To: job.Retrying, Delay: d.Wait, Memo: d.Memo}
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
