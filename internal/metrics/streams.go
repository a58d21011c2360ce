package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redrive/redrive/internal/wire"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/store"
)

// StreamsMax bounds the streams and topics that have names of their own.
const StreamsMax = 200

var (
	streamLag     = desc("stream_lag_records", "Records of a topic that a stream has not taken yet. Missing while that is not known.", "stream", "topic")
	streamAge     = desc("stream_lag_seconds", "Age of the oldest record of a topic that a stream has not taken yet, looked up once a minute. 0 if all are taken or it is not known.", "stream", "topic")
	streamParts   = desc("stream_partitions", "Partitions of a topic by state.", "stream", "topic", "state")
	streamRecords = desc("stream_records_total", "Records that a stream has read, by what became of them.", "stream", "topic", "outcome")
	sinkFailing   = desc("stream_sink_failing_seconds", "For how long the writes of a sink have failed. 0 if the last one succeeded.", "stream", "sink")
)

// topicSum is what the partitions of a topic are together.
type topicSum struct {
	counts store.FateCounts
	states map[string]int
	lag    int64
	known  bool // the lag of each partition is known
	age    int64
}

// streams reports the streams.
func (f *figures) streams(ctx context.Context, add func(d *prometheus.Desc, t prometheus.ValueType, v float64, labels ...string)) error {
	now := job.At(f.clock())
	all, err := wire.StreamsOf(ctx, f.source, now)
	if err != nil {
		return err
	}
	streams := names{most: StreamsMax}
	topics := names{most: StreamsMax}
	sums := map[[2]string]*topicSum{}
	failing := map[[2]string]time.Duration{}
	for i := range all {
		name := streams.of(all[i].Name)
		for k := range all[i].Partitions {
			p := &all[i].Partitions[k]
			at := [2]string{name, topics.of(p.Topic)}
			s := sums[at]
			if s == nil {
				s = &topicSum{states: map[string]int{}, known: true}
				sums[at] = s
			}
			s.counts.Add(&p.Counts)
			s.states[p.State]++
			s.age = max(s.age, p.LagSeconds)
			if s.known = s.known && p.Lag != nil; s.known {
				s.lag += *p.Lag
			}
		}
		for k := range all[i].Sinks {
			at, since := [2]string{name, all[i].Sinks[k].Name}, all[i].Sinks[k].FailedAt
			if since != 0 {
				failing[at] = max(failing[at], now.Sub(since))
			} else {
				failing[at] += 0
			}
		}
	}
	for at, s := range sums {
		if s.known {
			add(streamLag, prometheus.GaugeValue, float64(s.lag), at[0], at[1])
		}
		add(streamAge, prometheus.GaugeValue, float64(s.age), at[0], at[1])
		for _, state := range append(store.PartitionStates(), "none") {
			add(streamParts, prometheus.GaugeValue, float64(s.states[state]), at[0], at[1], state)
		}
		for fate, n := range s.counts.ByFate() {
			add(streamRecords, prometheus.CounterValue, float64(n), at[0], at[1], fate.String())
		}
	}
	for at, d := range failing {
		add(sinkFailing, prometheus.GaugeValue, max(d, 0).Seconds(), at[0], at[1])
	}
	return nil
}
