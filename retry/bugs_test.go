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

// These tests check for bugs that other implementations have had. Bugs of wait formulas are
// tested in package backoff, and bugs in the parsing of hints in package failure.

// retried makes a call whose operation always fails with err.
func retried(t *testing.T, u float64, o retry.Options, err error) (*retry.Error, *rig, *script) {
	t.Helper()
	r, s := newRig(t, u, o), always(err)
	_, got := retry.Do(t.Context(), r.Strategy, s.op)
	return failedWith(t, got), r, s
}

// Bug in other libraries: a wait that overflows becomes zero, so the loop does not wait:
// avast/retry-go#30, cenkalti/backoff#190, aws/aws-sdk-java#874, aws/aws-sdk-java-v2#1453 and
// #1673, reactor/reactor-addons#282, onflow/flow-go#2258, qdrant/go-client#153,
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
				t.Errorf("got %d calls, want 901", s.calls)
			}
			for n, wait := range r.clock.slept {
				if wait <= 0 && first > time.Microsecond || wait > 10*time.Second || n > 63 && wait < 5*time.Second {
					t.Fatalf("first wait %v, jitter %d: wait %d is %v, want more than 0 and at most 10s, and at least 5s after wait 64", first, jitter, n+1, wait)
				}
			}
		}
	}
}

// Bug in another library (jd/tenacity#526): the time to compute the wait before retry n
// grows with n. In this package that time is the same for each n.
func TestBug_TheCostOfAWaitGrows(t *testing.T) {
	t.Parallel()
	b := backoff.Backoff{Formula: backoff.Exponential, First: time.Second, Cap: time.Minute, Jitter: backoff.Full}
	for _, n := range []int{1, 63, 1000, math.MaxInt32, math.MaxInt} {
		if d, ok := b.Wait(n, 0, 0.5); !ok || d.Wait <= 0 || d.Wait > time.Minute {
			t.Errorf("the wait before retry %d is %v, want more than 0 and at most 1m", n, d.Wait)
		}
	}
}

// Bug in other libraries: the call sleeps for a special duration that means "stop":
// istio/istio#45092, ovh/utask#145.
func TestBug_StopIsNoDuration(t *testing.T) {
	t.Parallel()
	e, r, s := retried(t, 0.5, retry.Options{Retries: 9, Backoff: backoff.Backoff{
		Waits: []time.Duration{time.Second, time.Second}, Past: backoff.Stop,
	}}, unavailable)
	if s.calls != 3 || len(r.clock.slept) != 2 || e.Reason != retry.Exhausted {
		t.Errorf("got %d calls, the waits %v and the error %v, want 3 calls, 2 waits and exhausted retries", s.calls, r.clock.slept, e)
	}
}

// Bug in another library: an undocumented default limit of 15 minutes ends calls:
// traefik/traefik#628.
func TestBug_ALimitThatNobodySet(t *testing.T) {
	t.Parallel()
	_, r, s := retried(t, 0.9, retry.Options{Retries: 500, Backoff: backoff.Backoff{Waits: []time.Duration{time.Minute}}}, unavailable)
	if s.calls != 501 || len(r.clock.slept) != 500 {
		t.Errorf("got %d calls, want 501 calls and 500 waits", s.calls)
	}
}

// Bug in other libraries: the cap is applied after the jitter, so all late waits are equal:
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
		t.Errorf("%d of %d late waits are equal to the cap, want at most 1", same, len(e.Attempts))
	}
}

// Bug in other libraries: the first wait is doubled, or the first retry does not wait:
// riverqueue/river#1023, avast/retry-go#17, #127 and #130.
func TestBug_OffByOne(t *testing.T) {
	t.Parallel()
	for retries := 1; retries <= 4; retries++ {
		e, r, s := retried(t, 0.5, retry.Options{Retries: retries, Backoff: backoff.Backoff{
			Formula: backoff.Exponential, First: time.Second, Cap: time.Minute,
		}}, unavailable)
		if s.calls != retries+1 || len(r.clock.slept) != retries || r.clock.slept[0] != time.Second || len(e.Attempts) != retries+1 {
			t.Errorf("Retries %d: got %d calls and the waits %v; want one call more than retries, and a first wait of 1s", retries, s.calls, r.clock.slept)
		}
		if last := e.Attempts[retries]; last.Wait != 0 {
			t.Errorf("the last attempt has a wait of %v after it, want 0", last.Wait)
		}
	}
}

