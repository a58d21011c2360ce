package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/stream/wire"
)

// Part is what one poll has read of a partition: from where, up to where, and what was there.
type Part struct {
	Partition  int32
	From, Next int64
	Records    []wire.Record
}

// Stop says why a partition is not read.
type Stop struct {
	State  string // "ahead", "behind" or "beyond"
	Reason string
	Since  time.Time
	Group  int64 // the offset of the group, if the state is "ahead"
}

// Reader is a member of a consumer group. Its methods are not safe for concurrent use.
type Reader struct {
	o       *Options
	client  *kgo.Client
	topic   Topic
	mu      sync.Mutex
	lost    []int32         // partitions that were taken away since the last call of Lost
	from    map[int32]int64 // of the partitions of this process: the offset from which they are read on
	stopped map[int32]Stop
}

// Open joins the group as a reader of one topic.
func Open(o *Options, topic *Topic) (*Reader, error) {
	r := &Reader{o: o, topic: *topic}
	return r, r.open()
}

func (r *Reader) open() error {
	r.mu.Lock() // until there is a client: adjust may be called before it is returned
	defer r.mu.Unlock()
	r.from, r.stopped, r.lost = map[int32]int64{}, map[int32]Stop{}, nil
	o := r.o
	options := []kgo.Opt{
		kgo.ConsumerGroup(o.Group), kgo.ConsumeTopics(r.topic.Name), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.AdjustFetchOffsetsFn(r.adjust),
		kgo.OnPartitionsRevoked(r.gone), kgo.OnPartitionsLost(r.gone),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxBytes(fetchMax), kgo.MaxDecompressBatchBytes(inflatedMax),
		kgo.SessionTimeout(sessionTimeout), kgo.HeartbeatInterval(sessionTimeout / 5), kgo.Balancers(kgo.CooperativeStickyBalancer()),
	}
	switch {
	case o.Instance != "" && r.topic.Name == o.Retry:
		options = append(options, kgo.InstanceID(o.Instance+"-retry")) // a second member of this process
	case o.Instance != "":
		options = append(options, kgo.InstanceID(o.Instance))
	}
	client, err := o.client(options...)
	if err == nil {
		r.client = client
	}
	return err
}

// Reopen joins the group again and reads from the positions in the store. Records that the old
// client had read ahead are dropped.
func (r *Reader) Reopen() error {
	r.client.Close()
	return r.open()
}

// adjust sets the offsets from which partitions are read that this process has got: the positions of
// the store. The offsets of the group are compared only: a group that is ahead of the store has been
// read into another store, or this one is an older copy.
func (r *Reader) adjust(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	var first []store.Position // of partitions that were added while the group reads; they begin at their start
	for p := range offsets[r.topic.Name] {
		first = append(first, store.Position{Place: r.topic.Place(p), Topic: r.topic.Name})
	}
	positions, err := r.o.Begin(ctx, first)
	if err != nil {
		return nil, fmt.Errorf("read the positions: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range positions {
		at := &positions[i]
		committed, assigned := offsets[r.topic.Name][at.Partition]
		if !assigned || at.Place != r.topic.Place(at.Partition) {
			continue
		}
		offsets[r.topic.Name][at.Partition] = kgo.NewOffset().At(at.Next)
		r.from[at.Partition] = at.Next
		delete(r.stopped, at.Partition)
		paused := map[string][]int32{r.topic.Name: {at.Partition}}
		if group := committed.EpochOffset().Offset; group > at.Reached {
			r.client.PauseFetchPartitions(paused)
			r.stop(ctx, at.Partition, &Stop{State: "ahead", Group: group, Reason: fmt.Sprintf("the group %q is at offset %d, and the store has never been above %d: "+
				"another store reads with this group, or this one is an older copy; `redrive stream rewind NAME --to store` reads on from the store", r.o.Group, group, at.Reached)})
			continue
		}
		r.client.ResumeFetchPartitions(paused)
	}
	return offsets, nil
}

// stop notes why a partition is not read any more, and logs it once.
func (r *Reader) stop(ctx context.Context, partition int32, s *Stop) {
	if r.stopped[partition].State == s.State {
		return
	}
	s.Since = r.o.Now()
	r.stopped[partition] = *s
	r.o.Log.ErrorContext(ctx, "the partition is not read", "topic", r.topic.Name, "partition", partition, "state", s.State, "reason", s.Reason)
}

// Reading returns the offsets from which this process reads its partitions on, and those that are
// stopped.
func (r *Reader) Reading() (from map[int32]int64, stopped map[int32]Stop) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.from), maps.Clone(r.stopped)
}

