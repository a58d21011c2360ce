package redrive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// CodeBadPayload is the code of the permanent failure of a job whose payload does not
// fit the arguments of its kind.
const CodeBadPayload = "bad_payload"

// HandlerOptions configure how the jobs of a kind run. The zero value of every field is
// its default. Run returns an error for a value out of its bounds.
type HandlerOptions struct {
	// Timeout is the time limit of a run. At the limit the handler's context ends, and the
	// subprocesses of the run are stopped. The default is the limit of the policy, or
	// else TimeoutDefault. A new policy acts on the next run.
	Timeout time.Duration
	// TimeoutDefault is the time limit of a run if neither Timeout nor the policy sets
	// one. The default is no limit.
	TimeoutDefault time.Duration
	// KillGrace is how long a subprocess may continue after SIGTERM before it gets
	// SIGKILL. The default is 5 s.
	KillGrace time.Duration
	// Schedule is the retry schedule of the kind: how often and after which waits its
	// failures are retried. It replaces what the policy says about classes and about the
	// kind, except for the classes that the policy names within the kind; see
	// policy.Policy.WithSchedule. The default is Config.Schedule.
	Schedule *policy.Schedule
	// ScheduleDefault is the retry schedule of the kind if neither Schedule nor the policy, under
	// the name of the kind, sets one. Waits that are longer than the policy allows are shortened.
	ScheduleDefault *policy.Schedule
	// Workers is the maximum number of jobs of the kind that run at a time in this
	// process. By default only the workers of the queues limit it.
	Workers int
	// Limit is the maximum number of jobs of the kind that run at a time in all
	// processes, at most store.LimitMax; 0 means no limit.
	Limit int
	// Rate limits how many jobs of the kind start per period, counted over all
	// processes; the zero value means no limit.
	Rate Rate
	// MaxCrashes is the number of crashes after which a job is dead, counted since it
	// was enqueued or since a person last retried it. A run has crashed when its lease
	// expired. The default is the number of the policy, or else job.MaxCrashes, which is
	// also the maximum.
	MaxCrashes int
	// KeepPayload keeps the payload and the attributes of completed jobs, until the
	// retention removes the jobs. By default the store removes them when a job completes.
	KeepPayload bool
	// Middleware is the middleware around the handler, inside Config.Middleware. The
	// first in the list is outermost.
	Middleware []Middleware
}

// validate returns one error with all mistakes of the options.
func (o *HandlerOptions) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, invalid(fmt.Errorf("HandlerOptions."+format, args...)))
		}
	}
	check(o.Timeout >= 0, "Timeout %s: must not be negative", o.Timeout)
	check(o.TimeoutDefault >= 0, "TimeoutDefault %s: must not be negative", o.TimeoutDefault)
	check(o.KillGrace >= 0, "KillGrace %s: must not be negative", o.KillGrace)
	if err := o.Schedule.Validate(); err != nil {
		check(false, "Schedule: %w", err)
	}
	if err := o.ScheduleDefault.Validate(); err != nil {
		check(false, "ScheduleDefault: %w", err)
	}
	check(o.Workers >= 0, "Workers %d: must not be negative", o.Workers)
	check(o.Limit >= 0 && o.Limit <= store.LimitMax, "Limit %d: must be 0 to %d", o.Limit, store.LimitMax)
	if err := o.Rate.Validate(); err != nil {
		check(false, "Rate: %w", err)
	}
	if err := validMiddleware("Middleware", o.Middleware); err != nil {
		check(false, "%w", err)
	}
	check(o.MaxCrashes >= 0 && o.MaxCrashes <= job.MaxCrashes,
		"MaxCrashes %d: must be 1 to %d", o.MaxCrashes, job.MaxCrashes)
	return errors.Join(errs...)
}

// handler is the registered handler of a kind.
type handler struct {
	kind string
	args reflect.Type // the type of the handler's arguments, which are stored as JSON; nil for HandleRaw
	// The field begin makes the *Job of a run, and the field call runs the handler with it. Both
	// are nil when there is no handler.
	begin   func(*engine.Run, *policy.Admission) (*Info, any)
	call    func(ctx context.Context, job any) error
	options HandlerOptions
}

// Handle registers h as the handler of a kind. Options may be nil. The handler's context
// ends when the run has to stop. The result of the handler decides what follows: nil
// completes the job, an error is a failure unless it is failure.Snooze or failure.Cancel. A
// panic is a failure, too. A job whose payload does not fit T is dead after its first run,
// with the code CodeBadPayload. One goroutine runs the handlers of several jobs, one after
// another: a handler that calls runtime.LockOSThread must also call UnlockOSThread.
//
// Handle panics when the kind already has a handler, when the name of the kind is not
// valid, or when Run has been called before. TryHandle returns an error instead.
func Handle[T any](c *Client, k Kind[T], h func(context.Context, *Job[T]) error, o *HandlerOptions) {
	mustRegister(c.register(newHandler(c, k, h), o))
}

