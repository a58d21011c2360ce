// Package gcpretry makes clients of Google Cloud leave their retries to retry.Do.
//
//	client, err := vision.NewImageAnnotatorRESTClient(ctx, option.WithHTTPClient(counted))
//	answer, err := client.BatchAnnotateImages(ctx, request, gcpretry.Options()...)
//
// Clients that are not made of calls of gax have switches of their own: that of Cloud
// Storage is client.SetRetry(storage.WithPolicy(storage.RetryNever)). What is really
// sent is counted below the client: by httpretry.Count in its http.Client, or by the
// options of retry/sdk/grpc in its connection.
//
// failure.Of reads the clients' errors as they are: their status, reason and the wait
// of a RetryInfo.
package gcpretry

import "github.com/googleapis/gax-go/v2"

// Options switch the retries of one call off, which have no other limit than the
// context. They go last, because a later option counts.
func Options() []gax.CallOption {
	return []gax.CallOption{gax.WithRetry(func() gax.Retryer { return nil })}
}
