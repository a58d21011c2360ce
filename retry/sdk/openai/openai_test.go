package openairetry_test

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

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
	openairetry "github.com/redrive/redrive/retry/sdk/openai"
)

// upstream is a server that fails like the API and counts the requests. With a header it
// asks the client to retry at once, so that the client's retries do not wait.
func upstream(t *testing.T, status int, body string, header ...string) (string, *atomic.Int64) {
	t.Helper()
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body) //nolint:errcheck // the client sees it
	}))
	t.Cleanup(s.Close)
	return s.URL, &requests
}

// hasty is a clock whose waits end at once.
type hasty struct{}

func (hasty) Now() time.Time                                   { return time.Now() }
func (hasty) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func ask(ctx context.Context, url string, with []option.RequestOption, retries int) error {
	p, err := retry.New("openai", retry.Options{Retries: retries, Immediate: true, Clock: hasty{}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	with = append([]option.RequestOption{option.WithBaseURL(url), option.WithAPIKey("test")}, with...)
	client := openai.NewClient(with...)
	_, err = retry.Do(ctx, p, func(ctx context.Context) (*openai.ChatCompletion, error) {
		return client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
			Model: "any", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")},
		})
	})
	return err
}

const overloaded = `{"error":{"message":"overloaded","type":"server_error","code":"overloaded"}}`

// proves: L4
func TestL4_RetriesMultiplyWithoutOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		with            []option.RequestOption
		requests, sends int
	}{
		"the client's retries on":          {nil, 9, 3}, // the other six requests are not counted
		"the client's retries on, counted": {openairetry.Counted(), 9, 9},
		"off":                              {openairetry.Options(), 3, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, requests := upstream(t, http.StatusServiceUnavailable, overloaded, "Retry-After-Ms", "1")
			ctx, account := retry.WithJob(t.Context(), retry.JobInfo{ID: "7"})
			err := ask(ctx, url, c.with, 2)
			if !errors.Is(err, retry.ErrExhausted) || failure.Of(err).HandOver == 0 {
				t.Errorf("got the error %v, want exhausted retries and a hand-over of the job to its queue", err)
			}
			if got := int(requests.Load()); got != c.requests || account.Sends() != c.sends {
				t.Errorf("got %d requests and %d counted sends, want %d requests and %d sends", got, account.Sends(), c.requests, c.sends)
			}
		})
	}
}

// part of: L1
func TestL1_ErrorsOfTheClientAreRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		header []string
		class  failure.Class
		hint   time.Duration
		is     error
	}{
		"wrong key": {http.StatusUnauthorized, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`,
			nil, failure.AuthenticationFailure, 0, retry.ErrPermanent},
		"quota": {http.StatusTooManyRequests, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`,
			nil, failure.QuotaExceeded, 0, retry.ErrPermanent},
		"too fast": {http.StatusTooManyRequests, `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`,
			[]string{"Retry-After", "90"}, failure.RateLimitExceeded, 90 * time.Second, retry.ErrHint},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, requests := upstream(t, c.status, c.body, c.header...)
			err := ask(t.Context(), url, openairetry.Options(), 2)
			e, ok := errors.AsType[*retry.Error](err)
			if !ok || !errors.Is(err, c.is) || e.Class.Class != c.class || e.Hint != c.hint || requests.Load() != 1 {
				t.Errorf("got the error %v with the details %+v after %d requests; want class %s and the hint %v after 1 request", err, e, requests.Load(), c.class, c.hint)
			}
		})
	}
}
