// Package awsretry makes clients of AWS leave their retries to retry.Do.
//
//	cfg, err := config.LoadDefaultConfig(ctx)
//	awsretry.Apply(&cfg)
//	client := s3.NewFromConfig(cfg)
//
// failure.Of reads the clients' errors as they are: their status, code, fault and
// headers.
package awsretry

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"

	"github.com/redrive/redrive/retry"
)

// Apply switches the retries of all clients made from cfg off, which are two for each
// call, and counts what they really send. Limits that a client has of its own
// (RetryMaxAttempts) must stay unset.
func Apply(cfg *aws.Config) {
	cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	cfg.RetryMaxAttempts = 0
	Count(cfg)
}

// Count leaves the retries of clients made from cfg on, and counts what they really
// send, so that the account of the job shows them. More than once on the same cfg it
// counts once, as does Apply.
func Count(cfg *aws.Config) {
	// Clipped: copies of cfg share the list.
	cfg.APIOptions = append(slices.Clip(cfg.APIOptions), func(s *middleware.Stack) error {
		if _, ok := s.Finalize.Get(countID); ok { // Apply or Count before
			return nil
		}
		return s.Finalize.Add(middleware.FinalizeMiddlewareFunc(countID, count), middleware.After)
	})
}

// countID names the step of count.
const countID = "redrive.CountSend"

// count is the last step before a request is made, and within the SDK's retries.
func count(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	retry.CountSend(ctx)
	return next.HandleFinalize(ctx, in)
}
