package retry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
)

// proves: L1
func TestL1_ACallKeepsItsTypeAndRetries(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0.5, retry.Options{})
	s := failing(unavailable, &status{code: 502}, &status{code: 429})
	v, err := retry.Do(t.Context(), r.Strategy, s.op)
	if v != 4 || err != nil || s.calls != 4 {
		t.Fatalf("got the value %d and the error %v after %d calls, want the value 4 and no error after 4 calls", v, err, s.calls)
	}
	// The sleeps are waits of 1, 2 and 4 s with full jitter and the random number 0.5.
	if want := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}; !slices.Equal(r.clock.slept, want) {
		t.Errorf("got the sleeps %v, want %v", r.clock.slept, want)
	}
	text, err := retry.Do(t.Context(), r.Strategy, func(context.Context) (string, error) { return "page", nil })
	if text != "page" || err != nil {
		t.Errorf("Do with a string: got %q and the error %v, want \"page\" and no error", text, err)
	}
	if err := retry.DoErr(t.Context(), r.Strategy, func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
}

// proves: L1
func TestL1_FullJitterBelowTheCap(t *testing.T) {
	t.Parallel()
	for u, want := range map[float64][]time.Duration{
		0:          {0, 0, 0, 0, 0},
		0.999999:   {time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second},
		0.25:       {250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 2500 * time.Millisecond},
		1.7:        {time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second},
		-1:         {0, 0, 0, 0, 0},
		0.99999999: {time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second},
	} {
		r := newRig(t, u, retry.Options{Retries: 5})
		_, err := retry.Do(t.Context(), r.Strategy, always(unavailable).op)
		e := failedWith(t, err)
		for i, w := range want {
			if got := e.Attempts[i].Wait; got > w || got < w-w/100000-time.Microsecond {
				t.Errorf("random number %v: wait %d is %v, want %v", u, i+1, got, w)
			}
		}
	}
}

// proves: L1
func TestL1_PermanentFailuresReturnAtOnce(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"400": &status{code: 400}, "401": &status{code: 401}, "403": &status{code: 403}, "404": &status{code: 404},
		"marked": failure.Permanent(unavailable), "stopped": retry.Stop(unavailable), "unknown": errors.New("something odd"),
		"snoozed": failure.Snooze(time.Hour), "cancelled by mark": failure.Cancel("obsolete"),
		"quota": errors.New("You exceeded your current quota, please check your plan and billing details"),
	} {
		r := newRig(t, 0.5, retry.Options{})
		s := always(err)
		_, got := retry.Do(t.Context(), r.Strategy, s.op)
		e := failedWith(t, got)
		if s.calls != 1 || len(r.clock.slept) != 0 || e.Reason != retry.Permanent || !errors.Is(got, retry.ErrPermanent) || !errors.Is(got, err) {
			t.Errorf("%s: got %d calls, the waits %v and the error %v; want 1 call, no wait and a permanent failure", name, s.calls, r.clock.slept, got)
		}
	}
}

func TestDo_VerdictsByOptions(t *testing.T) {
	t.Parallel()
	odd := errors.New("something odd")
	for name, c := range map[string]struct {
		o     retry.Options
		err   error
		calls int
	}{
		"unknown":           {retry.Options{RetryUnknown: true}, odd, 4},
		"a status":          {retry.Options{Statuses: map[int]failure.Verdict{409: failure.VerdictRetry}}, &status{code: 409}, 4},
		"a status, not":     {retry.Options{Statuses: map[int]failure.Verdict{503: failure.VerdictPermanent}}, unavailable, 1},
		"a class":           {retry.Options{Classes: map[failure.Class]failure.Verdict{failure.NotFound: failure.VerdictRetry}}, &status{code: 404}, 4},
		"a mark wins":       {retry.Options{Statuses: map[int]failure.Verdict{503: failure.VerdictRetry}}, failure.Permanent(unavailable), 1},
		"a class by mark":   {retry.Options{}, failure.WithClass(failure.NetworkTimeout, odd), 4},
		"not idempotent":    {retry.Options{NotIdempotent: true}, unavailable, 1},
		"throttled":         {retry.Options{NotIdempotent: true}, &status{code: 429}, 4},
		"one's own":         {retry.Options{Judge: retryOdd}, odd, 4},
		"one's own, passed": {retry.Options{Judge: retryOdd}, unavailable, 4},
		"asked to wait":     {retry.Options{}, failure.RetryAfter(time.Second, odd), 4},
		"no retries":        {retry.Options{Retries: retry.None}, unavailable, 1},
	} {
		r := newRig(t, 0.5, c.o)
		s := always(c.err)
		if _, err := retry.Do(t.Context(), r.Strategy, s.op); s.calls != c.calls {
			t.Errorf("%s: got %d calls, want %d; got the error %v", name, s.calls, c.calls, err)
		}
	}
}

