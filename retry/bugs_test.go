package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
)

// Ways in which other implementations are known to have failed. Those of the wait
// formulas are in package backoff, those of the hints' grammar in package failure.

// retried calls an operation that fails for ever with err.
func retried(t *testing.T, u float64, o retry.Options, err error) (*retry.Error, *rig, *script) {
	t.Helper()
	r, s := newRig(t, u, o), always(err)
	_, got := retry.Do(t.Context(), r.Strategy, s.op)
	return failedWith(t, got), r, s
}

// A wait that overflows becomes zero, and the loop does not wait: avast/retry-go#30,
// cenkalti/backoff#190, aws/aws-sdk-java#874, aws/aws-sdk-java-v2#1453 and #1673,
// reactor/reactor-addons#282, onflow/flow-go#2258, qdrant/go-client#153,
// garethgeorge/backrest#618, onosproject/onos-lib-go#127, carlescere/goback#5,
// App-vNext/Polly#2163, opentelemetry-collector-contrib#46178,
// anthropics/anthropic-sdk-python#1760, hynek/stamina#137, jd/tenacity#710.
func TestBug_AWaitThatOverflows(t *testing.T) {
	t.Parallel()
	for _, first := range []time.Duration{time.Microsecond, time.Second, 10 * time.Second} {
		for _, jitter := range []backoff.Jitter{backoff.None, backoff.Full, backoff.Equal, backoff.Decorrelated} {
			_, r, s := retried(t, 0.5, retry.Options{Retries: 900, Backoff: backoff.Backoff{
				Formula: backoff.Exponential, First: first, Cap: 10 * time.Second, Jitter: jitter,
			}}, unavailable)
			if s.calls != 901 {
				t.Errorf("%d calls", s.calls)
			}
			for n, wait := range r.clock.slept {
				if wait <= 0 && first > time.Microsecond || wait > 10*time.Second || n > 63 && wait < 5*time.Second {
					t.Fatalf("first %v, jitter %d, wait %d: %v", first, jitter, n+1, wait)
				}
			}
		}
	}
}

// The cost of a wait grows with its number: jd/tenacity#526. The allocations of a
// call do not grow with its retries beyond a frame for each.
func TestBug_TheCostOfAWaitGrows(t *testing.T) {
	t.Parallel()
	b := backoff.Backoff{Formula: backoff.Exponential, First: time.Second, Cap: time.Minute, Jitter: backoff.Full}
	for _, n := range []int{1, 63, 1000, math.MaxInt32, math.MaxInt} {
		if d, ok := b.Wait(n, 0, 0.5); !ok || d.Wait <= 0 || d.Wait > time.Minute {
			t.Errorf("wait %d: %v", n, d.Wait)
		}
	}
}

// A magic duration that means "stop" is slept: istio/istio#45092, ovh/utask#145.
func TestBug_StopIsNoDuration(t *testing.T) {
	t.Parallel()
	e, r, s := retried(t, 0.5, retry.Options{Retries: 9, Backoff: backoff.Backoff{
		Waits: []time.Duration{time.Second, time.Second}, Past: backoff.Stop,
	}}, unavailable)
	if s.calls != 3 || len(r.clock.slept) != 2 || e.Reason != retry.Exhausted {
		t.Errorf("%d calls, slept %v, %v", s.calls, r.clock.slept, e)
	}
}

// A limit of 15 minutes that nobody has set ends calls: traefik/traefik#628.
func TestBug_ALimitThatNobodySet(t *testing.T) {
	t.Parallel()
	_, r, s := retried(t, 0.9, retry.Options{Retries: 500, Backoff: backoff.Backoff{Waits: []time.Duration{time.Minute}}}, unavailable)
	if s.calls != 501 || len(r.clock.slept) != 500 {
		t.Errorf("%d calls", s.calls)
	}
}

