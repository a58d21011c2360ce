package stream

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/redrive/redrive"
	"github.com/redrive/redrive/internal/own"
	"github.com/redrive/redrive/stream/intake"
	"github.com/redrive/redrive/stream/kafka"
	"github.com/redrive/redrive/stream/project"
)

// ProjectionKind is the kind of the jobs that stand for what a sink cannot write, such as a record
// that is too large. They die at once.
const ProjectionKind = "redrive.projection"

const storeIDBytes = 16

// Run reads the topics and writes what happens to the jobs, until the context ends. Errors of the
// store and of the broker are repeated; Run returns an error when it cannot begin, or when a record
// can be stored in no way. A cluster that lacks something is a *kafka.Refused.
func Run(ctx context.Context, client *redrive.Client, config *Config) error {
	c, err := config.filled()
	if err == nil {
		err = c.run(ctx, client)
	}
	if err != nil {
		return fmt.Errorf("stream %q: %w", config.Name, err)
	}
	return nil
}

func (c *Config) run(ctx context.Context, client *redrive.Client) error {
	o := c.kafka(client)
	topics, err := kafka.Prepare(ctx, o)
	if err != nil {
		return err
	}
	storeID, err := c.storeID(ctx, client)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error)
	running := 0
	start := func(f func() error) {
		running++
		go func() { ended <- f() }()
	}
	for i := range topics {
		start(func() error { return c.intake(ctx, client, o, &topics[i], storeID) })
	}
	for _, sink := range c.topics(storeID) {
		start(func() error { return c.writes(ctx, client, o, sink) })
	}
	for _, sink := range c.others(client, storeID) {
		start(func() error { return c.project(ctx, client, sink) })
	}
	c.Log.InfoContext(ctx, "reading", "stream", c.Name, "topic", c.Topic, "retry", c.Retry, "group", c.Group, "queue", c.Queue)
	for ; running > 0; running-- { // the first that ends ends the others
		err = errors.Join(err, <-ended)
		cancel()
	}
	return err
}

// intake reads one topic.
func (c *Config) intake(ctx context.Context, client *redrive.Client, o *kafka.Options, topic *kafka.Topic, storeID string) error {
	reader, err := kafka.Open(o, topic)
	if err != nil {
		return err
	}
	defer reader.Close()
	l := &loop{Config: c, client: client, reader: reader, topic: *topic, core: intake.New(c.Now(), int64(c.Backlog)), process: c.holder() + "/" + topic.Name}
	if topic.Name == c.Retry {
		l.storeID = storeID
	}
	return l.run(ctx)
}

// storeID returns the id of the store in the headers of what is written. The first process makes it.
func (c *Config) storeID(ctx context.Context, client *redrive.Client) (string, error) {
	if c.Store == nil {
		return "", nil
	}
	fresh := make([]byte, storeIDBytes)
	if _, err := rand.Read(fresh); err != nil {
		return "", err
	}
	id, err := client.Secret(ctx, "stream.store", fresh)
	return hex.EncodeToString(id), err
}

// types are the task types of the kinds, where they differ.
func (c *Config) types() map[string]string {
	types := map[string]string{}
	for name, kind := range c.Kinds {
		if name != kind {
			types[kind] = name
		}
	}
	return types
}

// topics returns the topics that are written.
func (c *Config) topics(storeID string) (all []*project.Topic) {
	for kind, topic := range map[project.Kind]string{project.Retries: c.Retry, project.Deaths: c.Dead, project.Results: c.Results} {
		if topic != "" {
			all = append(all, &project.Topic{Kind: kind, Topic: topic, Stream: c.Name, Group: c.Group, StoreID: storeID, MinWait: c.MinWait, Compat: c.Compat, Types: c.types(), Now: c.Now})
		}
	}
	return all
}

// others returns the sinks that are no topics.
func (c *Config) others(client *redrive.Client, storeID string) (all []project.Sink) {
	for name, marker := range c.Marks {
		all = append(all, &project.Marks{Sink: name, Stream: c.Name, Marker: marker})
	}
	if c.Documents != nil {
		all = append(all, &project.Documents{Stream: c.Name, StoreID: storeID, Types: c.types(), Store: c.Documents, Letter: client.DeadLetter})
	}
	return all
}

// writes writes one topic.
func (c *Config) writes(ctx context.Context, client *redrive.Client, o *kafka.Options, sink *project.Topic) error {
	writer, err := kafka.NewWriter(o)
	if err != nil {
		return err
	}
	defer writer.Close()
	sink.Writer = writer
	return c.project(ctx, client, sink)
}

// project writes one sink.
func (c *Config) project(ctx context.Context, client *redrive.Client, sink project.Sink) error {
	return project.Run(ctx, client, c.Store, sink, &project.Config{
		Stream: c.Name, Queue: c.Queue, Holder: c.holder(), Log: c.Log, Now: c.Now,
		Lost: func(ctx context.Context, name string, item *project.Item, refused error) error {
			return c.lost(ctx, client, name, item, refused)
		},
	})
}

// holder returns a name for this process.
func (c *Config) holder() string {
	host, _ := os.Hostname() // only to tell processes apart
	return cmp.Or(c.Instance, fmt.Sprintf("%.100s-%d-%s", host, os.Getpid(), rand.Text()[:8]))
}

// lost makes a dead letter of what a sink cannot write.
func (c *Config) lost(ctx context.Context, client *redrive.Client, sink string, item *project.Item, refused error) error {
	text, err := json.Marshal(map[string]any{"sink": sink, "job": item.Job.ID, "event": item.Event.Cursor, "error": refused.Error()})
	if err != nil {
		return err
	}
	_, err = client.Enqueue(own.Kinds(ctx), redrive.NewRaw(ProjectionKind, text, &redrive.Options{
		Queue: c.Queue, MaxAttempts: 1, Correlation: item.Job.Correlation, Key: fmt.Sprintf("projection:%s:%s", sink, item.Event.Cursor)}))
	return err
}
