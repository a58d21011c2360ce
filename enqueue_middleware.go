package redrive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/redrive/redrive/internal/suggest"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// EnqueueFunc enqueues jobs, all or none, and returns their receipts in order.
type EnqueueFunc func(ctx context.Context, specs []Spec) ([]Receipt, error)

// EnqueueMiddleware wraps the enqueues of a client: those of Enqueue, EnqueueMany,
// EnqueueTx, EnqueueManyTx and cron. See Config.EnqueueMiddleware. It is called once when
// the client is made. The function that it returns is called for each enqueue, by any
// goroutine, with a slice of Specs that the function may change. This function passes the
// jobs on by calling next.
//
//   - It reads and changes a job by the methods of Spec. The jobs that it passes on are
//     checked like the jobs of any enqueue; a mistake becomes an error that names the
//     middleware. Config.PayloadMax applies to the payload that is stored: after the last
//     middleware.
//   - It passes on as many jobs as it was given, in their order, with the context that it
//     was given or one derived from that. It can enqueue other jobs by another call of the
//     client.
//   - To refuse the jobs it returns an error, which the caller gets unchanged. Returning no
//     error without having called next is an error.
//   - It may call next again after an error of next, but not after a success, and not after
//     a store.ErrUnknown, because then the jobs may be enqueued already.
//   - Once next has succeeded, the caller gets the receipts of the store, whatever the
//     middleware returns as receipts. If the middleware then returns an error, the caller
//     gets that error, but the jobs stay enqueued (unless the caller rolls back its
//     transaction).
//   - If next returns an error, the enqueue returns an error, even if the middleware
//     returns none.
//   - A panic of the middleware reaches the caller. Before next is called, nothing has been
//     reserved or locked. A panic within an enqueue of cron is logged, and the slot is
//     tried again.
//   - The caller waits while the middleware runs; the caller's context limits this time. In
//     an enqueue of cron the context ends after CronLimit, and the slot is tried again.
//   - If another process has already fired the slot of a cron entry, next returns no error,
//     and a receipt with Existing and the ID of the job of the last fired slot, but without
//     a State.
//   - In an enqueue inside the caller's own transaction, the middleware must not write to
//     the same database by another connection.
type EnqueueMiddleware func(next EnqueueFunc) EnqueueFunc

// enqueueChain is an enqueue wrapped in middlewares, composed once.
type enqueueChain struct {
	first  EnqueueFunc
	stages []string // the middlewares' names, for errors
}

// enqueueCall is one enqueue that passes through a chain. It is also the context that
// the middlewares get.
type enqueueCall struct {
	context.Context //nolint:containedctx // enqueueCall is itself a context
	chain           *enqueueChain
	size            int         // the number of jobs
	end             EnqueueFunc // the function that enqueues the jobs; it is called after the last middleware
	stages          []stage
	few             [fewStages]stage
	receipts        []Receipt // the receipts that the function in the field end returned, if it succeeded
	job             [1]Spec   // the job of an enqueue of one job, here to save an allocation
}

// fewStages is the number of middlewares whose stages fit into an enqueueCall without
// another allocation.
const fewStages = 4

// Value implements context.Context.
func (call *enqueueCall) Value(key any) any {
	if _, ok := key.(enqueueCallKey); ok {
		return call
	}
	return call.Context.Value(key)
}

// stage records whether one middleware has called next, and the result of that call.
type stage struct {
	state atomic.Int32
	err   error // the error of the last call of next
}

// The states of a stage. After callFailed, next may be called again.
const (
	notCalled int32 = iota
	calling
	callFailed
	callUnknown
	callSucceeded
	stageOver // the middleware has returned
)

type enqueueCallKey struct{}

// newEnqueueChain composes middlewares, the first one outermost. It returns nil when
// there are no middlewares.
func (c *Client) newEnqueueChain(all []EnqueueMiddleware, name string) (*enqueueChain, error) {
	if len(all) == 0 {
		return nil, nil
	}
	chain := &enqueueChain{}
	next := EnqueueFunc(func(ctx context.Context, specs []Spec) ([]Receipt, error) {
		call := callOf(ctx, chain)
		receipts, err := call.end(ctx, specs)
		call.receipts = receipts
		return receipts, err
	})
	for i := range all {
		chain.stages = append(chain.stages, fmt.Sprintf("%s[%d]", name, i))
	}
	for i, m := range slices.Backward(all) {
		if m == nil {
			return nil, invalid(fmt.Errorf("%s is nil", chain.stages[i]))
		}
		with := m(c.guard(chain, i, next))
		if with == nil {
			return nil, invalid(fmt.Errorf("%s returned nil instead of a function", chain.stages[i]))
		}
		next = chain.around(i, with)
	}
	chain.first = next
	return chain, nil
}

