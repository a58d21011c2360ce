package anthropicretry_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/internal/testing/fakeapi"
	"github.com/redrive/redrive/retry"
	anthropicretry "github.com/redrive/redrive/retry/sdk/anthropic"
)

// asks returns a function that makes one call with retries, by a client with the options.
func asks(with []option.RequestOption) func(ctx context.Context, url string) error {
	return func(ctx context.Context, url string) error {
		p, err := fakeapi.Strategy("anthropic")
		if err != nil {
			return err
		}
		client := anthropic.NewClient(append([]option.RequestOption{option.WithBaseURL(url), option.WithAPIKey("test")}, with...)...)
		_, err = retry.Do(ctx, p, func(ctx context.Context) (*anthropic.Message, error) {
			return client.Messages.New(ctx, anthropic.MessageNewParams{
				Model: "any", MaxTokens: 1, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
			})
		})
		return err
	}
}

// Retry-After-Ms asks the client to retry at once, so that its own retries do not wait.
var overloaded = fakeapi.Answer{Status: 529, Body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, Header: []string{"Retry-After-Ms", "1"}}

// proves: L4
func TestL4_RetriesMultiplyWithoutOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		with            []option.RequestOption
		requests, sends int
	}{
		"the client's retries on":          {nil, 9, 3}, // the other six requests are not counted
		"the client's retries on, counted": {anthropicretry.Counted(), 9, 9},
		"off":                              {anthropicretry.Options(), 3, 3},
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
			fakeapi.Answer{Status: http.StatusUnauthorized, Body: `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`},
			fakeapi.Reading{Class: failure.AuthenticationFailure, Is: retry.ErrPermanent},
		},
		"no money": {
			fakeapi.Answer{Status: http.StatusBadRequest, Body: `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API"}}`},
			fakeapi.Reading{Class: failure.PaymentRequired, Is: retry.ErrPermanent},
		},
		"too fast": {
			fakeapi.Answer{Status: http.StatusTooManyRequests, Body: `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit"}}`, Header: []string{"Retry-After", "90"}},
			fakeapi.Reading{Class: failure.RateLimitExceeded, Hint: 90 * time.Second, Is: retry.ErrHint},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fakeapi.Read(t, c.answer, asks(anthropicretry.Options()), c.want)
		})
	}
}
