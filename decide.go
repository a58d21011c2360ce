package redrive

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
)

// decide turns the end of a run into its outcome: evidence from the error, a
// class and a decision from the evidence, and the record of all. The engine adds
// the facts of the run.
func (c *Client) decide(claim *job.Claim, end *engine.End) job.Outcome {
	if end.How == "" {
		return job.Outcome{Cause: job.Succeeded, To: job.Completed}
	}
	if o, held := c.holding(claim, end); held {
		return o
	}
	p := c.Policy()
	e := evidenceOf(end)
	class := c.classify(p, &e, claim)
	own, err := policy.ParseOverride(claim.Policy)
	if err != nil { // what the job says cannot be read: the policy decides alone
		c.config.Logger.Warn("the job's own settings are not heeded", "job", claim.ID.String(), "error", err)
	}
	age := claim.ClaimedAt.Sub(claim.LifeAt) + end.Elapsed
	in := policy.Input{
		Kind:      claim.Kind,
		Evidence:  &e,
		Class:     class,
		How:       policy.How(end.How),
		Stop:      stopOf(end.Stopped),
		Attempts:  int(claim.Counters.Attempts),
		Age:       age,
		Now:       claim.LifeAt.Time().Add(age),
		Memo:      policy.ParseMemo(claim.Memo),
		U:         draw(claim),
		Cost:      end.Cost,
		Job:       own,
		Admission: c.admit(p, claim),
	}
	if claim.Deadline != 0 {
		in.Deadline = leftUntil(claim.Deadline, claim.LifeAt.Add(age))
	}
	d := p.Decide(&in)
	o := outcomeOf(&d)
	if o.Cause == job.Failed || o.Cause == job.Deferred || d.Rule == policy.RuleCancel {
		o.Failure = c.failureOf(claim, end, &e, &d)
		o.Failure.UserMessage = userMessage(p, &d)
	}
	return o
}

// classify returns the class of a failure. What the handler made up, by a mark or a
// matcher, is bounded and loses its secrets before anything is decided by it: it gets
// into the record, the fingerprint and the memo.
func (c *Client) classify(p *policy.Policy, e *failure.Evidence, claim *job.Claim) policy.Classification {
	e.Class = c.storable(p, e.Class, claim.ID)
	found := p.Classify(e, claim.Kind)
	found.Class = c.storable(p, found.Class, claim.ID)
	for i := range found.Beat {
		found.Beat[i].Class = c.storable(p, found.Beat[i].Class, claim.ID)
	}
	return found
}

// storable returns a class as it may be stored. One that the policy knows stays as
// it is, whatever it looks like.
func (c *Client) storable(p *policy.Policy, class failure.Class, id JobID) failure.Class {
	if class == "" || p.Knows(class) {
		return class
	}
	var clean string
	if c.config.KeepRaw {
		clean = strings.ToValidUTF8(string(class[:min(len(class), job.TextMax)]), "")
	} else {
		clean = failure.Sanitize(string(class), &failure.SanitizeOptions{
			Emails: c.config.HideEmails, Keep: []string{id.String()}, Max: job.TextMax,
		})
	}
	return failure.Class(clean)
}

// leftUntil returns how long a deadline is off; it is not 0, which is none.
func leftUntil(deadline, now job.Micros) time.Duration {
	if left := deadline.Sub(now); left != 0 {
		return left
	}
	return -1
}

