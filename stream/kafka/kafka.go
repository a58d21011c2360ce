// Package kafka reads a topic as a member of a consumer group.
package kafka

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/redrive/redrive/stream/wire"
)

// The settings of the client.
const (
	answerMax = 10 * time.Second // a broker must answer within this time at the start
	beginMax  = time.Minute      // the coordinator of the group must answer within this time
	askAgain  = 200 * time.Millisecond
	// sessionTimeout is how long a member may be silent. A member that was taken for dead does no
	// harm, so the time is short.
	sessionTimeout = 10 * time.Second
	fetchMax       = 8 << 20  // bytes of a fetch
	inflatedMax    = 64 << 20 // bytes of a compressed batch when it is unpacked
)

// Options say what is read.
type Options struct {
	Brokers  []string
	Topic    string
	Group    string
	Instance string // a name that makes a static member; may be empty
	Latest   bool   // without a committed offset begin at the end of the topic instead of its start
	TLS      *TLS   // nil: no encryption
	SASL     *SASL  // nil: no login

	Retry, Dead, Results string        // topics that are written to; each may be empty
	LongestWait          time.Duration // the longest wait of a retry, which the retry topic must keep
	AllowCompacted       bool          // the primary topic may be compacted
	Alongside            bool          // the group may have members that are not of redrive
	Log                  *slog.Logger
}

// topics returns the topics that are set.
func (o *Options) topics() []string {
	return slices.DeleteFunc([]string{o.Topic, o.Retry, o.Dead, o.Results}, func(name string) bool { return name == "" })
}

// Batch is what one poll has read.
type Batch struct {
	Records []wire.Record
	Next    map[int32]int64 // for each partition the offset after its last record
}

// Reader is a member of a consumer group. Its methods are not safe for concurrent use.
type Reader struct {
	o       *Options
	client  *kgo.Client
	topicID string

	mu   sync.Mutex
	lost []int32 // partitions that were taken away since the last call of Lost
}

