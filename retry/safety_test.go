package retry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
)

// retryAll is an Options.Judge that retries every error.
func retryAll(context.Context, error) retry.Judgement {
	return retry.Judgement{Class: failure.TemporaryServiceError, Verdict: failure.VerdictRetry}
}

// Options.Judge cannot retry errors that must end a call.
func TestJudgement_CannotDisableSafetyRules(t *testing.T) {
	t.Parallel()
	odd := errors.New("something odd")
	within := func(err error) error {
		_, err = retry.Do(t.Context(), newRig(t, 0, retry.Options{}).Strategy, always(err).op)
		return fmt.Errorf("page 3: %w", err)
	}
	for name, c := range map[string]struct {
		o     retry.Options
		err   error
		calls int
	}{
		"permanent":              {retry.Options{}, failure.Permanent(unavailable), 1},
		"stop":                   {retry.Options{}, retry.Stop(odd), 1},
		"cancel":                 {retry.Options{}, failure.Cancel("obsolete"), 1},
		"snooze":                 {retry.Options{}, failure.Snooze(time.Minute), 1},
		"hand over":              {retry.Options{}, failure.HandOver(time.Minute, "", odd), 1},
		"a call within":          {retry.Options{}, within(unavailable), 1},
		"asked to wait, within":  {retry.Options{}, within(&status{code: 429, after: time.Hour}), 1},
		"permanent to that call": {retry.Options{}, within(failure.Permanent(unavailable)), 4},
		"not idempotent":         {retry.Options{NotIdempotent: true}, unavailable, 1},
		"not idempotent, words":  {retry.Options{NotIdempotent: true}, odd, 1},
		"not idempotent, 429":    {retry.Options{NotIdempotent: true}, &status{code: 429}, 4},
		"another":                {retry.Options{}, odd, 4},
	} {
		c.o.Judge = retryAll
		r := newRig(t, 0.5, c.o)
		s := always(c.err)
		if _, err := retry.Do(t.Context(), r.Strategy, s.op); err == nil || s.calls != c.calls {
			t.Errorf("%s: got %d calls, want %d; got the error %v", name, s.calls, c.calls, err)
		}
	}
}

// Of a hint of Options.Judge and a hint of the error, the longer one is used. A negative hint
// of Options.Judge removes the hint of the error.
func TestJudgement_LongerHintCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ option, hint, want time.Duration }{
		{0, 5 * time.Second, 5 * time.Second},
		{3 * time.Second, 5 * time.Second, 5 * time.Second},
		{7 * time.Second, 5 * time.Second, 7 * time.Second},
		{-1, 5 * time.Second, 0},
	} {
		r := newRig(t, 0, retry.Options{Judge: func(context.Context, error) retry.Judgement {
			return retry.Judgement{Verdict: failure.VerdictThrottle, Hint: c.option}
		}})
		if _, err := retry.Do(t.Context(), r.Strategy, failing(&status{code: 429, after: c.hint}).op); err != nil {
			t.Error(err)
		}
		slept := time.Duration(0)
		for _, d := range r.clock.slept {
			slept += d
		}
		if slept != c.want {
			t.Errorf("hints %v of Options.Judge and %v of the error: got the wait %v, want %v", c.option, c.hint, slept, c.want)
		}
	}
}

// The text of an error does not show what the service had done before the failure.
func TestNotIdempotent_IgnoresErrorTexts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		calls int
	}{
		"500, rate limit in its text": {&status{code: 500, text: ": rate limit exceeded"}, 1},
		"503, too many requests":      {&status{code: 503, text: ": too many requests"}, 1},
		"words alone":                 {errors.New("too many requests"), 1},
		"unknown, with a hint":        {failure.RetryAfter(time.Second, errors.New("half done")), 1},
		"a class by mark":             {failure.WithClass(failure.RateLimitExceeded, errors.New("turned away")), 4},
		"a class by mark, but 503":    {failure.WithClass(failure.RateLimitExceeded, unavailable), 1},
		"another class by mark":       {failure.WithClass(failure.NetworkTimeout, errors.New("lost")), 1},
		"429":                         {&status{code: 429}, 4},
	} {
		r := newRig(t, 0.5, retry.Options{NotIdempotent: true})
		s := always(c.err)
		if _, err := retry.Do(t.Context(), r.Strategy, s.op); err == nil || s.calls != c.calls {
			t.Errorf("%s: got %d calls, want %d; got the error %v", name, s.calls, c.calls, err)
		}
	}
}

