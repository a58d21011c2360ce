package retry

import (
	"context"
	"errors"
	"time"
)

// Do calls op until it succeeds, and returns the value of op; if the call fails, it returns
// the zero value and an *Error. In op, From returns what is known about the call. With
// Options.AttemptTimeout the context of op ends with the attempt; otherwise it ends with the
// caller's context.
//
// The end of the caller's context ends a call at once, even during a wait. Only the
// end of that context is a cancellation. An error of op that looks like one is a failure. A call
// within another call of the same dependency is made once, and its error is returned
// unchanged; the outer call retries.
func Do[T any](ctx context.Context, p *Strategy, op func(context.Context) (T, error)) (T, error) {
	v, r := do(ctx, p, op)
	if r == nil {
		return v, nil
	}
	return v, r.result(ctx)
}

// DoErr is Do for an operation without a value.
func DoErr(ctx context.Context, p *Strategy, op func(context.Context) error) error {
	_, err := Do(ctx, p, func(ctx context.Context) (struct{}, error) { return struct{}{}, op(ctx) })
	return err
}

// DoOr is Do with a fallback. Where Do would return an *Error, DoOr calls the fallback and
// returns its results. The fallback may return another value. If it returns the *Error, the
// job is handed over to its queue, as with Do. The fallback is not called when the caller's
// context has ended.
func DoOr[T any](ctx context.Context, p *Strategy, op func(context.Context) (T, error), fallback func(context.Context, error) (T, error)) (T, error) {
	v, r := do(ctx, p, op)
	if r == nil {
		return v, nil
	}
	e := r.seal()
	if e.Reason == Cancelled || ctx.Err() != nil {
		return v, r.result(ctx)
	}
	v, err := fallback(ctx, e)
	r.finish(ctx, errors.Is(err, error(e)))
	return v, err
}

// do returns a value, or the run that ended without a value.
func do[T any](ctx context.Context, p *Strategy, op func(context.Context) (T, error)) (T, *run) {
	// Nothing is recorded before the first failure, so that a success costs almost
	// nothing. A context that never ends has no deadline.
	var began time.Time
	ends := ctx.Done() != nil
	if !p.fast || ends && ctx.Err() != nil || frameOf(ctx) != nil {
		return loop(ctx, newRun(ctx, p), op)
	}
	if ends {
		if _, limited := ctx.Deadline(); limited {
			began = p.o.Clock.Now()
		}
	}
	v, err := op(ctx)
	if err == nil {
		p.counters.first.Add(1)
		return v, nil
	}
	r := failedRun(p, began)
	if r.again(ctx, err, false) {
		return loop(ctx, r, op)
	}
	var zero T
	return zero, r
}

func loop[T any](ctx context.Context, r *run, op func(context.Context) (T, error)) (T, *run) {
	for r.begin(ctx) {
		v, err, limited := attempt(ctx, r, op)
		if err == nil {
			r.succeeded(ctx)
			return v, nil
		}
		if !r.again(ctx, err, limited) {
			break
		}
	}
	var zero T
	return zero, r
}

// attempt calls op once. The last result is true if the attempt ended at its time limit.
func attempt[T any](ctx context.Context, r *run, op func(context.Context) (T, error)) (v T, err error, limited bool) { //nolint:revive // the result limited belongs to the error
	inner := r.frame(ctx)
	if limit := r.p.o.AttemptTimeout; limit > 0 {
		with, cancel := context.WithTimeoutCause(inner, limit, errLimit)
		defer cancel()
		if send := r.p.o.Hooks.Send; send != nil {
			send(with, From(with))
		}
		v, err = op(with)
		return v, err, err != nil && context.Cause(with) == errLimit //nolint:errorlint // errLimit is never wrapped, so identity is enough
	}
	if send := r.p.o.Hooks.Send; send != nil {
		send(inner, From(inner))
	}
	v, err = op(inner)
	return v, err, false
}

// errLimit is the cause of the end of an attempt that reached its time limit.
var errLimit error = &limitError{}

type limitError struct{}

func (*limitError) Error() string        { return "the attempt has reached its time limit" }
func (*limitError) Is(target error) bool { return target == context.DeadlineExceeded }
func (*limitError) Timeout() bool        { return true }
