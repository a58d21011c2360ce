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

// naive is a retry loop that does not know about other retries.
func naive(times int, op func() error) (err error) {
	for range times {
		if err = op(); err == nil {
			return nil
		}
	}
	return err
}

// An outer call with 3 attempts around an inner call with 4 attempts makes 12 sends without a
// ledger, and at most 4 sends with one.
//
// proves: L4
func TestL4_NestedRetriesDoNotMultiply(t *testing.T) {
	t.Parallel()
	sends := 0
	_ = naive(3, func() error { return naive(4, func() error { sends++; return unavailable }) })
	if sends != 12 {
		t.Fatalf("two naive loops made %d sends, want 12", sends)
	}
	outside := func(t *testing.T) context.Context { return t.Context() }
	inside := func(t *testing.T) context.Context { return first(inJob(t)) }
	for name, c := range map[string]struct {
		ctx          func(*testing.T) context.Context
		outer, inner retry.Options
		flatten      bool // the code between the calls replaces the error by a new one
		want         int
	}{
		"in a job, one dependency":        {ctx: inside, want: 3, outer: retry.Options{Dependency: "s3"}, inner: retry.Options{Dependency: "s3"}},
		"in a job, two dependencies":      {ctx: inside, want: 4, outer: retry.Options{Dependency: "page"}, inner: retry.Options{Dependency: "s3"}},
		"outside, one dependency":         {ctx: outside, want: 4, outer: retry.Options{Dependency: "s3"}, inner: retry.Options{Dependency: "s3"}},
		"outside, two dependencies":       {ctx: outside, want: 4, outer: retry.Options{Dependency: "page"}, inner: retry.Options{Dependency: "s3"}},
		"outside, with a limit":           {ctx: outside, want: 3, outer: retry.Options{Dependency: "s3", AttemptTimeout: time.Minute}, inner: retry.Options{Dependency: "s3"}},
		"in a job, taken apart, one":      {ctx: inside, flatten: true, want: 3, outer: retry.Options{Dependency: "s3"}, inner: retry.Options{Dependency: "s3"}},
		"outside, taken apart, limited":   {ctx: outside, flatten: true, want: 3, outer: retry.Options{Dependency: "s3", MaxElapsed: time.Hour}, inner: retry.Options{Dependency: "s3"}},
		"outside, taken apart, unlimited": {ctx: outside, flatten: true, want: 4 + 2, outer: retry.Options{Dependency: "s3"}, inner: retry.Options{Dependency: "s3"}},
	} {
		c.outer.Retries, c.inner.Retries = 2, 3
		outer, inner := newRig(t, 0.5, c.outer), newRig(t, 0.5, c.inner)
		s := always(unavailable)
		_, err := retry.Do(c.ctx(t), outer.Strategy, func(ctx context.Context) (int, error) {
			v, err := retry.Do(ctx, inner.Strategy, s.op)
			if err != nil && c.flatten {
				err = &status{code: 503, text: err.Error()}
			}
			return v, err
		})
		if s.calls != c.want || !errors.Is(err, retry.ErrExhausted) {
			t.Errorf("%s: got %d sends, want %d; got the error %v", name, s.calls, c.want, err)
		}
	}
}

// A failure that an inner call repairs by a retry is not visible outside. An inner call
// that must not retry leaves retrying to the outer call.
//
// proves: L4
func TestL4_ASuppressedCallLeavesRetryingToTheOuter(t *testing.T) {
	t.Parallel()
	ctx, ledger := inJob(t)
	outer, inner := newRig(t, 0.5, retry.Options{Dependency: "s3"}), newRig(t, 0.5, retry.Options{Dependency: "s3"})
	s := failing(unavailable, unavailable)
	v, err := retry.Do(ctx, outer.Strategy, func(ctx context.Context) (int, error) { return retry.Do(ctx, inner.Strategy, s.op) })
	if v != 3 || err != nil || ledger.Sends() != 3 || ledger.Resends() != 2 || ledger.Suppressed() != 3 {
		t.Errorf("got the value %d and the error %v; %d sends, %d resends and %d suppressed calls; want the value 3, no error, 3 sends, 2 resends and 3 suppressed calls", v, err, ledger.Sends(), ledger.Resends(), ledger.Suppressed())
	}
	if got := inner.Stats(); got.Suppressed != 3 || got.Calls != 3 || len(inner.clock.slept) != 0 || len(inner.lines(t)) != 0 {
		t.Errorf("the inner strategy has the counts %+v and the log lines %v, want 3 suppressed calls, no wait and no log line", got, inner.lines(t))
	}
}