func retryOdd(_ context.Context, err error) (j retry.Judgement) {
	if err.Error() == "something odd" {
		j = retry.Judgement{Class: "Odd", Verdict: failure.VerdictRetry}
	}
	return j
}

// Only the caller's context cancels a call, not an error that looks like a cancellation.
//
// proves: L1
func TestL1_OnlyTheCallersContextCancels(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"a service that reports a cancellation": &status{code: 503, text: fmt.Sprint(context.Canceled)},
		"a timeout of the client":               fmt.Errorf("get: %w", context.DeadlineExceeded),
	} {
		r := newRig(t, 0.5, retry.Options{})
		s := failing(err)
		if v, err := retry.Do(t.Context(), r.Strategy, s.op); v != 2 || err != nil {
			t.Errorf("%s: got the value %d and the error %v, want the value 2 and no error", name, v, err)
		}
	}
	cause := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	r := newRig(t, 0.5, retry.Options{})
	s := always(unavailable) // the failure is retriable, but the call is cancelled
	s.do = func(context.Context) { cancel(cause) }
	_, err := retry.Do(ctx, r.Strategy, s.op)
	e := failedWith(t, err)
	if s.calls != 1 || len(r.clock.slept) != 0 || e.Reason != retry.Cancelled || !errors.Is(err, retry.ErrCancelled) || !errors.Is(err, cause) || !errors.Is(err, error(unavailable)) {
		t.Errorf("cancelled during an attempt: got %d calls and the error %v; want 1 call and a cancellation with its cause", s.calls, err)
	}
	s = always(unavailable)
	_, err = retry.Do(ctx, r.Strategy, s.op)
	if e := failedWith(t, err); s.calls != 0 || e.Reason != retry.Cancelled || !errors.Is(err, cause) {
		t.Errorf("cancelled before the call: got %d calls and the error %v; want no call and a cancellation with its cause", s.calls, err)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	r.clock.onNap = func() { cancel(cause) }
	s = always(unavailable)
	_, err = retry.Do(ctx, r.Strategy, s.op)
	if e := failedWith(t, err); s.calls != 1 || e.Reason != retry.Cancelled || e.Waited != 0 || !errors.Is(err, cause) {
		t.Errorf("cancelled during a wait: got %d calls and the error %v; want 1 call and a cancellation with its cause", s.calls, err)
	}
	// If the context is already cancelled, not even the first attempt is made.
	if v, err := retry.Do(ctx, r.Strategy, failing().op); v != 0 || err == nil {
		t.Errorf("a call with a cancelled context: got the value %d and the error %v, want 0 and an error", v, err)
	}
}

// proves: L1
func TestL1_CancellingEndsAWaitAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, err := retry.New("ocr", retry.Options{
			Backoff: backoff.Backoff{Waits: []time.Duration{time.Hour}}, Logger: quiet,
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		time.AfterFunc(time.Second, cancel)
		_, err = retry.Do(ctx, p, always(unavailable).op)
		if waited := time.Since(began); waited != time.Second || !errors.Is(err, retry.ErrCancelled) {
			t.Errorf("the call ended after %v with the error %v, want ErrCancelled after 1s", waited, err)
		}
		began = time.Now()
		if _, err := retry.Do(t.Context(), p, failing(unavailable).op); err != nil || time.Since(began) != time.Hour {
			t.Errorf("a call that is not cancelled: it ended after %v with the error %v, want no error after 1h", time.Since(began), err)
		}
	})
}

