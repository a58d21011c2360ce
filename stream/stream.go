// Package stream makes jobs of the records of a Kafka topic.
//
// A record becomes a job, in one transaction with the position up to which its partition was taken.
// So a record may be read again after a crash, but it is taken once.
// docs/kafka.md describes what a record must have, and what happens to others.
package stream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/notify"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/store"
	"github.com/redrive/redrive/stream/intake"
	"github.com/redrive/redrive/stream/kafka"
	"github.com/redrive/redrive/stream/project"
	"github.com/redrive/redrive/stream/wire"
)

// RecordKind is the kind of the jobs that stand for records that cannot be a task. They die in the transaction that takes
// the records, without a worker.
const RecordKind = "redrive.record"

// The defaults and limits of Config.
const (
	BacklogDefault = 50_000
	MinWaitDefault = time.Second
	pollMax        = 5_000
	commitPoll     = time.Second // longest time of a poll, after which offsets can be committed
	stopMax        = 10 * time.Second
	keptOfLarge    = 64 << 10 // bytes that are kept of a value that is too large
)

// Processed knows which tasks others have processed, such as marks in Redis.
type Processed interface {
	// Processed reports for each idempotency key whether its task was processed.
	Processed(ctx context.Context, keys []string) ([]bool, error)
}

// Config says what a stream reads and what becomes of it.
type Config struct {
	Name     string   // the name of the stream, for logs and in the attributes of its jobs; required
	Brokers  []string // required
	Topic    string   // required
	Group    string   // the consumer group; default "redrive-" and the name
	Instance string   // makes a static member of the group; each process needs its own; default none
	Latest   bool     // a new group begins at the end of the topic; default at its start
	Queue    string   // the queue of the jobs; default redrive.DefaultQueue
	// Kinds are the kinds by task_type. A record with another task_type cannot be a task. Required.
	Kinds    map[string]string
	Strict   bool // job_id must be a UUID of version 4
	ValueMax int  // largest value of a record in bytes; default redrive.PayloadMaxDefault
	// Retry is the topic of retries; "" means that waits are in the store alone. Each wait of at least
	// MinWait has its record there. Records that others write there become jobs that wait.
	Retry   string
	MinWait time.Duration // default MinWaitDefault; negative: each wait has a record
	Dead    string        // the topic of dead letters; "" means none
	Compat  wire.Compat   // the headers of dead letters beside those of redrive
	Results string        // the topic of results; "" means none
	// Store is the client's store, which keeps the cursors of what is written to topics. It is
	// required with Retry, Dead or Results.
	Store store.Streams
	// Processed are asked, one after the other, which tasks others have processed. Their records are skipped. After an error
	// the records wait.
	Processed []Processed
	// Marks get the keys of completed tasks, under the names of sinks such as "marks". They require Store.
	Marks map[string]project.Marker
	// Documents get the dead letters of the stream. They require Store.
	Documents project.DocumentStore
	TLS       *kafka.TLS  // nil: connections are not encrypted
	SASL      *kafka.SASL // nil: no login
	// AllowCompacted lets the topic be compacted: records that vanish before they are read are no tasks.
	AllowCompacted bool
	Alongside      bool         // the group may have members that are not of redrive
	Backlog        int          // no records are read while so many jobs of the queue wait for their first run; default BacklogDefault
	Log            *slog.Logger // default slog.Default
	// Now is the clock by which due times are compared; default time.Now.
	Now func() time.Time
}