// draw returns the jitter's draw from [0, 1) for the failure of a run. It is made
// of the run, so that a replay of the decision draws the same, and of the time at
// which the job was created, so that jobs of different stores do not wait alike.
func draw(claim *job.Claim) float64 {
	const golden = 0x9E3779B97F4A7C15 // of SplitMix64: Steele, Lea, Flood, OOPSLA 2014
	z := uint64(claim.ID)*golden ^ uint64(claim.CreatedAt) + uint64(claim.Token)*golden
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	z ^= z >> 31
	return float64(z>>11) / (1 << 53)
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
		return job.Outcome{Cause: job.Failed, To: job.Retrying, Delay: d.Wait, Memo: d.Memo.Append(nil),
			Queue: d.Queue, Priority: int8(d.Priority)}
	case policy.Snooze:
		return job.Outcome{Cause: job.Snoozed, To: job.Waiting, Delay: d.Wait, Memo: d.Memo.Append(nil)}
	case policy.Defer:
		return job.Outcome{Cause: job.Deferred, To: job.Waiting, Delay: d.Wait, Memo: d.Memo.Append(nil)}
	case policy.HandBack:
		return job.Outcome{Cause: job.Interrupted, To: job.Waiting, Memo: d.Memo.Append(nil)}
	case policy.Cancel:
		return job.Outcome{Cause: job.Cancel, To: job.Cancelled}
	case policy.Die:
		return job.Outcome{Cause: job.Failed, To: job.Dead, Reason: job.Reason(d.Reason)}
	}
	panic(fmt.Sprintf("redrive: decision %d has no outcome", d.Action))
}

// failureOf is the record of a run that failed. What a secret, a path or an address
// looks like does not get further than here, unless Config.KeepRaw says so.
func (c *Client) failureOf(claim *job.Claim, end *engine.End, e *failure.Evidence, d *policy.Decision) *job.Failure {
	stack := end.Stack
	if stack == "" && c.config.Development {
		stack = longForm(end.Err)
		if c.config.KeepRaw {
			stack = strings.ToValidUTF8(stack[:min(len(stack), job.EvidenceMax)], "")
		}
	}
	f := &job.Failure{
		Class:      string(d.Class),
		Code:       d.By.Code,
		Permanent:  !d.Verdict.Retriable(),
		Message:    e.Message,
		HTTPStatus: e.HTTPStatus,
		Exit:       e.Exit,
		Signal:     e.Signal,
		Details:    e.Details,
		Stderr:     e.Stderr,
		Stack:      stack,
	}
	if !c.config.KeepRaw {
		c.sanitize(claim.ID, f, d)
	}
	f.Fingerprint = failure.Fingerprint(claim.Kind, d.Class, f.Code, f.Message).Key
	f.Decision = d.Record()
	return f
}

// sanitize takes out of a record, and of what the decision quotes, what nobody is
// to see.
func (c *Client) sanitize(id JobID, f *job.Failure, d *policy.Decision) {
	o := failure.SanitizeOptions{Emails: c.config.HideEmails, Keep: []string{id.String()}, Max: job.MessageMax}
	raw := f.Message
	f.Message = failure.Sanitize(raw, &o)
	f.Code = failure.Sanitize(f.Code, &o)
	d.By.Code = f.Code
	d.By.Saw = quote(d.By.Saw, raw, f.Message, &o)
	for i := range d.By.Beat {
		d.By.Beat[i].Saw = quote(d.By.Beat[i].Saw, raw, f.Message, &o)
	}
	o.Max = job.EvidenceMax
	if len(f.Details) > 0 {
		f.Details = failure.SanitizeJSON(f.Details, &o)
	}
	if len(f.Stderr) > 0 {
		f.Stderr = failure.SanitizeStderr(f.Stderr, &o)
	}
	if f.Stack != "" {
		o.Paths = true
		f.Stack = failure.Sanitize(f.Stack, &o)
	}
}

// quote returns what a rule saw, as far as it may be stored. A part of a text does
// not show that it is a secret when the name in front of it is cut off, so a part
// of the message must be one of the sanitised message, too.
func quote(saw, raw, clean string, o *failure.SanitizeOptions) string {
	if raw != clean && strings.Contains(raw, saw) && !strings.Contains(clean, saw) {
		return ""
	}
	return failure.Sanitize(saw, o)
}

// userMessage is what the user of the job is told.
func userMessage(p *policy.Policy, d *policy.Decision) string {
	info := p.Info(d.Class)
	if d.Action == policy.Retry || d.Action == policy.Defer {
		return info.Retrying
	}
	return info.Dead
}

// longForm returns what an error prints with %+v, which is where errors that
// have a stack show it; "" when that is no more than its text.
func longForm(err error) string {
	long := fmt.Sprintf("%+v", err)
	if long == fmt.Sprintf("%v", err) {
		return ""
	}
	return long
}
