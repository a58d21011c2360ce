package redrive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/engine"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
)

// CodeBadPayload is the code of the permanent failure of a job whose payload
// does not fit its kind's arguments.
const CodeBadPayload = "bad_payload"

// HandlerOptions say how the jobs of a kind are run. The zero value of every
// field is its default. Run refuses what is out of bounds.
type HandlerOptions struct {
	// Timeout is the time limit of a run; default none. At the limit the
	// handler's context ends, and its subprocesses with it.
	Timeout time.Duration
	// KillGrace is how long subprocesses have between SIGTERM and SIGKILL when
	// the context has ended; default 5 s.
	KillGrace time.Duration
	// Retry is the kind's own schedule, before what the policy says of its classes;
	// see policy.Policy.WithSchedule. Default Config.Retry.
	Retry *policy.Schedule
	// Workers is how many jobs of the kind run at a time in this process;
	// default as many as the queues have workers.
	Workers int
	// Limit is how many run over all processes, at most store.LimitMax; 0 is no
	// limit.
	Limit int
	// Rate limits the starts over all processes.
	Rate Rate
	// MaxCrashes is the number of lost leases in one life that end a job, at most
	// and by default job.CrashesCeiling.
	MaxCrashes int
}

// validate returns every mistake.
func (o *HandlerOptions) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("HandlerOptions."+format, args...))
		}
	}
	check(o.Timeout >= 0, "Timeout %s: must not be negative", o.Timeout)
	check(o.KillGrace >= 0, "KillGrace %s: must not be negative", o.KillGrace)
	if err := o.Retry.Validate(); err != nil {
		check(false, "Retry: %w", err)
	}
	check(o.Workers >= 0, "Workers %d: must not be negative", o.Workers)
	check(o.Limit >= 0 && o.Limit <= store.LimitMax, "Limit %d: must be 0 to %d", o.Limit, store.LimitMax)
	if err := o.Rate.Validate(); err != nil {
		check(false, "Rate: %w", err)
	}
	check(o.MaxCrashes >= 0 && o.MaxCrashes <= job.CrashesCeiling,
		"MaxCrashes %d: must be 1 to %d", o.MaxCrashes, job.CrashesCeiling)
	return errors.Join(errs...)
}

// handler is a kind as it was registered.
type handler struct {
	kind    string
	json    bool // its payloads are
	handle  func(context.Context, *engine.Run, *policy.Admission) error
	options HandlerOptions
}

// Handle makes h the handler of a kind. Options may be nil. The handler's
// context ends when the run has to stop; what it returns decides what follows:
// nil completes the job, an error is a failure unless it is failure.Snooze or
// failure.Cancel. A panic is a failure, too. A payload that does not fit T fails
// for good with CodeBadPayload. A goroutine serves one run after another, as one
// of net/http does: a handler that locks it to its thread unlocks it again.
//
// Handle panics when the kind has a handler already, when its name is not valid,
// and when Run has been called.
func Handle[T any](c *Client, k Kind[T], h func(context.Context, *Job[T]) error, o *HandlerOptions) {
	if h == nil {
		panic(fmt.Sprintf("redrive: kind %q: the handler is nil", string(k)))
	}
	c.handle(string(k), o, true, func(ctx context.Context, r *engine.Run, a *policy.Admission) error {
		j := new(Job[T])
		j.set(c, r, a)
		if err := json.Unmarshal(r.Claim.Payload, &j.Args); err != nil {
			err = fmt.Errorf("payload of kind %q does not fit %T: %w", string(k), j.Args, err)
			return failure.Permanent(failure.Code(CodeBadPayload, err))
		}
		return h(ctx, j)
	})
}

// HandleRaw is Handle for a kind whose payload is bytes as they are, as NewRaw
// enqueues them. Args is the payload and must not be changed.
func HandleRaw(c *Client, kind string, h func(context.Context, *Job[[]byte]) error, o *HandlerOptions) {
	if h == nil {
		panic(fmt.Sprintf("redrive: kind %q: the handler is nil", kind))
	}
	c.handle(kind, o, false, func(ctx context.Context, r *engine.Run, a *policy.Admission) error {
		j := &Job[[]byte]{Args: r.Claim.Payload}
		j.set(c, r, a)
		return h(ctx, j)
	})
}

func (c *Client) handle(kind string, o *HandlerOptions, inJSON bool, h func(context.Context, *engine.Run, *policy.Admission) error) {
	if err := store.ValidName("kind", kind); err != nil {
		panic("redrive: " + err.Error())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.sealed:
		panic(fmt.Sprintf("redrive: kind %q: Handle must come before Run", kind))
	case c.handlers[kind] != nil:
		panic(fmt.Sprintf("redrive: kind %q has a handler already", kind))
	}
	registered := &handler{kind: kind, json: inJSON, handle: h}
	if o != nil {
		registered.options = *o
	}
	c.handlers[kind] = registered
}