func (c *Config) filled() (*Config, error) {
	full := *c
	switch {
	case c.Name == "":
		return nil, errors.New("stream: Name is empty; give the stream a name")
	case len(c.Brokers) == 0:
		return nil, fmt.Errorf("stream %q: Brokers is empty; name at least one broker as host:port", c.Name)
	case c.Topic == "":
		return nil, fmt.Errorf("stream %q: Topic is empty; name the topic that is read", c.Name)
	case len(c.Kinds) == 0:
		return nil, fmt.Errorf("stream %q: Kinds is empty; say which task_type becomes which kind", c.Name)
	case c.Backlog < 0 || c.ValueMax < 0:
		return nil, fmt.Errorf("stream %q: Backlog and ValueMax must not be below 0", c.Name)
	}
	for name, kind := range c.Kinds {
		if strings.HasPrefix(kind, notify.Prefix) {
			return nil, fmt.Errorf("stream %q: task_type %q becomes the kind %q: kinds that begin with %q are redrive's own; use another name", c.Name, name, kind, notify.Prefix)
		}
	}
	if (c.Retry != "" || c.Dead != "" || c.Results != "" || len(c.Marks) > 0 || c.Documents != nil) && c.Store == nil {
		return nil, fmt.Errorf("stream %q: Store is nil; a stream that writes to topics keeps its cursors in the store", c.Name)
	}
	if full.MinWait == 0 {
		full.MinWait = MinWaitDefault
	}
	if full.Group == "" {
		full.Group = "redrive-" + c.Name
	}
	if full.Queue == "" {
		full.Queue = redrive.DefaultQueue
	}
	if full.ValueMax == 0 {
		full.ValueMax = redrive.PayloadMaxDefault
	}
	if full.Backlog == 0 {
		full.Backlog = BacklogDefault
	}
	if full.Log == nil {
		full.Log = slog.Default()
	}
	if full.Now == nil {
		full.Now = time.Now //nolint:forbidigo // the default clock of a stream
	}
	return &full, nil
}

// Handle registers the handlers of RecordKind and ProjectionKind. That of RecordKind reads the record again after a person has
// retried it: with a corrected payload it enqueues the job. The client must run the queue of the stream.
func Handle(client *redrive.Client, c *Config) error {
	full, err := c.filled()
	if err != nil {
		return err
	}
	redrive.HandleRaw(client, ProjectionKind, func(_ context.Context, j *redrive.Job[[]byte]) error {
		return failure.Code("not_written", failure.Permanent(fmt.Errorf("a record of a job was not written: %s", j.Args)))
	}, nil)
	redrive.HandleRaw(client, RecordKind, func(ctx context.Context, j *redrive.Job[[]byte]) error { return full.again(ctx, client, j) }, nil)
	return nil
}

// again reads a record that could not be a task once more.
func (c *Config) again(ctx context.Context, client *redrive.Client, j *redrive.Job[[]byte]) error {
	var attrs struct {
		Stream wire.Origin `json:"stream"`
	}
	if err := json.Unmarshal(j.Attrs, &attrs); err != nil {
		return failure.Permanent(fmt.Errorf("the job has no record in its attributes: %w", err))
	}
	o := attrs.Stream
	r := &wire.Record{Topic: o.Topic, Partition: o.Partition, Offset: o.Offset, Value: j.Args}
	if o.Time != nil {
		r.Time = *o.Time
	}
	item := c.read(r)
	if item.Dead == nil {
		receipt, err := client.Enqueue(ctx, c.spec(&item, ""))
		switch {
		case err == nil:
			return j.SetResult(map[string]any{"job": receipt.ID, "existing": receipt.Existing})
		case !errors.Is(err, redrive.ErrConflict):
			return err
		}
		item.Dead = &wire.Arrival{Reason: wire.ReasonKeyConflict, Message: err.Error()}
	}
	return refusal(r, item.Dead)
}

// refusal returns the error of which the job of a record that cannot be a task dies.
func refusal(r *wire.Record, a *wire.Arrival) error {
	return failure.Code(a.Reason, failure.Refuse(a.Reason, fmt.Errorf("%s of %s: %s", a.Reason, r, a.Message)),
		"topic", r.Topic, "partition", r.Partition, "offset", r.Offset)
}

// Check asks the cluster about everything that the stream needs, and returns what is wrong, all at
// once. It changes nothing. Run refuses to start for the findings that say so, and logs the others.
func Check(ctx context.Context, client *redrive.Client, config *Config) ([]kafka.Finding, error) {
	c, err := config.filled()
	if err != nil {
		return nil, err
	}
	found, err := kafka.Check(ctx, c.kafka(client))
	if err != nil {
		return nil, fmt.Errorf("stream %q: %w", c.Name, err)
	}
	return found, nil
}

