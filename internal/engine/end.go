package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The causes with which the engine ends a handler's context, as context.Cause
// returns them. ErrTimeLimit is a context.DeadlineExceeded to errors.Is, the
// other two of the engine's own are a context.Canceled.
var (
	ErrTimeLimit   error = &cause{"the run has reached its time limit", context.DeadlineExceeded}
	ErrInterrupted error = &cause{"the worker is stopping", context.Canceled}
	ErrCancelled   error = &cause{"the job was cancelled", context.Canceled}
	ErrLeaseLost         = store.ErrLeaseLost
)

type cause struct {
	text string
	is   error
}

func (c *cause) Error() string { return c.text }

// Is lets errors.Is find the error of package context that the cause stands for.
func (c *cause) Is(target error) bool { return target == c.is }

// Timeout reports whether the cause is a time limit, as net.Error has it.
func (c *cause) Timeout() bool { return errors.Is(c.is, context.DeadlineExceeded) }

// What a handler's end is turned into when it gave no error of its own.
var (
	errNotCommitted = errors.New("the job was completed in a transaction that did not commit")
	errGoexit       = errors.New("the handler called runtime.Goexit")
)

// ClassInternal and CodeInvalid mark the failure that takes the place of an
// outcome that could not be written.
const (
	ClassInternal = "Internal"
	CodeInvalid   = "engine.invalid_outcome"
)

// End is how a run ended: the evidence for the decision.
type End struct {
	Err     error   // what the handler returned; nil is success
	How     job.How // how it failed; "" on success
	Panic   any     // the value of a panic
	Stack   string  // of a panic; at most job.EvidenceMax bytes
	Elapsed time.Duration
	// Stopped is why the context ended before the handler returned:
	// ErrTimeLimit, ErrInterrupted, ErrCancelled, ErrLeaseLost (then the handler
	// has succeeded all the same) or nil.
	Stopped    error
	Result     []byte
	Cost       int64 // millionths of a US dollar
	Sends      int32 // of the run's calls
	Stderr     []byte
	Progressed bool
}

// conclude makes the outcome of a run that has ended. A run whose lease counts as
// lost is not decided on: its success is offered to the store, which knows
// whether another run has begun; anything else hands the job back.
func (e *Engine) conclude(t *Task, end *End) {
	t.Elapsed = end.Elapsed
	if end.Err != nil && errors.Is(end.Stopped, ErrLeaseLost) {
		t.Outcome = job.Outcome{Cause: job.Interrupted, To: job.Waiting}
		e.complete(t, end)
		return
	}
	err := e.decide(t, end)
	if err == nil {
		e.complete(t, end)
		err = t.Outcome.Validate()
	}
	if err != nil {
		e.logInvalid(t, err)
		t.Outcome = invalidOutcome(t.Claim, err)
		e.complete(t, end)
	}
}

// decide calls Decide, of which a panic must not take the job with it.
func (e *Engine) decide(t *Task, end *End) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the decision panicked: %v", p)
		}
	}()
	t.Outcome = e.cfg.Decide(t.Claim, end)
	return nil
}

// complete fills in what follows from the run and needs no decision.
func (e *Engine) complete(t *Task, end *End) {
	o, c := &t.Outcome, t.Claim
	o.ID, o.Token = c.ID, c.Token
	o.Cost, o.Sends, o.Progressed = end.Cost, end.Sends, end.Progressed
	if o.To == job.Completed {
		o.Result = end.Result
	}
	f := o.Failure
	if f == nil {
		return
	}
	f.Job, f.Token, f.Life, f.Attempt = c.ID, c.Token, c.Life, c.Attempt()
	f.StartedAt = c.ClaimedAt.Add(t.waited)
	f.Holder, f.Correlation, f.Cost, f.Sends = e.cfg.Holder, c.Correlation, end.Cost, end.Sends
	if f.How == "" {
		f.How = end.How
	}
	if f.Stderr == nil {
		f.Stderr = end.Stderr
	}
	if f.Stack == "" {
		f.Stack = end.Stack
	}
}

// invalidOutcome is what becomes of a run whose outcome cannot be written: a
// failure for good, which people can see and retry.
func invalidOutcome(c *job.Claim, reason error) job.Outcome {
	const messageMax = 1 << 10
	message := "the outcome of the run could not be written: " + reason.Error()
	return job.Outcome{
		ID: c.ID, Token: c.Token, Cause: job.Failed, To: job.Dead, Reason: job.NonRetriable,
		Progressed: true,
		Failure: &job.Failure{
			Job: c.ID, Token: c.Token, Life: c.Life, Attempt: c.Attempt(), StartedAt: c.ClaimedAt,
			How: job.ByError, Class: ClassInternal, Code: CodeInvalid, Permanent: true,
			Message:     strings.ToValidUTF8(message[:min(len(message), messageMax)], ""),
			Correlation: c.Correlation, Fingerprint: job.Fingerprint(c.Kind, ClassInternal, CodeInvalid),
		},
	}
}
