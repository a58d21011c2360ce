package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/redrive/redrive/stream/project"
	"github.com/redrive/redrive/stream/wire"
)

// Writer writes records with acks=all, each once while the writer lives. It never makes a topic.
type Writer struct{ client *kgo.Client }

// NewWriter returns a writer to the cluster.
func NewWriter(o *Options) (*Writer, error) {
	client, err := o.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.Lz4Compression()),
		kgo.RequiredAcks(kgo.AllISRAcks()))
	if err != nil {
		return nil, err
	}
	return &Writer{client}, nil
}

// Partitions returns the number of partitions of a topic.
func (w *Writer) Partitions(ctx context.Context, topic string) (int32, error) {
	found, err := kadm.NewClient(w.client).ListTopics(ctx, topic)
	if err == nil {
		err = found[topic].Err
	}
	if err != nil {
		return 0, fmt.Errorf("topic %q: %w", topic, err)
	}
	return int32(len(found[topic].Partitions)), nil //nolint:gosec // Kafka counts them as int32
}

// Write writes records and waits until all are acknowledged.
func (w *Writer) Write(ctx context.Context, records []wire.Record) error {
	all := make([]*kgo.Record, len(records))
	for i := range records {
		r := &records[i]
		all[i] = &kgo.Record{Topic: r.Topic, Partition: r.Partition, Key: r.Key, Value: r.Value}
		for _, h := range r.Headers {
			all[i].Headers = append(all[i].Headers, kgo.RecordHeader{Key: h.Name, Value: h.Value})
		}
	}
	results := w.client.ProduceSync(ctx, all...)
	for _, result := range results {
		if result.Err == nil {
			continue
		}
		if errors.Is(result.Err, kerr.MessageTooLarge) || errors.Is(result.Err, kerr.InvalidRecord) {
			for i := range all {
				if all[i] == result.Record {
					return &project.Refused{Index: i, Err: result.Err}
				}
			}
		}
		return result.Err
	}
	return nil
}

// Close ends the writer.
func (w *Writer) Close() { w.client.Close() }