// Each send is counted once: by the transport if it counts sends, and otherwise by the call. An
// SDK with three sends in each of three attempts makes nine sends.
//
// proves: L4
func TestL4_PhysicalSendsAreCountedOnce(t *testing.T) {
	t.Parallel()
	sdk := func(ctx context.Context) error {
		return naive(3, func() error { retry.CountSend(ctx); return unavailable })
	}
	for name, c := range map[string]struct {
		op   func(context.Context) error
		want int
	}{
		"no transport":     {func(context.Context) error { return unavailable }, 3},
		"a transport":      {func(ctx context.Context) error { retry.CountSend(ctx); return unavailable }, 3},
		"an SDK":           {sdk, 9},
		"under a key":      {func(ctx context.Context) error { return sdk(retry.WithKey(ctx, "k")) }, 9},
		"in a call within": {func(ctx context.Context) error { return retry.DoErr(ctx, newRig(t, 0, retry.Options{}).Strategy, sdk) }, 9},
	} {
		r := newRig(t, 0.5, retry.Options{Retries: 2})
		ctx, ledger := inJob(t)
		err := retry.DoErr(ctx, r.Strategy, c.op)
		if e := failedWith(t, err); ledger.Sends() != c.want || e.Sends != c.want || r.Stats().Sends != int64(c.want) {
			t.Errorf("%s: got %d sends in the ledger, %d in the error and %d in the counts, want %d in each", name, ledger.Sends(), e.Sends, r.Stats().Sends, c.want)
		}
	}
	retry.CountSend(t.Context()) // CountSend has no effect outside a call
}

// All calls of one run share one limit on resends; first sends do not count.
//
// proves: L4
func TestL4_AJobWideCapOnSendingAgain(t *testing.T) {
	t.Parallel()
	ctx, ledger := retry.WithJob(t.Context(), retry.JobInfo{ID: "j7", Resends: 5})
	total := 0
	for page := range 10 {
		r := newRig(t, 0.5, retry.Options{Dependency: fmt.Sprintf("d%d", page)})
		s := always(unavailable)
		_, err := retry.Do(ctx, r.Strategy, s.op)
		if !errors.Is(err, retry.ErrExhausted) {
			t.Error(err)
		}
		total += s.calls
	}
	if total != 15 || ledger.Sends() != 15 || ledger.Resends() != 5 || ledger.Calls() != 10 {
		t.Errorf("got %d sends and %d resends in %d calls, want 15 sends and 5 resends in 10 calls", ledger.Sends(), ledger.Resends(), ledger.Calls())
	}
	if _, ledger := inJob(t); ledger.Sends() != 0 {
		t.Error("the ledger of a new run has sends already, want none")
	}
}