// hinted is an error with response headers, like the errors of HTTP clients.
type hinted struct{ header http.Header }

func (h *hinted) Error() string       { return "429" }
func (h *hinted) StatusCode() int     { return 429 }
func (h *hinted) Header() http.Header { return h.header }

// Bugs in other libraries: the wait that the other side asked for is misread:
// hashicorp/go-retryablehttp#247 and #295 (no cap), urllib3#1896 (time zone) and #3743 (a huge
// value raises), azure-sdk-for-net#5268 (seconds as milliseconds), #44222 and #50949 (24 h and
// 114 h), openai-node#1841 (the cap lost), python-genai#1875 (ignored),
// NousResearch/hermes-agent#84738 (negative, dates ignored), sindresorhus/ky#390 (0 is "stop"),
// acme.sh#7201.
func TestBug_Hints(t *testing.T) {
	t.Parallel()
	date := "Fri, 02 Jan 2026 03:04:05 GMT" // the time at which the test's clock starts
	for value, want := range map[string]struct {
		calls int
		least time.Duration // the shortest allowed first wait
	}{
		"2": {4, 2 * time.Second}, "0": {4, time.Second}, "-5": {4, time.Second}, "120": {1, 0}, "86400": {1, 0}, "410400": {1, 0},
		"9223372037": {1, 0}, "99999999999999999999": {1, 0}, "soon": {4, time.Second}, "1e3": {4, time.Second},
		"Fri, 02 Jan 2026 03:04:08 GMT":  {4, 3 * time.Second},
		"Friday, 02-Jan-26 03:04:08 GMT": {4, 3 * time.Second},
		"Fri Jan  2 03:04:08 2026":       {4, 3 * time.Second},
		"Fri, 02 Jan 2026 03:03:00 GMT":  {4, time.Second}, // a time in the past
		"Fri, 02 Jan 2026 03:04:08 PST":  {4, time.Second}, // this is not a valid HTTP date
		"Fri, 02 Jan 2026 04:04:05 GMT":  {1, 0},
	} {
		for _, header := range []http.Header{{"Retry-After": {value}, "Date": {date}}, {"Retry-After": {value}}} {
			e, r, s := retried(t, 0, retry.Options{Backoff: backoff.Backoff{Waits: []time.Duration{time.Second}}}, &hinted{header})
			if s.calls != want.calls || want.calls == 1 && e.Reason != retry.LongHint {
				t.Errorf("Retry-After %q: got %d calls and the error %v; want %d calls", value, s.calls, e, want.calls)
			}
			if want.calls > 1 && r.clock.slept[0] != want.least {
				t.Errorf("Retry-After %q: got the wait %v, want at least %v", value, r.clock.slept[0], want.least)
			}
		}
	}
}

// Bug in another library: the call sleeps until the deadline, although no attempt can follow:
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
			t.Errorf("got the error %v after %v, want ErrDeadline at once", err, time.Since(began))
		}
	})
}

// Bug in other libraries: timers are not stopped, and contexts are cancelled too early or
// never: projectdiscovery/retryablehttp-go#554, failsafe-go#123, #134 and #136.
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
					t.Error("the context of an earlier attempt is still open when a later attempt begins, want it ended")
				}
			}
			if ctx.Err() != nil {
				t.Error("the context of an attempt ended before the attempt, want it open until then")
			}
			seen = append(seen, ctx)
		}
		if _, err := retry.Do(t.Context(), p, s.op); err != nil {
			t.Fatal(err)
		}
		if seen[2].Err() == nil {
			t.Error("the context of the last attempt is still open after the call, want it ended")
		}
		func() { // the same check with an attempt that panics
			defer func() { _ = recover() }()
			_, _ = retry.Do(t.Context(), p, func(ctx context.Context) (int, error) { seen = append(seen, ctx); panic("oops") })
		}()
		if seen[3].Err() == nil {
			t.Error("the context of an attempt that panicked is still open after the call, want it ended")
		}
		// Remaining goroutines and timers would keep the bubble from ending.
	})
}

