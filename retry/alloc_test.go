package retry_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/redrive/redrive/backoff"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
)

// TestAllocations is not parallel, because testing.AllocsPerRun requires it.
func TestAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("skipped, because the race detector allocates memory")
	}
	p := mustNew(t, "op", retry.Options{Immediate: true})
	limited, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	n, err := 0, errors.New("503 service unavailable")
	thrice := func(context.Context) (int, error) {
		if n++; n%4 != 0 {
			return 0, err
		}
		return 1, nil
	}
	once := func(context.Context) (int, error) { return 1, nil }
	seconds := http.Header{"Retry-After": {"120"}, "Date": {"Fri, 02 Jan 2026 03:04:05 GMT"}}
	dated := http.Header{"Retry-After": {"Fri, 02 Jan 2026 03:04:08 GMT"}, "Date": {"Fri, 02 Jan 2026 03:04:05 GMT"}}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b := backoff.Backoff{Formula: backoff.Exponential, First: time.Second, Cap: time.Minute, Jitter: backoff.Full}
	for name, c := range map[string]struct {
		most float64
		f    func()
	}{
		"a success":             {0, func() { _, _ = retry.Do(context.Background(), p, once) }},
		"under a deadline":      {0, func() { _, _ = retry.Do(limited, p, once) }},
		"three retries":         {2, func() { _, _ = retry.Do(context.Background(), p, thrice) }},
		"a hint in seconds":     {0, func() { _, _ = failure.HintFromHeader(429, seconds.Get, now) }},
		"a hint that is a date": {0, func() { _, _ = failure.HintFromHeader(429, dated.Get, now) }},
		"a wait":                {0, func() { _, _ = b.Wait(1<<30, 0, 0.5) }},
	} {
		if got := testing.AllocsPerRun(1000, c.f); got > c.most {
			t.Errorf("%s makes %v memory allocations, want at most %v", name, got, c.most)
		}
	}
}