// In another library, a mark that an operation set for the inner call also ended the outer
// call: cenkalti/backoff#174 and #177.
//
// part of: L4
func TestL4_AMarkForOneCallIsNotOneForTheNext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		outer int
	}{
		"stopped, retriable":     {retry.Stop(unavailable), 4},
		"permanent, retriable":   {failure.Permanent(unavailable), 4},
		"permanent by its class": {failure.Permanent(&status{code: 401}), 1},
		"permanent, unknown":     {failure.Permanent(errors.New("something odd")), 1},
	} {
		outer, inner := newRig(t, 0.5, retry.Options{Dependency: "a"}), newRig(t, 0.5, retry.Options{Dependency: "b"})
		calls := 0
		_, err := retry.Do(t.Context(), outer.Strategy, func(ctx context.Context) (int, error) {
			calls++
			return retry.Do(ctx, inner.Strategy, always(c.err).op)
		})
		if calls != c.outer || err == nil {
			t.Errorf("%s: got %d outer attempts, want %d; got the error %v", name, calls, c.outer, err)
		}
	}
	if got := evidence(retry.Stop(unavailable)); got.Permanent {
		t.Error("Stop marked the error as permanent for the job, want the mark to end only the call")
	}
	if retry.Stop(nil) != nil {
		t.Error("Stop(nil) returned an error, want nil")
	}
}

// proves: L3
func TestL3_ACallInAJobHandsItOver(t *testing.T) {
	t.Parallel()
	for u, want := range map[float64]time.Duration{0: 300 * time.Second, 0.5: 315 * time.Second} {
		r := newRig(t, u, retry.Options{})
		ctx, _ := inJob(t)
		_, err := retry.Do(ctx, r.Strategy, always(unavailable).op)
		e, ev := failedWith(t, err), evidence(fmt.Errorf("page 3: %w", err))
		if e.HandOver != want || ev.HandOver != want || ev.Permanent || ev.Message != "page 3: ocr retries exhausted: the service said no" {
			t.Errorf("random number %v: got the hand-over %v and the evidence %+v; want the hand-over %v in both", u, e.HandOver, ev, want)
		}
		if ev.HTTPStatus != 503 || !errors.Is(err, retry.ErrExhausted) || r.Stats().HandedOver != 1 || r.Stats().Exhausted != 0 {
			t.Errorf("got the evidence %+v and the counts %+v; want status 503, exhausted retries and one call that handed over", ev, r.Stats())
		}
		lines := r.lines(t)
		if last := lines[len(lines)-1]; len(lines) != 4 || last["level"] != "WARN" || last["delay_ms"] != float64(want.Milliseconds()) {
			t.Errorf("got %d log lines, the last with the values %v; want 4 lines, the last about the hand-over", len(lines), last)
		}
	}
	// Without a job, or if the strategy does not hand over, the call returns a plain error.
	for name, c := range map[string]struct {
		ctx context.Context
		o   retry.Options
		err error
	}{
		"outside":       {t.Context(), retry.Options{}, unavailable},
		"switched off":  {first(inJob(t)), retry.Options{HandOver: retry.None}, unavailable},
		"not transient": {first(inJob(t)), retry.Options{}, &status{code: 401}},
	} {
		r := newRig(t, 0, c.o)
		_, err := retry.Do(c.ctx, r.Strategy, always(c.err).op)
		if e := failedWith(t, err); e.HandOver != 0 || evidence(err).HandOver != 0 || r.Stats().HandedOver != 0 {
			t.Errorf("%s: got a hand-over of %v, want none", name, e.HandOver)
		}
	}
}

