package openairetry_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/testing/fakeapi"
	"github.com/redrive/redrive/retry"
	openairetry "github.com/redrive/redrive/retry/sdk/openai"
)

// asks returns a function that makes one call with retries, by a client with the options.
func asks(with []option.RequestOption) func(ctx context.Context, url string) error {
	return func(ctx context.Context, url string) error {
		p, err := fakeapi.Strategy("openai")
		if err != nil {
			return err
		}
		client := openai.NewClient(append([]option.RequestOption{option.WithBaseURL(url), option.WithAPIKey("test")}, with...)...)
		_, err = retry.Do(ctx, p, func(ctx context.Context) (*openai.ChatCompletion, error) {
			return client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
				Model: "any", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")},
			})
		})
		return err
	}
}

// Retry-After-Ms asks the client to retry at once, so that its own retries do not wait.
var overloaded = fakeapi.Answer{Status: http.StatusServiceUnavailable, Body: `{"error":{"message":"overloaded","type":"server_error","code":"overloaded"}}`, Header: []string{"Retry-After-Ms", "1"}}

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
			fakeapi.Multiplied(t, overloaded, asks(c.with), c.requests, c.sends)
		})
	}
}

// part of: L1
func TestL1_ErrorsOfTheClientAreRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer fakeapi.Answer
		want   fakeapi.Reading
	}{
		"wrong key": {
			fakeapi.Answer{Status: http.StatusUnauthorized, Body: `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`},
			fakeapi.Reading{Class: failure.AuthenticationFailure, Is: retry.ErrPermanent},
		},
		"quota": {
			fakeapi.Answer{Status: http.StatusTooManyRequests, Body: `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`},
			fakeapi.Reading{Class: failure.QuotaExceeded, Is: retry.ErrPermanent},
		},
		"too fast": {
			fakeapi.Answer{Status: http.StatusTooManyRequests, Body: `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`, Header: []string{"Retry-After", "90"}},
			fakeapi.Reading{Class: failure.RateLimitExceeded, Hint: 90 * time.Second, Is: retry.ErrHint},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fakeapi.Read(t, c.answer, asks(openairetry.Options()), c.want)
		})
	}
}