// Open checks the topic and joins the group. It commits the first offsets of partitions that the
// group has not read yet, so that a process that dies before it has read anything changes nothing.
func Open(ctx context.Context, o *Options) (*Reader, error) {
	r := &Reader{o: o}
	id, err := r.prepare(ctx)
	if err != nil {
		return nil, err
	}
	r.topicID = id
	options := []kgo.Opt{
		kgo.ConsumerGroup(o.Group), kgo.ConsumeTopics(o.Topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.AdjustFetchOffsetsFn(r.adjust),
		kgo.OnPartitionsRevoked(r.gone), kgo.OnPartitionsLost(r.gone),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxBytes(fetchMax), kgo.MaxDecompressBatchBytes(inflatedMax),
		kgo.SessionTimeout(sessionTimeout), kgo.HeartbeatInterval(sessionTimeout / 5), kgo.Balancers(kgo.CooperativeStickyBalancer()),
	}
	if o.Instance != "" {
		options = append(options, kgo.InstanceID(o.Instance))
	}
	r.client, err = o.client(options...)
	return r, err
}

// prepare checks what must be there, and commits the first offsets. It returns the id of the topic.
func (r *Reader) prepare(ctx context.Context) (id string, err error) {
	findings, err := Check(ctx, r.o)
	if err != nil {
		return "", err
	}
	refused := &Refused{}
	for _, f := range findings {
		if f.Refuse {
			refused.Findings = append(refused.Findings, f)
		} else {
			r.o.Log.WarnContext(ctx, f.What, "cure", f.Cure)
		}
	}
	if len(refused.Findings) > 0 {
		return "", refused
	}
	client, err := r.o.client()
	if err != nil {
		return "", err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	asking, cancel := context.WithTimeout(ctx, answerMax)
	defer cancel()
	topics, err := admin.ListTopics(asking, r.o.Topic)
	if err == nil {
		err = topics[r.o.Topic].Err
	}
	if err != nil {
		return "", fmt.Errorf("topic %q: %w", r.o.Topic, err)
	}
	topic := topics[r.o.Topic]
	beginning, cancel := context.WithTimeout(ctx, beginMax)
	defer cancel()
	return hex.EncodeToString(topic.ID[:]), r.begin(beginning, admin, topic.Partitions)
}

// client returns a client with more options than those that every client has.
func (o *Options) client(more ...kgo.Opt) (*kgo.Client, error) {
	opts, _, err := o.secured()
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(append(opts, kgo.SeedBrokers(o.Brokers...), kgo.ClientID(clientID)), more...)...)
	if err != nil {
		return nil, fmt.Errorf("kafka: %w", err)
	}
	return client, nil
}

// patiently repeats a call while the coordinator of the group is not ready, as on a new broker.
func patiently(ctx context.Context, call func() error) error {
	for {
		err := call()
		if err == nil || !kerr.IsRetriable(err) {
			return err
		}
		timer := time.NewTimer(askAgain)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// begin commits a first offset for each partition without one.
func (r *Reader) begin(ctx context.Context, admin *kadm.Client, partitions kadm.PartitionDetails) error {
	var committed kadm.OffsetResponses
	err := patiently(ctx, func() (err error) { committed, err = admin.FetchOffsets(ctx, r.o.Group); return err })
	if err != nil {
		return fmt.Errorf("group %q: read its offsets: %w", r.o.Group, err)
	}
	list, from := admin.ListStartOffsets, "earliest"
	if known := committed.Offsets()[r.o.Topic]; len(known) == 0 && r.o.Latest {
		list, from = admin.ListEndOffsets, "latest" // partitions that were added later begin at their start
	}
	listed, err := list(ctx, r.o.Topic)
	if err != nil {
		return fmt.Errorf("topic %q: read its offsets: %w", r.o.Topic, err)
	}
	var first kadm.Offsets
	for p := range partitions {
		if _, ok := committed.Lookup(r.o.Topic, p); ok {
			continue
		}
		if at, ok := listed.Lookup(r.o.Topic, p); ok && at.Err == nil {
			first.AddOffset(r.o.Topic, p, at.Offset, -1)
		}
	}
	if len(first) == 0 {
		return nil
	}
	err = patiently(ctx, func() error { return admin.CommitAllOffsets(ctx, r.o.Group, first) })
	if errors.Is(err, kerr.UnknownMemberID) { // another process of the group has joined: it has done this
		return nil
	}
	if errors.Is(err, kerr.GroupAuthorizationFailed) {
		return &Refused{[]Finding{{true, fmt.Sprintf("this user must not read as the group %q", r.o.Group), acl("Read", "group", r.o.Group)}}}
	}
	if err != nil {
		return fmt.Errorf("group %q: commit its first offsets: %w", r.o.Group, err)
	}
	r.o.Log.InfoContext(ctx, "the group reads these partitions for the first time", "topic", r.o.Topic, "partitions", len(first[r.o.Topic]), "from", from)
	return nil
}

// adjust sets the first offset of partitions that were added while the group reads. It is their
// start: records that were written before the group has noticed the partition are not skipped.
func (r *Reader) adjust(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	for topic, partitions := range offsets {
		for p, o := range partitions {
			if at := o.EpochOffset(); at.Offset < 0 {
				r.o.Log.InfoContext(ctx, "a partition is read from its start", "topic", topic, "partition", p)
				partitions[p] = kgo.NewOffset().AtStart()
			} else {
				partitions[p] = kgo.NewOffset().At(at.Offset)
			}
		}
	}
	return offsets, nil
}

func (r *Reader) gone(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = append(r.lost, lost[r.o.Topic]...)
}

// Lost returns the partitions that belong to another process now, each once.
func (r *Reader) Lost() []int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	lost := r.lost
	r.lost = nil
	return lost
}

// TopicID returns the id of the topic as hexadecimal digits. A topic that is made anew has another.
func (r *Reader) TopicID() string { return r.topicID }

// Poll reads at most limit records. It returns what there is when the context ends.
func (r *Reader) Poll(ctx context.Context, limit int) (Batch, error) {
	fetches := r.client.PollRecords(ctx, limit)
	b := Batch{Next: map[int32]int64{}}
	var failed error
	fetches.EachError(func(topic string, partition int32, err error) {
		switch {
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		case errors.Is(err, kerr.OffsetOutOfRange):
			r.o.Log.ErrorContext(ctx, "the partition is not read any more: the group's offset is not in the log, because retention has removed "+
				"records that were not read, or the topic was truncated; set the group's offset and start again",
				"topic", topic, "partition", partition)
		case errors.Is(err, kerr.FencedInstanceID):
			failed = fmt.Errorf("another process of the group has the instance name %q: give each process its own: %w", r.o.Instance, err)
		default:
			r.o.Log.WarnContext(ctx, "reading failed", "topic", topic, "partition", partition, "error", err)
		}
	})
	fetches.EachRecord(func(k *kgo.Record) {
		w := wire.Record{Topic: k.Topic, Partition: k.Partition, Offset: k.Offset, Time: k.Timestamp, Key: k.Key, Value: k.Value}
		for _, h := range k.Headers {
			w.Headers = append(w.Headers, wire.Header{Name: h.Key, Value: h.Value})
		}
		b.Records = append(b.Records, w)
		b.Next[k.Partition] = k.Offset + 1
	})
	return b, failed
}

// Commit stores the group's offsets on the broker.
func (r *Reader) Commit(ctx context.Context, next map[int32]int64) (err error) {
	offsets := make(map[int32]kgo.EpochOffset, len(next))
	for p, at := range next {
		offsets[p] = kgo.EpochOffset{Epoch: -1, Offset: at}
	}
	r.client.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{r.o.Topic: maps.Clone(offsets)},
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