// A call sleeps a short hint, hands the job over for a longer hint, and leaves the longest
// hints to the job's policy.
//
// proves: R3
func TestR3_TheZonesOfAHint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hint     time.Duration
		u        float64
		slept    time.Duration // the expected first wait
		job      time.Duration // the expected wait of the job after a hand-over to the queue
		reason   retry.Reason
		inJobOut time.Duration // the hint that the job's policy gets
	}{
		{hint: time.Second, u: 0, slept: time.Second},
		{hint: time.Second, u: 0.5, slept: 1500 * time.Millisecond}, // the wait is max(0.5 s, 1 s) + U(0, 1 s)
		{hint: 10 * time.Second, u: 0.5, slept: 10500 * time.Millisecond},
		{hint: 11 * time.Second, u: 0.5, job: 11550 * time.Millisecond, reason: retry.LongHint}, // the job waits for the hint of 11 s and for U(0, 1.1 s)
		{hint: 120 * time.Second, u: 0, job: 120 * time.Second, reason: retry.LongHint},
		{hint: 300 * time.Second, u: 0.5, job: 315 * time.Second, reason: retry.LongHint},
		{hint: 400 * time.Second, u: 0.5, job: 420 * time.Second, reason: retry.LongHint}, // the job waits for the hint of 400 s and for U(0, 40 s)
		{hint: 24 * time.Hour, u: 0.5, job: 24*time.Hour + 72*time.Minute, reason: retry.LongHint},
		{hint: 24*time.Hour + 1, u: 0.5, reason: retry.LongHint, inJobOut: 24*time.Hour + 1},
	} {
		r := newRig(t, c.u, retry.Options{})
		s := failing(&status{code: 429, after: c.hint})
		ctx, _ := inJob(t)
		v, err := retry.Do(ctx, r.Strategy, s.op)
		if c.reason == 0 {
			if err != nil || v != 2 || len(r.clock.slept) != 1 || r.clock.slept[0] != c.slept {
				t.Errorf("hint %v: got the error %v and the waits %v, want one wait of %v", c.hint, err, r.clock.slept, c.slept)
			}
			continue
		}
		e, ev := failedWith(t, err), evidence(err)
		if e.Reason != c.reason || s.calls != 1 || len(r.clock.slept) != 0 || !errors.Is(err, retry.ErrHint) || e.Hint != c.hint {
			t.Errorf("hint %v: got %d calls, the waits %v and the error %v; want 1 call, no wait and the reason %v", c.hint, s.calls, r.clock.slept, err, c.reason)
		}
		if ev.HandOver != c.job || ev.RetryAfter != c.hint {
			t.Errorf("hint %v: got the hand-over %v, want %v; the job's policy gets the hint %v, want the whole hint", c.hint, ev.HandOver, c.job, ev.RetryAfter)
		}
		if _, err := retry.Do(t.Context(), r.Strategy, failing(&status{code: 429, after: c.hint}).op); !errors.Is(err, retry.ErrHint) || evidence(err).HandOver != 0 {
			t.Errorf("outside a job: got the error %v, want ErrHint without a hand-over", err)
		}
	}
}

// A hint of 120 s is not cut to the cap of 15 s, because then every retry would come too
// early.
//
// proves: R3
func TestR3_NoSecondCallBeforeTheHintIsOver(t *testing.T) {
	t.Parallel()
	hinted := &status{code: 429, after: 120 * time.Second}
	r := newRig(t, 0.5, retry.Options{HintCap: 15 * time.Second})
	s := always(hinted)
	if _, err := retry.Do(t.Context(), r.Strategy, s.op); s.calls != 1 || len(r.clock.slept) != 0 || !errors.Is(err, retry.ErrHint) {
		t.Errorf("got %d calls, the waits %v and the error %v; want 1 call, no wait and ErrHint", s.calls, r.clock.slept, err)
	}
	// The option CutHints waits for min(hint, cap).
	r = newRig(t, 0.5, retry.Options{HintCap: 15 * time.Second, CutHints: true})
	s = always(hinted)
	if _, err := retry.Do(t.Context(), r.Strategy, s.op); s.calls != 4 || r.clock.slept[0] != 15*time.Second || !errors.Is(err, retry.ErrExhausted) {
		t.Errorf("with CutHints: got %d calls and the waits %v; want 4 calls and a first wait of 15s", s.calls, r.clock.slept)
	}
	// If the last failure has a hint, the job is due after the hint.
	r = newRig(t, 0, retry.Options{Retries: retry.None})
	_, err := retry.Do(first(inJob(t)), r.Strategy, always(&status{code: 429, after: 10 * time.Minute}).op)
	if e := failedWith(t, err); e.HandOver != 10*time.Minute || e.Reason != retry.Exhausted {
		t.Errorf("got the error %v and the hand-over %v; want exhausted retries and a hand-over after 10m", err, e.HandOver)
	}
}
