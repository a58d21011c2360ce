package kafka

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/stream/wire"
)

// quietMax is how long Peek waits for a record although the partition has an end: markers of
// transactions take offsets and are no records.
const quietMax = 2 * time.Second

// At is a place in time, or the offsets of the group, at which partitions are looked up.
type At struct {
	Time  time.Time
	Group bool // the offsets that the group has committed, instead of a time
}

// Offsets returns for each partition of the topics that are read the offset of the first record at or
// after a time, or the one that the group has committed. A partition is left out if the group has
// committed none.
func Offsets(ctx context.Context, o *Options, at At) (map[store.Place]int64, error) {
	client, err := o.client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	ctx, cancel := context.WithTimeout(ctx, beginMax)
	defer cancel()
	cluster, err := admin.Metadata(ctx, o.reads()...)
	if err != nil {
		return nil, fmt.Errorf("read the topics: %w", err)
	}
	found := map[store.Place]int64{}
	add := func(name string, partition int32, offset int64) {
		d := cluster.Topics[name]
		topic := Topic{Name: name, ID: hex.EncodeToString(d.ID[:]), Cluster: cluster.Cluster}
		found[topic.Place(partition)] = offset
	}
	if at.Group {
		var committed kadm.OffsetResponses
		err := patiently(ctx, func() (err error) { committed, err = admin.FetchOffsets(ctx, o.Group); return err })
		if err != nil {
			return nil, fmt.Errorf("group %q: read its offsets: %w", o.Group, err)
		}
		for _, name := range o.reads() {
			for p := range cluster.Topics[name].Partitions {
				if c, ok := committed.Lookup(name, p); ok && c.Err == nil && c.At >= 0 {
					add(name, p, c.At)
				}
			}
		}
		return found, nil
	}
	listed, err := admin.ListOffsetsAfterMilli(ctx, at.Time.UnixMilli(), o.reads()...)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("look up the offsets at %s: %w", at.Time.Format(time.RFC3339), err)
	}
	listed.Each(func(l kadm.ListedOffset) { add(l.Topic, l.Partition, l.Offset) })
	return found, nil
}

// CommitOffsets reports offsets of the group as another system would: a stream that begins believes
// them. The group must have no members.
func CommitOffsets(ctx context.Context, o *Options, positions []store.Position) error {
	client, err := o.client()
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, beginMax)
	defer cancel()
	var offsets kadm.Offsets
	for i := range positions {
		p := &positions[i]
		offsets.Add(kadm.Offset{Topic: p.Topic, Partition: p.Partition, At: p.Next, LeaderEpoch: -1})
	}
	admin := kadm.NewClient(client)
	err = patiently(ctx, func() error { return admin.CommitAllOffsets(ctx, o.Group, offsets) })
	if errors.Is(err, kerr.UnknownMemberID) {
		return fmt.Errorf("the group %q has members, so its offsets cannot be set: stop `redrive-stream run` everywhere, and repeat this: %w", o.Group, store.ErrConflict)
	}
	if err != nil {
		return fmt.Errorf("group %q: commit its offsets: %w", o.Group, err)
	}
	return nil
}

// Members returns how many members the group has.
func Members(ctx context.Context, o *Options) (int, error) {
	client, err := o.client()
	if err != nil {
		return 0, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, beginMax)
	defer cancel()
	admin := kadm.NewClient(client)
	var groups kadm.DescribedGroups
	err = patiently(ctx, func() (err error) { groups, err = admin.DescribeGroups(ctx, o.Group); return err })
	if err != nil {
		return 0, fmt.Errorf("group %q: %w", o.Group, err)
	}
	return len(groups[o.Group].Members), nil
}

// PeekAt says which records Peek reads.
type PeekAt struct {
	Topic     string
	Partition int32 // -1: all partitions
	Offset    int64 // the first offset; -1: from the start of the partition
	N         int   // the largest number of records
}

// Peek reads records without being a member of a group, and changes nothing.
func Peek(ctx context.Context, o *Options, at PeekAt) (records []wire.Record, err error) {
	admins, err := o.client()
	if err != nil {
		return nil, err
	}
	defer admins.Close()
	admin := kadm.NewClient(admins)
	asking, cancel := context.WithTimeout(ctx, answerMax)
	defer cancel()
	starts, err := admin.ListStartOffsets(asking, at.Topic)
	var ends kadm.ListedOffsets
	if err == nil {
		ends, err = admin.ListEndOffsets(asking, at.Topic)
	}
	if err == nil {
		err = errors.Join(starts.Error(), ends.Error())
	}
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return nil, fmt.Errorf("the topic %q does not exist; correct its name: %w", at.Topic, store.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("topic %q: %w", at.Topic, err)
	}
	left := map[int32]int64{} // of each partition that is not read to its end: the end
	from := map[int32]kgo.Offset{}
	var outside error
	ends.Each(func(end kadm.ListedOffset) {
		p := end.Partition
		start, _ := starts.Lookup(at.Topic, p)
		first := max(at.Offset, start.Offset)
		switch {
		case at.Partition >= 0 && p != at.Partition:
		case at.Offset >= 0 && (at.Offset < start.Offset || at.Offset > end.Offset):
			outside = fmt.Errorf("%s/%d has the offsets %d to %d, not %d: %w", at.Topic, p, start.Offset, end.Offset, at.Offset, store.ErrInvalid)
		default:
			from[p] = kgo.NewOffset().At(first)
			if first < end.Offset {
				left[p] = end.Offset
			}
		}
	})
	switch {
	case outside != nil:
		return nil, outside
	case len(from) == 0:
		return nil, fmt.Errorf("the topic %q has no partition %d; it has %d: %w", at.Topic, at.Partition, len(ends[at.Topic]), store.ErrNotFound)
	}
	client, err := o.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{at.Topic: from}), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxBytes(fetchMax), kgo.MaxDecompressBatchBytes(inflatedMax))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for len(left) > 0 && len(records) < at.N {
		polling, cancel := context.WithTimeout(ctx, quietMax)
		fetches := client.PollRecords(polling, at.N-len(records))
		cancel()
		for _, e := range fetches.Errors() {
			if !errors.Is(e.Err, context.DeadlineExceeded) {
				return records, fmt.Errorf("read %s/%d: %w", e.Topic, e.Partition, e.Err)
			}
		}
		if fetches.NumRecords() == 0 {
			return records, ctx.Err()
		}
		fetches.EachRecord(func(k *kgo.Record) {
			if end := left[k.Partition]; k.Offset+1 >= end {
				delete(left, k.Partition)
			}
			records = append(records, record(k))
		})
	}
	return records, nil
}

// Oldest returns the first record of each of these partitions at or after an offset, as far as they are read within two
// seconds.
func (r *Reader) Oldest(ctx context.Context, from map[int32]int64) map[int32]wire.Record {
	found := map[int32]wire.Record{}
	ctx, cancel := context.WithTimeout(ctx, quietMax)
	defer cancel()
	for p, at := range from {
		records, err := Peek(ctx, r.o, PeekAt{Topic: r.topic.Name, Partition: p, Offset: at, N: 1})
		if err == nil && len(records) > 0 {
			found[p] = records[0]
		}
	}
	return found
}

// record returns a record as the package wire reads it.
func record(k *kgo.Record) wire.Record {
	w := wire.Record{Topic: k.Topic, Partition: k.Partition, Offset: k.Offset, Time: k.Timestamp, Key: k.Key, Value: k.Value}
	for _, h := range k.Headers {
		w.Headers = append(w.Headers, wire.Header{Name: h.Key, Value: h.Value})
	}
	return w
}
