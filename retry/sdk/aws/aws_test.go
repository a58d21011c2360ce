package awsretry_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdkretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
	awsretry "github.com/redrive/redrive/retry/sdk/aws"
)

// upstream is a server that fails like S3 and counts the requests.
func upstream(t *testing.T, status int, code string) (string, *atomic.Int64) {
	t.Helper()
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		io.Copy(io.Discard, r.Body) //nolint:errcheck // as below
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>`+code+`</Code><Message>no</Message></Error>`) //nolint:errcheck // the client sees it
	}))
	t.Cleanup(s.Close)
	return s.URL, &requests
}

// settings returns the configuration of a client whose retries do not wait.
func settings(url string) aws.Config {
	return aws.Config{
		Region: "eu-central-1", BaseEndpoint: aws.String(url),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "id", SecretAccessKey: "key"}, nil
		}),
		Retryer: func() aws.Retryer {
			return sdkretry.NewStandard(func(o *sdkretry.StandardOptions) {
				o.Backoff = sdkretry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
			})
		},
	}
}

func put(ctx context.Context, cfg aws.Config) error {
	p, err := retry.New("storage", retry.Options{Retries: 2, Immediate: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	_, err = retry.Do(ctx, p, func(ctx context.Context) (*s3.PutObjectOutput, error) {
		return client.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("b"), Key: aws.String("k"), Body: strings.NewReader("x")})
	})
	return err
}

// proves: L4
func TestL4_RetriesMultiplyWithoutApply(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		apply           func(*aws.Config)
		requests, sends int
	}{
		"the SDK's retries on":          {func(*aws.Config) {}, 9, 3}, // the other six requests are not counted
		"the SDK's retries on, counted": {awsretry.Count, 9, 9},
		"off":                           {awsretry.Apply, 3, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, requests := upstream(t, http.StatusServiceUnavailable, "SlowDown")
			cfg := settings(url)
			c.apply(&cfg)
			ctx, account := retry.WithJob(t.Context(), retry.JobInfo{ID: "7"})
			err := put(ctx, cfg)
			if !errors.Is(err, retry.ErrExhausted) || failure.Of(err).HandOver == 0 {
				t.Errorf("got the error %v, want exhausted retries and a hand-over of the job to its queue", err)
			}
			if got := int(requests.Load()); got != c.requests || account.Sends() != c.sends {
				t.Errorf("got %d requests and %d counted sends, want %d requests and %d sends", got, account.Sends(), c.requests, c.sends)
			}
		})
	}
}

// part of: L1
func TestL1_ErrorsOfTheSDKAreRead(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]struct {
		status int
		class  failure.Class
	}{
		"InvalidAccessKeyId": {http.StatusForbidden, failure.AuthenticationFailure},
		"NoSuchBucket":       {http.StatusNotFound, failure.NotFound},
	} {
		url, requests := upstream(t, want.status, code)
		cfg := settings(url)
		awsretry.Apply(&cfg)
		err := put(t.Context(), cfg)
		e, ok := errors.AsType[*retry.Error](err)
		if !ok || e.Reason != retry.Permanent || e.Class.Class != want.class || requests.Load() != 1 {
			t.Errorf("%s: got the error %v with the details %+v after %d requests; want a permanent failure of class %s after 1 request", code, err, e, requests.Load(), want.class)
		}
	}
}

func TestApply_LeavesCopiesAlone(t *testing.T) {
	t.Parallel()
	cfg := settings("http://127.0.0.1:1")
	awsretry.Count(&cfg)
	a, b := cfg, cfg
	awsretry.Apply(&a)
	if len(b.APIOptions) != 1 || len(a.APIOptions) != 2 || b.Retryer().MaxAttempts() != 3 || a.Retryer().MaxAttempts() != 1 {
		t.Errorf("got %d options in the changed configuration, and %d options and %d attempts in its copy; want 2 options, and 1 option and 3 attempts in the copy", len(a.APIOptions), len(b.APIOptions), b.Retryer().MaxAttempts())
	}
}

// Bug: each Apply and Count on one configuration counted every send once more.
// part of: L4
func TestL4_TwiceCountsOnce(t *testing.T) {
	t.Parallel()
	url, requests := upstream(t, http.StatusServiceUnavailable, "SlowDown")
	cfg := settings(url)
	awsretry.Count(&cfg)
	awsretry.Apply(&cfg)
	awsretry.Apply(&cfg)
	ctx, account := retry.WithJob(t.Context(), retry.JobInfo{ID: "7"})
	if err := put(ctx, cfg); !errors.Is(err, retry.ErrExhausted) {
		t.Error(err)
	}
	if requests.Load() != 3 || account.Sends() != 3 {
		t.Errorf("got %d requests and %d counted sends, want 3 requests and 3 sends", requests.Load(), account.Sends())
	}
}
