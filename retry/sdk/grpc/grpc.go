// Package grpcretry switches off the retries of gRPC, so that only retry.Do retries.
//
//	conn, err := grpc.NewClient(target, grpcretry.Options()...)
//
// failure.Of reads the status of a gRPC error directly, and the wait in its RetryInfo.
package grpcretry

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/redrive/redrive/retry"
)

// Options switches off the retries that a service config asks for and counts each
// attempt that is sent. Transparent retries, which gRPC makes when the server has not
// processed the request, stay on and are counted.
func Options() []grpc.DialOption { return append(Counted(), grpc.WithDisableRetry()) }

// Counted leaves the retries of a service config on. It adds the attempts that are sent
// to the counts in the job's retry.Ledger.
func Counted() []grpc.DialOption { return []grpc.DialOption{grpc.WithStatsHandler(counter{})} }

// counter counts attempts with a stats handler, because interceptors see only calls.
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
