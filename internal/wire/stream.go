package wire

import (
	"context"
	"fmt"
	"slices"

	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// reportOld is the age from which the report of a process does not count any more.
const reportOld = 3 * store.ReportEvery

// Stream is the JSON shape of a stream with all that is known about it.
type Stream struct {
	store.Stream
	// State is the state of the partition that needs a look most.
	State string `json:"state"`
	// Lag is how many records are not taken yet in all partitions; null if that is not known.
	Lag *int64 `json:"lag"`
	// Counts are the numbers of records of all partitions.
	Counts     store.FateCounts  `json:"counts"`
	Partitions []StreamPartition `json:"partitions"`
	Sinks      []store.Sink      `json:"sinks"`
}

// StreamPartition is the JSON shape of a partition of a stream: the position, and the last report about it.
type StreamPartition struct {
	store.Position
	// State is running, backlogged, paused, store-away, broker-away, ahead, behind, beyond or revoked, as
	// the process that reads the partition has reported; none if no process has for 15 seconds.
	State  string     `json:"state"`
	Reason string     `json:"reason,omitempty"` // of the state, in words
	Since  job.Micros `json:"since,omitempty"`  // since when the partition has the state
	// Lag is how many records are not taken yet; null if that is not known.
	Lag *int64 `json:"lag"`
	// LagSeconds is the age of the oldest record that is not taken, as of at most a minute ago.
	LagSeconds int64 `json:"lag_seconds,omitempty"`
	// Start and End are the offsets of the first record that still exists, and of the next one that is written.
	Start *int64 `json:"start,omitempty"`
	End   *int64 `json:"end,omitempty"`
	// Group is the offset of the consumer group, if the partition is ahead.
	Group int64 `json:"group,omitempty"`
}

// StreamSource is the part of a client that StreamsOf asks.
type StreamSource interface {
	Streams(ctx context.Context) ([]store.Stream, error)
	Positions(ctx context.Context, stream string) ([]store.Position, error)
	StreamReports(ctx context.Context, stream string) ([]store.StreamReport, error)
	Sinks(ctx context.Context, stream string) ([]store.Sink, error)
}

// StreamsOf reads all streams, by name.
func StreamsOf(ctx context.Context, from StreamSource, now job.Micros) ([]Stream, error) {
	streams, err := from.Streams(ctx)
	if err != nil {
		return nil, fmt.Errorf("read streams: %w", err)
	}
	if len(streams) == 0 {
		return []Stream{}, nil
	}
	positions, err := from.Positions(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("read positions: %w", err)
	}
	reports, err := from.StreamReports(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("read reports: %w", err)
	}
	sinks, err := from.Sinks(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("read sinks: %w", err)
	}
	all := make([]Stream, len(streams))
	for i, s := range streams {
		all[i] = Stream{Stream: s, Partitions: []StreamPartition{}, Sinks: []store.Sink{}}
		for k := range positions {
			if positions[k].Stream == s.Name {
				all[i].Partitions = append(all[i].Partitions, partitionOf(&positions[k], reports, now))
			}
		}
		for k := range sinks {
			if sinks[k].Stream == s.Name {
				all[i].Sinks = append(all[i].Sinks, sinks[k])
			}
		}
		all[i].sum()
	}
	return all, nil
}

// StreamOf reads one stream.
func StreamOf(ctx context.Context, from StreamSource, name string, now job.Micros) (*Stream, error) {
	all, err := StreamsOf(ctx, from, now)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(s Stream) bool { return s.Name == name })
	if i < 0 {
		return nil, store.NoStream(name)
	}
	return &all[i], nil
}

// partitionOf returns a position with the latest report about it.
func partitionOf(p *store.Position, reports []store.StreamReport, now job.Micros) StreamPartition {
	out := StreamPartition{Position: *p, State: "none"}
	var at job.Micros
	for i := range reports {
		r := &reports[i]
		if r.Stream != p.Stream || r.At < at || now.Sub(r.At) > reportOld {
			continue
		}
		for k := range r.Partitions {
			said := &r.Partitions[k]
			if said.Place != p.Place {
				continue
			}
			at = r.At
			out.State, out.Reason, out.Since, out.Group, out.LagSeconds = said.State, said.Reason, said.Since, said.Group, said.LagSeconds
			out.Start, out.End, out.Lag = &said.Start, &said.End, nil
			if said.State != "broker-away" {
				out.Lag = new(max(0, said.End-p.Next))
			}
		}
	}
	return out
}

// sum fills in what is known from the partitions.
func (s *Stream) sum() {
	s.State = "running"
	s.Lag = new(int64)
	for i := range s.Partitions {
		p := &s.Partitions[i]
		s.Counts.Add(&p.Counts)
		switch {
		case p.Lag == nil:
			s.Lag = nil
		case s.Lag != nil:
			*s.Lag += *p.Lag
		}
	}
	for _, state := range []string{"backlogged", "paused", "none", "broker-away", "store-away", "revoked", "beyond", "behind", "ahead"} {
		if slices.ContainsFunc(s.Partitions, func(p StreamPartition) bool { return p.State == state }) {
			s.State = state
		}
	}
}