// The cap comes after the jitter, so that late waits are all the same:
// App-vNext/Polly#530, maximhq/bifrost#6964.
func TestBug_LateWaitsAreAllTheCap(t *testing.T) {
	t.Parallel()
	p, err := retry.New("ocr", retry.Options{Retries: 200, Clock: &clock{}, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	_, got := retry.Do(t.Context(), p, always(unavailable).op)
	e, same := failedWith(t, got), 0
	for _, a := range e.Attempts {
		if a.Wait == retry.CapDefault {
			same++
		}
	}
	if same > 1 {
		t.Errorf("%d of %d late waits are exactly the cap", same, len(e.Attempts))
	}
}

// The first wait is doubled, or the first retry does not wait:
// riverqueue/river#1023, avast/retry-go#17, #127 and #130.
func TestBug_OffByOne(t *testing.T) {
	t.Parallel()
	for retries := 1; retries <= 4; retries++ {
		e, r, s := retried(t, 0.5, retry.Options{Retries: retries, Backoff: backoff.Backoff{
			Formula: backoff.Exponential, First: time.Second, Cap: time.Minute,
		}}, unavailable)
		if s.calls != retries+1 || len(r.clock.slept) != retries || r.clock.slept[0] != time.Second || len(e.Attempts) != retries+1 {
			t.Errorf("%d retries: %d calls, slept %v", retries, s.calls, r.clock.slept)
		}
		if last := e.Attempts[retries]; last.Wait != 0 {
			t.Errorf("slept %v after the last attempt", last.Wait)
		}
	}
}

// hinted is an error with response headers, as HTTP clients give them.
type hinted struct{ header http.Header }

func (h *hinted) Error() string       { return "429" }
func (h *hinted) StatusCode() int     { return 429 }
func (h *hinted) Header() http.Header { return h.header }

// Hints that are read wrong: hashicorp/go-retryablehttp#247 and #295 (no cap),
// urllib3#1896 (time zone) and #3743 (a huge value raises), azure-sdk-for-net#5268
// (seconds as milliseconds), #44222 and #50949 (24 h and 114 h), openai-node#1841 (the
// cap lost), python-genai#1875 (not heeded), NousResearch/hermes-agent#84738
// (negative, dates ignored), sindresorhus/ky#390 (0 is "stop"), acme.sh#7201.
func TestBug_Hints(t *testing.T) {
	t.Parallel()
	date := "Fri, 02 Jan 2026 03:04:05 GMT" // when the clock of the test begins
	for value, want := range map[string]struct {
		calls int
		least time.Duration // of the first wait
	}{
		"2": {4, 2 * time.Second}, "0": {4, time.Second}, "-5": {4, time.Second}, "120": {1, 0}, "86400": {1, 0}, "410400": {1, 0},
		"9223372037": {1, 0}, "99999999999999999999": {1, 0}, "soon": {4, time.Second}, "1e3": {4, time.Second},
		"Fri, 02 Jan 2026 03:04:08 GMT":  {4, 3 * time.Second},
		"Friday, 02-Jan-26 03:04:08 GMT": {4, 3 * time.Second},
		"Fri Jan  2 03:04:08 2026":       {4, 3 * time.Second},
		"Fri, 02 Jan 2026 03:03:00 GMT":  {4, time.Second}, // has passed
		"Fri, 02 Jan 2026 03:04:08 PST":  {4, time.Second}, // is no date of HTTP
		"Fri, 02 Jan 2026 04:04:05 GMT":  {1, 0},
	} {
		for _, header := range []http.Header{{"Retry-After": {value}, "Date": {date}}, {"Retry-After": {value}}} {
			e, r, s := retried(t, 0, retry.Options{Backoff: backoff.Backoff{Waits: []time.Duration{time.Second}}}, &hinted{header})
			if s.calls != want.calls || want.calls == 1 && e.Reason != retry.LongHint {
				t.Errorf("Retry-After %q: %d calls, %v", value, s.calls, e)
			}
			if want.calls > 1 && r.clock.slept[0] != want.least {
				t.Errorf("Retry-After %q: waits %v, want %v", value, r.clock.slept[0], want.least)
			}
		}
	}
}

// It sleeps to a deadline behind which it cannot do anything:
// hashicorp/go-retryablehttp#272.
func TestBug_SleepsPastTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, err := retry.New("ocr", retry.Options{Logger: quiet, Backoff: backoff.Backoff{Waits: []time.Duration{time.Hour}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		_, err = retry.Do(ctx, p, always(unavailable).op)
		if !errors.Is(err, retry.ErrDeadline) || time.Since(began) != 0 || !errors.Is(err, error(unavailable)) {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// Timers leak, and contexts are cancelled early or never:
// projectdiscovery/retryablehttp-go#554, failsafe-go#123, #134 and #136.
func TestBug_ContextsEndWithTheirAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, err := retry.New("ocr", retry.Options{AttemptTimeout: time.Hour, Logger: quiet, Backoff: backoff.Backoff{Waits: []time.Duration{time.Minute}}})
		if err != nil {
			t.Fatal(err)
		}
		var seen []context.Context
		s := failing(unavailable, unavailable)
		s.do = func(ctx context.Context) {
			for _, before := range seen {
				if before.Err() == nil {
					t.Error("the context of an earlier attempt is alive")
				}
			}
			if ctx.Err() != nil {
				t.Error("a context ended early")
			}
			seen = append(seen, ctx)
		}
		if _, err := retry.Do(t.Context(), p, s.op); err != nil {
			t.Fatal(err)
		}
		if seen[2].Err() == nil {
			t.Error("the last context is alive")
		}
		func() { // a panic, too
			defer func() { _ = recover() }()
			_, _ = retry.Do(t.Context(), p, func(ctx context.Context) (int, error) { seen = append(seen, ctx); panic("oops") })
		}()
		if seen[3].Err() == nil {
			t.Error("the context of a panic is alive")
		}
		// Goroutines and timers that were left would keep the bubble.
	})
}

// Cancelled is reported as a timeout, and so retried: NVIDIA/aicr#2850; cancelled, or
// refused by a breaker, and retried: ferro-labs/ai-gateway#137.
func TestBug_CancelledIsRetried(t *testing.T) {
	t.Parallel()
	for _, err := range []error{context.DeadlineExceeded, &status{code: 504}, errors.New("timeout"), io.ErrUnexpectedEOF} {
		r := newRig(t, 0.5, retry.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		s := always(err)
		s.do = func(context.Context) { cancel() }
		_, got := retry.Do(ctx, r.Strategy, s.op)
		if s.calls != 1 || !errors.Is(got, retry.ErrCancelled) || errors.Is(got, retry.ErrDeadline) {
			t.Errorf("%v: %d calls, %v", err, s.calls, got)
		}
	}
}

// A context that has ended is looked at after the timer, too: cenkalti/backoff#194.
func TestBug_BothTheTimerAndTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, err := retry.New("ocr", retry.Options{Logger: quiet, Backoff: backoff.Backoff{Waits: []time.Duration{time.Minute}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel) // at the very time
		s := always(unavailable)
		_, err = retry.Do(ctx, p, s.op)
		synctest.Wait()
		if s.calls > 2 || !errors.Is(err, retry.ErrCancelled) && ctx.Err() == nil {
			t.Errorf("%d calls, %v", s.calls, err)
		}
	})
}

// The error that comes out has lost what went in: cenkalti/backoff#184 and #185.
func TestBug_IdentityOfErrors(t *testing.T) {
	t.Parallel()
	sentinel := errors.New("503 service unavailable")
	e, _, _ := retried(t, 0, retry.Options{}, fmt.Errorf("page: %w", sentinel))
	if !errors.Is(e, sentinel) || !errors.Is(e, retry.ErrExhausted) || !strings.HasSuffix(e.Error(), "page: 503 service unavailable") {
		t.Error(e)
	}
	if e.Is(nil) || errors.Is(e, retry.ErrPermanent) {
		t.Error("is what it is not")
	}
	if _, found := errors.AsType[*retry.Error](sentinel); found {
		t.Error("errors.As found a type that is not in the error")
	}
}

// Errors that cannot be compared, or are nil pointers, or panic, end no program.
func TestBug_OddErrors(t *testing.T) {
	t.Parallel()
	var none *status
	for _, err := range []error{sliceError{"a"}, error(none), panicky{}, errors.Join(sliceError{"a"}, unavailable)} {
		r := newRig(t, 0.5, retry.Options{RetryUnknown: true})
		if _, got := retry.Do(t.Context(), r.Strategy, always(err).op); got == nil {
			t.Errorf("%T: no error", err)
		}
	}
}

type sliceError []string

func (s sliceError) Error() string { return strings.Join(s, " ") }

type panicky struct{}

func (panicky) Error() string { panic("no") }

// A strategy is not used up by its calls, and calls do not wait for each other:
// aws-sdk-go-v2#1665 and #3550, cenkalti/backoff (a BackOff is not shareable).
func TestBug_AStrategyIsNotUsedUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0.5, retry.Options{})
	var first []time.Duration
	for range 50 {
		r.clock.slept = nil
		_, _ = retry.Do(t.Context(), r.Strategy, always(unavailable).op)
		if first == nil {
			first = r.clock.slept
		}
		if !slices.Equal(first, r.clock.slept) {
			t.Fatalf("waits %v after %v", r.clock.slept, first)
		}
	}
}

// A quota that is used up ends first attempts without a wait, and the queue calls
// again at once: aws-sdk-go-v2#3413. Here it is an error that the job's policy knows.
func TestBug_AQuotaIsNoRate(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"You exceeded your current quota, please check your plan and billing details", "insufficient_quota", "billing hard limit has been reached",
	} {
		e, _, s := retried(t, 0.5, retry.Options{}, errors.New(text))
		if s.calls != 1 || e.Reason != retry.Permanent || e.Class.Verdict == failure.VerdictThrottle {
			t.Errorf("%q: %d calls, %s, %s", text, s.calls, e.Class.Class, e.Class.Verdict)
		}
	}
}

// An attempt that ends its goroutine leaves nothing behind.
func TestBug_Goexit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, err := retry.New("ocr", retry.Options{AttemptTimeout: time.Hour, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = retry.Do(t.Context(), p, func(context.Context) (int, error) { runtime.Goexit(); return 0, nil })
		}()
		synctest.Wait()
	})
}
