package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// These are the causes with which the engine ends the context of a handler. context.Cause
// returns them. errors.Is treats ErrTimeLimit as context.DeadlineExceeded, and
// ErrInterrupted and ErrCancelled as context.Canceled.
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

// Is makes errors.Is find the error of package context that corresponds to the cause.
func (c *cause) Is(target error) bool { return target == c.is }

// Timeout reports whether the cause is a time limit. It has the same meaning as in
// net.Error.
func (c *cause) Timeout() bool { return errors.Is(c.is, context.DeadlineExceeded) }

// stopOf returns why the context of a run has ended.
func stopOf(cause error) job.Stop {
	switch {
	case cause == nil:
	case errors.Is(cause, ErrTimeLimit):
		return job.StopTimeLimit
	case errors.Is(cause, ErrInterrupted):
		return job.StopShutdown
	case errors.Is(cause, ErrCancelled):
		return job.StopCancel
	case errors.Is(cause, ErrLeaseLost):
		return job.StopLeaseLost
	}
	return job.StopNone
}

// These are the errors of runs whose handler returned no error but did not succeed.
var (
	errNotCommitted = errors.New("the job was completed in a transaction that did not commit")
	errGoexit       = errors.New("the handler called runtime.Goexit")
)

// conclude makes the outcome of a run that has ended. An invalid outcome is replaced by a
// failure, so that people see the problem.
func (e *Engine) conclude(t *Task, end *job.Ending) {
	t.Elapsed = end.Elapsed
	err := e.decide(t, end)
	if err == nil {
		err = t.Outcome.Validate()
	}
	if err != nil {
		e.logInvalid(t, err)
		t.Outcome = job.Unwritable(t.Claim, end, err)
	}
}

// decide calls Config.Decide. It recovers a panic of that function, so that the job still
// gets an outcome.
func (e *Engine) decide(t *Task, end *job.Ending) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the decision panicked: %v", p)
		}
	}()
	t.Outcome = e.cfg.Decide(t.Claim, end)
	return nil
}