// callOf returns the innermost call of the chain whose context ctx is, or is derived from.
// It returns nil if there is no such call.
func callOf(ctx context.Context, chain *enqueueChain) *enqueueCall {
	call, ok := ctx.(*enqueueCall)
	if !ok {
		call, ok = ctx.Value(enqueueCallKey{}).(*enqueueCall)
	}
	if !ok || call.chain != chain {
		return nil
	}
	return call
}

func (ch *enqueueChain) errorf(i int, format string, args ...any) error {
	return fmt.Errorf("enqueue middleware %s: %w", ch.stages[i], fmt.Errorf(format, args...))
}

// guard returns the next function for a middleware. It checks how and when the
// middleware calls it.
func (c *Client) guard(chain *enqueueChain, i int, next EnqueueFunc) EnqueueFunc {
	return func(ctx context.Context, specs []Spec) ([]Receipt, error) {
		call := callOf(ctx, chain)
		if call == nil {
			return nil, chain.errorf(i, "called next with a context that is not derived from its own; pass that on: %w", store.ErrInvalid)
		}
		s := &call.stages[i]
		if !s.state.CompareAndSwap(notCalled, calling) && !s.state.CompareAndSwap(callFailed, calling) {
			return nil, chain.errorf(i, "called next %s: %w", s.tooLate(), store.ErrInvalid)
		}
		left := callFailed // this value is also stored when the call panics
		defer func() { s.state.CompareAndSwap(calling, left) }()
		if err := c.passedOn(ctx, call, specs, chain.stages[i]); err != nil {
			s.err = chain.errorf(i, "%w", err)
			return nil, s.err
		}
		receipts, err := next(ctx, specs)
		s.err = err
		switch {
		case err == nil:
			left = callSucceeded
		case errors.Is(err, store.ErrUnknown):
			left = callUnknown
		}
		return receipts, err
	}
}

// tooLate says why next cannot be called any more, for an error message.
func (s *stage) tooLate() string {
	switch s.state.Load() {
	case calling:
		return "twice at the same time"
	case callUnknown:
		return "again, and the first call may have enqueued the jobs"
	case stageOver:
		return "after it had returned"
	}
	return "twice; the jobs are enqueued already"
}

// passedOn checks the jobs that a middleware passes on. The size of a payload is checked
// when it is stored, because a later middleware may make it smaller.
func (c *Client) passedOn(ctx context.Context, call *enqueueCall, specs []Spec, middleware string) error {
	if len(specs) != call.size {
		return fmt.Errorf("passed on %d of %d jobs; a middleware must pass on all jobs or return an error: %w", len(specs), call.size, store.ErrInvalid)
	}
	for i := range specs {
		if specs[i].checkedBy == c { // this client has checked the job, and no middleware has changed it since
			continue
		}
		if err := c.checkSpec(ctx, &specs[i]); err != nil {
			return fmt.Errorf("job %d of %d: %w", i+1, len(specs), err)
		}
		n := specs[i].new
		if specs[i].rewritten {
			specs[i].rewritten, specs[i].largeBy = false, ""
			if len(n.Payload) > c.config.PayloadMax {
				specs[i].largeBy = middleware
			}
		}
		n.ID, n.Payload = 1, nil // the job has no id yet; see checkSize for the payload
		if err := store.Validate(&n); err != nil {
			return fmt.Errorf("job %d of %d: %w", i+1, len(specs), err)
		}
		specs[i].checkedBy = c
	}
	return nil
}

// around calls a middleware and makes the result of the middleware agree with the
// result of the enqueue.
func (ch *enqueueChain) around(i int, middleware EnqueueFunc) EnqueueFunc {
	return func(ctx context.Context, specs []Spec) ([]Receipt, error) {
		call := callOf(ctx, ch)
		_, err := middleware(ctx, specs)
		s := &call.stages[i]
		switch was := s.state.Swap(stageOver); {
		case was == calling && err != nil:
			err = ch.errorf(i, "returned an error while next was still running, so the jobs may or may not be enqueued: %w: %w", err, store.ErrUnknown)
		case was == calling:
			err = ch.errorf(i, "returned while next was still running, so the jobs may or may not be enqueued: %w", store.ErrUnknown)
		case err != nil: // an error of the middleware is returned, also if the middleware has not called next
		case was == callSucceeded:
			return call.receipts, nil
		case was == notCalled:
			err = ch.errorf(i, "returned no error without calling next, so nothing was enqueued; "+
				"to refuse jobs return an error: %w", store.ErrInvalid)
		default:
			err = s.err
		}
		return nil, err
	}
}

// own returns a copy of the jobs that middlewares may change.
func (call *enqueueCall) own(specs []Spec) []Spec {
	if len(specs) != 1 {
		return slices.Clone(specs)
	}
	call.job[0] = specs[0]
	return call.job[:]
}

// run passes jobs through the chain and then calls the given function with them. The call is
// a new one, or one that has only been used for its method own.
func (ch *enqueueChain) run(ctx context.Context, call *enqueueCall, specs []Spec, end EnqueueFunc) ([]Receipt, error) {
	call.Context, call.chain, call.size, call.end = ctx, ch, len(specs), end
	if n := len(ch.stages); n <= fewStages {
		call.stages = call.few[:n]
	} else {
		call.stages = make([]stage, n)
	}
	return ch.first(call, specs)
}

