// Package stream makes jobs of the records of a Kafka topic.
//
// A record becomes a job with an idempotency key. The group's offset is committed after the job is
// stored, so a record may be read again after a crash, but its key lets it become one job only.
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
	"time"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/failure"
	"github.com/redrive/redrive/job"
	"github.com/redrive/redrive/policy"
	"github.com/redrive/redrive/stream/intake"
	"github.com/redrive/redrive/stream/kafka"
	"github.com/redrive/redrive/stream/wire"
)

// RecordKind is the kind of the jobs that stand for records that cannot be a task. They die at once.
const RecordKind = "redrive.record"

// The defaults and limits of Config.
const (
	BacklogDefault = 50_000
	pollMax        = 5_000
	commitPoll     = time.Second // longest time of a poll, after which offsets can be committed
	stopMax        = 10 * time.Second
	keptOfLarge    = 64 << 10 // bytes that are kept of a value that is too large
)

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
	// Retry is the topic of retries; "" means that waits are in the store alone.
	Retry string
	TLS   *kafka.TLS  // nil: connections are not encrypted
	SASL  *kafka.SASL // nil: no login
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

// Handle registers the handler of RecordKind. It reads the record again: at first only to say why it
// cannot be a task; after a retry with a corrected payload it enqueues the job. The client must run
// the queue of the stream.
func Handle(client *redrive.Client, c *Config) error {
	full, err := c.filled()
	if err != nil {
		return err
	}
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
	if a := o.Arrival; a != nil && a.Size > len(j.Args) && j.Life == 1 {
		item.Dead = a
	}
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
	return failure.Code(item.Dead.Reason, failure.Permanent(fmt.Errorf("%s of %s: %s", item.Dead.Reason, r, item.Dead.Message)),
		"topic", o.Topic, "partition", o.Partition, "offset", o.Offset)
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
		Retry: c.Retry, AllowCompacted: c.AllowCompacted, Alongside: c.Alongside, Log: c.Log,
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

// Run reads the topic until the context ends. Errors of the store and of the broker are repeated; Run
// returns an error when it cannot begin, or when a record can be stored in no way.
func Run(ctx context.Context, client *redrive.Client, config *Config) error {
	c, err := config.filled()
	if err != nil {
		return err
	}
	reader, err := kafka.Open(ctx, c.kafka(client))
	if err != nil {
		return fmt.Errorf("stream %q: %w", c.Name, err)
	}
	defer reader.Close()
	c.Log.InfoContext(ctx, "reading", "stream", c.Name, "topic", c.Topic, "group", c.Group, "queue", c.Queue)
	l := &loop{Config: c, client: client, reader: reader, core: intake.New(c.Now(), int64(c.Backlog))}
	if err := l.run(ctx); err != nil {
		return fmt.Errorf("stream %q: %w", c.Name, err)
	}
	return nil
}

// loop does the actions of the core, one at a time.
type loop struct {
	*Config
	client   *redrive.Client
	reader   *kafka.Reader
	core     *intake.Core
	logged   intake.Totals
	loggedAt time.Time
}

func (l *loop) run(ctx context.Context) error {
	action := l.core.Step(l.Now(), intake.Begun{})
	stopping := false
	for {
		if end, ok := action.(intake.End); ok {
			l.report(context.WithoutCancel(ctx))
			return end.Err
		}
		event, err := l.do(ctx, action)
		if err != nil {
			return err
		}
		if lost := l.reader.Lost(); len(lost) > 0 {
			l.core.Step(l.Now(), intake.Lost{Partitions: lost})
		}
		action = l.core.Step(l.Now(), event)
		if ctx.Err() != nil && !stopping {
			stopping = true
			action = l.core.Step(l.Now(), intake.Stop{})
		}
		if l.Now().Sub(l.loggedAt) >= time.Minute {
			l.report(ctx)
		}
	}
}

// do does one action. Writes are finished when the context ends, within a time limit.
func (l *loop) do(ctx context.Context, action intake.Action) (intake.Event, error) {
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopMax)
	defer cancel()
	switch a := action.(type) {
	case intake.Count:
		n, err := l.waiting(writing)
		return intake.Counted{Waiting: n, Err: err}, nil
	case intake.Poll:
		polling, cancel := context.WithTimeout(ctx, commitPoll)
		defer cancel()
		batch, err := l.reader.Poll(polling, pollMax)
		return l.polled(batch), err
	case intake.Take:
		specs := make([]redrive.Spec, len(a.Items))
		for i := range a.Items {
			specs[i] = l.spec(&a.Items[i], l.reader.TopicID())
		}
		receipts, err := l.client.EnqueueMany(writing, specs)
		if err != nil {
			l.Log.WarnContext(ctx, "records are not stored yet", "stream", l.Name, "records", len(specs), "error", err)
		}
		return intake.Taken{Receipts: receipts, Err: err}, nil
	case intake.Commit:
		err := l.reader.Commit(writing, a.Next)
		if err != nil {
			l.Log.WarnContext(ctx, "offsets are not committed yet", "stream", l.Name, "error", err)
		}
		return intake.Committed{Err: err}, nil
	case intake.Sleep:
		timer := time.NewTimer(a.For)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return intake.Begun{}, nil
}

// waiting returns how many jobs of the queue wait for their first run.
func (l *loop) waiting(ctx context.Context) (n int64, err error) {
	counts, err := l.client.Counts(ctx)
	for _, c := range counts {
		if c.Queue == l.Queue && c.State == job.Waiting {
			n += c.N
		}
	}
	return n, err
}

func (l *loop) polled(b kafka.Batch) intake.Polled {
	p := intake.Polled{Next: b.Next}
	for i := range b.Records {
		p.Items = append(p.Items, l.read(&b.Records[i]))
	}
	return p
}

// report logs what has become of the records since the last time.
func (l *loop) report(ctx context.Context) {
	t := l.core.Totals()
	if t != l.logged {
		l.Log.InfoContext(ctx, "records", "stream", l.Name, "taken", t.Taken-l.logged.Taken, "duplicate", t.Duplicate-l.logged.Duplicate,
			"duplicate_of_dead", t.OfDead-l.logged.OfDead, "dead", t.Dead-l.logged.Dead)
	}
	l.logged, l.loggedAt = t, l.Now()
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
	o := redrive.Options{
		Queue: c.Queue, RunAt: t.DueAt, Key: t.Key, KeyJSON: true, Correlation: t.ID,
		Attrs: map[string]any{"stream": wire.OriginOf(c.Name, r, t)},
	}
	if n, ok := t.RetriesLeft(); ok {
		o.Override = &policy.Override{MaxRetries: &n, MaxTotalRetries: &n}
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
	return redrive.NewRaw(RecordKind, value, &redrive.Options{
		Queue: c.Queue, Key: fmt.Sprintf("record:%s/%d/%d", topicID, r.Partition, r.Offset), Correlation: item.Task.ID, MaxAttempts: 1,
		Attrs: map[string]any{"stream": wire.DeadOrigin(c.Name, r, &arrival)},
	})
}
