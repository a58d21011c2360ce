package retry

import (
	"context"
	"errors"
	"time"

	"github.com/redrive/redrive/failure"
)

// run is one call in progress.
type run struct {
	base
	p     *Strategy
	once  bool // whether an outer call does the retrying
	timed bool // whether a time limit is set, so that the call must read the clock

	reserved bool // whether the next attempt is already counted in the job's resends

	n            int       // number of attempts begun
	start        time.Time // start of the call; zero means unknown
	began        time.Time // start of the current attempt; zero means unknown
	failedAt     time.Time // time of the first failure
	shortest     time.Duration
	previous     time.Duration // the wait that was drawn last
	sends        int
	made         int // number of frames that the call has made
	current      *frame
	first        frame
	*failedState // the state after the first failure; nil before the first failure
}

// failedState holds what a run needs after its first failure.
type failedState struct {
	err      Error
	frames   [2]frame
	status   int
	same     error // the last error that was classified; the same error is not classified again
	retry    bool
	reported bool // whether an inner call has logged the failure
}

// newRun begins a run whose first attempt needs a frame.
func newRun(ctx context.Context, p *Strategy) *run {
	r := &run{p: p, base: base{up: frameOf(ctx), strategy: p, number: number()}}
	if r.up != nil {
		r.ledger, r.key = r.up.ledger, r.up.outerKey()
		r.once = r.up.within(p.o.Dependency)
	}
	if r.ledger != nil {
		r.ledger.calls.Add(1)
		if r.once {
			r.ledger.suppressed.Add(1)
		}
	}
	_, limited := ctx.Deadline()
	r.timed = limited || p.o.MaxElapsed > 0 || p.o.AttemptTimeout > 0
	if r.timed {
		r.start = p.o.Clock.Now()
	}
	return r
}

// failedRun begins a run when the first attempt, which had no frame, has failed.
func failedRun(p *Strategy, began time.Time) *run {
	both := &struct {
		run
		failedState
	}{}
	r := &both.run
	r.p, r.strategy, r.n, r.failedState = p, p, 1, &both.failedState
	r.start, r.began, r.timed = began, began, !began.IsZero()
	return r
}

// begin reports whether the next attempt may be made.
func (r *run) begin(ctx context.Context) bool {
	if err := ctx.Err(); err != nil {
		r.ends(ctx, err)
		return false
	}
	if r.timed {
		r.began = r.p.o.Clock.Now()
		if r.n == 0 && r.p.o.MinUseful > 0 && r.left(ctx) < r.p.o.MinUseful {
			r.fail(OutOfTime, context.DeadlineExceeded)
			return false
		}
	}
	r.n++
	r.reserved = false
	return true
}

// frame returns the context of the attempt that has just begun.
func (r *run) frame(ctx context.Context) *frame {
	f := &r.first
	switch {
	case r.made == 0:
	case r.failedState != nil && r.made <= len(r.frames):
		f = &r.frames[r.made-1]
	default:
		f = &frame{}
	}
	r.made++
	f.Context, f.base, f.attempt = ctx, &r.base, int32(r.n)
	if r.failedState != nil {
		f.last = r.err.Last
	}
	r.current = f
	return f
}

// outerKey returns the key of the innermost WithKey whose context contains f.
func (f *frame) outerKey() string {
	for ; f != nil && f.strategy == nil; f = f.up {
		if f.key != "" {
			return f.key
		}
	}
	return ""
}

// sent adds the sends of the attempt to the sends of the call. If no transport counted a send,
// the attempt counts as one send.
func (r *run) sent() {
	if r.current == nil {
		r.sends++
		return
	}
	n := r.current.physical.Load()
	if n == 0 {
		n = 1
		if r.ledger != nil {
			r.ledger.sends.Add(1)
		}
		r.up.note(1)
	}
	r.sends += int(n)
	r.current = nil
}

// succeeded records a success after a retry, or any success if there are hooks.
func (r *run) succeeded(ctx context.Context) {
	r.sent()
	c := r.p.counters
	c.calls.Add(1)
	c.sends.Add(int64(r.sends))
	if r.once {
		c.suppressed.Add(1)
	}
	if r.failedState == nil {
		if hook := r.p.o.Hooks.End; hook != nil {
			hook(ctx, &Event{Kind: Succeeded, Operation: r.p.o.Operation, MaxRetries: r.p.retries, Sends: r.sends})
		}
		return
	}
	c.recovered.Add(1)
	r.added()
	r.emit(ctx, Recovered, 0, r.p.o.Hooks.End)
}

