// Package kafka reads a topic as a member of a consumer group.
package kafka

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/redrive/redrive/store"
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
	// Begin stores the positions of partitions that have none, and returns those of the stream.
	Begin func(ctx context.Context, first []store.Position) ([]store.Position, error)
	Now   func() time.Time
}

// reads returns the topics that are read.
func (o *Options) reads() []string {
	if o.Retry == "" {
		return []string{o.Topic}
	}
	return []string{o.Topic, o.Retry}
}

// topics returns the topics that are set.
func (o *Options) topics() []string {
	return slices.DeleteFunc([]string{o.Topic, o.Retry, o.Dead, o.Results}, func(name string) bool { return name == "" })
}

// Topic is a topic that is read.
type Topic struct {
	Name, ID, Cluster string
}

// Place returns the name of a partition in the store.
func (t *Topic) Place(partition int32) store.Place {
	return store.Place{Cluster: t.Cluster, TopicID: t.ID, Partition: partition}
}

// Prepare checks what must be there, and stores where partitions are read first, before anything of
// them is read. A cluster that lacks something is a *Refused.
func Prepare(ctx context.Context, o *Options) (read []Topic, err error) {
	findings, err := Check(ctx, o)
	if err != nil {
		return nil, err
	}
	refused := &Refused{}
	for _, f := range findings {
		if f.Refuse {
			refused.Findings = append(refused.Findings, f)
		} else {
			o.Log.WarnContext(ctx, f.What, "cure", f.Cure)
		}
	}
	if len(refused.Findings) > 0 {
		return nil, refused
	}
	client, err := o.client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	asking, cancel := context.WithTimeout(ctx, answerMax)
	defer cancel()
	cluster, err := admin.Metadata(asking, o.reads()...)
	if err != nil {
		return nil, fmt.Errorf("read the topics: %w", err)
	}
	beginning, cancel := context.WithTimeout(ctx, beginMax)
	defer cancel()
	for _, name := range o.reads() {
		found := cluster.Topics[name]
		if found.Err != nil {
			return nil, fmt.Errorf("topic %q: %w", name, found.Err)
		}
		topic := Topic{Name: name, ID: hex.EncodeToString(found.ID[:]), Cluster: cluster.Cluster}
		if err := o.begin(beginning, admin, &topic, found.Partitions); err != nil {
			return nil, err
		}
		read = append(read, topic)
	}
	return read, nil
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
		if !pause(ctx, askAgain) {
			return err
		}
	}
}

// pause waits, and is false if the context has ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ours is what the metadata of committed offsets begins with.
const ours = "redrive"

// begin stores a first position for each partition without one. It is the offset that another system
// has committed in the group; else the start of a partition that was added to the topic; else the
// start or the end of the topic, as the options say.
func (o *Options) begin(ctx context.Context, admin *kadm.Client, topic *Topic, partitions kadm.PartitionDetails) error {
	var committed kadm.OffsetResponses
	err := patiently(ctx, func() (err error) { committed, err = admin.FetchOffsets(ctx, o.Group); return err })
	if errors.Is(err, kerr.GroupAuthorizationFailed) {
		return &Refused{[]Finding{{true, fmt.Sprintf("this user has no right to read as a member of the group %q", o.Group), acl("Read", "group", o.Group)}}}
	}
	if err != nil {
		return fmt.Errorf("group %q: read its offsets: %w", o.Group, err)
	}
	positions, err := o.Begin(ctx, nil)
	if err != nil {
		return fmt.Errorf("read the positions: %w", err)
	}
	known := map[store.Place]bool{}
	added := false
	for i := range positions {
		known[positions[i].Place] = true
		added = added || positions[i].TopicID == topic.ID && positions[i].Cluster == topic.Cluster
	}
	list, from := admin.ListStartOffsets, "earliest"
	if o.Latest && topic.Name == o.Topic && !added {
		list, from = admin.ListEndOffsets, "latest"
	}
	listed, err := list(ctx, topic.Name)
	if err != nil {
		return fmt.Errorf("topic %q: read its offsets: %w", topic.Name, err)
	}
	ends, err := admin.ListEndOffsets(ctx, topic.Name)
	if err != nil {
		return fmt.Errorf("topic %q: read its ends: %w", topic.Name, err)
	}
	var first []store.Position
	waiting := int64(0)
	for p := range partitions {
		at, ok := listed.Lookup(topic.Name, p)
		if known[topic.Place(p)] || !ok || at.Err != nil {
			continue
		}
		position := store.Position{Place: topic.Place(p), Topic: topic.Name, Next: at.Offset}
		if c, ok := committed.Lookup(topic.Name, p); ok && c.Err == nil && c.At >= 0 && !strings.HasPrefix(c.Metadata, ours) {
			position.Next, from = c.At, "the offsets of the group"
		}
		if end, ok := ends.Lookup(topic.Name, p); ok && end.Err == nil {
			waiting += max(0, end.Offset-position.Next)
		}
		first = append(first, position)
	}
	if len(first) == 0 {
		return nil
	}
	if _, err := o.Begin(ctx, first); err != nil {
		return fmt.Errorf("store the first positions: %w", err)
	}
	o.Log.InfoContext(ctx, "the stream reads these partitions for the first time", "topic", topic.Name, "partitions", len(first), "from", from, "records", waiting)
	return nil
}
