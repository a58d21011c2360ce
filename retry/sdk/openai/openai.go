// Package openairetry switches off the retries of the OpenAI client, so that only retry.Do retries.
//
//	client := openai.NewClient(openairetry.Options()...)
//	answer, err := retry.Do(ctx, strategy, func(ctx context.Context) (*openai.ChatCompletion, error) {
//		return client.Chat.Completions.New(ctx, params)
//	})
//
// failure.Of reads the errors of the client directly: their status, code and headers.
package openairetry

import (
	"github.com/openai/openai-go/v3/option"

	"github.com/redrive/redrive/retry/httpretry"
)

// Options switches off the client's retries, which are two for each call, and counts what
// the client sends (httpretry.Count). Pass these options after others: they replace
// WithMaxRetries.
func Options() []option.RequestOption {
	return []option.RequestOption{option.WithMaxRetries(0), option.WithMiddleware(httpretry.Middleware)}
}

// Counted leaves the client's retries on. It adds the requests that the client sends to
// the counts in the job's retry.Ledger.
func Counted() []option.RequestOption {
	return []option.RequestOption{option.WithMiddleware(httpretry.Middleware)}
}
