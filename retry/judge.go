package retry

import (
	"context"
	"errors"
	"math"
	"reflect"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/classify"
	"github.com/redrive/redrive/failure"
)

// nextWait decides what follows a failed attempt. It returns the wait before the next attempt.
// If no attempt may follow, it returns false and sets the reason in the error.
func (r *run) nextWait(ctx context.Context, err error, limited bool) (time.Duration, bool) {
	if ended := ctx.Err(); ended != nil { // the caller's context has ended; the text of the error does not matter
		r.ends(ctx, ended)
		return 0, false
	}
	inherited := r.classify(ctx, err, limited)
	e := &r.err
	switch {
	case inherited != 0:
		r.fail(inherited, nil)
		return 0, false
	case !r.retry:
		r.fail(Permanent, nil)
		return 0, false
	case r.once:
		r.fail(Suppressed, nil)
		return 0, false
	case r.n > r.p.retries, r.ledger != nil && r.ledger.spent():
		r.fail(Exhausted, nil)
		return 0, false
	}
	var u float64
	if r.p.curve.Jitter != backoff.None {
		u = r.p.o.Rand()
	}
	draw, ok := r.p.curve.Wait(r.n, r.previous, u)
	if !ok {
		r.fail(Exhausted, nil)
		return 0, false
	}
	r.previous = draw.Wait
	wait, ok := r.p.o.wait(draw.Wait, e.Hint)
	if !ok {
		r.fail(LongHint, nil)
		return 0, false
	}
	if r.timed && r.left(ctx) < wait+r.useful() {
		r.fail(OutOfTime, nil)
		return 0, false
	}
	if r.ledger != nil {
		if !r.ledger.reserve() { // another call of the job has just taken the last resend
			r.fail(Exhausted, nil)
			return 0, false
		}
		r.reserved = true
	}
	return wait, true
}

// left returns the time until the nearest limit.
func (r *run) left(ctx context.Context) time.Duration {
	now := r.p.o.Clock.Now()
	left := time.Duration(math.MaxInt64)
	if at, ok := ctx.Deadline(); ok {
		left = at.Sub(now)
	}
	if most := r.p.o.MaxElapsed; most > 0 {
		left = min(left, most-now.Sub(r.start))
	}
	return left
}

// useful returns the shortest time that an attempt needs.
func (r *run) useful() time.Duration {
	if r.p.o.MinUseful > 0 {
		return r.p.o.MinUseful
	}
	return r.shortest
}

// The jitter added to a hint is a random time between 0 and the longer of 1 s and a tenth of
// the hint. These constants define it.
const (
	hintJitterMin  = time.Second
	hintJitterPart = 10
)

func hintJitter(hint time.Duration, u float64) time.Duration {
	return time.Duration(float64(max(hintJitterMin, hint/hintJitterPart)) * u)
}

// wait returns the wait before the next attempt, from the wait of the back-off (drawn) and
// the hint of the other side. It returns false when the hint is too long to sleep. Jitter
// only makes the wait after a hint longer.
func (o *Options) wait(drawn, hint time.Duration) (time.Duration, bool) {
	switch {
	case hint <= 0:
		return drawn, true
	case o.CutHints:
		return max(drawn, min(hint, o.HintCap)), true
	case hint > o.HintCap:
		return 0, false
	}
	return (max(drawn, hint) + hintJitter(hint, o.Rand())).Truncate(time.Microsecond), true
}

// ruleOption and ruleLimit are the names of the rules for classes that this file sets.
const (
	ruleOption = "retry.judge"
	ruleLimit  = "retry.attempt_timeout"
)

var plainText = reflect.TypeOf(errors.New(""))

// classify finds the class of a failure, whether it is retried, and its hint. If an inner call
// has used up its retries, classify returns the reason of the inner call.
func (r *run) classify(ctx context.Context, err error, limited bool) (inherited Reason) {
	e, o := &r.err, &r.p.o
	plain := reflect.TypeOf(err) == plainText
	known := plain && !limited && o.Judge == nil
	if known && r.same == err { //nolint:errorlint // the same error value has the same class
		return 0
	}
	r.same = nil
	e.Hint, r.status, r.retry = 0, 0, false
	if plain && o.Judge != nil && r.askOption(ctx, err, &failure.Evidence{}) {
		return 0
	}
	var in calls
	if !plain {
		in.look(err, &e.Hint)
	}
	ev := failure.Of(err)
	r.status = ev.HTTPStatus
	if in.ended != nil {
		e.Class, e.HandOver, r.reported = in.ended.Class, in.handOver, true
		e.Hint = max(e.Hint, r.hint(&ev))
		return in.ended.Reason
	}
	final := ev.Cancel || ev.Snooze > 0 || ev.HandOver > 0 || in.stopped || // these marks of the operation end the call and decide about the job
		ev.Permanent && in.final == nil // a mark that an inner call set does not apply to this call
	if !final && !plain && o.Judge != nil && r.askOption(ctx, err, &ev) {
		return 0
	}
	e.Class = o.Classifier.Classify(&ev, "")
	e.Hint = r.hint(&ev)
	switch {
	case final:
		return 0
	case in.final != nil: // the class of the inner call's failure decides
		e.Class = in.final.Class
		e.Class.Verdict = verdictOf(in.final.Class.Class)
		r.retry = o.retried(e.Class.Verdict) && o.repeats(&ev, &e.Class)
		return 0
	}
	r.verdict(&ev, limited)
	if known {
		r.same = err
	}
	return 0
}

