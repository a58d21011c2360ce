package faultstore

import (
	"context"
	"time"

	"github.com/redrive/redrive/store"
)

// BeginPositions implements store.Streams.
func (s *Store) BeginPositions(ctx context.Context, stream string, first []store.Position) ([]store.Position, error) {
	return do(ctx, s, "BeginPositions", func() ([]store.Position, error) { return s.inner.BeginPositions(ctx, stream, first) })
}

// Take implements store.Streams.
func (s *Store) Take(ctx context.Context, t store.Taking) ([]store.Taken, error) {
	return do(ctx, s, "Take", func() ([]store.Taken, error) { return s.inner.Take(ctx, t) })
}

// Positions implements store.Streams.
func (s *Store) Positions(ctx context.Context, stream string) ([]store.Position, error) {
	return do(ctx, s, "Positions", func() ([]store.Position, error) { return s.inner.Positions(ctx, stream) })
}

// MovePosition implements store.Streams.
func (s *Store) MovePosition(ctx context.Context, by store.By, m store.PositionMove) (store.Position, error) {
	return do(ctx, s, "MovePosition", func() (store.Position, error) { return s.inner.MovePosition(ctx, by, m) })
}

// Streams implements store.Streams.
func (s *Store) Streams(ctx context.Context) ([]store.Stream, error) {
	return do(ctx, s, "Streams", func() ([]store.Stream, error) { return s.inner.Streams(ctx) })
}

// SetStream implements store.Streams.
func (s *Store) SetStream(ctx context.Context, by store.By, c store.StreamChange) (store.Stream, error) {
	return do(ctx, s, "SetStream", func() (store.Stream, error) { return s.inner.SetStream(ctx, by, c) })
}

// ReportStream implements store.Streams.
func (s *Store) ReportStream(ctx context.Context, r store.StreamReport) error {
	_, err := do(ctx, s, "ReportStream", func() (none, error) { return none{}, s.inner.ReportStream(ctx, r) })
	return err
}

// StreamReports implements store.Streams.
func (s *Store) StreamReports(ctx context.Context, stream string) ([]store.StreamReport, error) {
	return do(ctx, s, "StreamReports", func() ([]store.StreamReport, error) { return s.inner.StreamReports(ctx, stream) })
}

// LeaseSink implements store.Streams.
func (s *Store) LeaseSink(ctx context.Context, stream, sink, holder string, lease time.Duration) (store.Sink, error) {
	return do(ctx, s, "LeaseSink", func() (store.Sink, error) { return s.inner.LeaseSink(ctx, stream, sink, holder, lease) })
}

// SaveSink implements store.Streams.
func (s *Store) SaveSink(ctx context.Context, c store.SinkSave) error {
	_, err := do(ctx, s, "SaveSink", func() (none, error) { return none{}, s.inner.SaveSink(ctx, c) })
	return err
}

// Sinks implements store.Streams.
func (s *Store) Sinks(ctx context.Context, stream string) ([]store.Sink, error) {
	return do(ctx, s, "Sinks", func() ([]store.Sink, error) { return s.inner.Sinks(ctx, stream) })
}
