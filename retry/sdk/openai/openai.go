// Package openairetry makes the OpenAI client leave its retries to retry.Do.
//
//	client := openai.NewClient(openairetry.Options()...)
//	answer, err := retry.Do(ctx, strategy, func(ctx context.Context) (*openai.ChatCompletion, error) {
//		return client.Chat.Completions.New(ctx, params)
//	})
//
// failure.Of reads the client's errors as they are: their status, code and headers.
package openairetry

import (
	"github.com/openai/openai-go/v3/option"

	"github.com/redrive/redrive/retry/httpretry"
)

// Options switch the client's own retries off, which are two for each call, and count
// what it really sends (httpretry.Count). They go after options of the caller, of
// which they replace WithMaxRetries.
func Options() []option.RequestOption {
	return []option.RequestOption{option.WithMaxRetries(0), option.WithMiddleware(httpretry.Middleware)}
}

// Counted leaves the client's own retries on and counts what it really sends, so that
// the account of the job shows them.
func Counted() []option.RequestOption {
	return []option.RequestOption{option.WithMiddleware(httpretry.Middleware)}
}