// askOption calls Options.Judge, and reports whether it decided.
func (r *run) askOption(ctx context.Context, err error, ev *failure.Evidence) bool {
	e, o := &r.err, &r.p.o
	j := o.Judge(ctx, err)
	if j.Verdict == "" {
		return false
	}
	if e.Class.Rule != ruleOption || e.Class.Class != j.Class || e.Class.Verdict != j.Verdict {
		e.Class = classify.Classification{Class: j.Class, Verdict: j.Verdict, Rank: classify.RankMark, Rule: ruleOption}
	}
	r.status = ev.HTTPStatus
	e.Hint = 0
	if j.Hint >= 0 {
		e.Hint = max(j.Hint, r.hint(ev))
	}
	r.retry = o.retried(j.Verdict) && o.repeats(ev, &e.Class)
	return true
}

// calls describes the inner calls whose errors are part of an error.
type calls struct {
	ended    *Error // the first call that has used up its retries
	final    *Error // the first call that ended with a permanent failure
	handOver time.Duration
	stopped  bool // whether Stop marks the error for this call
	seen     int
}

// look searches the tree of an error. It does not search the errors of inner calls,
// because their marks apply to the inner calls.
func (c *calls) look(err error, hint *time.Duration) {
	for ; err != nil && c.seen < failure.NodesMax; c.seen++ {
		switch node := err.(type) { //nolint:errorlint // each error of the tree is looked at separately
		case *Error:
			if node == nil {
				return
			}
			switch node.Reason {
			case Exhausted, OutOfTime, LongHint:
				if c.ended == nil {
					c.ended = node
				}
				*hint, c.handOver = max(*hint, node.Hint), max(c.handOver, node.HandOver)
				return
			case Permanent:
				if c.final == nil {
					c.final = node
				}
				return
			case Cancelled, Suppressed:
			}
			err = node.Last
			continue
		case *stop:
			if node == nil {
				return
			}
			c.stopped = true
		}
		switch node := err.(type) { //nolint:errorlint // this switch unwraps the error
		case interface{ Unwrap() error }:
			err = node.Unwrap()
		case interface{ Unwrap() []error }:
			for _, part := range node.Unwrap() {
				c.seen++
				c.look(part, hint)
			}
			return
		default:
			return
		}
	}
}

// verdict decides whether a failure of this call, and not of an inner call, is retried.
func (r *run) verdict(ev *failure.Evidence, limited bool) {
	o, c := &r.p.o, &r.err.Class
	if c.Rank != classify.RankMark {
		if v, ok := o.Statuses[ev.HTTPStatus]; ok && ev.HTTPStatus != 0 {
			c.Verdict = v
		} else if v, ok := o.Classes[c.Class]; ok {
			c.Verdict = v
		} else if limited && (c.Verdict != failure.VerdictPermanent || c.Rank < classify.RankTyped) {
			*c = classify.Classification{Class: failure.AttemptTimeout, Verdict: failure.VerdictRetry, Rank: classify.RankCause, Rule: ruleLimit}
		}
	}
	repeats := o.repeats(ev, c)
	if c.Verdict == failure.VerdictUnknown && ev.RetryAfter > 0 {
		c.Verdict = failure.VerdictThrottle
	}
	if c.Verdict == failure.VerdictUnknown {
		r.p.counters.unclassified.Add(1)
	}
	r.retry = o.retried(c.Verdict) && repeats
}

// repeats reports whether sending again is safe. A text such as "too many requests" does
// not show what the other side had done before it failed.
func (o *Options) repeats(ev *failure.Evidence, c *classify.Classification) bool {
	switch {
	case !o.NotIdempotent, ev.Sent == failure.NotSent, ev.HTTPStatus == 429, ev.GRPC == "RESOURCE_EXHAUSTED":
		return true
	}
	return ev.HTTPStatus == 0 && ev.GRPC == "" && c.Rank == classify.RankMark && c.Verdict == failure.VerdictThrottle
}

// retried reports whether calls are retried for a verdict.
func (o *Options) retried(v failure.Verdict) bool {
	switch v {
	case failure.VerdictRetry, failure.VerdictThrottle, failure.VerdictDependencyDown:
		return true
	case failure.VerdictUnknown, "":
		return o.RetryUnknown
	case failure.VerdictQuota, failure.VerdictPermanent, failure.VerdictCancelled, failure.VerdictCrash:
	}
	return false
}

// verdictOf returns the verdict of a class.
func verdictOf(c failure.Class) failure.Verdict {
	if info, ok := failure.InfoOf(c); ok {
		return info.Verdict
	}
	return failure.VerdictUnknown
}

// hint returns the longest wait that the other side asked for.
func (r *run) hint(ev *failure.Evidence) time.Duration {
	hint := max(ev.RetryAfter, r.err.Class.Hint, 0)
	if !ev.NotBefore.IsZero() {
		hint = max(hint, ev.NotBefore.Sub(r.p.o.Clock.Now()))
	}
	return hint
}
