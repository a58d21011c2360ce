package redrive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/policy"
)

// HandlerFunc runs a job: the handler of its kind, with or without middleware around
// it. What it returns decides what follows, see Handle.
type HandlerFunc func(ctx context.Context, run *Info) error

// Middleware wraps the handlers of jobs, as those of net/http do: it returns a function
// that does something before and after it calls next.
//
//	func Tenant(next redrive.HandlerFunc) redrive.HandlerFunc {
//		return func(ctx context.Context, run *redrive.Info) error {
//			return next(withTenant(ctx, run.Owner), run)
//		}
//	}
//
// Config.Middleware is for all kinds, HandlerOptions.Middleware for one, inside the
// former. Middleware is composed once, when Run begins, and sees every run of a
// handler: after the rules of the policy have admitted it and before the payload is
// decoded. It must hand on the *Info that it was given; the context may be another one.
//
// It is part of the run. Its panic is a panic of the run, and the time limit and the
// grace time hold for it. The error that it returns is that of the run; an error of the
// handler that it does not return has not happened. It has to call next exactly once,
// before it returns. A run whose middleware returns nil without having called it, or
// while the handler still runs, or that calls it twice, fails with the code
// CodeBadMiddleware. ErrSkipHandler completes a job without its handler.
type Middleware func(next HandlerFunc) HandlerFunc

// CodeBadMiddleware is the code of the failure of a run whose middleware did not call
// the next handler exactly once.
const CodeBadMiddleware = "bad_middleware"

// ErrSkipHandler completes a job without its handler. A middleware that has not called
// the next handler returns it, wrapped or not. After the handler was called it is an
// error like any other.
var ErrSkipHandler = errors.New("redrive: the job is completed without its handler")

// validMiddleware returns an error that names a middleware that is nil.
func validMiddleware(name string, all []Middleware) error {
	if i := slices.IndexFunc(all, func(m Middleware) bool { return m == nil }); i >= 0 {
		return fmt.Errorf("%s[%d] is nil", name, i)
	}
	return nil
}

// The stages of a run with respect to its handler.
const (
	handlerNotCalled int32 = iota // the handler was not called
	handlerCalled
	handlerEnded
	runEnded
)

// wrappedRun is a run whose handler is wrapped in middleware. Runs without middleware
// share Client.unwrapped, which has only the client.
type wrappedRun struct {
	client *Client
	info   *Info
	job    any // the *Job that contains info
	stage  atomic.Int32
	again  atomic.Bool // the handler was called more than once
	err    error       // the handler's error; written before handlerEnded
}

// wrapped returns the handler of a kind, wrapped in its middleware.
func (c *Client) wrapped(h *handler) (func(context.Context, *engine.Run, *policy.Admission) error, error) {
	all := slices.Concat(c.config.Middleware, h.options.Middleware)
	if len(all) == 0 {
		return func(ctx context.Context, r *engine.Run, a *policy.Admission) error {
			_, j := h.begin(r, a)
			return h.call(ctx, j)
		}, nil
	}
	chain := h.innermost
	for i, m := range slices.Backward(all) {
		if chain = m(chain); chain == nil {
			return nil, fmt.Errorf("redrive: kind %q: middleware %d of %d returned nil instead of a HandlerFunc", h.kind, i+1, len(all))
		}
	}
	return func(ctx context.Context, r *engine.Run, a *policy.Admission) error {
		i, j := h.begin(r, a)
		i.wrapped = &wrappedRun{client: c, info: i, job: j}
		return i.wrapped.ending(h.kind, chain(ctx, i))
	}, nil
}

// innermost is the function that the last middleware calls: it calls the handler.
func (h *handler) innermost(ctx context.Context, i *Info) error {
	if i == nil || i.wrapped == nil || i.wrapped.info != i {
		return badMiddleware(h.kind, "called the handler with another *Info than it was given; hand that one on", nil)
	}
	w := i.wrapped
	if !w.stage.CompareAndSwap(handlerNotCalled, handlerCalled) {
		w.again.Store(true)
		if w.stage.Load() == handlerEnded {
			return w.calledAgain(h.kind)
		}
		return badMiddleware(h.kind, calledAgain, nil)
	}
	defer w.stage.Store(handlerEnded) // deferred, because a middleware may recover a panic
	w.err = h.call(ctx, w.job)
	return w.err
}

const calledAgain = "called the handler more than once in a run; return its error, and the policy decides whether the job runs again"

func (w *wrappedRun) calledAgain(kind string) error { return badMiddleware(kind, calledAgain, w.err) }

// ending returns the error of a run from the error that its outermost middleware has
// returned.
func (w *wrappedRun) ending(kind string, err error) error {
	switch stage := w.stage.Swap(runEnded); {
	case stage == handlerNotCalled && err == nil:
		return badMiddleware(kind, "returned nil without calling the handler; call next, or return redrive.ErrSkipHandler to complete the job without it", nil)
	case stage == handlerNotCalled && errors.Is(err, ErrSkipHandler):
		return nil
	case stage == handlerCalled && err == nil:
		return badMiddleware(kind, "returned nil while the handler still runs; call next in the same goroutine, or wait for it", nil)
	case err == nil && w.again.Load():
		return w.calledAgain(kind)
	}
	return err
}

// badMiddleware returns the failure of a run whose middleware made a mistake. Cause is
// the handler's error, if any.
func badMiddleware(kind, mistake string, cause error) error {
	err := fmt.Errorf("a middleware of kind %q %s", kind, mistake)
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return failure.Code(CodeBadMiddleware, err)
}
