package gcpretry_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/googleapi"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
	"github.com/redrive/redrive/retry/httpretry"
	gcpretry "github.com/redrive/redrive/retry/sdk/gcp"
)

// three is an option that limits a call to three attempts; the retries of the generated
// clients have no limit.
func three() gax.CallOption {
	return gax.WithRetry(func() gax.Retryer {
		n := 0
		return retryer(func(error) (time.Duration, bool) {
			n++
			return 0, n < 3
		})
	})
}

type retryer func(error) (time.Duration, bool)

func (r retryer) Retry(err error) (time.Duration, bool) { return r(err) }

// call makes a call like the generated REST clients, with a strategy of two retries, to
// a server that always fails with this status and body.
func call(ctx context.Context, t *testing.T, status int, body string, options ...gax.CallOption) (int, error) {
	t.Helper()
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body) //nolint:errcheck // the client sees it
	}))
	defer s.Close()
	client := &http.Client{Transport: httpretry.Count(nil)}
	p, err := retry.New("google-vision", retry.Options{Retries: 2, Immediate: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	err = retry.DoErr(ctx, p, func(ctx context.Context) error {
		return gax.Invoke(ctx, func(ctx context.Context, _ gax.CallSettings) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, http.NoBody)
			if err != nil {
				return err
			}
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			return googleapi.CheckResponse(resp)
		}, options...)
	})
	return int(requests.Load()), err
}

// proves: L4
func TestL4_RetriesMultiplyWithoutOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		with []gax.CallOption
		want int
	}{
		"the client's retries on": {[]gax.CallOption{three()}, 9},
		"off":                     {append([]gax.CallOption{three()}, gcpretry.Options()...), 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, account := retry.WithJob(t.Context(), retry.JobInfo{ID: "7"})
			requests, err := call(ctx, t, http.StatusServiceUnavailable, `{"error":{"code":503,"status":"UNAVAILABLE"}}`, c.with...)
			if !errors.Is(err, retry.ErrExhausted) || failure.Of(err).HandOver == 0 {
				t.Errorf("got the error %v, want exhausted retries and a hand-over of the job to its queue", err)
			}
			if requests != c.want || account.Sends() != c.want {
				t.Errorf("got %d requests and %d counted sends, want %d of both", requests, account.Sends(), c.want)
			}
		})
	}
}

// part of: L1
func TestL1_ErrorsOfTheClientAreRead(t *testing.T) {
	t.Parallel()
	requests, err := call(t.Context(), t, http.StatusTooManyRequests,
		`{"error":{"code":429,"message":"too fast","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"90s"}]}}`, gcpretry.Options()...)
	if e, ok := errors.AsType[*retry.Error](err); !ok || e.Reason != retry.LongHint || e.Hint != 90*time.Second || requests != 1 {
		t.Errorf("got the error %v after %d requests, want 1 request and an error about the hint of 90s, which is too long to sleep", err, requests)
	}
}