func TestFrom_ReturnsTheAttempt(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0.5, retry.Options{Operation: "page download", Keyed: true})
	var calls []retry.Call
	s := failing(unavailable, &status{code: 502})
	s.do = func(ctx context.Context) { calls = append(calls, retry.From(ctx)) }
	ctx, _ := inJob(t)
	if _, err := retry.Do(ctx, r.Strategy, s.op); err != nil {
		t.Fatal(err)
	}
	for i, c := range calls {
		if c.Attempt != i+1 || c.Key == "" || c.Key != calls[0].Key || c.Job != "j7" || c.Correlation != "c9" || c.Operation != "page download" {
			t.Errorf("attempt %d: From returned %+v; want the number of the attempt, the first attempt's key, and the job, correlation id and operation of the call", i+1, c)
		}
	}
	if calls[0].Last != nil || calls[1].Last != error(unavailable) {
		t.Errorf("Call.Last of the first two attempts: got %v and %v, want nil and the error of the first attempt", calls[0].Last, calls[1].Last)
	}
	s = failing()
	s.do = func(ctx context.Context) { calls = append(calls, retry.From(ctx)) }
	_, _ = retry.Do(ctx, r.Strategy, s.op)
	if calls[3].Key == calls[0].Key {
		t.Error("two calls have the same key, want different keys")
	}
	s = failing(unavailable)
	s.do = func(ctx context.Context) { calls = append(calls, retry.From(ctx)) }
	_, _ = retry.Do(retry.WithKey(ctx, "j7-page-3"), r.Strategy, s.op)
	if calls[4].Key != "j7-page-3" || calls[5].Key != "j7-page-3" {
		t.Errorf("two calls under WithKey have the keys %q and %q, want j7-page-3 for both", calls[4].Key, calls[5].Key)
	}
}

// If the first attempt has no key, the later attempts have no key either.
func TestFrom_AKeyIsTheSameInAllAttemptsOrNone(t *testing.T) {
	t.Parallel()
	for _, o := range []retry.Options{{}, {Keyed: true}, {AttemptTimeout: time.Minute}, {MaxElapsed: time.Hour}} {
		r := newRig(t, 0.5, o)
		var keys []string
		s := failing(unavailable, unavailable, unavailable)
		s.do = func(ctx context.Context) { keys = append(keys, retry.From(ctx).Key) }
		if _, err := retry.Do(t.Context(), r.Strategy, s.op); err != nil {
			t.Fatal(err)
		}
		if len(slices.Compact(keys)) != 1 || o.Keyed && keys[0] == "" {
			t.Errorf("options %+v: the attempts have the keys %q, want one key for all attempts, or no key", o, keys)
		}
	}
}

// proves: L7
func TestL7_AFallbackSeesTheErrorAndDecides(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0.5, retry.Options{})
	fresh := func(_ context.Context, err error) (int, error) {
		e := failedWith(t, err)
		if e.Reason != retry.Exhausted || e.Sends != 4 {
			t.Errorf("the fallback got the error %+v, want exhausted retries after 4 sends", e)
		}
		return 42, nil
	}
	ctx, _ := inJob(t)
	v, err := retry.DoOr(ctx, r.Strategy, always(unavailable).op, fresh)
	if v != 42 || err != nil {
		t.Errorf("DoOr: got the value %d and the error %v, want the value 42 of the fallback and no error", v, err)
	}
	if got := r.Stats(); got.HandedOver != 0 || got.Exhausted != 1 {
		t.Errorf("after the fallback: got the counts %+v, want 1 exhausted call and no hand-over", got)
	}
	if v, err := retry.DoOr(ctx, r.Strategy, failing(unavailable).op, fresh); v != 2 || err != nil {
		t.Errorf("DoOr without a failure: got the value %d and the error %v, want the value 2 of the operation and no error", v, err)
	}
	// A fallback that returns the error hands the job over.
	_, err = retry.DoOr(ctx, r.Strategy, always(unavailable).op, func(_ context.Context, err error) (int, error) {
		return 0, fmt.Errorf("manifest: %w", err)
	})
	if evidence(err).HandOver == 0 || r.Stats().HandedOver != 1 {
		t.Errorf("a fallback that returns the error: got the error %v and the counts %+v, want a hand-over", err, r.Stats())
	}
	// The fallback is not called when the caller's context has ended.
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = retry.DoOr(ended, r.Strategy, always(unavailable).op, func(context.Context, error) (int, error) {
		t.Error("the call was cancelled, but its fallback was called; want no call of the fallback")
		return 0, nil
	})
	if !errors.Is(err, retry.ErrCancelled) {
		t.Error(err)
	}
}

func first[T, U any](v T, _ U) T { return v }

func TestStrategy_IsSharedByManyCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, err := retry.New("ocr", retry.Options{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		var good atomic.Int64
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				if v, err := retry.Do(t.Context(), p, failing(unavailable, unavailable).op); v == 3 && err == nil {
					good.Add(1)
				}
			})
		}
		all.Wait()
		if s := p.Stats(); good.Load() != 200 || s.Calls != 200 || s.Sends != 600 || s.Recovered != 200 || s.Retried != 200 {
			t.Errorf("%d calls succeeded, and the counts are %+v; want 200 calls that recovered, with 600 sends", good.Load(), s)
		}
	})
}