// If an error joins the errors of several inner calls, a call that has used up its
// retries counts at any position.
//
// part of: L4
func TestL4_JoinedCallsWithinDoNotMultiply(t *testing.T) {
	t.Parallel()
	in := newRig(t, 0, retry.Options{Dependency: "in"})
	for name, beside := range map[string]func(context.Context) error{
		"cancelled": func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return retry.DoErr(ctx, in.Strategy, func(context.Context) error { return nil })
		},
		"permanent": func(ctx context.Context) error {
			return retry.DoErr(ctx, in.Strategy, func(context.Context) error { return &status{code: 404} })
		},
		"for its class retriable": func(ctx context.Context) error {
			return retry.DoErr(ctx, in.Strategy, func(context.Context) error { return retry.Stop(unavailable) })
		},
		"plain": func(context.Context) error { return unavailable },
	} {
		out := newRig(t, 0.5, retry.Options{Dependency: "out"})
		ctx, _ := inJob(t)
		s := always(unavailable)
		err := retry.DoErr(ctx, out.Strategy, func(ctx context.Context) error {
			first := beside(ctx)
			_, second := retry.Do(ctx, in.Strategy, s.op)
			return errors.Join(first, fmt.Errorf("page 3: %w", second))
		})
		if e := failedWith(t, err); s.calls != 4 || e.Reason != retry.Exhausted || e.HandOver != 300*time.Second {
			t.Errorf("%s: got %d sends, the reason %v and the hand-over %v; want 4 sends, exhausted retries and a hand-over after 5m", name, s.calls, e.Reason, e.HandOver)
		}
	}
}

// If an error is returned when the time limit is reached, the class that it gets is not used
// again when the same error is returned later.
func TestDo_ClassAtTheLimitIsNotRemembered(t *testing.T) {
	t.Parallel()
	odd, busy := errors.New("something odd"), errors.New("503 service unavailable")
	calls := 0
	r := newRig(t, 0, retry.Options{AttemptTimeout: time.Millisecond})
	err := retry.DoErr(t.Context(), r.Strategy, func(ctx context.Context) error {
		if calls++; calls == 1 {
			<-ctx.Done()
		}
		return odd
	})
	if calls != 2 || !errors.Is(err, retry.ErrPermanent) {
		t.Errorf("got %d calls, want 2; got the error %v", calls, err)
	}
	// Options.Judge is called for every failure.
	calls = 0
	r = newRig(t, 0, retry.Options{Judge: func(context.Context, error) (j retry.Judgement) {
		if calls == 2 {
			j.Verdict = failure.VerdictPermanent
		}
		return j
	}})
	err = retry.DoErr(t.Context(), r.Strategy, func(context.Context) error { calls++; return busy })
	if calls != 2 || !errors.Is(err, retry.ErrPermanent) {
		t.Errorf("with Options.Judge: got %d calls, want 2; got the error %v", calls, err)
	}
}

// A hint that Options.Judge or the classifier has found reaches the job's policy.
//
// part of: R3
func TestR3_AFoundHintReachesTheJob(t *testing.T) {
	t.Parallel()
	o := retry.Options{Judge: func(context.Context, error) retry.Judgement {
		return retry.Judgement{Verdict: failure.VerdictThrottle, Hint: time.Hour}
	}}
	for name, handOver := range map[string]time.Duration{"handed over": 0, "not": retry.None} {
		o.HandOver = handOver
		ctx, _ := inJob(t)
		_, err := retry.Do(ctx, newRig(t, 0, o).Strategy, always(errors.New("no")).op)
		if ev := evidence(err); ev.RetryAfter != time.Hour || (ev.HandOver > 0) != (handOver == 0) || !errors.Is(err, retry.ErrHint) {
			t.Errorf("%s: the job's policy gets the hint %v and the hand-over %v from the error %v; want the hint 1h, ErrHint, and a hand-over only if HandOver is not switched off", name, ev.RetryAfter, ev.HandOver, err)
		}
	}
}

// If a hint is cut, the wait is the longer of the wait of the back-off and the cut hint.
//
// part of: R3
func TestR3_ACutHintDoesNotShortenTheBackoff(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0.5, retry.Options{CutHints: true})
	_, err := retry.Do(t.Context(), r.Strategy, failing(&status{code: 429, after: time.Microsecond}).op)
	if err != nil || len(r.clock.slept) != 1 || r.clock.slept[0] != 500*time.Millisecond {
		t.Errorf("got the waits %v and the error %v, want one wait of 500ms and no error", r.clock.slept, err)
	}
}

// If the function given to With writes into a map, only the new strategy changes.
func TestWith_ChangesOfMapsAreNotShared(t *testing.T) {
	t.Parallel()
	p, err := retry.Preset("storage", []string{})
	if err != nil {
		t.Fatal(err)
	}
	before := p.String()
	q, err := p.With(func(o *retry.Options) { o.Statuses[408] = failure.VerdictRetry })
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range q.Settings() {
		if s.Name == "Statuses" && s.From != "options" {
			t.Errorf("got the setting %+v, want From \"options\"", s)
		}
	}
	if p.String() != before {
		t.Errorf("a change of a copy also changed the original strategy, want no change; it is now\n%s", p)
	}
}
