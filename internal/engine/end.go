package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/human"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// The causes with which the engine ends the context of a handler. context.Cause returns
// them, ErrTimeLimit with the limit in its text; so compare with errors.Is. For errors.Is, ErrTimeLimit is also
// context.DeadlineExceeded; ErrInterrupted and ErrCancelled are also context.Canceled.
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

// Is lets errors.Is match the error of package context that the cause stands for.
func (c *cause) Is(target error) bool { return target == c.is }

// Timeout reports whether the cause is a time limit, like the method of net.Error.
func (c *cause) Timeout() bool { return errors.Is(c.is, context.DeadlineExceeded) }

// limitReached is ErrTimeLimit for a run with this limit.
type limitReached time.Duration

func (l limitReached) Error() string {
	return ErrTimeLimit.Error() + " of " + human.Duration(time.Duration(l))
}

// Unwrap lets errors.Is match ErrTimeLimit and context.DeadlineExceeded.
func (limitReached) Unwrap() error { return ErrTimeLimit }

// Timeout reports that the cause is a time limit, like the method of net.Error.
func (limitReached) Timeout() bool { return true }

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

// The errors of runs that have failed although their handler has not returned an error. They have a class, because
// their words say nothing about the cause.
var (
	errNotCommitted = failure.WithClass(failure.UnknownError, errors.New("the job was completed in a transaction that did not commit"))
	errGoexit       = failure.WithClass(failure.UnknownError, errors.New("the handler called runtime.Goexit"))
)

// conclude makes the outcome of a run that has ended. If the store could not write the
// outcome, conclude replaces it with a failure that people can see.
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

// decide calls Config.Decide. If Config.Decide panics, the job still gets an outcome.
func (e *Engine) decide(t *Task, end *job.Ending) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the decision panicked: %v", p)
		}
	}()
	t.Outcome = e.cfg.Decide(t.Claim, end)
	return nil
}