// Bugs in other libraries: a cancellation is reported as a timeout and retried
// (NVIDIA/aicr#2850); a cancellation or the refusal of a circuit breaker is retried
// (ferro-labs/ai-gateway#137).
func TestBug_CancelledIsRetried(t *testing.T) {
	t.Parallel()
	for _, err := range []error{context.DeadlineExceeded, &status{code: 504}, errors.New("timeout"), io.ErrUnexpectedEOF} {
		r := newRig(t, 0.5, retry.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		s := always(err)
		s.do = func(context.Context) { cancel() }
		_, got := retry.Do(ctx, r.Strategy, s.op)
		if s.calls != 1 || !errors.Is(got, retry.ErrCancelled) || errors.Is(got, retry.ErrDeadline) {
			t.Errorf("%v: got %d calls and the error %v, want 1 call and a cancellation", err, s.calls, got)
		}
	}
}

// If the wait and the context end at the same time, the call is cancelled. In another
// library it was not: cenkalti/backoff#194.
func TestBug_BothTheTimerAndTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, err := retry.New("ocr", retry.Options{Logger: quiet, Backoff: backoff.Backoff{Waits: []time.Duration{time.Minute}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel) // the context ends at the same time as the wait
		s := always(unavailable)
		_, err = retry.Do(ctx, p, s.op)
		synctest.Wait()
		if s.calls > 2 || !errors.Is(err, retry.ErrCancelled) && ctx.Err() == nil {
			t.Errorf("got %d calls and the error %v, want a cancellation", s.calls, err)
		}
	})
}

// Bug in another library: the returned error no longer contains the original error:
// cenkalti/backoff#184 and #185.
func TestBug_IdentityOfErrors(t *testing.T) {
	t.Parallel()
	sentinel := errors.New("503 service unavailable")
	e, _, _ := retried(t, 0, retry.Options{}, fmt.Errorf("page: %w", sentinel))
	if !errors.Is(e, sentinel) || !errors.Is(e, retry.ErrExhausted) || !strings.HasSuffix(e.Error(), "page: 503 service unavailable") {
		t.Error(e)
	}
	if e.Is(nil) || errors.Is(e, retry.ErrPermanent) {
		t.Error("errors.Is found an error that is not in the chain of errors, want false")
	}
	if _, found := errors.AsType[*retry.Error](sentinel); found {
		t.Error("errors.As found a type that is not in the error, want false")
	}
}

// Errors that cannot be compared, are nil pointers or panic must not end the program.
func TestBug_OddErrors(t *testing.T) {
	t.Parallel()
	var none *status
	for _, err := range []error{sliceError{"a"}, error(none), panicky{}, errors.Join(sliceError{"a"}, unavailable)} {
		r := newRig(t, 0.5, retry.Options{RetryUnknown: true})
		if _, got := retry.Do(t.Context(), r.Strategy, always(err).op); got == nil {
			t.Errorf("an operation that fails with a %T: the call returned no error, want an error", err)
		}
	}
}

type sliceError []string

func (s sliceError) Error() string { return strings.Join(s, " ") }

type panicky struct{}

func (panicky) Error() string { panic("no") }

// Calls do not change a strategy and do not wait for each other. Bugs in other libraries:
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
			t.Fatalf("got the waits %v, want the waits %v of the first call", r.clock.slept, first)
		}
	}
}

// Bug in an SDK (aws-sdk-go-v2#3413): when its retry quota is used up, first attempts fail
// without a wait, and the queue makes the call again at once. Here the job's policy recognises
// the error.
func TestBug_AQuotaIsNoRate(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"You exceeded your current quota, please check your plan and billing details", "insufficient_quota", "billing hard limit has been reached",
	} {
		e, _, s := retried(t, 0.5, retry.Options{}, errors.New(text))
		if s.calls != 1 || e.Reason != retry.Permanent || e.Class.Verdict == failure.VerdictThrottle {
			t.Errorf("%q: got %d calls, class %s and verdict %s; want 1 call and a permanent failure", text, s.calls, e.Class.Class, e.Class.Verdict)
		}
	}
}

// An attempt that calls runtime.Goexit leaves no goroutine, timer or context.
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