// enqueueChains are the middleware chains of a client.
type enqueueChains struct {
	all   *enqueueChain
	kinds map[string]*enqueueChain
	write EnqueueFunc // the method value Client.enqueue, made once to save allocations
}

func (c *Client) newEnqueueChains() (all enqueueChains, err error) {
	all.write = c.enqueue
	if all.all, err = c.newEnqueueChain(c.config.EnqueueMiddleware, "Config.EnqueueMiddleware"); err != nil {
		return all, err
	}
	for kind, list := range c.config.KindEnqueueMiddleware {
		chain, failed := c.newEnqueueChain(list, fmt.Sprintf("Config.KindEnqueueMiddleware[%q]", kind))
		if err = errors.Join(err, failed); chain == nil {
			continue
		}
		if all.kinds == nil {
			all.kinds = make(map[string]*enqueueChain)
		}
		all.kinds[kind] = chain
	}
	return all, err
}

// logUnknown logs the kinds that have enqueue middleware but no handler, because the names
// may be mistakes.
func (m *enqueueChains) logUnknown(log *slog.Logger, handled []string) {
	for _, kind := range slices.Sorted(maps.Keys(m.kinds)) {
		if slices.Contains(handled, kind) {
			continue
		}
		level, hint := slog.LevelInfo, suggest.DidYouMean(kind, handled)
		if hint != "" {
			level = slog.LevelWarn
		}
		log.Log(context.Background(), level, "Config.KindEnqueueMiddleware has a kind that has no handler in this client"+hint, "kind", kind)
	}
}

// installed reports whether there are any middlewares.
func (m *enqueueChains) installed() bool { return m.all != nil || m.kinds != nil }

// through passes jobs through the middlewares, if there are any, and then calls the given
// function with them.
func (c *Client) through(ctx context.Context, specs []Spec, end EnqueueFunc) ([]Receipt, error) {
	if !c.enqueueing.installed() || len(specs) == 0 || len(specs) > job.EnqueueMax { // the given function refuses an enqueue of too many jobs
		return end(ctx, specs)
	}
	return c.throughAll(ctx, specs, end)
}

// throughAll passes copies of jobs through the middlewares and then calls the given function
// with them.
func (c *Client) throughAll(ctx context.Context, given []Spec, end EnqueueFunc) ([]Receipt, error) {
	call := new(enqueueCall)
	specs := call.own(given)
	for i := range specs {
		if err := c.checkSpec(ctx, &specs[i]); err != nil {
			return nil, fmt.Errorf("enqueue, job %d of %d: %w", i+1, len(specs), err)
		}
		specs[i].checkedBy, specs[i].rewritten, specs[i].largeBy = c, false, ""
	}
	m := &c.enqueueing
	switch {
	case m.all == nil:
		return m.byKind(ctx, call, specs, nil, end)
	case m.kinds == nil:
		return m.all.run(ctx, call, specs, end)
	}
	return m.all.run(ctx, call, specs, func(ctx context.Context, specs []Spec) ([]Receipt, error) {
		return m.byKind(ctx, new(enqueueCall), specs, nil, end)
	})
}

// byKind passes the jobs through the middlewares of their kinds. The chains of several
// kinds are nested, in the order in which the kinds first appear in the call. The first
// chain uses the given enqueueCall; see run.
func (m *enqueueChains) byKind(ctx context.Context, call *enqueueCall, specs []Spec, done []string, end EnqueueFunc) ([]Receipt, error) {
	first := slices.IndexFunc(specs, func(s Spec) bool {
		return m.kinds[s.new.Kind] != nil && !slices.Contains(done, s.new.Kind)
	})
	if first < 0 {
		return end(ctx, specs)
	}
	kind := specs[first].new.Kind
	if len(specs) == 1 {
		return m.kinds[kind].run(ctx, call, specs, func(ctx context.Context, specs []Spec) ([]Receipt, error) {
			if specs[0].new.Kind == kind {
				return end(ctx, specs)
			}
			return m.byKind(ctx, new(enqueueCall), specs, append(slices.Clip(done), kind), end)
		})
	}
	var own []Spec
	var places []int
	for i := range specs {
		if specs[i].new.Kind == kind {
			own, places = append(own, specs[i]), append(places, i)
		}
	}
	var all []Receipt
	_, err := m.kinds[kind].run(ctx, call, own, func(ctx context.Context, own []Spec) ([]Receipt, error) {
		merged := slices.Clone(specs)
		for i, place := range places {
			merged[place] = own[i]
		}
		receipts, err := m.byKind(ctx, new(enqueueCall), merged, append(slices.Clip(done), kind), end)
		if err != nil {
			return nil, err
		}
		all = receipts
		part := make([]Receipt, len(places))
		for i, place := range places {
			part[i] = receipts[place]
		}
		return part, nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
