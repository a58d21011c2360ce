// Package awsretry switches off the retries of AWS clients, so that only retry.Do retries.
//
//	cfg, err := config.LoadDefaultConfig(ctx)
//	awsretry.Apply(&cfg)
//	client := s3.NewFromConfig(cfg)
//
// failure.Of reads the errors of the clients directly: their status, code, fault and
// headers.
package awsretry

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"

	"github.com/redrive/redrive/retry"
)

// Apply switches off the retries of all clients made from cfg, which are two for each
// call, and counts what they send. The clients must not set a limit themselves
// (RetryMaxAttempts).
func Apply(cfg *aws.Config) {
	cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	cfg.RetryMaxAttempts = 0
	Count(cfg)
}

// Count leaves the retries of clients made from cfg on and counts what they send in the
// Ledger of the job. If Count and Apply are called several times with one cfg, each send is still counted once.
func Count(cfg *aws.Config) {
	// Clip forces append to copy, because copies of cfg share the slice.
	cfg.APIOptions = append(slices.Clip(cfg.APIOptions), func(s *middleware.Stack) error {
		if _, ok := s.Finalize.Get(countID); ok { // an earlier Apply or Count has added the middleware
			return nil
		}
		return s.Finalize.Add(middleware.FinalizeMiddlewareFunc(countID, count), middleware.After)
	})
}

// countID is the name of the middleware count.
const countID = "redrive.CountSend"

// count is the last middleware before a request is sent; it runs for each retry of the SDK.
func count(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	retry.CountSend(ctx)
	return next.HandleFinalize(ctx, in)
}
