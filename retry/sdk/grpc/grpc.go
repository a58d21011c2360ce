// Package grpcretry makes connections of gRPC leave their retries to retry.Do.
//
//	conn, err := grpc.NewClient(target, grpcretry.Options()...)
//
// failure.Of reads statuses of gRPC as they are, with the wait of a RetryInfo.
package grpcretry

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/redrive/redrive/retry"
)

// Options switch the retries off that a service config asks for, and count what is
// really sent. What gRPC sends again because the other side has not looked at it
// (transparent retries) stays on, and is counted.
func Options() []grpc.DialOption { return append(Counted(), grpc.WithDisableRetry()) }

// Counted leaves the retries of a service config on and counts what is really sent, so
// that the account of the job shows them.
func Counted() []grpc.DialOption { return []grpc.DialOption{grpc.WithStatsHandler(counter{})} }

// counter counts attempts: interceptors see calls only.
type counter struct{}

// TagRPC implements stats.Handler.
func (counter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// HandleRPC implements stats.Handler.
func (counter) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if b, ok := s.(*stats.Begin); ok && b.Client {
		retry.CountSend(ctx)
	}
}

// TagConn implements stats.Handler.
func (counter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (counter) HandleConn(context.Context, stats.ConnStats) {}