// Ends returns the first and the next offset of each partition of the topic.
func (r *Reader) Ends(ctx context.Context) (start, end map[int32]int64, err error) {
	admin := kadm.NewClient(r.client)
	starts, err := admin.ListStartOffsets(ctx, r.topic.Name)
	if err != nil {
		return nil, nil, fmt.Errorf("topic %q: read its offsets: %w", r.topic.Name, err)
	}
	ends, err := admin.ListEndOffsets(ctx, r.topic.Name)
	if err != nil {
		return nil, nil, fmt.Errorf("topic %q: read its offsets: %w", r.topic.Name, err)
	}
	start, end = map[int32]int64{}, map[int32]int64{}
	starts.Each(func(o kadm.ListedOffset) { start[o.Partition] = o.Offset })
	ends.Each(func(o kadm.ListedOffset) { end[o.Partition] = o.Offset })
	return start, end, nil
}

// outside stops a partition whose position is not in the log.
func (r *Reader) outside(ctx context.Context, partition int32) {
	start, end, err := r.Ends(ctx)
	if err != nil {
		r.o.Log.WarnContext(ctx, "reading failed", "topic", r.topic.Name, "partition", partition, "error", err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.from[partition]
	switch {
	case at < start[partition]:
		r.stop(ctx, partition, &Stop{State: "behind", Reason: fmt.Sprintf("the position is %d, but the partition begins at %d: retention has removed up to %d records "+
			"that were not read; `redrive stream accept-gap NAME --partition %d` reads on", at, start[partition], start[partition]-at, partition)})
	case at > end[partition]:
		r.stop(ctx, partition, &Stop{State: "beyond", Reason: fmt.Sprintf("the position is %d, but the partition ends at %d: the topic was truncated, or the cluster is an older copy; "+
			"`redrive stream rewind NAME --to end` or `--to start` reads on", at, end[partition])})
	}
}

func (r *Reader) gone(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = append(r.lost, lost[r.topic.Name]...)
	for _, p := range lost[r.topic.Name] {
		delete(r.from, p)
		delete(r.stopped, p)
	}
}

// Lost returns the partitions that belong to another process now, each once.
func (r *Reader) Lost() []int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	lost := r.lost
	r.lost = nil
	return lost
}

// Poll reads at most limit records. It returns what there is when the context ends.
func (r *Reader) Poll(ctx context.Context, limit int) (parts []Part, failed error) {
	fetches := r.client.PollRecords(ctx, limit)
	fetches.EachError(func(topic string, partition int32, err error) {
		switch {
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		case errors.Is(err, kerr.OffsetOutOfRange):
			r.outside(context.WithoutCancel(ctx), partition)
		case errors.Is(err, kerr.FencedInstanceID):
			failed = fmt.Errorf("another process of the group has the instance name %q: give each process its own: %w", r.o.Instance, err)
		default:
			r.o.Log.WarnContext(ctx, "reading failed", "topic", topic, "partition", partition, "error", err)
		}
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	fetches.EachPartition(func(f kgo.FetchTopicPartition) {
		from, ours := r.from[f.Partition]
		if len(f.Records) == 0 || !ours {
			return
		}
		part := Part{Partition: f.Partition, From: from, Records: make([]wire.Record, 0, len(f.Records))}
		for _, k := range f.Records {
			part.Records = append(part.Records, record(k))
			part.Next = k.Offset + 1
		}
		r.from[f.Partition] = part.Next
		parts = append(parts, part)
	})
	return parts, failed
}

// Commit reports to the broker how far the group has read. Only tools that show the lag need it.
func (r *Reader) Commit(ctx context.Context, next map[int32]int64) (err error) {
	ctx = kgo.PreCommitFnContext(ctx, func(request *kmsg.OffsetCommitRequest) error {
		for t := range request.Topics {
			for p := range request.Topics[t].Partitions {
				request.Topics[t].Partitions[p].Metadata = new(ours)
			}
		}
		return nil
	})
	offsets := make(map[int32]kgo.EpochOffset, len(next))
	for p, at := range next {
		offsets[p] = kgo.EpochOffset{Epoch: -1, Offset: at}
	}
	r.client.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{r.topic.Name: maps.Clone(offsets)},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, failed error) {
			if err = failed; err != nil || answer == nil {
				return
			}
			for _, t := range answer.Topics {
				for _, p := range t.Partitions {
					err = errors.Join(err, kerr.ErrorForCode(p.ErrorCode))
				}
			}
		})
	if err != nil {
		return fmt.Errorf("commit the offsets of group %q: %w", r.o.Group, err)
	}
	return nil
}

// Close leaves the group, unless the member is static.
func (r *Reader) Close() { r.client.Close() }
