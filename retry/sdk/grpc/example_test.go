package grpcretry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/redrive/redrive/retry"
	grpcretry "github.com/redrive/redrive/retry/sdk/grpc"
)

// The service is never reached. Only retry.Do retries.
func ExampleOptions() {
	noNetwork := func(context.Context, string) (net.Conn, error) {
		return nil, errors.New("no network")
	}
	options := append(grpcretry.Options(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(noNetwork))
	conn, err := grpc.NewClient("passthrough:///service", options...)
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	strategy, err := retry.New("service", retry.Options{Retries: 2, Immediate: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	calls := 0
	err = retry.DoErr(context.Background(), strategy, func(ctx context.Context) error {
		calls++
		_, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		return err
	})
	fmt.Println(err != nil, calls, "calls")
	// Output: true 3 calls
}
