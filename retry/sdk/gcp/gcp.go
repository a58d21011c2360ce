// Package gcpretry switches off the retries of Google Cloud clients, so that only retry.Do retries.
//
//	client, err := vision.NewImageAnnotatorRESTClient(ctx, option.WithHTTPClient(counted))
//	answer, err := client.BatchAnnotateImages(ctx, request, gcpretry.Options()...)
//
// Clients that do not use gax calls have their own options: for Cloud Storage it is
// client.SetRetry(storage.WithPolicy(storage.RetryNever)). Sends are counted below the
// client: by httpretry.Count in its http.Client, or by the options of retry/sdk/grpc in
// its connection.
//
// failure.Of reads the errors of the clients directly: their status, their reason and
// the wait in a RetryInfo.
package gcpretry

import "github.com/googleapis/gax-go/v2"

// Options switches off the retries of one call. Without these options, only the context limits
// the retries. Pass these options last, because a later option wins.
func Options() []gax.CallOption {
	return []gax.CallOption{gax.WithRetry(func() gax.Retryer { return nil })}
}
