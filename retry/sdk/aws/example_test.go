package awsretry_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/redrive/redrive/retry"
	awsretry "github.com/redrive/redrive/retry/sdk/aws"
)

// The service always answers 503. Only retry.Do retries.
func ExampleApply() {
	calls := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer api.Close()
	strategy, err := retry.New("storage", retry.Options{Retries: 2, Immediate: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	cfg := aws.Config{Region: "eu-central-1", BaseEndpoint: aws.String(api.URL), Credentials: aws.AnonymousCredentials{}}
	awsretry.Apply(&cfg)
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	err = retry.DoErr(context.Background(), strategy, func(ctx context.Context) error {
		_, err := client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: aws.String("images")})
		return err
	})
	fmt.Println(err != nil, calls, "calls") // with the client's own retries it would be 9 calls
	// Output: true 3 calls
}
