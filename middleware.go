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

// HandlerFunc runs a job. It is the handler of the job's kind, with or without
// middleware around it. Its result decides what happens to the job; see Handle.
type HandlerFunc func(ctx context.Context, run *Info) error

// Middleware wraps the handlers of jobs, like the middleware of net/http: it returns a
// function that does something before and after it calls next.
//
//	func Tenant(next redrive.HandlerFunc) redrive.HandlerFunc {
//		return func(ctx context.Context, run *redrive.Info) error {
//			return next(withTenant(ctx, run.Owner), run)
//		}
//	}
//
// Config.Middleware is for all kinds. HandlerOptions.Middleware is for one kind; it is
// called inside Config.Middleware. Middleware is composed once, when Run begins. It is
// called in every run, after the rules of the policy have admitted the run and before
// the payload is decoded. It must pass on the *Info that it was given; it may pass on
// another context.
//
// Middleware is part of the run: its panic is a panic of the run, and the time limit and the
// grace time include it. The error that it returns is the error of the run; if it returns
// nil after an error of the handler, the run succeeds. It has to call next exactly once,
// before it returns. The run fails with the code CodeBadMiddleware if the middleware returns
// nil without having called next, returns nil while the handler still runs, or calls next
// twice. ErrSkipHandler completes a job without its handler.
type Middleware func(next HandlerFunc) HandlerFunc

// CodeBadMiddleware is the code of the failure of a run whose middleware did not call
// the next handler exactly once.
const CodeBadMiddleware = "bad_middleware"

// ErrSkipHandler completes a job without its handler. A middleware that has not called
// the next handler returns it, wrapped or not. If the handler was called,
// ErrSkipHandler is treated like any other error.
var ErrSkipHandler = errors.New("redrive: the job is completed without its handler")

// validMiddleware returns an error that names the first middleware of the list that is nil,
// or nil if there is no such middleware.
func validMiddleware(name string, all []Middleware) error {
	if i := slices.IndexFunc(all, func(m Middleware) bool { return m == nil }); i >= 0 {
		return fmt.Errorf("%s[%d] is nil", name, i)
	}
	return nil
}

// The stages of a run: whether its handler was called and whether it has ended.
const (
	handlerNotCalled int32 = iota // the state before the handler is called
	handlerCalled
	handlerEnded
	runEnded
)

// wrappedRun is a run whose handler is wrapped in middleware. Runs without middleware
// share the value Client.unwrapped, in which only the client is set.
type wrappedRun struct {
	client *Client
	info   *Info
	job    any // the *Job whose Info the middleware gets
	stage  atomic.Int32
	again  atomic.Bool // whether the handler was called more than once
	err    error       // the handler's error; written before the stage becomes handlerEnded

	ended chan struct{} // this channel is closed when the handler has ended
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
			return nil, invalid(fmt.Errorf("redrive: kind %q: middleware %d of %d returned nil instead of a HandlerFunc", h.kind, i+1, len(all)))
		}
	}
	return func(ctx context.Context, r *engine.Run, a *policy.Admission) error {
		i, j := h.begin(r, a)
		w := &wrappedRun{client: c, info: i, job: j, ended: make(chan struct{})}
		i.wrapped = w
		returned := false
		defer func() { // a middleware that panics or calls runtime.Goexit may have left the handler running
			if !returned {
				w.awaitHandler()
			}
		}()
		err := chain(ctx, i)
		returned = true
		return w.ending(h.kind, err)
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
	defer func() { // deferred, so that these statements also run after a panic of the handler that a middleware recovers
		w.stage.CompareAndSwap(handlerCalled, handlerEnded)
		close(w.ended)
	}()
	w.err = h.call(ctx, w.job)
	return w.err
}

const calledAgain = "called the handler more than once in a run; return its error, and the policy decides whether the job runs again"

func (w *wrappedRun) calledAgain(kind string) error { return badMiddleware(kind, calledAgain, w.err) }

// awaitHandler waits for a handler that still runs. If the handler was not called, it
// prevents a later call, because the handler could then run at the same time as the next run
// of the job. The engine's grace time limits the wait, as for a handler that does not
// return. The result is the stage that the run had reached.
func (w *wrappedRun) awaitHandler() (stage int32) {
	if stage = w.stage.Swap(runEnded); stage == handlerCalled {
		<-w.ended
	}
	return stage
}

// ending returns the error of a run. The last argument is the error that the outermost
// middleware of the run has returned. ending first waits for the handler; see awaitHandler.
func (w *wrappedRun) ending(kind string, err error) error {
	stage := w.awaitHandler()
	switch {
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

// badMiddleware returns the failure of a run whose middleware made a mistake. The cause
// is the handler's error, or nil.
func badMiddleware(kind, mistake string, cause error) error {
	err := fmt.Errorf("a middleware of kind %q %s", kind, mistake)
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return failure.Code(CodeBadMiddleware, err)
}