// TryHandle registers a handler like Handle, for programs that learn their kinds at run
// time, such as from a file. It returns an error when Handle would panic or when Run
// would refuse the options. After an error nothing is registered.
func TryHandle[T any](c *Client, k Kind[T], h func(context.Context, *Job[T]) error, o *HandlerOptions) error {
	return c.tryRegister(newHandler(c, k, h), o)
}

// HandleRaw registers the handler of a kind whose payload is plain bytes, as in a job
// made by NewRaw. Job.Args is the payload; the handler must not change it.
func HandleRaw(c *Client, kind string, h func(context.Context, *Job[[]byte]) error, o *HandlerOptions) {
	mustRegister(c.register(newRawHandler(c, kind, h), o))
}

// TryHandleRaw registers a handler like HandleRaw, but returns an error instead of
// panicking; see TryHandle.
func TryHandleRaw(c *Client, kind string, h func(context.Context, *Job[[]byte]) error, o *HandlerOptions) error {
	return c.tryRegister(newRawHandler(c, kind, h), o)
}

// newHandler returns the handler of a kind. If h is nil, the functions of the result
// are nil.
func newHandler[T any](c *Client, k Kind[T], h func(context.Context, *Job[T]) error) *handler {
	registered := &handler{kind: string(k), args: reflect.TypeFor[T]()}
	if h == nil {
		return registered
	}
	registered.begin = func(r *engine.Run, a *policy.Admission) (*Info, any) {
		j := new(Job[T])
		j.set(c, r, a)
		return &j.Info, j
	}
	registered.call = func(ctx context.Context, job any) error {
		j := job.(*Job[T])
		if err := json.Unmarshal(j.Payload(), &j.Args); err != nil {
			err = fmt.Errorf("payload of kind %q does not fit %T: %w", string(k), j.Args, err)
			return failure.Permanent(failure.Code(CodeBadPayload, err))
		}
		return h(ctx, j)
	}
	return registered
}

// newRawHandler returns the handler of a kind with plain bytes. If h is nil, the
// functions of the result are nil.
func newRawHandler(c *Client, kind string, h func(context.Context, *Job[[]byte]) error) *handler {
	registered := &handler{kind: kind}
	if h == nil {
		return registered
	}
	registered.begin = func(r *engine.Run, a *policy.Admission) (*Info, any) {
		j := new(Job[[]byte])
		j.set(c, r, a)
		return &j.Info, j
	}
	registered.call = func(ctx context.Context, job any) error {
		j := job.(*Job[[]byte])
		j.Args = j.Payload()
		return h(ctx, j)
	}
	return registered
}

func mustRegister(err error) {
	if err != nil {
		panic(err.Error())
	}
}

// tryRegister registers a handler. It also returns an error for options that Run would
// refuse.
func (c *Client) tryRegister(h *handler, o *HandlerOptions) error {
	if o != nil {
		if err := o.validate(); err != nil {
			return fmt.Errorf("redrive: kind %q: %w", h.kind, err)
		}
	}
	return c.register(h, o)
}

// register makes h the handler of its kind.
func (c *Client) register(h *handler, o *HandlerOptions) error {
	if h.call == nil {
		return invalid(fmt.Errorf("redrive: kind %q: the handler is nil", h.kind))
	}
	if err := store.ValidName("kind", h.kind); err != nil {
		return fmt.Errorf("redrive: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.sealed:
		return fmt.Errorf("redrive: kind %q: Handle must come before Run", h.kind)
	case c.handlers[h.kind] != nil:
		return fmt.Errorf("redrive: kind %q has a handler already", h.kind)
	}
	if o != nil {
		h.options = *o
		h.options.Middleware = slices.Clone(o.Middleware)
	}
	c.handlers[h.kind] = h
	if h.args != nil {
		types := map[string]reflect.Type{h.kind: h.args}
		if known := c.argTypes.Load(); known != nil {
			maps.Copy(types, *known)
		}
		c.argTypes.Store(&types)
	}
	return nil
}

// checkType returns an error if the arguments of a job have another type than those of the handler
// of the kind. The given type is nil for a payload of plain bytes.
func (c *Client) checkType(kind string, args reflect.Type) error {
	known := c.argTypes.Load()
	if known == nil || args == nil {
		return nil
	}
	if takes := (*known)[kind]; takes != nil && takes != args {
		return fmt.Errorf("kind %q: the arguments are of type %s, and its handler takes %s: a kind has one type of arguments; "+
			"declare it once, or give one of the two another name: %w", kind, args, takes, store.ErrInvalid)
	}
	return nil
}