// Init makes the retry topic if it is missing, with three partitions, a retention of a week and up to
// three replicas, and says whether it did. It never changes a topic.
func Init(ctx context.Context, client *redrive.Client, config *Config) (made bool, err error) {
	c, err := config.filled()
	if err == nil {
		made, err = kafka.Init(ctx, c.kafka(client))
	}
	if err != nil {
		return false, fmt.Errorf("stream %q: %w", config.Name, err)
	}
	return made, nil
}

// kafka returns the options of the clients.
func (c *Config) kafka(client *redrive.Client) *kafka.Options {
	o := &kafka.Options{
		Brokers: c.Brokers, Topic: c.Topic, Group: c.Group, Instance: c.Instance, Latest: c.Latest, TLS: c.TLS, SASL: c.SASL,
		Retry: c.Retry, Dead: c.Dead, Results: c.Results, AllowCompacted: c.AllowCompacted, Alongside: c.Alongside, Log: c.Log, Now: c.Now,
		Begin: func(ctx context.Context, first []store.Position) ([]store.Position, error) {
			return client.BeginPositions(ctx, c.Name, first)
		},
	}
	p := client.Policy()
	for _, kind := range c.Kinds {
		for _, class := range p.Classes() {
			if r := p.Resolve(kind, class); r.Retries > 0 {
				o.LongestWait = max(o.LongestWait, r.Longest)
			}
		}
	}
	return o
}

// read reads the task of a record and finds its kind.
func (c *Config) read(r *wire.Record) intake.Item {
	task, err := wire.Read(r, c.Now(), wire.Rules{ValueMax: c.ValueMax, Strict: c.Strict})
	item := intake.Item{Record: r, Task: task}
	if err == nil && c.Kinds[task.Type] == "" {
		kinds := make([]string, 0, len(c.Kinds))
		for name := range c.Kinds {
			kinds = append(kinds, name)
		}
		slices.Sort(kinds)
		item.Dead = &wire.Arrival{Reason: wire.ReasonUnknownType, Message: fmt.Sprintf("task_type %.64q is not declared: the stream %q has %.200q", task.Type, c.Name, kinds)}
		return item
	}
	if err == nil {
		spec := c.spec(&item, "")
		err = spec.Validate()
	}
	if err != nil {
		item.Dead = &wire.Arrival{Reason: wire.ReasonMalformed, Message: err.Error()}
	}
	return item
}

// spec returns the job of a record.
func (c *Config) spec(item *intake.Item, topicID string) redrive.Spec {
	r, t := item.Record, &item.Task
	if item.Dead != nil {
		return c.dead(item, topicID)
	}
	origin := wire.OriginOf(c.Name, r, t)
	if origin.TaskType == c.Kinds[t.Type] {
		origin.TaskType = ""
	}
	o := redrive.Options{
		Queue: c.Queue, RunAt: t.DueAt, Key: t.Key, KeyJSON: true, Correlation: t.ID,
		Attrs: map[string]any{"stream": origin},
	}
	if n, ok := t.RetriesLeft(); ok {
		o.Override = &policy.Override{MessageRetries: &n}
	}
	return redrive.NewRaw(c.Kinds[t.Type], t.Payload, &o)
}

// dead returns the job that stands for a record that cannot be a task. Its key names the record.
func (c *Config) dead(item *intake.Item, topicID string) redrive.Spec {
	r, arrival, value := item.Record, *item.Dead, item.Record.Value
	if len(value) > c.ValueMax {
		sum := sha256.Sum256(value)
		arrival.Size, arrival.SHA256 = len(value), hex.EncodeToString(sum[:])
		value = value[:min(len(value), c.ValueMax, keptOfLarge)]
	}
	o := redrive.Options{
		Queue: c.Queue, Key: fmt.Sprintf("record:%s/%d/%d", topicID, r.Partition, r.Offset), Correlation: item.Task.ID, MaxAttempts: 1,
		Attrs: map[string]any{"stream": wire.DeadOrigin(c.Name, r, &arrival)},
	}
	if item.NoKey {
		o.Key = ""
	}
	return redrive.NewRaw(RecordKind, value, &o)
}