// again records a failure, and waits if another attempt follows.
func (r *run) again(ctx context.Context, err error, limited bool) bool {
	if f := r.current; f != nil && f.attempt == 1 && r.ledger != nil {
		r.ledger.resends.Add(int64(max(f.direct.Load()-1, 0))) // the retries that the SDK made itself, as far as they are known
	}
	r.sent()
	if r.failedState == nil {
		r.failedState = &failedState{}
	}
	e := &r.err
	e.Last, e.Sends = err, r.sends
	took := r.took()
	wait, again := r.nextWait(ctx, err, limited)
	e.tried(Attempt{Err: err, Class: e.Class.Class, Took: took, Wait: wait})
	if !again {
		return false
	}
	if r.failedAt.IsZero() && wait > 0 {
		r.failedAt = r.p.o.Clock.Now()
	}
	r.emit(ctx, Retrying, wait, r.p.o.Hooks.Retry)
	if wait > 0 {
		if err := r.p.o.Clock.Sleep(ctx, wait); err != nil {
			r.ends(ctx, err)
			return false
		}
		e.Waited += wait
	}
	return true
}

// took returns how long the attempt took; 0 means unknown.
func (r *run) took() time.Duration {
	if r.began.IsZero() {
		return 0
	}
	took := max(r.p.o.Clock.Now().Sub(r.began), 1)
	if r.shortest == 0 || took < r.shortest {
		r.shortest = took
	}
	r.began = time.Time{}
	return took
}

// ends records that the caller's context has ended.
func (r *run) ends(ctx context.Context, err error) {
	if r.failedState == nil {
		r.failedState = &failedState{}
	}
	if r.reserved {
		r.ledger.resends.Add(-1)
		r.reserved = false
	}
	e := &r.err
	e.ended = context.Cause(ctx)
	if e.ended == nil { // this context is not of a type of package context
		e.ended = err
	}
	if e.Last == nil {
		e.Last = e.ended
	}
	e.Reason = Cancelled
	if errors.Is(err, context.DeadlineExceeded) {
		e.Reason = OutOfTime
	}
}

// fail ends the call with an error. If err is nil, the last error stays.
func (r *run) fail(why Reason, err error) {
	if r.failedState == nil {
		r.failedState = &failedState{}
	}
	r.err.Reason = why
	if err != nil {
		r.err.Last = err
	}
}

// seal completes the error of a call that has ended.
func (r *run) seal() *Error {
	e := &r.err
	if e.cause != nil {
		return e
	}
	e.Operation, e.Sends, e.cause = r.p.o.Operation, r.sends, e.Last
	if r.once && e.Reason != Cancelled {
		e.Reason = Suppressed
		return e
	}
	transient := e.Reason == Exhausted || e.Reason == OutOfTime || e.Reason == LongHint
	if transient && !r.reported && e.Hint > 0 { // the job's policy cannot see the hint that Options.Judge or the classifier has found
		e.cause = failure.RetryAfter(e.Hint, e.Last)
	}
	switch {
	case !transient || e.ended != nil || r.reported:
	case e.Hint > r.p.o.HandOverCap: // the wait is too long for a hand-over, so the job's policy decides
	case r.ledger != nil && r.p.o.HandOver > 0:
		after := r.handOver()
		if at := r.ledger.job.Deadline; !at.IsZero() && at.Sub(r.p.o.Clock.Now()) <= after {
			break // the job would be due after its deadline; the job's policy may have a shorter wait
		}
		e.HandOver = after
		e.cause = failure.HandOver(after, "", e.cause)
	}
	return e
}

// handOver returns the duration from now until the job is due again.
func (r *run) handOver() time.Duration {
	o := &r.p.o
	after := o.HandOver + time.Duration(float64(max(o.HandOverJitter, 0))*o.Rand())
	if hint := r.err.Hint; r.err.Reason == LongHint || hint > o.HandOver {
		after = hint + hintJitter(hint, o.Rand()) // the hint of the other side decides
	}
	return after.Truncate(time.Microsecond)
}

// result returns the error of the call, and logs it.
func (r *run) result(ctx context.Context) error {
	e := r.seal()
	r.finish(ctx, true)
	if e.Reason == Suppressed {
		return e.Last
	}
	return e
}

// finish counts and logs the end of a call. The last argument is true if the caller gets the
// error.
func (r *run) finish(ctx context.Context, leaves bool) {
	e, c := &r.err, r.p.counters
	c.calls.Add(1)
	c.sends.Add(int64(r.sends))
	kind := GaveUp
	switch {
	case e.Reason == Suppressed:
		c.suppressed.Add(1)
		r.reported = true // the outer call will log the error
		r.emit(ctx, GaveUp, 0, r.p.o.Hooks.End)
		return
	case e.Reason == Cancelled:
		c.cancelled.Add(1)
		kind = Ended
	case e.Reason == Permanent:
		c.failedFast.Add(1)
		kind = FailedFast
	case e.HandOver > 0 && leaves:
		c.handedOver.Add(1)
		kind = Rescheduled
	default:
		c.exhausted.Add(1)
	}
	r.added()
	delay := time.Duration(0)
	if kind == Rescheduled {
		delay = e.HandOver
	}
	r.emit(ctx, kind, delay, r.p.o.Hooks.End)
}

// added records how long the call lasted after its first failure.
func (r *run) added() {
	if r.n < 2 {
		return
	}
	var d time.Duration
	if !r.failedAt.IsZero() {
		d = r.p.o.Clock.Now().Sub(r.failedAt)
	}
	r.p.counters.retried(d)
}
