// Package anthropicretry switches off the retries of the Anthropic client, so that only retry.Do retries.
//
//	client := anthropic.NewClient(anthropicretry.Options()...)
//	answer, err := retry.Do(ctx, strategy, func(ctx context.Context) (*anthropic.Message, error) {
//		return client.Messages.New(ctx, params)
//	})
//
// failure.Of reads the errors of the client directly: their status, code and headers.
package anthropicretry

import (
	"github.com/anthropics/anthropic-sdk-go/option"

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
