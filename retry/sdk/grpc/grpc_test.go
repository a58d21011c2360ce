package grpcretry_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/retry"
	grpcretry "github.com/redrive/redrive/retry/sdk/grpc"
)

// three is a service config with three attempts for each call.
const three = `{"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":3,"initialBackoff":"0.001s","maxBackoff":"0.001s","backoffMultiplier":1,"retryableStatusCodes":["UNAVAILABLE"]}}]}`

// upstream is a server that always returns one error and counts the requests.
type upstream struct {
	grpc_health_v1.UnimplementedHealthServer
	requests atomic.Int64
	err      error
}

func (u *upstream) Check(context.Context, *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	u.requests.Add(1)
	return nil, u.err
}

// call makes a call to an upstream that fails, with a strategy of two retries.
func call(ctx context.Context, t *testing.T, u *upstream, options ...grpc.DialOption) error {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(s, u)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	defer func() {
		s.Stop()
		<-served
	}()
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(three))
	conn, err := grpc.NewClient(l.Addr().String(), options...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p, err := retry.New("upstream", retry.Options{Retries: 2, Immediate: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = retry.Do(ctx, p, func(ctx context.Context) (*grpc_health_v1.HealthCheckResponse, error) {
		return grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	})
	return err
}

// proves: L4
func TestL4_RetriesMultiplyWithoutOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		with            []grpc.DialOption
		requests, sends int
	}{
		"the connection's retries on":          {nil, 9, 3}, // the other six requests are not counted
		"the connection's retries on, counted": {grpcretry.Counted(), 9, 9},
		"off":                                  {grpcretry.Options(), 3, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := &upstream{err: status.Error(codes.Unavailable, "down")}
			ctx, account := retry.WithJob(t.Context(), retry.JobInfo{ID: "7"})
			err := call(ctx, t, u, c.with...)
			if !errors.Is(err, retry.ErrExhausted) || failure.Of(err).HandOver == 0 {
				t.Errorf("got the error %v, want exhausted retries and a hand-over of the job to its queue", err)
			}
			if got := int(u.requests.Load()); got != c.requests || account.Sends() != c.sends {
				t.Errorf("got %d requests and %d counted sends, want %d requests and %d sends", got, account.Sends(), c.requests, c.sends)
			}
		})
	}
}

// part of: L1
func TestL1_StatusesAreRead(t *testing.T) {
	t.Parallel()
	slow, err := status.New(codes.ResourceExhausted, "too fast").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(90 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err   error
		class failure.Class
		hint  time.Duration
		is    error
	}{
		"a wait":    {slow.Err(), failure.RateLimitExceeded, 90 * time.Second, retry.ErrHint},
		"wrong key": {status.Error(codes.Unauthenticated, "no"), failure.AuthenticationFailure, 0, retry.ErrPermanent},
	} {
		u := &upstream{err: c.err}
		err := call(t.Context(), t, u, grpcretry.Options()...)
		e, ok := errors.AsType[*retry.Error](err)
		if !ok || !errors.Is(err, c.is) || e.Class.Class != c.class || e.Hint != c.hint || u.requests.Load() != 1 {
			t.Errorf("%s: got the error %v with the details %+v after %d requests; want class %s and the hint %v after 1 request", name, err, e, u.requests.Load(), c.class, c.hint)
		}
	}
}
