package retry

import (
	"context"
	"errors"
	"math"
	"reflect"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
)

// judge decides what follows from a failed attempt: the wait before the next one,
// or false, with the reason in the error.
func (r *run) judge(ctx context.Context, err error, limited bool) (time.Duration, bool) {
	if ended := ctx.Err(); ended != nil { // the caller's, whatever the error says
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
	return wait, true
}

// left returns how much time there is before the nearest limit.
func (r *run) left(ctx context.Context) time.Duration {
	now := r.p.o.Clock.Now()
	left := time.Duration(math.MaxInt64)
	if at, ok := ctx.Deadline(); ok {
		left = at.Sub(now)
	}
	if r.ledger != nil && !r.ledger.job.Deadline.IsZero() {
		left = min(left, r.ledger.job.Deadline.Sub(now))
	}
	if most := r.p.o.MaxElapsed; most > 0 {
		left = min(left, most-now.Sub(r.start))
	}
	return left
}

// useful is the least time that an attempt needs.
func (r *run) useful() time.Duration {
	if r.p.o.MinUseful > 0 {
		return r.p.o.MinUseful
	}
	return r.shortest
}

// The jitter of a hint: U(0, max(1 s, a tenth of it)).
const (
	hintJitterMin  = time.Second
	hintJitterPart = 10
)

func hintJitter(hint time.Duration, u float64) time.Duration {
	return time.Duration(float64(max(hintJitterMin, hint/hintJitterPart)) * u)
}

// wait combines the wait of the back-off with a hint, and returns false when the
// hint is too long to be slept. A hint is a floor: its jitter only adds.
func (o *Options) wait(drawn, hint time.Duration) (time.Duration, bool) {
	switch {
	case hint <= 0:
		return drawn, true
	case o.CutHints:
		return min(hint, o.HintCap), true
	case hint > o.HintCap:
		return 0, false
	}
	return (max(drawn, hint) + hintJitter(hint, o.Rand())).Truncate(time.Microsecond), true
}

// ruleJudge and ruleLimit are the rules of what is judged here.
const (
	ruleJudge = "retry.judge"
	ruleLimit = "retry.attempt_timeout"
)

var plainText = reflect.TypeOf(errors.New(""))

// classify finds the class of a failure, whether it is retried, and its hint. It
// returns the reason of a call within this one that has tried for both.
func (r *run) classify(ctx context.Context, err error, limited bool) (inherited Reason) {
	plain := reflect.TypeOf(err) == plainText
	if plain && !limited && r.same == err { //nolint:errorlint // the very same text gives the same class
		return 0
	}
	r.same = nil
	e, o := &r.err, &r.p.o
	e.Hint, r.status, r.retry = 0, 0, false
	if o.Judge != nil {
		if j := o.Judge(ctx, err); j.Verdict != "" {
			if e.Class.Rule != ruleJudge || e.Class.Class != j.Class || e.Class.Verdict != j.Verdict {
				e.Class = failure.Classification{Class: j.Class, Verdict: j.Verdict, Rank: failure.RankMark, Rule: ruleJudge}
			}
			e.Hint, r.retry = max(j.Hint, 0), o.retried(j.Verdict)
			return 0
		}
	}
	var inner *Error
	if !plain {
		inner, _ = errors.AsType[*Error](err)
	}
	ev := failure.Of(err)
	e.Class = o.Classifier.Classify(&ev, "")
	e.Hint, r.status = r.hint(&ev), ev.HTTPStatus
	if inner != nil {
		switch inner.Reason {
		case Exhausted, OutOfTime, LongHint:
			e.Class, e.Hint, r.told = inner.Class, max(e.Hint, inner.Hint), true
			e.HandOver = inner.HandOver
			return inner.Reason
		case Permanent: // what was said to that call is not said to this one: its class decides
			e.Class = inner.Class
			e.Class.Verdict = verdictOf(inner.Class.Class)
			r.retry = o.retried(e.Class.Verdict)
			return 0
		case Cancelled, Suppressed:
		}
	}
	r.verdict(err, &ev, limited, inner != nil)
	if plain {
		r.same = err
	}
	return 0
}

// verdict finds whether a failure of this call itself is retried.
func (r *run) verdict(err error, ev *failure.Evidence, limited, nested bool) {
	o, c := &r.p.o, &r.err.Class
	if ev.Cancel || ev.Snooze > 0 || ev.HandOver > 0 {
		return // the handler's own words, to this call and to its job
	}
	if s, ok := errors.AsType[*stop](err); ok && s != nil && !nested {
		return
	}
	if c.Rank != failure.RankMark {
		if v, ok := o.Statuses[ev.HTTPStatus]; ok && ev.HTTPStatus != 0 {
			c.Verdict = v
		} else if v, ok := o.Classes[c.Class]; ok {
			c.Verdict = v
		} else if limited && (c.Verdict != failure.VerdictPermanent || c.Rank < failure.RankTyped) {
			*c = failure.Classification{Class: failure.AttemptTimeout, Verdict: failure.VerdictRetry, Rank: failure.RankCause, Rule: ruleLimit}
		}
	}
	if c.Verdict == failure.VerdictUnknown && ev.RetryAfter > 0 {
		c.Verdict = failure.VerdictThrottle
	}
	if c.Verdict == failure.VerdictUnknown {
		r.p.counters.unclassified.Add(1)
	}
	r.retry = o.retried(c.Verdict)
	if o.NotIdempotent && ev.Sent != failure.NotSent && c.Verdict != failure.VerdictThrottle {
		r.retry = false
	}
}

// retried reports whether a call is retried on a verdict.
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

// verdictOf is what a class says by itself.
func verdictOf(c failure.Class) failure.Verdict {
	if info, ok := failure.InfoOf(c); ok {
		return info.Verdict
	}
	return failure.VerdictUnknown
}

// hint is the longest wait that the other side has asked for.
func (r *run) hint(ev *failure.Evidence) time.Duration {
	hint := max(ev.RetryAfter, r.err.Class.Hint, 0)
	if !ev.NotBefore.IsZero() {
		hint = max(hint, ev.NotBefore.Sub(r.p.o.Clock.Now()))
	}
	return hint
}
