package gcpretry_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/googleapi"

	"github.com/redrive/redrive/retry"
	gcpretry "github.com/redrive/redrive/retry/sdk/gcp"
)

// The service is always unavailable. Only retry.Do retries.
func ExampleOptions() {
	calls := 0
	annotate := func(ctx context.Context, options ...gax.CallOption) error { // as in a generated client
		return gax.Invoke(ctx, func(context.Context, gax.CallSettings) error {
			calls++
			return &googleapi.Error{Code: 503}
		}, options...)
	}
	strategy, err := retry.New("vision", retry.Options{Retries: 2, Immediate: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	err = retry.DoErr(context.Background(), strategy, func(ctx context.Context) error {
		return annotate(ctx, gcpretry.Options()...)
	})
	fmt.Println(err != nil, calls, "calls")
	// Output: true 3 calls
}
